"""Who somebody is and what they may see: the answers of the use cases about people."""

from dataclasses import dataclass

from starverse.model.tenant import Role


@dataclass(frozen=True, slots=True)
class Membership:
    """A project the account belongs to, and as what."""

    project: str
    name: str
    tenant: str
    role: Role


@dataclass(frozen=True, slots=True)
class Account:
    """Who a token speaks for; the first project is the one meant when none is named."""

    user: str
    email: str
    operator: bool
    projects: tuple[Membership, ...]


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new token, shown this once, and whom it speaks for."""

    token: str
    token_id: str
    expires_ms: int
    account: Account


@dataclass(frozen=True, slots=True)
class Token:
    """A token as lists show it: never the secret part."""

    token_id: str
    name: str
    created_ms: int
    expires_ms: int
    current: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a project."""

    user: str
    email: str
    role: Role


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret as lists show it: never its value."""

    name: str
    created_ms: int
