"""Accounts and their tokens: open one, sign in, and let go."""

import re

from sqlalchemy import Connection

from starverse.model.errors import BadInput, NotFound, NotSignedIn
from starverse.model.requests import OpenTenant
from starverse.model.units import DAY_MS, HOUR_MS, MINUTE_MS
from starverse.service.access import Actor, actor_of, tenant_of
from starverse.service.loop import heard
from starverse.service.people import SignedIn, Token
from starverse.service.platform import Platform
from starverse.store import credentials, tenants
from starverse.store.database import reading

PASSWORD_CHARACTERS_MIN = 8
EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,189}")
DEFAULT_PROJECT = "default"
OPERATOR_EMAIL = "operator@localhost"
OPERATOR_DAYS = 3650


def register(platform: Platform, email: str, password: str, address: str) -> SignedIn:
    """Open an account: person, tenant, project, wallet with the trial credit, and a token; all or nothing."""
    now_ms = platform.now_ms()
    if not EMAIL.fullmatch(email.strip()) or not email.isprintable():
        raise BadInput("That is not an e-mail address.", "Write it like ada@example.com.")
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise BadInput("The password is too short.", f"Use {PASSWORD_CHARACTERS_MIN} characters or more.")
    if not password.strip() or password.strip().lower() == email.strip().lower():
        raise BadInput("That password is too easy to guess.", "Choose another.")
    platform.rates.use(f"register {address}", platform.limits.registrations_per_hour, HOUR_MS, now_ms)
    password_hash = credentials.hash_password(password)  # before the transaction: it takes its time
    return _open(platform, email, password_hash, platform.limits.token_days, operator=False)


def log_in(platform: Platform, email: str, password: str, name: str, address: str) -> SignedIn:
    """A new token. Raises NotSignedIn for a wrong password and for an unknown address alike."""
    now_ms = platform.now_ms()
    keys = (f"login {email.strip().lower()[:254]}", f"login from {address}")
    for key, times in zip(keys, (1, 5), strict=True):  # several people may share an address
        times_max = times * platform.limits.logins_per_ten_minutes
        platform.rates.use(key, times_max, 10 * MINUTE_MS, now_ms)
    with reading(platform.database) as connection:
        user = tenants.user_by_email(connection, email)
    fits = credentials.password_fits(user.password if user else None, password)
    if user is None or not fits:
        raise NotSignedIn("The e-mail address or the password is wrong.", "Try again, or register.")
    for key in keys:
        platform.rates.forgive(key)
    token = credentials.draw_token()
    expires_ms = now_ms + platform.limits.token_days * DAY_MS
    with platform.database.begin() as connection:
        credentials.add_token(connection, token, user.user, _named(name), now_ms, expires_ms)
    return _signed_in(platform, token, expires_ms)


def make_operator(platform: Platform) -> SignedIn | None:
    """The first operator, made when a server first comes up; None if there is one already.

    The account has no password: it signs in by its token only, which is told this once.
    """
    with reading(platform.database) as connection:
        if tenants.operators(connection):
            return None
    return _open(platform, OPERATOR_EMAIL, "!", OPERATOR_DAYS, operator=True)


def new_operator_token(
    platform: Platform, name: str = "operator", lasts_ms: int = OPERATOR_DAYS * DAY_MS
) -> SignedIn:
    """Another token for the first operator; for whoever has the machine, not for the API."""
    now_ms = platform.now_ms()
    with platform.database.begin() as connection:
        operators = tenants.operators(connection)
        if not operators:
            raise NotFound("There is no operator yet.", "Start the server once: starverse up.")
        first = min(operators, key=lambda user: user.created_ms)
        token, expires_ms = credentials.draw_token(), now_ms + lasts_ms
        credentials.add_token(connection, token, first.user, name, now_ms, expires_ms)
    return _signed_in(platform, token, expires_ms)


def list_tokens(platform: Platform, actor: Actor) -> tuple[Token, ...]:
    """The caller's tokens that still work, the newest first."""
    now_ms = platform.now_ms()
    with reading(platform.database) as connection:
        rows = credentials.tokens_of(connection, actor.user)
    return tuple(
        Token(row.token, row.name, row.created_ms, row.expires_ms, row.token == actor.token_id)
        for row in rows
        if row.revoked_ms is None and row.expires_ms > now_ms
    )


def create_token(platform: Platform, actor: Actor, name: str, days: int) -> SignedIn:
    """Another token for the caller."""
    now_ms = platform.now_ms()
    platform.rates.use(f"token {actor.user}", platform.limits.registrations_per_hour, HOUR_MS, now_ms)
    token, expires_ms = credentials.draw_token(), now_ms + days * DAY_MS
    with platform.database.begin() as connection:
        credentials.add_token(connection, token, actor.user, _named(name), now_ms, expires_ms)
    return _signed_in(platform, token, expires_ms)


def revoke_token(platform: Platform, actor: Actor, token_id: str) -> None:
    """Make one of the caller's tokens worthless at once."""
    with platform.database.begin() as connection:
        if not credentials.revoke_token(connection, actor.user, token_id, platform.now_ms()):
            raise NotFound("You have no such token.", "GET /v1/tokens lists yours.")


def _open(platform: Platform, email: str, password_hash: str, days: int, *, operator: bool) -> SignedIn:
    """Write all that an account is in one transaction, and wait for the loop to open the wallet."""
    now_ms = platform.now_ms()
    user = platform.new_id("u")
    token, expires_ms = credentials.draw_token(), now_ms + days * DAY_MS
    with platform.database.begin() as connection:
        tenants.add_user(connection, user, email, password_hash, now_ms, operator=operator)
        _add_tenant(connection, platform, user, email, now_ms)
        credentials.add_token(connection, token, user, "registration", now_ms, expires_ms)
        opening = OpenTenant(tenant_of(user), platform.limits.trial_credit)
        number = platform.requests.put(connection, opening)
    heard(platform, number)
    return _signed_in(platform, token, expires_ms)


def _add_tenant(connection: Connection, platform: Platform, user: str, email: str, now_ms: int) -> None:
    tenant, project = tenant_of(user), platform.new_id("p")
    tenants.add_tenant(connection, tenant, email.strip()[:128], now_ms)
    tenants.add_project(connection, project, tenant, DEFAULT_PROJECT, now_ms)
    tenants.set_role(connection, project, user, "owner")


def _signed_in(platform: Platform, token: str, expires_ms: int) -> SignedIn:
    return SignedIn(token, credentials.public_part(token), expires_ms, actor_of(platform, token).account())


def _named(name: str) -> str:
    if len(name) > 128 or not name.isprintable():
        raise BadInput("The name is too long or not plain text.", "Use up to 128 printable characters.")
    return name
