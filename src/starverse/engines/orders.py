"""What a shim is told: the order for a run, worked out from its StartRun and written to order.json."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from starverse.engines.cards import Cards
from starverse.engines.folder import JobFolder, RunFolder
from starverse.engines.roles import Part, parts
from starverse.engines.sandbox import PACKAGE, Isolation
from starverse.model.commands import StartRun
from starverse.model.errors import BadInput
from starverse.train.contract import EXIT_DONE, EXIT_SAVED, Place

ENVIRONMENT_BYTES_MAX = 512 * 1024
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
ONLY_IN_GANGS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
MS = 1_000_000


def boot(module: str) -> list[str]:
    """A command line for the `main` of one of our modules, started as cheaply as Python can be."""
    code = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); from {module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", code]


def work_out(
    start: StartRun,
    mine: tuple[int, ...],
    cards: Cards,
    isolation: Isolation,
    home: str,
    uid: int,
    clock: tuple[int, int],
) -> dict[str, Any]:
    """The order for the shim: `mine` are the run's cards on this node, `clock` the engine's time in ms and
    the boot clock in ns at the same instant. Raises BadInput if the work can't be started as it is."""
    now_ms, now_ns = clock
    run, job = RunFolder.of(home, start.run), JobFolder(home, start.job)
    minors = [cards.minors[card] for card in mine] if cards.minors else []
    return {
        "start": msgspec.to_builtins(start),
        "ordered_ms": now_ms,
        "ordered_ns": now_ns,
        "lease_ns": deadline_ns(start.lease_until_ms, clock),
        "grace_ms": start.grace_ms,
        "quiet_codes": [EXIT_DONE, EXIT_SAVED],
        "uid": isolation.user(uid),
        "namespace": isolation.namespace,
        "wrap": isolation.wrap(home, run, job, uid, minors),
        "wrap_environment": {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "STARVERSE_RUN": start.run},
        "launcher": boot("starverse.engines.launch"),
        "guard": isolation.guard(),
        "interpreter": sys.executable,
        "work": run.work,
        "once": start.work.launch == "once",
        "command": list(start.work.command),
        "environment": _environment(start, run, isolation),
        **_ranks_of(start, mine, cards, isolation, run, job),
    }


def _ranks_of(
    start: StartRun, mine: tuple[int, ...], cards: Cards, isolation: Isolation, run: RunFolder, job: JobFolder
) -> dict[str, Any]:
    """What each rank sees around it; with roles, what each runs, and whether it is all of its role."""
    if not start.roles:
        ranks = range(_ranks(start, mine))
        return {"ranks": [_rank(start, rank, mine, cards, isolation, run, job) for rank in ranks]}
    found = parts(start.roles)
    for role in start.roles:
        check_environment(role.work.environment)
    return {
        "ranks": [_part(start, part, len(found), mine, cards, isolation, run, job) for part in found],
        "commands": [list(part.role.work.command) for part in found],
        "onces": [part.role.work.launch == "once" for part in found],
    }


def deadline_ns(until_ms: int, clock: tuple[int, int]) -> int:
    """A time of the engine's clock, on the boot clock."""
    now_ms, now_ns = clock
    return now_ns + (until_ms - now_ms) * MS


def check_environment(pairs: tuple[tuple[str, str], ...]) -> None:
    """Raises BadInput for names and values that no process can be given."""
    for name, value in pairs:
        if not name or "=" in name or "\0" in name + value:
            raise BadInput(
                f"The environment variable {name[:40]!r} can't be set.", "Names hold no '=', values no NUL."
            )
    if sum(len(name) + len(value) for name, value in pairs) > ENVIRONMENT_BYTES_MAX:
        raise BadInput(
            "The job's environment and secrets are larger than 512 KiB.", "Put large things in files."
        )


def _ranks(start: StartRun, mine: tuple[int, ...]) -> int:
    return 1 if start.work.launch == "once" else len(mine)


def _environment(start: StartRun, run: RunFolder, isolation: Isolation) -> dict[str, str]:
    """Made from nothing, so that nothing of the server's gets into a job; what the tenant sets comes last."""
    check_environment(start.work.environment)
    return {
        "PATH": f"{Path(sys.executable).parent}:{SYSTEM_PATH}",
        "HOME": run.work,
        "USER": "starverse",
        "LOGNAME": "starverse",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp" if isolation.namespace else run.tmp,  # noqa: S108 - it is the run's own
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",  # or the ranks fight for the cores
        **dict(start.work.environment),
    }


def _rank(
    start: StartRun,
    rank: int,
    mine: tuple[int, ...],
    cards: Cards,
    isolation: Isolation,
    run: RunFolder,
    job: JobFolder,
) -> dict[str, str]:
    """What the job contract promises a rank. As under torchrun, each sees all cards of the run on its node,
    and LOCAL_RANK says which one is its own."""
    ranks = _ranks(start, mine)
    place = _place(
        start, len(mine), run, job, rank=rank, world_size=ranks, local_rank=rank, local_world_size=ranks
    ).variables()
    if start.work.launch == "once":
        place = {name: value for name, value in place.items() if name not in ONLY_IN_GANGS}
    return place | _visible(range(len(mine)), mine, cards, isolation)


def _part(
    start: StartRun,
    part: Part,
    world_size: int,
    mine: tuple[int, ...],
    cards: Cards,
    isolation: Isolation,
    run: RunFolder,
    job: JobFolder,
) -> dict[str, str]:
    """The same for a rank of a gang with roles: it sees the cards of its role alone."""
    place = _place(
        start,
        len(mine),
        run,
        job,
        role=part.role.name,
        rank=part.rank,
        world_size=world_size,
        local_rank=part.role_rank,
        local_world_size=part.role_ranks,
        role_rank=part.role_rank,
        role_world_size=part.role_ranks,
    )
    own = range(part.first, part.first + part.role.cards)
    return dict(part.role.work.environment) | place.variables() | _visible(own, mine, cards, isolation)


def _place(start: StartRun, count: int, run: RunFolder, job: JobFolder, **rank: Any) -> Place:
    """Where a rank of a run on so many cards is."""
    return Place(
        job=start.job,
        run=start.run,
        attempt=start.attempt,
        cards=count,
        card_kind=start.kind,
        checkpoints=job.checkpoints,
        output=job.output,
        report=run.report,
        rendezvous=run.rendezvous,
        grace_s=start.grace_ms / 1000,
        array=start.array or None,
        array_index=start.array_index if start.array else None,
        **rank,
    )


def _visible(own: range, mine: tuple[int, ...], cards: Cards, isolation: Isolation) -> dict[str, str]:
    """Those of the run's cards that a rank sees, by place."""
    # in a view of its own a run has the devices of its cards alone, and CUDA numbers what it finds from 0
    seen = own if isolation.namespace else [cards.indices[mine[place]] for place in own if cards.indices]
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, seen)) if cards.indices else "",
    }
