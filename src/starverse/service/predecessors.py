"""The jobs and arrays that a new one comes after, as far as there is still something to wait for."""

from collections.abc import Iterator
from typing import get_args

from sqlalchemy import Connection

from starverse.model.errors import NotFound, Refused
from starverse.model.job import After, Outcome
from starverse.service import access, rows
from starverse.service.access import Actor
from starverse.service.answers import JobAsk

ENDED = get_args(Outcome)


def afters_of(connection: Connection, actor: Actor, tenant: str, ask: JobAsk) -> tuple[After, ...]:
    """Those of the ask that have not ended yet.

    Raises NotFound for a job of another tenant just as for one that never was, and Refused for one that must
    end well and has not.
    """
    return tuple(dict.fromkeys(_alive(connection, actor, tenant, ask)))


def _alive(connection: Connection, actor: Actor, tenant: str, ask: JobAsk) -> Iterator[After]:
    for names, ok in ((ask.after, True), (ask.after_any, False)):
        for name in names:
            row = access.seen_job(connection, actor, name, arrays=True)
            if row.tenant != tenant:
                raise NotFound(f"There is no job {name[:64]!r}.", "`starverse jobs` lists yours.")
            if row.array == name:
                counts = rows.array_counts(connection, (name,))[name]
            else:
                counts = {row.outcome or row.phase: 1}
            bad = [word for word in ENDED if word != "done" and word in counts]
            if ok and bad:
                who = f"A job of array {name}" if row.array == name else f"Job {name}"
                remedy = "Name it with --after-any (`after_any`) to start all the same."
                raise Refused(f"{who} is {bad[0]}, so what comes after its good end never starts.", remedy)
            if not set(counts) <= set(ENDED):
                yield After(name, ok)
