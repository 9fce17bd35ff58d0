"""Tenants, their projects and people; passwords, tokens, secrets and keys."""

import threading

import pytest
from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError

from starverse.model.errors import BadInput, Conflict, NotFound, NotSignedIn
from starverse.store import credentials, idempotency, schema, tenants, vault
from starverse.store.database import reading

T = 1_000_000


# -- people -----------------------------------------------------------------------------------------------


def test_each_tenant_has_a_unix_user_of_its_own(engine: Engine) -> None:
    def add(number: int) -> None:
        with engine.begin() as connection:
            tenants.add_tenant(connection, f"t-{number}", "x", T)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(engine) as connection:
        unix_ids = sorted(tenants.tenant_of(connection, f"t-{number}").unix_id for number in range(8))
        with pytest.raises(NotFound, match="no tenant t-9"):
            tenants.tenant_of(connection, "t-9")
    assert unix_ids == list(range(61_000, 61_008))


def test_no_tenant_is_given_the_unix_user_nobody(engine: Engine) -> None:
    last_before = tenants.UNIX_IDS_TAKEN.start - 1
    row = {"tenant": "t-many", "name": "x", "unix_id": last_before, "created_ms": T}
    with engine.begin() as connection:
        connection.execute(insert(schema.tenants), row)
        given = tenants.add_tenant(connection, "t-next", "x", T).unix_id
        after = tenants.add_tenant(connection, "t-last", "x", T).unix_id
    assert (given, after) == (100_000, 100_001)


def test_people_are_members_of_projects_of_tenants(engine: Engine) -> None:
    with engine.begin() as connection:
        tenants.add_tenant(connection, "t-a", "Ada's lab", T)
        tenants.add_project(connection, "p-1", "t-a", "vision", T)
        tenants.add_project(connection, "p-2", "t-a", "speech", T + 1)
        tenants.add_user(connection, "u-a", " Ada@Example.com", "hash", T)
        tenants.add_user(connection, "u-b", "bo@example.com", "hash", T, operator=True)
        tenants.set_role(connection, "p-1", "u-a", "owner")
        tenants.set_role(connection, "p-2", "u-a", "member")
        tenants.set_role(connection, "p-1", "u-b", "member")
        tenants.set_role(connection, "p-1", "u-b", "viewer")
    with engine.begin() as connection:
        assert tenants.user_by_email(connection, "ADA@example.com ") == tenants.user_by_id(connection, "u-a")
        assert tenants.user_by_email(connection, "nobody@example.com") is None
        assert [user.user for user in tenants.operators(connection)] == ["u-b"]
        assert tenants.projects_of(connection, "u-a") == [
            ("p-1", "t-a", "vision", "owner"), ("p-2", "t-a", "speech", "member"),
        ]  # fmt: skip
        assert tenants.members_of(connection, "p-1") == [
            ("u-a", "ada@example.com", "owner"), ("u-b", "bo@example.com", "viewer"),
        ]  # fmt: skip
        assert tenants.role_of(connection, "u-b", "p-1") == "viewer"
        assert tenants.role_of(connection, "u-b", "p-2") is None
        assert tenants.remove_member(connection, "p-1", "u-b")
        assert not tenants.remove_member(connection, "p-1", "u-b")
        tenants.set_password(connection, "u-a", "new")
        assert tenants.user_by_id(connection, "u-a") == ("u-a", "ada@example.com", "new", False, T)


def test_names_are_taken_once_and_the_transaction_goes_on(engine: Engine) -> None:
    with engine.begin() as connection:
        tenants.add_tenant(connection, "t-a", "a", T)
        tenants.add_project(connection, "p-1", "t-a", "vision", T)
        tenants.add_user(connection, "u-a", "ada@example.com", "hash", T)
        with pytest.raises(Conflict, match="project 'vision'"):
            tenants.add_project(connection, "p-2", "t-a", "vision", T)
        with pytest.raises(Conflict, match=r"ada@example\.com is registered"):
            tenants.add_user(connection, "u-b", "ADA@example.com", "hash", T)
        tenants.add_project(connection, "p-2", "t-a", "speech", T)
    with reading(engine) as connection:
        assert len(connection.execute(select(schema.projects)).all()) == 2


