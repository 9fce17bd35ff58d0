"""The golden journals: a day of the twin in which everything happens, as each release wrote it.

Anew for the release to come (0.2) as often as its events change, and never again once it is out:

    PYTHONPATH=src:. python -m tests.store.golden 0.2

writes `tests/golden/journal-0.2.jsonl`, a row of the journal a line, and `journal-0.2.state.json`, what it
folds to. A later version folds it to the same; where State has new fields, look at what the test shows and,
when it is right, run the same with `--state`, which writes only the second file anew.
"""

import sys
from pathlib import Path

import msgspec
from msgspec import Struct
from tests.store import lives
from tests.store.lives import START_MS, Day, Wish

from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.reservation import Reservation
from starverse.model.units import DAY_MS, HOUR_MS, MINUTE_MS, YUAN
from starverse.money.lease import LeaseTerms
from starverse.store import chain
from starverse.store.raising import raised
from starverse.twin.world import ListJournal

FOLDER = Path(__file__).parent.parent / "golden"


class Line(Struct, frozen=True):
    """A row as the file has it; `body` is kept byte for byte."""

    seq: int
    heard_ms: int
    tag: str
    job: str | None
    chain: str
    body: msgspec.Raw


BOOKED = Reservation("later", "ada", "cpu", 7_000, START_MS + 9 * DAY_MS, START_MS + 10 * DAY_MS)

THE_DAY = Day(
    (
        Wish(0, "ada", (2, 2), ((30 * MINUTE_MS, "exit", 0),)),
        Wish(1, "ada", (1, 4), ((3 * HOUR_MS, "exit", 0),)),  # shot on purpose, then it gets to its end
        Wish(2, "bo", (2, 2), ((HOUR_MS, "exit", 1), (MINUTE_MS, "signal", 11), (MINUTE_MS, "exit", 1))),
        Wish(
            3, "bo", (1, 1), ((5 * HOUR_MS, "exit", 0),), price=400 * lives.PRICE
        ),  # more than its wallet has
        Wish(MINUTE_MS, "bo", (1, 1), ((DAY_MS, "exit", 0),), time_limit_ms=HOUR_MS),
        Wish(HOUR_MS, "ada", (8, 8), ((HOUR_MS, "exit", 0),)),  # waits, and is stopped before it starts
        Wish(3 * HOUR_MS, "ada", (1, 1), ((5 * HOUR_MS, "exit", 0),)),  # is stopped while it runs
        Wish(
            3 * HOUR_MS, "bo", (1, 1), ((MINUTE_MS, "exit", 86), (MINUTE_MS, "exit", 0))
        ),  # finds the disk full
        Wish(9 * HOUR_MS, "bo", (2, 2), ((9 * HOUR_MS, "exit", 0),)),  # still runs when the day ends
    ),
    (
        (2 * MINUTE_MS, ev.RunResumed("j-0001.0", 1, START_MS + 2 * MINUTE_MS)),
        (3 * MINUTE_MS, ev.CheckpointSaved("j-0001.0", 100, START_MS + 3 * MINUTE_MS)),
        (4 * MINUTE_MS, rq.InjectFault("j-0001.0", 0, "op")),  # before it shrinks for those that wait
        (5 * MINUTE_MS, ev.RunResumed("j-0001.1", 101, START_MS + 5 * MINUTE_MS)),
        (40 * MINUTE_MS, rq.CordonNode("n1", "op", drain=True)),
        (50 * MINUTE_MS, rq.UncordonNode("n1", "op")),
        (55 * MINUTE_MS, ev.CardHealthChanged("n1", 3, False, "ecc errors")),
        (56 * MINUTE_MS, rq.SetQuota("ada", guaranteed=8_000)),
        (56 * MINUTE_MS, rq.SetQuota("lab", guaranteed=1_000)),
        (57 * MINUTE_MS, rq.RemoveQuota("lab")),
        (57 * MINUTE_MS, rq.SetLicences("solver", 2)),
        (58 * MINUTE_MS, rq.SetBudget("busbar", 10_000_000)),
        (60 * MINUTE_MS, rq.Reserve(BOOKED)),  # all cards, so that a lost node is missed
        (70 * MINUTE_MS, rq.TopUp("bo", 5 * YUAN, "bank transfer 42")),
        (80 * MINUTE_MS, rq.StopJob("j-0005", "ada")),
        (90 * MINUTE_MS, ev.NodeLost("n2", START_MS + 90 * MINUTE_MS, "power")),
        (95 * MINUTE_MS, ev.NodeJoined("n2", "cpu", 4)),
        (100 * MINUTE_MS, ev.CardHealthChanged("n1", 3, True)),
        (3 * HOUR_MS, rq.CancelReservation("later", "ada")),
        (4 * HOUR_MS, rq.StopJob("j-0006", "ada")),
        (4 * HOUR_MS, rq.ResumeJob("j-0007", "bo")),
        (4 * HOUR_MS, rq.SetPrice("cpu", 2 * lives.PRICE, START_MS + DAY_MS)),
    ),
    LeaseTerms(HOUR_MS),
    (
        ev.LayoutSet(("pod", "rack"), "rack", (2, 1)),
        ev.NodeJoined("n1", "cpu", 4, ("p1", "r1"), (0, 0), 32_000, 131_072, (("nic", 2),)),
        ev.NodeJoined("n2", "cpu", 4, ("p1", "r2"), (1, 0), 32_000, 131_072),
    ),
)


def written() -> tuple[list[Line], bytes]:
    """The day as it would be written now, up to the moment before its last run ends, and what it folds to."""
    journal = ListJournal()
    lives.live(THE_DAY, journal, State(terms=THE_DAY.terms), 1)
    last = max(n for n, (_, event) in enumerate(journal.rows) if type(event) is ev.LeaseRenewed)
    until_ms = journal.rows[last][0]
    lines, link = [], chain.START
    for seq, (heard_ms, event) in enumerate(journal.rows, 1):
        if heard_ms <= until_ms:
            *_, tag, job, body, link = chain.write(link, seq, heard_ms, event)
            lines.append(Line(seq, heard_ms, tag, job, link.hex(), msgspec.Raw(body.encode())))
    return lines, folded(lines)


def folded(lines: list[Line]) -> bytes:
    state = State()
    for line in lines:
        state.apply(raised(line.tag, bytes(line.body).decode()), line.heard_ms)
    return readable(state.snapshot())


def readable(snapshot: bytes) -> bytes:
    """The same, a line for each value, so that a difference can be seen."""
    return msgspec.json.format(snapshot, indent=1) + b"\n"


def read(release: str) -> list[Line]:
    body = (FOLDER / f"journal-{release}.jsonl").read_bytes()
    return msgspec.json.Decoder(Line).decode_lines(body)


def releases() -> list[str]:
    return sorted(path.stem.removeprefix("journal-") for path in FOLDER.glob("journal-*.jsonl"))


def main(release: str, *options: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines, state = (read(release), b"") if "--state" in options else written()
    if "--state" not in options:
        (FOLDER / f"journal-{release}.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(lines))
    (FOLDER / f"journal-{release}.state.json").write_bytes(state or folded(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
