"""Reads a case from a TOML file: docs/cases.md says what may stand in it."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from starverse.model import events as ev
from starverse.model.array import parse_array
from starverse.model.errors import BadInput
from starverse.model.job import (
    RETRIES_DEFAULT,
    TIME_LIMIT_DEFAULT_MS,
    After,
    JobSpec,
    Priority,
    Role,
    Shape,
    Slice,
    member_of,
)
from starverse.model.names import NAMES_MAX, Pattern, nearest, shown
from starverse.model.units import CARD, CARDS_MAX, HOUR_MS, YUAN, parse_cards
from starverse.train.contract import EXIT_DONE
from starverse.twin.case import Case, CaseJob, Expect
from starverse.twin.case_limits import read_limits, read_reservations, read_tenants
from starverse.twin.case_moments import AT_NOT_YET, Reader, arrays_and, read_expect, read_moments
from starverse.twin.tables import (
    Table,
    counted,
    each_of,
    filled,
    one_of,
    whole,
)
from starverse.twin.world import Fate

BYTES_MAX = 1 << 20
JOBS_MAX = 10_000
NODE_CARDS_MAX = 1_024
START_MS = round(datetime(2026, 1, 5, 12, tzinfo=UTC).timestamp() * 1000)
"""When a case begins that says nothing: noon of a Monday."""

NOT_YET = {
    "prices": "prices do not change in a case.",
}
JOB_NOT_YET = {"cron": "jobs cannot be submitted by a calendar."}

OUTCOMES: dict[str, tuple[Any, int]] = {
    "done": ("exit", EXIT_DONE),
    "failed": ("exit", 1),
    "killed": ("signal", 9),
    "vanished": ("lost", 0),
    "unstarted": ("unstarted", 0),
}
"""What a run may come to, as how and code of its end."""


def read(path: Path) -> Case:
    """The case in a file. Raises BadInput, naming key and remedy, for what makes no sense."""
    try:
        if path.stat().st_size > BYTES_MAX:
            raise BadInput(f"{path} is too large for a case.", "Write fewer lines: n[1-8] names eight nodes.")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text.", "Write it in UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", "Name the file of a case.") from None
    try:
        return parse(text)
    except BadInput as error:
        raise type(error)(f"{path}: {error.what}", error.remedy) from None


def parse(text: str) -> Case:
    """The case that a text says. Raises BadInput, naming key and remedy."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"this is no valid TOML: {error}.", 'Text stands in "quotes".') from None
    table = Table(found, "", NOT_YET)
    start_ms = table.moment_ms("start", 0, START_MS)
    cluster = Table(table.raw("cluster", {}), "cluster")
    layout = _layout(cluster)
    nodes = read_nodes(cluster, "nodes", layout)
    cluster.done()
    if not nodes:
        raise BadInput("cluster.nodes: there are no nodes.", 'Write nodes = [{name = "n[1-4]", cards = 8}].')
    tenants, limits = read_tenants(table)
    limits += read_limits(table)
    booked, asks = read_reservations(
        table, start_ms, nodes[0].kind, lambda row, cards: _shape(row, layout, cards, cards)
    )
    jobs = _jobs(table, start_ms, layout, nodes[0].kind)
    for job in jobs.values():
        tenants.setdefault(job.spec.tenant, 0)
        if job.spec.reservation and job.spec.reservation not in booked:
            what = f"jobs: {job.spec.job} runs in {shown(job.spec.reservation)}, which is not here."
            raise BadInput(what, nearest(job.spec.reservation, booked))
    for name, tenant in booked.items():
        tenants.setdefault(tenant, 0)
        if name in jobs:
            raise BadInput(f"reservations: a job has the name {shown(name)} as well.", "Rename one.")
    rows = table.tables("at", 1_000, AT_NOT_YET)
    known = {node.node: node for node in nodes}
    joining = [read_nodes(row, "join", layout) for row in rows]
    for node in (node for joined in joining for node in joined):
        known.setdefault(node.node, node)
    reader = Reader(start_ms, layout, nodes, known, jobs, tenants, tuple(booked))
    moments = read_moments(rows, joining, reader)
    case = Case(
        table.text("title", "A case"),
        start_ms,
        table.moment_ms("until", start_ms, 0),
        layout,
        nodes,
        tenants,
        jobs,
        (*((start_ms, limit) for limit in limits), *asks),
        moments,
        read_expect(table.table("expect"), reader) or Expect(),
        table.text("about"),
        table.text("needs"),
        table.text("bug"),
    )
    table.done()
    return case


