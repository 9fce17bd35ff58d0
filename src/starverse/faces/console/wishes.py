"""What a person has filled into the form, and the ask that follows from it."""

import hashlib
import shlex
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from starverse.faces.console.more_wishes import MoreWishes
from starverse.faces.schemas import JobAsk
from starverse.model.errors import BadInput
from starverse.model.units import parse_duration_ms

WAYS = ("script", "command", "folder")

EXAMPLE = """\
import os, time

rank, cards = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
for step in range(1, 21):
    print(f"rank {rank} of {cards}: step {step}", flush=True)
    time.sleep(0.5)
"""


@dataclass
class Wishes:
    """The fields of the form as they stand. Mutable: the form writes here."""

    way: str = "script"
    script: str = EXAMPLE
    file: str = "train.py"
    arguments: str = ""
    command: str = ""
    start: str = ""
    cards: str = "1"
    kind: str = ""
    name: str = ""
    time_limit: str = ""
    priority: Any = "on-demand"
    project: str = ""
    environment: str = ""
    secrets: tuple[str, ...] = field(default=())
    more: MoreWishes = field(default_factory=MoreWishes)
    changed_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """When a field was changed last: pressed twice, the form asks for the same."""

    def ask(self, strict: bool = False, snapshot: str = "") -> JobAsk:
        """The ask. Raises BadInput for what cannot be read; unless `strict`, a command may be missing."""
        command = self._command()
        if strict and not command:
            raise BadInput(
                "There is no command to run.", "Give a Python script with its arguments, or a command."
            )
        return JobAsk(
            command=command or ("train.py",),
            cards=self.cards.strip() or "1",
            kind=self.kind,
            name=self.name.strip(),
            time_limit_ms=parse_duration_ms(self.time_limit) if self.time_limit.strip() else 0,
            snapshot=snapshot,
            environment=self._variables(),
            secrets=self.secrets,
            project=self.project,
            priority=self.priority,
            **self.more.asks(self.changed_ms),
        )

    @staticmethod
    def key(nonce: str, ask: JobAsk) -> str:
        """One key for one ask from one form: pressed twice it is one job, changed in between it is two."""
        return hashlib.sha256(nonce.encode() + msgspec.json.encode(ask)).hexdigest()[:48]

    def _command(self) -> tuple[str, ...]:
        if self.way == "script":
            return (self.file.strip() or "train.py", *_words(self.arguments))
        return _words(self.command if self.way == "command" else self.start)

    def _variables(self) -> dict[str, str]:
        variables = {}
        for line in self.environment.splitlines():
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise BadInput(f"'{text[:40]}' is not a variable.", "Write NAME=value, one a line.")
            variables[name.strip()] = value.strip()
        return variables


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BadInput(
            "A quotation mark is not closed.", "Close it, or write a backslash before it."
        ) from error
