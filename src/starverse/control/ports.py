"""The seams: what the loop needs of a world and of a journal, whoever fulfils it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from starverse.model.commands import Command
from starverse.model.events import Event
from starverse.model.requests import Request


class Asked(NamedTuple):
    """A request of a person; `id` is its row in the store (0 where nobody waits for an answer)."""

    id: int
    request: Request


class Taken(NamedTuple):
    """A request that was taken up, and why it was refused ("" when it was not)."""

    id: int
    refusal: str


Input = Event | Asked


class World(Protocol):
    """All that is outside the loop: time, people, nodes and runs."""

    def wait(self, until_ms: int | None) -> tuple[int, Sequence[Input]]:
        """The time, and all that happened by then: returns at `until_ms` (None: never) or as soon as
        anything has happened. Time never goes back. An empty answer before `until_ms` is allowed."""

    def act(self, commands: Sequence[Command]) -> None:
        """Carry out orders; what comes of them is heard later as events."""

    def survey(self, runs: Sequence[str]) -> Sequence[Event]:
        """After a restart: what became of these runs while nobody listened, as events. A run that goes
        on is adopted in silence; one that never started says nothing (its order is sent again)."""


class Journal(Protocol):
    """The memory of the loop, append-only."""

    def append(self, heard_ms: int, events: Sequence[Event], taken: Sequence[Taken]) -> None:
        """Make the events, the postings in them and the requests they answer durable in one transaction.

        Raises StaleEpoch when another server has taken over.
        """


class Source(Protocol):
    """A part of the live world that things are heard from."""

    def poll(self, now_ms: int) -> Sequence[Input]:
        """All that is new since the last call; never blocks for long."""


class Engine(Source, Protocol):
    """What starts and stops runs on real nodes."""

    def act(self, command: Command) -> None:
        """Carry out one order; idempotent."""

    def survey(self, runs: Sequence[str], now_ms: int) -> Sequence[Event]:
        """See World.survey."""
