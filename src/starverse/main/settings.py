"""What an operator can choose, from HOME/starverse.toml; every choice has a default that works."""

import os
import re
from difflib import get_close_matches
from pathlib import Path

import msgspec
from msgspec import Struct

from starverse.control.requests import PRICE_MAX, TOP_UP_MAX
from starverse.model.errors import BadInput
from starverse.model.units import DAY_MS, HOUR_MS, SECOND_MS, YUAN
from starverse.money.lease import LeaseTerms


class Keep(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept on the disk, 0 for ever: `runs` are logs and reports of ended jobs, `outputs` their
    checkpoints and output; `snapshots` what was submitted and nobody needs or sends any more."""

    runs_days: int = 30
    runs_gb: int = 20
    outputs_days: int = 0
    snapshots_days: int = 30


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The settings file: times in milliseconds, money in micro-yuan, as everywhere.

    `cards` 0 means all this machine has. `prices` are micro-yuan per card-hour by kind, set at a first start.
    """

    host: str = "127.0.0.1"
    port: int = 8701
    console_port: int = 8700
    console: bool = True
    names: tuple[str, ...] = ()
    database: str = ""
    node: str = ""
    cards: int = 0
    trial_credit: int = 10 * YUAN
    prices: dict[str, int] = {}
    lease: LeaseTerms = LeaseTerms()
    snapshot_every: int = 5_000
    keep: Keep = Keep()


RANGES: dict[str, tuple[int, int]] = {
    "port": (1, 65_535),
    "console_port": (1, 65_535),
    "cards": (0, 4096),
    "trial_credit": (0, TOP_UP_MAX),
    "snapshot_every": (1, 1_000_000),
    "lease.window_ms": (SECOND_MS, 7 * DAY_MS),
    "lease.least_ms": (SECOND_MS, DAY_MS),
    "lease.grace_ms": (0, HOUR_MS),
    "keep.runs_days": (0, 3650),
    "keep.runs_gb": (0, 1_000_000),
    "keep.outputs_days": (0, 3650),
    "keep.snapshots_days": (0, 3650),
}
"""What each number may be, first and last included; beyond these lie slips of the keyboard."""


def home_of(given: Path | None = None) -> Path:
    """Where the server keeps all it has: the argument, else STARVERSE_HOME, else ~/.local/share/starverse."""
    if given is None:
        given = Path(os.environ.get("STARVERSE_HOME") or "~/.local/share/starverse")
    return given.expanduser().resolve()


def read_settings(home: Path) -> Settings:
    """The settings of a home. Raises BadInput that names the key and what would be right."""
    path = home / "starverse.toml"
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    try:
        settings = msgspec.toml.decode(text, type=Settings)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path}: {_plain(str(error))}.", "Mend it, or remove it for the defaults.") from None
    check(settings, str(path))
    return settings


def check(settings: Settings, source: str) -> None:
    """Raises BadInput that names the first key whose value is out of its range, and the range."""
    for name, (least, most) in RANGES.items():
        place, _, key = name.rpartition(".")
        value = getattr(getattr(settings, place) if place else settings, key)
        _within(source, name, value, least, most)
    for name in settings.names:
        if not re.fullmatch(r"[A-Za-z0-9.-]{1,253}", name):
            raise BadInput(
                f"{source}: names has '{name[:60]}'.", "Write host names alone, like sv.example.org."
            )
    for kind, price in settings.prices.items():
        _within(source, f"prices.{kind[:64]}", price, 0, PRICE_MAX)
    if settings.console and settings.port == settings.console_port:
        raise BadInput(f"{source}: port and console_port are both {settings.port}.", "Give each its own.")


def _within(source: str, name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise BadInput(f"{source}: {name} is {value:,}.", f"Give {least:,} to {most:,}.")


def _plain(message: str) -> str:
    unknown = message.partition("unknown field `")[2].partition("`")[0]
    near = get_close_matches(unknown, Settings.__struct_fields__, n=1) if unknown else []
    return message + (f" (did you mean `{near[0]}`?)" if near else "")
