"""Passwords and tokens: argon2id for what people remember, sha256 for what is long and drawn by chance."""

import hmac
import secrets
from functools import cache
from hashlib import sha256
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from starverse.model.errors import NotSignedIn
from starverse.store.schema import tokens, users

if TYPE_CHECKING:
    from argon2 import PasswordHasher

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PUBLIC_CHARS = 12
_SECRET_CHARS = 40  # of 62 signs: 238 bits

_hashing = BoundedSemaphore(2)  # each takes 64 MiB and a core for a moment: more at once only take memory
_SIGN_IN = "Sign in: `starverse login`."
_BY_PUBLIC = (  # built once: every request of the API asks this
    select(
        tokens.c.token, tokens.c.hash, tokens.c.user, tokens.c.expires_ms, tokens.c.revoked_ms,
        users.c.email, users.c.operator,
    )
    .join(users, users.c.user == tokens.c.user)
    .where(tokens.c.token == bindparam("public"))
)  # fmt: skip


class Bearer(NamedTuple):
    """Who a token stands for."""

    token: str
    user: str
    email: str
    operator: bool
    expires_ms: int


class TokenRow(NamedTuple):
    """A token as its owner sees it in a list."""

    token: str
    name: str
    created_ms: int
    expires_ms: int
    revoked_ms: int | None


# -- passwords; call these outside any transaction: they take a tenth of a second --------------------------


def hash_password(password: str) -> str:
    """The argon2id hash of a password, with the parameters of RFC 9106's low-memory profile."""
    with _hashing:
        return _hasher().hash(password)


def password_fits(password_hash: str | None, password: str) -> bool:
    """Whether it is the password. For a person who isn't there (None) it takes as long, and is False."""
    from argon2.exceptions import InvalidHashError, VerificationError

    with _hashing:
        try:
            _hasher().verify(password_hash or _nobodys(), password)
        except (VerificationError, InvalidHashError):
            return False
    return password_hash is not None


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash(secrets.token_urlsafe())


# -- tokens -----------------------------------------------------------------------------------------------


def draw_token() -> str:
    """A new token, `svt_<public>_<secret>`: shown once, then only its hash is known."""
    public, secret = (_draw(count) for count in (_PUBLIC_CHARS, _SECRET_CHARS))
    return f"svt_{public}_{secret}"


def public_part(token: str) -> str:
    """The part of a token that may be shown. Raises NotSignedIn for what is no token."""
    parts = token.split("_")
    if len(parts) != 3 or parts[0] != "svt" or len(parts[1]) != _PUBLIC_CHARS or len(token) > 100:
        raise NotSignedIn("That is not a token of this platform.", _SIGN_IN)
    return parts[1]


def add_token(connection: Connection, token: str, user: str, name: str, now_ms: int, expires_ms: int) -> None:
    """Let a token stand for a person until `expires_ms`."""
    row = {"token": public_part(token), "hash": _hash(token), "user": user, "name": name}
    connection.execute(insert(tokens), {**row, "created_ms": now_ms, "expires_ms": expires_ms})


def bearer_of(connection: Connection, token: str, now_ms: int) -> Bearer:
    """Who shows this token. Raises NotSignedIn when it is unknown, revoked or expired. Writes nothing."""
    found = connection.execute(_BY_PUBLIC, {"public": public_part(token)}).first()
    if found is None or not hmac.compare_digest(bytes(found.hash), _hash(token)):
        raise NotSignedIn("This token is not known here.", _SIGN_IN)
    if found.revoked_ms is not None:
        raise NotSignedIn("This token was revoked.", _SIGN_IN)
    if now_ms >= found.expires_ms:
        raise NotSignedIn("This token has expired.", _SIGN_IN)
    return Bearer(found.token, found.user, found.email, bool(found.operator), found.expires_ms)


def tokens_of(connection: Connection, user: str) -> list[TokenRow]:
    """A person's tokens, the newest first."""
    columns = (tokens.c.token, tokens.c.name, tokens.c.created_ms, tokens.c.expires_ms, tokens.c.revoked_ms)
    found = select(*columns).where(tokens.c.user == user).order_by(tokens.c.created_ms.desc(), tokens.c.token)
    return [TokenRow(*row) for row in connection.execute(found)]


def revoke_token(connection: Connection, user: str, public: str, now_ms: int) -> bool:
    """End a token of this person at once; False when there is no such token in force."""
    row = (tokens.c.token == public) & (tokens.c.user == user) & tokens.c.revoked_ms.is_(None)
    return bool(connection.execute(update(tokens).where(row), {"revoked_ms": now_ms}).rowcount)


def revoke_all(connection: Connection, user: str, now_ms: int) -> None:
    """End all tokens of a person, as after a change of password."""
    row = (tokens.c.user == user) & tokens.c.revoked_ms.is_(None)
    connection.execute(update(tokens).where(row), {"revoked_ms": now_ms})


def _draw(count: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(count))


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
