"""What travels between the API and its clients: the answers of the use cases, problems, and live events."""

from dataclasses import dataclass

from starverse.service.agreements import (
    Budget,
    Licence,
    Limits,
    Offer,
    Quota,
    Reservation,
    ReservationAsk,
    Resting,
    Window,
)
from starverse.service.answers import (
    Cause,
    Cluster,
    Ended,
    Job,
    JobAsk,
    JobChanged,
    Kind,
    LogPart,
    LogText,
    Metric,
    Moment,
    Node,
    OutputFile,
    Page,
    Place,
    Posting,
    Preview,
    Price,
    Progress,
    RoleAsk,
    Run,
    Snapshot,
    Wallet,
    WalletChanged,
    Why,
)
from starverse.service.people import Account, Member, Membership, Secret, SignedIn, Token
from starverse.service.shapes import ShapeAsk

__all__ = [
    "Account",
    "Budget",
    "Cause",
    "Cluster",
    "Ended",
    "FileEntry",
    "Health",
    "Job",
    "JobAsk",
    "JobChanged",
    "Kind",
    "Licence",
    "Limits",
    "LogPart",
    "LogText",
    "Member",
    "Membership",
    "Metric",
    "Missing",
    "Moment",
    "Node",
    "Offer",
    "OutputFile",
    "Page",
    "Place",
    "Posting",
    "Preview",
    "Price",
    "Problem",
    "Progress",
    "Quota",
    "Reconnecting",
    "Reservation",
    "ReservationAsk",
    "Resting",
    "RoleAsk",
    "Run",
    "Secret",
    "ShapeAsk",
    "SignedIn",
    "Snapshot",
    "StreamEvent",
    "Token",
    "Wallet",
    "WalletChanged",
    "Why",
    "Window",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong (RFC 9457): `detail` says it in a sentence, `remedy` says what to do."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server is ready, and which version it is."""

    ready: bool
    version: str


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a submitted directory: its path in it, the sha256 of its content in hex, bytes, and mode."""

    path: str
    digest: str
    size: int
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Missing:
    """The digests that the server has not got yet."""

    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reconnecting:
    """Made by the client: the stream broke (`why`) and is tried again in `wait_s`; attempt 1 is the first."""

    attempt: int
    wait_s: float
    why: str


StreamEvent = JobChanged | Metric | LogText | Ended | WalletChanged | Reconnecting