# -- the cluster ------------------------------------------------------------------------------------------


def _layout(cluster: Table) -> ev.LayoutSet:
    levels = cluster.texts("levels")
    if len(set(levels)) < len(levels) or not all(levels) or "node" in levels:
        raise cluster.bad("levels", "each needs a name of its own, and node is known.", "Name others.")
    if not cluster.has("torus"):
        return ev.LayoutSet(levels)
    torus = cluster.table("torus")
    level = one_of(torus.name("level"), torus.of("level"), levels)
    sizes = torus.raw("size", [])
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3:
        raise torus.bad(
            "size", f"{shown(sizes)} is no size of a torus.", "Write one to three, like [4, 4, 4]."
        )
    size = tuple(whole(each, torus.of("size"), 1, 1_000) for each in sizes)
    torus.done()
    return ev.LayoutSet(levels, level, size)


def read_nodes(table: Table, key: str, layout: ev.LayoutSet) -> tuple[ev.NodeJoined, ...]:
    """The nodes of a list, each entry one or many of a kind."""
    found: dict[str, ev.NodeJoined] = {}
    for row in table.tables(key, 10_000):
        for node in _nodes_of(row, layout):
            if node.node in found or len(found) >= NAMES_MAX:
                raise row.bad("name", f"{shown(node.node)} is there twice, or one too many.", "Rename it.")
            found[node.node] = node
    return tuple(found.values())


def _nodes_of(row: Table, layout: ev.LayoutSet) -> list[ev.NodeJoined]:
    name, count = row.name("name"), row.whole("count", 1, 1, NAMES_MAX)
    pattern = Pattern(counted(name, count) if row.has("count") and "[" not in name else name, row.of("name"))
    cards, kind = row.whole("cards", 8, 1, NODE_CARDS_MAX), row.text("kind", "h200")
    place, at = row.raw("place", []), row.raw("at", [])
    milli_cpu, memory_mb = row.decimal("cpu", 0, 1000), row.whole("memory_mb", 0)
    resources = tuple(each_of(row.table("resources"), whole).items())
    feeds, card_mw = row.texts("feeds"), row.decimal("card_watts", 0, 1000)
    row.done()
    place = [place] if isinstance(place, str) else place
    if not isinstance(place, list) or len(place) > len(layout.levels):
        raise row.bad(
            "place",
            f"{shown(row.raw('place'))} names no domains.",
            "Name one for each level, outermost first.",
        )
    if not isinstance(at, list) or len(at) != len(layout.torus):
        raise row.bad(
            "at", f"{shown(at)} is no place on the torus.", "Write one number for each of its axes."
        )
    nodes = []
    for node, groups in zip(pattern.names, pattern.groups, strict=True):
        domains = tuple(filled(each, groups, row.of("place")) for each in place)
        axes = tuple(_axis(filled(each, groups, row.of("at")), row.of("at")) for each in at)
        if any(axis >= size for axis, size in zip(axes, layout.torus, strict=True)):
            raise row.bad("at", f"{axes} lies outside of the torus.", "Count from 0.")
        hangs_on = tuple(filled(each, groups, row.of("feeds")) for each in feeds)
        nodes.append(
            ev.NodeJoined(
                node, kind, cards, domains, axes, milli_cpu, memory_mb, resources, hangs_on, card_mw
            )
        )
    return nodes


def _axis(text: str, where: str) -> int:
    return whole(int(text) if text.isdecimal() and len(text) < 7 else text, where)


# -- jobs -------------------------------------------------------------------------------------------------


def _jobs(table: Table, start_ms: int, layout: ev.LayoutSet, kind: str) -> dict[str, CaseJob]:
    jobs: dict[str, CaseJob] = {}
    for row in table.tables("jobs", JOBS_MAX, JOB_NOT_YET):
        names = Pattern(row.name("name"), row.of("name")).names
        submit_ms = row.moment_ms("submit", start_ms, start_ms)
        every_ms = row.duration_ms("every", 0)
        job = _job(row, names[0], start_ms, layout, kind)
        indices, limit = _array(row)
        row.done()
        for n, name in enumerate(names):
            spec = replace(job.spec, job=name, array_limit=limit)
            for each in [member_of(spec, index) for index in indices] or [spec]:
                if each.job in jobs or len(jobs) >= JOBS_MAX or "." in name:
                    remedy = f"Give each of at most {JOBS_MAX:,} jobs a name of its own, without a dot."
                    raise row.bad("name", f"{shown(each.job)} is there twice, or not possible.", remedy)
                jobs[each.job] = CaseJob(each, submit_ms + n * every_ms, job.fates, job.saves)
    known = arrays_and(jobs)
    for name, job in jobs.items():
        for after in job.spec.after:
            if after.job not in known:
                raise BadInput(
                    f"jobs: {name} waits for {after.job}, which is not here.", nearest(after.job, known)
                )
    return jobs