# -- passwords and tokens ---------------------------------------------------------------------------------


def test_a_password_fits_its_hash_and_nobodys_fits_none() -> None:
    stored = credentials.hash_password("correct horse")
    assert stored.startswith("$argon2id$")
    assert credentials.password_fits(stored, "correct horse")
    assert not credentials.password_fits(stored, "wrong horse")
    assert not credentials.password_fits(None, "correct horse")
    assert not credentials.password_fits("!", "!")


@pytest.fixture
def signed_in(embedded: Engine) -> str:
    token = credentials.draw_token()
    with embedded.begin() as connection:
        tenants.add_user(connection, "u-a", "ada@example.com", "hash", T)
        tenants.add_user(connection, "u-b", "bo@example.com", "hash", T)
        credentials.add_token(connection, token, "u-a", "laptop", T, T + 100)
    return token


def test_a_token_stands_for_its_owner_until_it_expires(embedded: Engine, signed_in: str) -> None:
    public = credentials.public_part(signed_in)
    with reading(embedded) as connection:
        found = credentials.bearer_of(connection, signed_in, T + 99)
        assert found == (public, "u-a", "ada@example.com", False, T + 100)
        with pytest.raises(NotSignedIn, match="expired"):
            credentials.bearer_of(connection, signed_in, T + 100)


def test_only_the_hash_of_a_token_is_stored_and_looking_writes_nothing(
    embedded: Engine, signed_in: str
) -> None:
    with reading(embedded) as connection:
        before = connection.execute(select(schema.tokens)).all()
        credentials.bearer_of(connection, signed_in, T)
        assert connection.execute(select(schema.tokens)).all() == before
    assert signed_in.split("_")[2] not in repr(before)


def test_a_token_has_a_prefix_a_public_part_and_a_long_secret() -> None:
    drawn = {credentials.draw_token() for _ in range(100)}
    assert len(drawn) == 100
    for token in drawn:
        prefix, public, secret = token.split("_")
        assert (prefix, len(public)) == ("svt", 12)
        assert len(secret) >= 32
        assert token.replace("_", "").isalnum()


@pytest.mark.parametrize(
    "forge", [str.lower, lambda t: t[:-1], lambda t: t + "x", lambda t: t[:16] + "_" + "a" * 40]
)
def test_a_token_that_is_almost_right_is_wrong(embedded: Engine, signed_in: str, forge: "type[str]") -> None:
    with reading(embedded) as connection, pytest.raises(NotSignedIn, match="not known"):
        credentials.bearer_of(connection, forge(signed_in), T)


@pytest.mark.parametrize(
    "text", ["", "svt", "svt_short_x", "sk_abcdefghijkl_secret", "svt_abcdefghijkl_" + "a" * 99]
)
def test_what_is_no_token_is_said_to_be_none(embedded: Engine, text: str) -> None:
    with reading(embedded) as connection, pytest.raises(NotSignedIn, match=r"not a token.*starverse login"):
        credentials.bearer_of(connection, text, T)


def test_a_token_is_revoked_by_its_owner_alone(embedded: Engine, signed_in: str) -> None:
    public = credentials.public_part(signed_in)
    with embedded.begin() as connection:
        assert not credentials.revoke_token(connection, "u-b", public, T + 1)
        assert credentials.bearer_of(connection, signed_in, T + 1)
        assert credentials.revoke_token(connection, "u-a", public, T + 1)
        assert not credentials.revoke_token(connection, "u-a", public, T + 2)
        assert credentials.tokens_of(connection, "u-a") == [(public, "laptop", T, T + 100, T + 1)]
        with pytest.raises(NotSignedIn, match="revoked"):
            credentials.bearer_of(connection, signed_in, T + 1)


