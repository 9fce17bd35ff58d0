"""Who is signed in at which browser: tokens stay here, a browser has only a random cookie."""

import hashlib
import os
import secrets
import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from starverse.faces.client import Client
from starverse.faces.console.words import Language
from starverse.faces.schemas import SignedIn

SESSIONS_MAX = 1000
CLIENTS_MAX = 100
"""Sessions that keep connections to the API open; those of the others are opened again when needed."""

TICKET_S = 60.0
API_TIMEOUT_S = 10.0
SEEN_EVERY_MS = 3_600_000

Look = Literal["auto", "light", "dark"]


class Person(msgspec.Struct):
    """What a person likes; kept from one session to the next."""

    language: Language | Literal[""] = ""
    look: Look = "auto"


class Row(msgspec.Struct):
    """A session as it is kept: `key` is the hash of the cookie, so the file opens no browser's session."""

    key: str
    token: str
    token_id: str
    user: str
    email: str
    operator: bool
    expires_ms: int
    seen_ms: int


class _File(msgspec.Struct):
    sessions: list[Row] = []
    people: dict[str, Person] = {}


class Session:
    """One browser that is signed in. Mutable owner of its client and of a form half filled in."""

    def __init__(self, api: str, row: Row, person: Person) -> None:
        self.row = row
        self.person = person
        self.draft: dict[str, Any] = {}
        self._api = api
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The client for ordinary calls; it blocks, so call it on a thread."""
        if self._client is None:
            self._client = self.new_client()
        return self._client

    def new_client(self) -> Client:
        """A client of one's own, for a stream."""
        return Client(self._api, self.row.token, API_TIMEOUT_S)

    def let_go(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None


class Sessions:
    """All sessions of this console, kept in one file that only its owner reads."""

    def __init__(self, api: str, folder: Path) -> None:
        self.api = api
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / "sessions.json"
        kept = _read(self._path)
        self._people = kept.people
        self._sessions = {row.key: self._session(row) for row in kept.sessions if row.expires_ms > _now_ms()}
        self._tickets: dict[str, tuple[SignedIn, float]] = {}

    def of(self, cookie: str) -> Session | None:
        """The session of a browser, if it is signed in."""
        session = self._sessions.get(_key(cookie)) if cookie else None
        if session is None:
            return None
        now_ms = _now_ms()
        if session.row.expires_ms <= now_ms:
            self.forget(session)
            return None
        if now_ms - session.row.seen_ms > SEEN_EVERY_MS:
            session.row.seen_ms = now_ms
            self._save()
        return session

    def ticket(self, signed_in: SignedIn) -> str:
        """Something to exchange once, within a minute, for a session: how a cookie is set for a live page."""
        now_s = time.monotonic()
        self._tickets = {name: it for name, it in self._tickets.items() if it[1] > now_s}
        name = secrets.token_urlsafe(32)
        self._tickets[name] = (signed_in, now_s + TICKET_S)
        return name

    def redeem(self, ticket: str) -> str:
        """The cookie of a new session for a ticket; "" for one that is unknown, used or old."""
        signed_in, until_s = self._tickets.pop(ticket, (None, 0.0))
        if signed_in is None or until_s < time.monotonic():
            return ""
        cookie = secrets.token_urlsafe(32)
        account = signed_in.account
        row = Row(
            _key(cookie),
            signed_in.token,
            signed_in.token_id,
            account.user,
            account.email,
            account.operator,
            signed_in.expires_ms,
            _now_ms(),
        )
        self._sessions[row.key] = self._session(row)
        self._bound()
        self._save()
        return cookie

    def forget(self, session: Session) -> None:
        """Sign a browser out here; its token is revoked by the API, not by this."""
        if self._sessions.pop(session.row.key, None):
            session.let_go()
            self._save()

    def like(self, session: Session, language: Language | None = None, look: Look | None = None) -> None:
        """Remember what a person likes."""
        person = self._people.setdefault(session.row.user, session.person)
        person.language = language or person.language
        person.look = look or person.look
        self._save()

    def _session(self, row: Row) -> Session:
        return Session(self.api, row, self._people.get(row.user) or Person())

    def _bound(self) -> None:
        by_age = sorted(self._sessions.values(), key=lambda session: session.row.seen_ms)
        for session in by_age[: max(0, len(by_age) - SESSIONS_MAX)]:
            del self._sessions[session.row.key]
            session.let_go()
        for session in by_age[: max(0, len(by_age) - CLIENTS_MAX)]:
            session.let_go()

    def _save(self) -> None:
        rows = [session.row for session in self._sessions.values()]
        users = {row.user for row in rows}
        people = {
            user: person for user, person in self._people.items() if user in users or person != Person()
        }
        half = self._path.with_suffix(".new")
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(_File(rows, people)))
        half.replace(self._path)


def _read(path: Path) -> _File:
    """What was kept; nothing if it cannot be read, which only means that everybody signs in again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError):
        return _File()


def _key(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _now_ms() -> int:
    return int(time.time() * 1000)
