"""Reads what happens in a case at which time, and what is expected to come of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.errors import BadInput
from starverse.model.job import Outcome
from starverse.model.names import shown
from starverse.model.units import YUAN
from starverse.twin.case import CaseJob, Expect, Lies, Moment, Together
from starverse.twin.case_limits import read_limits
from starverse.twin.tables import (
    Table,
    decimal,
    each_of,
    moment_ms,
    names_in,
    one_of,
    texts,
    whole,
)

AT_NOT_YET = {
    "resize": "a gang's size cannot be changed while it runs.",
    "lend": "tenants cannot lend one another cards.",
    "edit": "a job that waits cannot be changed.",
}


class Reader(NamedTuple):
    """All that names in a moment may stand for; `known` are the nodes of all times."""

    start_ms: int
    layout: ev.LayoutSet
    nodes: tuple[ev.NodeJoined, ...]
    known: Mapping[str, ev.NodeJoined]
    jobs: Mapping[str, CaseJob]
    tenants: Mapping[str, int]
    booked: tuple[str, ...] = ()

    def level(self, name: str, where: str) -> str:
        """The name of a level."""
        return one_of(name, where, (*self.layout.levels, "node"))


def arrays_and(jobs: Mapping[str, CaseJob]) -> tuple[str, ...]:
    """The names of jobs, and of the arrays that they are of."""
    return tuple(
        dict.fromkeys(name for job in jobs.values() for name in (job.spec.array, job.spec.job) if name)
    )


def read_moments(
    rows: Sequence[Table], joining: Sequence[tuple[ev.NodeJoined, ...]], reader: Reader
) -> tuple[Moment, ...]:
    """What happens when, in order of time; what stands first at one time happens first."""
    moments = [_moment(row, joined, reader) for row, joined in zip(rows, joining, strict=True)]
    return tuple(sorted(moments, key=lambda moment: moment.at_ms))


def _moment(row: Table, joined: tuple[ev.NodeJoined, ...], reader: Reader) -> Moment:
    at_ms = row.moment_ms("time", reader.start_ms, -1)
    if at_ms < 0:
        raise row.bad("time", "this must be said.", 'Write time = "10m", so long after the start.')
    known = reader.known

    def nodes(key: str) -> tuple[str, ...]:
        return names_in(row.texts(key), row.of(key), known, "node")

    def jobs(key: str) -> tuple[str, ...]:
        return names_in(row.texts(key), row.of(key), reader.jobs, "job")

    events: list[ev.Event] = [*joined]
    if row.flag("same_layout_again"):
        events += [reader.layout, *reader.nodes]
    events += [ev.NodeLost(node, at_ms, "it was lost") for node in nodes("lost")]
    events += [known[node] for node in nodes("back")]
    events += [ev.CardHealthChanged(*card, False, "it broke") for card in _cards(row, "broken", reader)]
    events += [ev.CardHealthChanged(*card, True, "it was repaired") for card in _cards(row, "healed", reader)]
    money = each_of(row.table("top_up"), lambda value, where: decimal(value, where, YUAN))
    for tenant in money:
        one_of(tenant, row.of("top_up"), tuple(reader.tenants))
    requests: list[rq.Request] = [rq.CordonNode(node) for node in nodes("cordon")]
    requests += [rq.CordonNode(node, drain=True) for node in nodes("drain")]
    requests += [rq.UncordonNode(node) for node in nodes("uncordon")]
    stopped = names_in(row.texts("stop"), row.of("stop"), arrays_and(reader.jobs), "job")
    requests += [rq.StopJob(job) for job in stopped]
    requests += [rq.ResumeJob(job) for job in jobs("resume")]
    requests += [rq.TopUp(tenant, amount) for tenant, amount in money.items()]
    requests += [
        rq.RemoveQuota(each)
        for each in names_in(row.texts("no_quota"), row.of("no_quota"), reader.tenants, "tenant")
    ]
    requests += read_limits(row)
    killed, restart = jobs("kill"), row.flag("restart")
    expect = read_expect(row.table("expect"), reader)
    row.done()
    return Moment(at_ms, restart, tuple(events), killed, tuple(requests), expect)


def _cards(row: Table, key: str, reader: Reader) -> list[tuple[str, int]]:
    found = []
    for name, cards in row.table(key).raw_items():
        where = row.of(key)
        for node in names_in((name,), where, reader.known, "node"):
            most = reader.known[node].cards - 1
            listed = cards if isinstance(cards, list) else [cards]
            found += [(node, whole(card, where, 0, most)) for card in listed]
    return found


# -- what is expected -------------------------------------------------------------------------------------


def read_expect(table: Table, reader: Reader) -> Expect | None:
    """What should be true; None where nothing is asked for."""
    if not table.keys:
        return None

    def of_jobs(
        key: str, read: Callable[[Any, str], Any], plain: Any = None, others: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """A value for each job (or of the others); with `plain`, a list of jobs gives that to each."""
        value = table.raw(key, {})
        if plain is not None and not isinstance(value, dict):
            value = dict.fromkeys(texts(value, table.of(key)))
        found = {}
        for pattern, each in Table(value, table.of(key)).raw_items():
            what = plain if each is None else read(each, f"{table.of(key)}.{pattern}")
            for name in names_in((pattern,), table.of(key), {*reader.jobs, *others}, "job"):
                found[name] = what
        return found

    def when(value: Any, where: str) -> int:
        return 0 if value in ("never", "none") else moment_ms(value, where, reader.start_ms)

    def jobs(key: str) -> tuple[str, ...]:
        return names_in(table.texts(key), table.of(key), reader.jobs, "job")

    def lies(value: Any, where: str) -> Lies:
        return _lies(value, where, reader)

    outcomes = get_args(Outcome)
    arrays = arrays_and(reader.jobs)
    wallet = each_of(table.table("wallet"), lambda value, where: decimal(value, where, YUAN))
    for tenant in wallet:
        one_of(tenant, table.of("wallet"), tuple(reader.tenants))
    largest = each_of(table.table("largest_free"), whole)
    for level in largest:
        reader.level(level, table.of("largest_free"))
    expect = Expect(
        of_jobs("running", lies, Lies()),
        tuple(_together(row, reader) for row in table.tables("together", 1_000)),
        of_jobs("waiting", texts, ()),
        of_jobs("ended", lambda value, where: one_of(value, where, outcomes)),
        of_jobs("refused", lambda value, where: texts(value, where)[0], None, (*reader.booked, *arrays)),
        of_jobs("starts", when),
        of_jobs("starts_by", when),
        of_jobs("promised", when),
        of_jobs("promised_by", when),
        jobs("never_later"),
        jobs("in_order"),
        of_jobs("runs", whole),
        table.whole("free", 0) if table.has("free") else None,
        largest,
        of_jobs("card_hours", lambda value, where: decimal(value, where, 3_600)),
        wallet,
    )
    table.done()
    return expect


def _together(row: Table, reader: Reader) -> Together:
    jobs = names_in(row.texts("jobs"), row.of("jobs"), reader.jobs, "job")
    together = Together(jobs, _lies_in(row, reader))
    row.done()
    return together


def _lies(value: Any, where: str, reader: Reader) -> Lies:
    if value is True:
        return Lies()
    if isinstance(value, str | list):
        return Lies(names_in(texts(value, where), where, reader.known, "node"))
    table = Table(value, where)
    lies = _lies_in(table, reader)
    table.done()
    return lies


def _lies_in(table: Table, reader: Reader) -> Lies:
    def nodes(key: str) -> tuple[str, ...]:
        return names_in(table.texts(key), table.of(key), reader.known, "node")

    at_most = each_of(table.table("at_most"), whole)
    if table.has("within"):
        at_most[table.text("within")] = 1
    split = each_of(table.table("split"), _counts)
    for level in (*at_most, *split):
        reader.level(level, table.where)
    return Lies(
        nodes("nodes"),
        table.whole("cards", 0),
        nodes("on"),
        nodes("off"),
        tuple(at_most.items()),
        tuple(split.items()),
    )


def _counts(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise BadInput(f"{where}: {shown(value)} is no list of cards.", "Write it like [12, 12, 12].")
    return tuple(sorted((whole(each, where) for each in value), reverse=True))
