"""Accounts: opened whole, signed in to, limited, and let go."""

import logging

import pytest
from sqlalchemy import text
from tests.service.place import PASSWORD, Place

from starverse.model.errors import BadInput, Conflict, NotFound, NotSignedIn
from starverse.model.units import YUAN
from starverse.service import access, accounts, billing
from starverse.service.access import Actor
from starverse.service.platform import Limits
from starverse.service.rates import TooOften
from starverse.store.database import reading


def test_a_new_account_has_a_project_and_ten_yuan(place: Place) -> None:
    signed_in = accounts.register(place.platform, " Ada@Example.com ", PASSWORD, "test")
    actor = access.actor_of(place.platform, signed_in.token)
    assert actor.email == "ada@example.com"
    assert [(project.name, project.role) for project in actor.projects] == [("default", "owner")]
    wallet = billing.wallet(place.platform, actor, "")
    assert (wallet.available, wallet.held, wallet.empty_ms) == (10 * YUAN, 0, None)


def test_the_same_address_registers_once_in_whatever_case(place: Place, ann: Actor) -> None:
    with pytest.raises(Conflict, match="registered already"):
        accounts.register(place.platform, "ANN@example.com", PASSWORD, "test")


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("no address", PASSWORD),
        ("@example.com", PASSWORD),
        ("a@", PASSWORD),
        ("a@b\u0000c", PASSWORD),
        ("ada@example.com", "short"),
        ("ada@example.com", " " * 20),
        ("ada@example.com", "Ada@example.com"),
    ],
)
def test_what_is_no_account_is_refused_whole(place: Place, email: str, password: str) -> None:
    with pytest.raises(BadInput):
        accounts.register(place.platform, email, password, "test")
    with reading(place.database) as connection:
        assert connection.execute(text("SELECT count(*) FROM users")).scalar() == 0
        assert connection.execute(text("SELECT count(*) FROM tenants")).scalar() == 0


def test_a_wrong_password_and_an_unknown_address_read_alike(place: Place, ann: Actor) -> None:
    said = []
    for email in ("ann@example.com", "nobody@example.com"):
        with pytest.raises(NotSignedIn) as error:
            accounts.log_in(place.platform, email, "wrong password", "", "test")
        said.append(str(error.value))
    assert said[0] == said[1]


def test_signing_in_gives_a_token_of_its_own(place: Place, ann: Actor) -> None:
    signed_in = accounts.log_in(place.platform, "ann@example.com", PASSWORD, "laptop", "test")
    assert signed_in.account.user == ann.user
    shown = accounts.list_tokens(place.platform, ann)
    assert {(token.name, token.current) for token in shown} == {("laptop", False), ("registration", True)}
    accounts.revoke_token(place.platform, ann, signed_in.token_id)
    with pytest.raises(NotSignedIn, match="revoked"):
        access.actor_of(place.platform, signed_in.token)
    with pytest.raises(NotFound):
        accounts.revoke_token(place.platform, ann, signed_in.token_id)


def test_nobody_revokes_a_token_of_others(place: Place, ann: Actor, bob: Actor) -> None:
    with pytest.raises(NotFound):
        accounts.revoke_token(place.platform, ann, bob.token_id)


def test_a_token_works_until_it_expires(place: Place, ann: Actor) -> None:
    signed_in = accounts.create_token(place.platform, ann, "day", days=1)
    place.platform.__dict__["now_ms"] = lambda: signed_in.expires_ms
    with pytest.raises(NotSignedIn, match="expired"):
        access.actor_of(place.platform, signed_in.token)


@pytest.mark.parametrize("token", ["", "x", "svt_abc_def", "svt_" + "a" * 12 + "_" + "b" * 40, "ünïcode"])
def test_what_is_no_token_signs_nobody_in(place: Place, token: str) -> None:
    with pytest.raises(NotSignedIn):
        access.actor_of(place.platform, token)


def test_passwords_are_tried_only_so_often(place: Place, ann: Actor) -> None:
    place.platform.__dict__["limits"] = Limits(logins_per_ten_minutes=3)
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            accounts.log_in(place.platform, "ann@example.com", "wrong password", "", "test")
    with pytest.raises(TooOften) as error:
        accounts.log_in(place.platform, "Ann@example.com", PASSWORD, "", "elsewhere")
    assert 0 < error.value.wait_s <= 600


def test_the_first_operator_is_made_once(place: Place) -> None:
    operator = place.operator()
    assert operator.operator
    assert accounts.make_operator(place.platform) is None
    again = accounts.new_operator_token(place.platform)
    assert again.account.user == operator.user
    with pytest.raises(NotSignedIn):
        accounts.log_in(place.platform, accounts.OPERATOR_EMAIL, "!", "", "test")


def test_neither_passwords_nor_tokens_are_written_down(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    signed_in = accounts.register(place.platform, "eve@example.com", "canary-password", "test")
    secret = signed_in.token.rpartition("_")[2]
    with reading(place.database) as connection:
        tables = connection.execute(text("SELECT name FROM sqlite_master WHERE type='table'")).scalars().all()
        rows = [str(row) for name in tables for row in connection.execute(text(f'SELECT * FROM "{name}"'))]
    for canary in (secret, "canary-password"):
        assert canary not in "\n".join(rows)
        assert canary not in caplog.text
