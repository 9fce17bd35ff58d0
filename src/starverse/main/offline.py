"""What can be done with a home from the machine it lies on, whether its server runs or not."""

import sys
from collections.abc import Callable
from pathlib import Path

from starverse.control.state import State
from starverse.engines.clock import wall_ms
from starverse.main.settings import Settings, home_of, read_settings
from starverse.model.errors import NotFound, Refused
from starverse.service import accounts
from starverse.service.platform import Platform, T
from starverse.store.backup import RESTORED_FILE, backup, restore
from starverse.store.blobs import Blobs
from starverse.store.database import DATABASE_FILE, home_url, open_database
from starverse.store.journal import SqlJournal
from starverse.store.requests import Requests

BEFORE_THE_START = (
    "Before you start a server here, stop the one it was saved from, if that still runs: else both would run "
    "the same jobs and charge for them. Then: starverse up --take-over"
)
HOW_TO_SIGN_IN = (
    "Whoever has this token operates the server; it is shown this once. Paste it into "
    "`starverse login --token-stdin`, or set STARVERSE_TOKEN to it where a script runs."
)


def offline_platform(home: Path, settings: Settings) -> Platform:
    """A platform whose loop turns elsewhere, or nowhere: what needs an answer of it is refused."""
    database = open_database(settings.database or home_url(home))
    return Platform(
        database=database,
        requests=Requests(database, wall_ms),
        blobs=Blobs(home),
        ask=_refuse,
        home=home,
        now_ms=wall_ms,
        isolation="",
        accepts_foreign=False,
    )


def _refuse(question: Callable[[State], T], /) -> T:
    raise Refused("The loop does not turn in this process.", "Ask the server.")


def backup_home(given: Path | None, file: Path, *, force: bool) -> None:
    """`starverse backup`."""
    home, settings = _existing(given)
    database = open_database(settings.database or home_url(home))
    try:
        size = backup(home, database, file, force=force)
    finally:
        database.dispose()
    print(f"Saved {home} to {file} ({size:,} bytes).")


def restore_home(given: Path | None, file: Path, *, replace: bool) -> None:
    """`starverse restore`."""
    home = home_of(given)
    rows = restore(home, file, replace=replace)
    print(f"Restored {home} from {file}; all {rows:,} rows of its journal are sound.")
    if (home / RESTORED_FILE).exists():
        print(BEFORE_THE_START)


def verify_journal(given: Path | None) -> None:
    """`starverse journal verify`."""
    home, settings = _existing(given)
    rows = SqlJournal(open_database(settings.database or home_url(home))).verify()
    print(f"All {rows:,} rows are sound; the ledger agrees with them and sums to zero.")


def print_operator_token(given: Path | None) -> None:
    """`starverse operator token`."""
    home, settings = _existing(given)
    print(accounts.new_operator_token(offline_platform(home, settings)).token, flush=True)
    print(HOW_TO_SIGN_IN, file=sys.stderr)


def _existing(given: Path | None) -> tuple[Path, Settings]:
    home = home_of(given)
    settings = read_settings(home)
    if not settings.database and not (home / DATABASE_FILE).exists():
        raise NotFound(
            f"There is no server's home in {home}.", "Name it with --home, or start one: starverse up."
        )
    return home, settings