def _array(row: Table) -> tuple[tuple[int, ...], int]:
    """The indices of an array, and its limit; none where it is no array."""
    if not row.has("array"):
        return (), 0
    try:
        return parse_array(row.text("array"))
    except BadInput as error:
        raise row.bad("array", error.what, error.remedy) from None


def _job(row: Table, name: str, start_ms: int, layout: ev.LayoutSet, kind: str) -> CaseJob:
    roles = tuple(Role(name, cards) for name, cards in each_of(row.table("roles"), whole).items())
    cards = row.raw("cards", sum(role.cards for role in roles) or 1)
    try:
        least, most = parse_cards(str(cards))
    except BadInput as error:
        raise row.bad("cards", error.what, error.remedy) from None
    priority: Any = row.one_of("priority", get_args(Priority), "on-demand")
    has_limit = row.has("time_limit")
    time_limit_ms = row.duration_ms("time_limit", TIME_LIMIT_DEFAULT_MS[priority])
    if not time_limit_ms:
        raise row.bad("time_limit", "no time at all is too little.", "Write it like 30m or 2d.")
    runs_for_ms = row.duration_ms("runs_for", time_limit_ms if has_limit else HOUR_MS)
    starts_after_ms = row.duration_ms("takes_to_start", 0)
    fates = tuple(
        Fate(runs_for_ms, starts_after_ms, *OUTCOMES[one_of(outcome, row.of("outcome"), tuple(OUTCOMES))])
        for outcome in row.texts("outcome") or ("done",)
    )
    spec = JobSpec(
        name,
        row.name("tenant", "tenant"),
        least,
        most,
        row.name("kind", kind),
        row.decimal("price", 0, YUAN),
        time_limit_ms,
        row.whole("retries", RETRIES_DEFAULT, 0, 1_000),
        priority,
        after=tuple(_after(each, row) for each in row.raw("after", [])),
        earliest_start_ms=row.moment_ms("earliest_start", start_ms, 0),
        shape=_shape(row, layout, least, most),
        reservation=row.text("reservation"),
        roles=roles,
        stays=row.flag("stays"),
    )
    return CaseJob(spec, 0, fates, row.flag("saves"))


def _after(value: Any, row: Table) -> After:
    if isinstance(value, str):
        return After(value)
    table = Table(value, row.of("after"))
    after = After(table.name("job"), ok=table.one_of("ended", ("well", "anyhow"), "well") == "well")
    table.done()
    return after


def _shape(row: Table, layout: ev.LayoutSet, least: int, most: int) -> Shape:
    levels = (*layout.levels, "node")
    member = row.whole("member", 1, 1, CARDS_MAX) * CARD
    if least >= CARD and (least % member or most % member):
        raise row.bad("cards", f"they are no whole multiple of member = {member // CARD}.", "Ask for one.")

    def level(key: str) -> str:
        name = row.text(key)
        return one_of(name, row.of(key), levels) if name else ""

    def sizes(key: str) -> tuple[Slice, ...]:
        found = each_of(row.table(key), lambda value, where: whole(value, where, 1, CARDS_MAX))
        for name, cards in found.items():
            one_of(name, row.of(key), levels)
            if cards * CARD % member:
                raise row.bad(
                    key, f"{cards} is no whole multiple of member = {member // CARD}.", "Ask for one."
                )
        return tuple(Slice(name, found[name] * CARD) for name in levels if name in found)

    return Shape(
        member=member,
        milli_cpu=row.decimal("cpu", 0, 1000),
        memory_mb=row.whole("memory_mb", 0),
        needs=tuple(each_of(row.table("resources"), whole).items()),
        require=level("require"),
        prefer=level("prefer"),
        slices=sizes("slices"),
        spread=sizes("spread"),
        balanced=row.flag("balanced"),
        licences=tuple(each_of(row.table("licences"), whole).items()),
        apart=row.text("apart"),
        apart_level=level("apart_level") or "node",
    )
