"""Accounts, tokens, secrets, projects: who one is, and that no secret is ever shown."""

import os
import pty
import stat
from pathlib import Path

import msgspec
from tests.faces.cli.served import EMAIL, PASSWORD, Served, Shell, until

from starverse.faces.cli import settings

SECRET = "svt_"


def config(shell: Shell) -> Path:
    return Path(str(shell.env["XDG_CONFIG_HOME"])) / "starverse" / "config.toml"


def token_of(shell: Shell) -> str:
    return config(shell).read_text().rpartition('token = "')[2].partition('"')[0]


def test_registering_shows_the_trial_credit_and_remembers_the_token(stranger: Shell) -> None:
    said = stranger("register", EMAIL, "--password-stdin", typed=PASSWORD + "\n")
    assert said.stdout.startswith("Welcome, ada@example.com. Your wallet holds ¥10.0000")
    assert SECRET not in said.output
    assert token_of(stranger).startswith(SECRET)
    assert stat.S_IMODE(config(stranger).stat().st_mode) == 0o600
    assert "ada@example.com" in stranger("whoami").stdout


def test_with_json_registering_answers_all_but_the_token(stranger: Shell) -> None:
    answer = stranger.json("register", EMAIL, "--password-stdin", typed=PASSWORD)
    assert answer["account"]["email"] == EMAIL
    assert answer["wallet"]["available"] == 10_000_000
    assert SECRET not in msgspec.json.encode(answer).decode()
    assert stranger.json("whoami") == answer["account"]


def test_signing_out_makes_the_token_worthless(ada: Shell) -> None:
    token = token_of(ada)
    assert "Signed out" in ada("logout").stdout
    assert "You are not signed in" in ada("whoami", code=3).stderr
    ada.env["STARVERSE_TOKEN"] = token
    assert ada.json("whoami", code=3)["error"]["kind"] == "not-signed-in"
    ada.env["STARVERSE_TOKEN"] = None
    assert "You were not signed in" in ada("logout").stdout


def test_signing_in_by_password_or_by_token(ada: Shell, stranger: Shell) -> None:
    stranger("login", EMAIL, "--password-stdin", typed=PASSWORD)
    assert stranger.json("whoami") == ada.json("whoami")
    made = ada("token", "create", "ci").stdout.strip()
    stranger("logout")
    said = stranger("login", "--token-stdin", typed=made + "\n")
    assert made not in said.output
    assert token_of(stranger) == made
    bad = stranger("login", EMAIL, "--password-stdin", typed="wrong password", code=3)
    assert "wrong" in bad.stderr
    assert token_of(stranger) == made
    stranger("login", "--token-stdin", typed="svt_nonsense", code=3)
    assert token_of(stranger) == made


REFUSED: list[tuple[list[str], str, str]] = [
    (["login"], "", "with an address or with a token"),
    (["login", EMAIL, "--token-stdin"], "x", "with an address or with a token"),
    (["login", EMAIL], "", "There is no terminal to ask for the password on. Pipe it in"),
    (["login", EMAIL, "--password-stdin"], "", "There is no password on stdin"),
    (["register", "nobody", "--password-stdin"], PASSWORD, "not an e-mail address"),
    (["register", EMAIL, "--password-stdin"], "short", "The password is too short"),
    (["register"], "", "Missing argument 'EMAIL'"),
]


def test_what_cannot_be_used_to_sign_in(stranger: Shell) -> None:
    for words, typed, said in REFUSED:
        result = stranger(*words, typed=typed, code=2)
        assert said in result.stderr, words
        assert result.stdout == "", words