def test_all_tokens_of_a_person_end_together(embedded: Engine, signed_in: str) -> None:
    other = credentials.draw_token()
    with embedded.begin() as connection:
        credentials.add_token(connection, other, "u-a", "desktop", T, T + 100)
        credentials.revoke_all(connection, "u-a", T + 1)
        assert [row.revoked_ms for row in credentials.tokens_of(connection, "u-a")] == [T + 1, T + 1]


# -- secrets ----------------------------------------------------------------------------------------------


def test_secrets_belong_to_a_tenant_and_are_replaced_by_name(engine: Engine) -> None:
    with engine.begin() as connection:
        for tenant in ("t-a", "t-b"):
            tenants.add_tenant(connection, tenant, tenant, T)
        vault.put_secret(connection, "t-a", "KEY", "old", T)
        vault.put_secret(connection, "t-a", "KEY", "新 value\n", T + 1)
        vault.put_secret(connection, "t-a", "ANOTHER", "", T)
        vault.put_secret(connection, "t-b", "KEY", "theirs", T)
        assert vault.secret_names(connection, "t-a") == [("ANOTHER", T), ("KEY", T + 1)]
        assert vault.secret_values(connection, "t-a", ["KEY", "ANOTHER"]) == {
            "KEY": "新 value\n",
            "ANOTHER": "",
        }
        assert vault.delete_secret(connection, "t-a", "KEY")
        assert not vault.delete_secret(connection, "t-a", "KEY")
        with pytest.raises(NotFound, match="no secret KEY, OTHER"):
            vault.secret_values(connection, "t-a", ["OTHER", "ANOTHER", "KEY"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("", "x"), ("1A", "x"), ("A-B", "x"), ("A" * 65, "x"), ("A", "x" * 70_000), ("A", "x\0y")],
)
def test_a_secret_that_cannot_be_one(embedded: Engine, name: str, value: str) -> None:
    with embedded.begin() as connection, pytest.raises(BadInput):
        vault.put_secret(connection, "t-a", name, value, T)


# -- idempotency keys -------------------------------------------------------------------------------------


def test_a_key_gives_the_same_answer_again_and_refuses_another_question(engine: Engine) -> None:
    with engine.begin() as connection:
        assert idempotency.earlier_answer(connection, "u-a", "k", b"1" * 32, T) is None
        idempotency.remember(connection, "u-a", "k", "job j-1")
    with engine.begin() as connection:
        assert idempotency.earlier_answer(connection, "u-a", "k", b"1" * 32, T + 5) == "job j-1"
        assert idempotency.earlier_answer(connection, "u-b", "k", b"2" * 32, T + 5) is None
        with pytest.raises(Conflict, match="'k' was used for another request"):
            idempotency.earlier_answer(connection, "u-a", "k", b"2" * 32, T + 5)
        assert idempotency.forget(connection, T + 5) == 1
        assert idempotency.earlier_answer(connection, "u-a", "k", b"2" * 32, T + 9) is None


def test_a_key_used_in_a_transaction_that_failed_is_free(engine: Engine) -> None:
    with engine.connect() as connection:
        idempotency.earlier_answer(connection, "u-a", "k", b"1" * 32, T)
        connection.rollback()
    with engine.begin() as connection:
        assert idempotency.earlier_answer(connection, "u-a", "k", b"2" * 32, T) is None


def test_two_at_once_with_one_key_do_it_once(engine: Engine) -> None:
    answers: list[str | None] = []
    begun = threading.Barrier(4)

    def ask(number: int) -> None:
        begun.wait()
        with engine.begin() as connection:
            earlier = idempotency.earlier_answer(connection, "u-a", "k", b"1" * 32, T)
            if earlier is None:
                idempotency.remember(connection, "u-a", "k", f"done by {number}")
            answers.append(earlier)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(None) == 1
    assert len({answer for answer in answers if answer}) == 1


def test_keys_between_tables_are_kept_by_the_database(engine: Engine) -> None:
    with pytest.raises(IntegrityError), engine.begin() as connection:
        tenants.add_project(connection, "p-1", "no such tenant", "x", T)
