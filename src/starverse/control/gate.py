"""Which waiting jobs stand in no line yet: those after others, and those of an array that is full."""

from collections.abc import Collection, Iterator, Mapping
from heapq import heappop, heappush

from msgspec import Struct

from starverse.control.truth import Ended, Job
from starverse.model.events import JobEnded
from starverse.model.job import JobSpec, Outcome

ENDED_KEPT = 1_000
"""Of so many jobs that ended last it is known how: one may be named while it ends, by a job that comes after
it. What ended before that is known to whoever submits."""


class _Array(Struct, gc=False):
    """An array that is not over: how many of its jobs are alive, how many of them its limit lets inside, and
    those that are held, by their order."""

    tenant: str
    alive: int = 0
    inside: int = 0
    held: list[tuple[int, str]] = []


class Gate:
    """Keeps jobs out of the line until their time has come; mutable, owned by the state.

    What it holds follows from the jobs, but for how the last ones ended: that is the state's truth (`ended`).
    A job of an array that has a limit keeps its place inside while it is tried again; once it is paused or
    over the next comes in. Who is inside stands in the truth as well (`Job.inside`): a job that was resumed
    may wait while a later one is in.
    """

    def __init__(self, jobs: Mapping[str, Job], ended: dict[str, Ended]) -> None:
        self._jobs = jobs
        self._ended = ended
        self._after: dict[str, dict[str, None]] = {}
        """The jobs that wait for the end of each job or array."""
        self._arrays: dict[str, _Array] = {}
        self.lacks: dict[str, set[str]] = {}
        """Of a job that comes after others, those that have not ended."""
        self.full: dict[str, None] = {}
        """The jobs that wait for their arrays to let them in."""

    def count(self, job: Job) -> None:
        """A job is there."""
        array = job.spec.array
        if array:
            there = self._arrays.setdefault(array, _Array(job.spec.tenant))
            there.alive += 1
            there.inside += job.inside

    def comes_after(self, name: str, job: Job) -> bool:
        """Whether a job that waits must wait on for the end of others."""
        lacks = {after.job for after in job.spec.after if self.is_alive(after.job)}
        if lacks:
            self.lacks[name] = lacks
            for other in lacks:
                self._after.setdefault(other, {})[name] = None
        return bool(lacks)

    def has_room(self, job: Job) -> bool:
        """Whether the array of a job, if it is of one, lets it in now."""
        limit = job.spec.array_limit
        return not limit or job.inside or self._arrays[job.spec.array].inside < limit

    def is_full(self, name: str, job: Job) -> bool:
        """Whether a job must wait on for its array, which has a limit; else it is inside from now on."""
        array = self._arrays[job.spec.array]
        if not self.has_room(job):
            heappush(array.held, (job.order, name))
            self.full[name] = None
            return True
        array.inside += not job.inside
        job.inside = True
        return False

    def is_alive(self, name: str) -> bool:
        """Whether this is a job, or an array, that has not ended."""
        return name in self._jobs or name in self._arrays

    def tenant(self, name: str) -> str | None:
        """Whose a job, or an array, is that has not ended."""
        job, array = self._jobs.get(name), self._arrays.get(name)
        return job.spec.tenant if job else array.tenant if array else None

    def outcome(self, name: str, tenant: str) -> Outcome | None:
        """How a job of the tenant ended, or the worst of an array; None where nothing is known of it."""
        ended = self._ended.get(name)
        return ended.outcome if ended and ended.tenant == tenant else None

    def members(self, array: str) -> tuple[str, ...]:
        """The jobs of an array that have not ended, in order."""
        if array not in self._arrays:
            return ()
        return tuple(name for name, job in self._jobs.items() if job.spec.array == array)

    def doomed(self, end: JobEnded) -> Iterator[str]:
        """The jobs that never can start once this has happened: they come after a job that must end well."""
        if end.outcome == "done":
            return
        for gone in (end.job, self._jobs[end.job].spec.array):
            for name in self._after.get(gone, ()):
                if any(after.ok for after in self._jobs[name].spec.after if after.job == gone):
                    yield name

    def leave(self, name: str, job: Job) -> Iterator[str]:
        """A job is inside no more, if it was; the ones that wait no longer for that."""
        if job.inside:
            job.inside = False
            array = self._arrays[job.spec.array]
            array.inside -= 1
            while array.held and array.inside < job.spec.array_limit:
                order, following = heappop(array.held)
                waits = self._jobs.get(following)
                if following in self.full and waits and waits.order == order:
                    del self.full[following]
                    yield following
                    return
        else:
            self.full.pop(name, None)
            for other in self.lacks.pop(name, ()):
                self._after[other].pop(name, None)

    def ended(self, event: JobEnded, spec: JobSpec) -> Iterator[str]:
        """A job, which is none of the state's any more, has ended; the jobs that no longer come after it."""
        self._remember(event.job, spec.tenant, event.outcome)
        yield from self._over(event.job)
        if spec.array:
            known = self._ended.get(spec.array)
            if known is None or known.outcome == "done":
                self._remember(spec.array, spec.tenant, event.outcome)
            array = self._arrays[spec.array]
            array.alive -= 1
            if not array.alive:
                del self._arrays[spec.array]
                yield from self._over(spec.array)

    def _over(self, gone: str) -> Iterator[str]:
        for name in self._after.pop(gone, ()):
            lacks = self.lacks[name]
            lacks.discard(gone)
            if not lacks:
                del self.lacks[name]
                yield name

    def _remember(self, name: str, tenant: str, outcome: Outcome) -> None:
        self._ended.pop(name, None)
        self._ended[name] = Ended(tenant, outcome)
        if len(self._ended) > ENDED_KEPT:
            del self._ended[next(iter(self._ended))]

    def held(self) -> Collection[str]:
        """All that wait outside the line."""
        return (*self.lacks, *self.full)