def test_the_password_is_asked_for_unseen_and_twice(stranger: Shell) -> None:
    def register(second: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        process = stranger.start(
            "register", EMAIL, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        seen = b""

        def read(what: bytes) -> bool:
            nonlocal seen
            try:
                seen += os.read(ours, 4096)
            except OSError:
                return True
            return what in seen

        until(lambda: read(b"Password: "))
        os.write(ours, PASSWORD.encode() + b"\n")
        until(lambda: read(b"Password again: "))
        os.write(ours, second.encode() + b"\n")
        until(lambda: process.poll() is not None and read(b"\0"))
        os.close(ours)
        return process.returncode, seen.decode()

    code, seen = register("another one")
    assert (code, "The two passwords differ." in seen) == (2, True)
    code, seen = register(PASSWORD)
    assert (code, "Welcome" in seen, PASSWORD in seen) == (0, True, False)


def test_a_token_is_shown_once_and_listed_without_its_secret(ada: Shell) -> None:
    made = ada("token", "create", "ci", "--days", "7")
    token = made.stdout.strip()
    assert token.startswith(SECRET)
    assert token not in made.stderr
    listed = ada("token", "list")
    assert "ci" in listed.stdout
    assert "in 6 d" in listed.stdout or "in 7 d" in listed.stdout
    assert SECRET not in listed.output
    ci = next(each for each in ada.json("token", "list") if each["name"] == "ci")
    ada("token", "revoke", ci["token_id"])
    assert [each["current"] for each in ada.json("token", "list")] == [True]
    ada("token", "revoke", "t-absent", code=4)
    ada("token", "create", "x", "--days", "0", code=2)


def test_a_secret_is_read_from_stdin_and_never_shown(ada: Shell) -> None:
    value = "hf_very_secret"
    said = ada("secret", "set", "HF_TOKEN", typed=value + "\n")
    listed = ada("secret", "list")
    assert "HF_TOKEN" in said.stdout
    assert "HF_TOKEN" in listed.stdout
    assert value not in said.output + listed.output
    assert [each["name"] for each in ada.json("secret", "list")] == ["HF_TOKEN"]
    ada("secret", "delete", "HF_TOKEN")
    assert "No secrets." in ada("secret", "list").stdout
    ada("secret", "delete", "HF_TOKEN", code=4)
    ada("secret", "set", "NOT A NAME", typed="x", code=2)
    ada("secret", "set", "EMPTY", typed="", code=2)


def test_projects_and_who_is_in_them(ada: Shell, stranger: Shell) -> None:
    stranger("register", "bob@example.com", "--password-stdin", typed=PASSWORD)
    made = ada.json("project", "create", "深度学习")
    assert "深度学习" in ada("project", "list").stdout
    assert "viewer" in ada("project", "invite", made["project"], "bob@example.com", "--role", "viewer").stdout
    members = ada.json("project", "members", made["project"])
    assert [(each["email"], each["role"]) for each in members] == [
        (EMAIL, "owner"),
        ("bob@example.com", "viewer"),
    ]
    refused = ada("project", "invite", made["project"], "bob@example.com", "--role", "boss", code=2)
    assert "'boss' is not one of viewer, member, owner" in refused.stderr
    ada("project", "invite", made["project"], "nobody@example.com", code=4)
    ada("project", "members", "p-absent", code=4)


def test_the_settings_are_shown_without_the_token(ada: Shell, served: Served) -> None:
    shown = ada.json("config", "show")
    assert shown == {
        "server": served.url,
        "server_from": "STARVERSE_URL",
        "email": EMAIL,
        "signed_in": True,
        "token_from": str(config(ada)),
        "file": str(config(ada)),
    }
    assert SECRET not in ada("config", "show").output
    ada.env["STARVERSE_URL"] = None
    assert ada.json("config", "show")["server"] == served.url  # the last one signed in to
    elsewhere = ada.json("config", "show", "--server", "http://localhost:1/")
    assert (elsewhere["server"], elsewhere["server_from"]) == ("http://localhost:1", "--server")
    assert not elsewhere["signed_in"]


def test_a_damaged_settings_file_is_named(ada: Shell) -> None:
    config(ada).write_text("server = [")
    assert "Mend or delete it" in ada("whoami", code=2).stderr


def test_without_a_server_the_sentence_says_what_to_do(ada: Shell, served: Served) -> None:
    served.stop()
    said = ada("whoami", code=6)
    assert said.stderr == f"No server at {served.url}. Start one with `starverse up`.\n"
    assert ada.json("jobs", code=6)["error"]["kind"] == "unreachable"
    assert (
        "not the address of a server"
        in ada("register", EMAIL, "--password-stdin", "--server", "nowhere", typed=PASSWORD, code=2).stderr
    )


def test_sending_a_password_in_the_open_is_warned_of() -> None:
    from starverse.faces.cli import session

    assert session.is_open("http://far.example.com")
    for fine in ("https://far.example.com", "http://127.0.0.1:8701", "http://localhost:1"):
        assert not session.is_open(fine)
    assert settings.Login("x").email == ""
