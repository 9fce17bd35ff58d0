"""Jobs that come after others, and arrays: nobody starts before its time, and who can start does."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from msgspec.structs import replace as changed
from tests.cluster import NOON, Cluster
from tests.control.laws import Auditor
from tests.control.stories import Story, each, make_all_well, play
from tests.control.test_crash import moments, total
from tests.control.test_memory import Forgetful
from tests.hall import Fate

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.array import ARRAY_MAX
from starverse.model.job import After, JobSpec, member_of
from starverse.model.units import CARD, HOUR_MS, MINUTE_MS, SECOND_MS

S = SECOND_MS


def tied(story: Story) -> Story:
    """The same story, in which jobs come after earlier ones and some are arrays."""
    acts: list[tuple[int, object]] = []
    names: list[str] = []
    for at_ms, said in story.acts:
        act: object = said
        if isinstance(said, rq.SubmitJob):
            chance = Random(repr(said.spec))
            after = tuple(
                After(name, ok=chance.random() < 0.5)
                for name in chance.sample(names, min(len(names), chance.choice([0, 0, 1, 1, 2])))
            )
            spec = changed(said.spec, after=after)
            names.append(spec.job)
            if chance.random() < 0.3:
                limit, count = chance.choice([0, 1, 2]), chance.randint(1, 6)
                act = rq.SubmitArray(changed(spec, array_limit=limit), tuple(range(count)))
            else:
                act = rq.SubmitJob(spec)
        acts.append((at_ms, act))
    return replace(story, acts=tuple(acts))


class InTheirTime:
    """Reads the journal: no run before those that its job comes after have ended, nor beyond the limit."""

    def __init__(self) -> None:
        self.read = 0
        self.specs: dict[str, JobSpec] = {}
        self.outcomes: dict[str, str] = {}
        self.inside: dict[str, set[str]] = {}

    def __call__(self, cluster: Cluster) -> None:
        for _, event in cluster.book.rows[self.read :]:
            self.hear(event)
        self.read = len(cluster.book.rows)

    def of(self, name: str) -> Sequence[str]:
        """The jobs that a name stands for."""
        return [job for job, spec in self.specs.items() if name in (job, spec.array)]

    def hear(self, event: ev.Event) -> None:
        match event:
            case ev.JobSubmitted(spec=spec):
                self.specs[spec.job] = spec
            case ev.RunPlaced(job=job):
                spec = self.specs[job]
                for after in spec.after:
                    ends = [self.outcomes.get(name) for name in self.of(after.job)]
                    assert None not in ends, f"{job} started before {after.job} had ended"
                    assert not after.ok or set(ends) == {"done"}, f"{job} started though {after.job} failed"
                inside = self.inside.setdefault(spec.array, set())
                inside.add(job)
                assert not spec.array_limit or len(inside) <= spec.array_limit
            case ev.RunEnded(run=run):
                job = run.rpartition(".")[0]
                self.inside[self.specs[job].array].discard(job)
            case ev.JobEnded(job=job, outcome=outcome):
                self.outcomes[job] = outcome


class Both(Auditor):
    """All laws at once."""

    def __init__(self) -> None:
        super().__init__()
        self.in_their_time = InTheirTime()

    def __call__(self, cluster: Cluster) -> None:
        super().__call__(cluster)
        self.in_their_time(cluster)


def test_nobody_starts_before_those_it_comes_after_have_ended_and_the_limit_holds(seeds: range) -> None:
    each(seeds, lambda story: play(tied(story), watch=Both()))


def test_once_all_is_well_everybody_ends(seeds: range) -> None:
    def ends(story: Story) -> None:
        story = tied(story)
        cluster = play(story)
        make_all_well(cluster, story)
        assert not cluster.state.jobs

    each(seeds[:40], ends)


def test_a_loop_that_forgets_and_a_server_that_dies_decide_the_same(seeds: range) -> None:
    def the_same(story: Story) -> None:
        story = tied(story)
        assert play(story, loop=Forgetful).book.rows == play(story).book.rows

    each(seeds, the_same)

    def dies(story: Story) -> None:
        story = tied(story)
        undisturbed = total(play(story))
        for moment in range(1, moments(story) + 1, 7):
            assert total(play(story, dies_at=[moment])) == undisturbed, f"it died at moment {moment}"

    each(seeds[::16], dies, people=False)


def test_a_snapshot_says_who_is_inside() -> None:
    """A job of the array is paused and resumed while a later one is in: the later one stays."""
    cluster = Cluster(Fate(HOUR_MS), jobs={"a_0": [Fate(S, code=86), Fate(HOUR_MS)]}, watch=Both())
    cluster.node("n", cards=1)
    cluster.tenant("ann", yuan=1_000)
    cluster.ask(rq.SubmitArray(JobSpec("a", "ann", array_limit=1), (0, 1, 2)))
    cluster.after(2 * S)
    assert cluster.state.jobs["a_0"].phase == "paused"
    assert cluster.state.jobs["a_1"].phase == "running"
    cluster.ask(rq.ResumeJob("a_0"))
    cluster.after(S)
    for cut in range(len(cluster.book.rows)):
        cluster.restart(cut)
        assert dict(cluster.state.gate.full) == {"a_0": None, "a_2": None}
    cluster.settle()
    starts = [event.job for event in cluster.events(ev.RunPlaced)]
    assert starts == ["a_0", "a_1", "a_0", "a_2"]


def test_a_job_may_name_one_that_ended_a_moment_ago() -> None:
    cluster = Cluster(jobs={"bad": [Fate(S, code=1)], "good": [Fate(S)]}, watch=Both())
    cluster.node("n", cards=8)
    cluster.tenant("ann", yuan=1_000)
    cluster.submit("bad", retries=0)
    cluster.submit("good")
    cluster.after(MINUTE_MS)
    asked = {
        "to-good": (After("good"),), "anyhow": (After("bad", ok=False),), "to-bad": (After("bad"),),
        "to-none": (After("none"),), "to-itself": (After("to-itself"),),
        "to-many": tuple(After("good") for _ in range(101)),
    }  # fmt: skip
    numbers = {name: cluster.submit(name, after=after) for name, after in asked.items()}
    cluster.restart(cut=3)
    cluster.until(NOON + HOUR_MS)
    said = {taken.id: taken.refusal for taken in cluster.book.taken}
    refused = {name: said[number].partition(".")[0] for name, number in numbers.items() if said[number]}
    assert refused == {
        "to-bad": "Job bad is failed, so what comes after its good end never starts",
        "to-none": "There is no job 'none'",
        "to-itself": "A job cannot come after itself",
        "to-many": "Job to-many comes after 101 jobs",
    }
    assert {name: end.outcome for name, end in cluster.ended.items()}["to-good"] == "done"


def test_a_large_array_is_one_class_of_which_a_few_stand_in_line() -> None:
    cluster = Cluster(Fate(HOUR_MS))
    cluster.node("n", cards=4)
    cluster.tenant("ann", yuan=1_000)
    cluster.ask(rq.SubmitArray(JobSpec("a", "ann", array_limit=8), tuple(range(ARRAY_MAX))))
    cluster.ask(rq.SubmitArray(JobSpec("b", "ann"), tuple(range(ARRAY_MAX + 1))))
    cluster.after(S)
    line = cluster.state.view.lines["cpu"]
    assert len(line.requests) == 1
    assert len(line.stands) == 4
    assert len(cluster.state.jobs) == ARRAY_MAX
    assert [taken.refusal for taken in cluster.book.taken if taken.refusal] == [
        "Array b has 10,001 jobs. Ask for 1 to 10,000, each once."
    ]
    cluster.ask(rq.StopJob("a"))
    cluster.after(MINUTE_MS)
    assert not cluster.state.jobs
    assert len(cluster.ended) == ARRAY_MAX


def test_the_jobs_of_an_array_differ_in_name_and_index_only() -> None:
    spec = JobSpec("a", "ann", 2 * CARD, 2 * CARD, array_limit=3)
    member = member_of(spec, 7)
    assert (member.job, member.array, member.array_index) == ("a_7", "a", 7)
    assert changed(member, job="a", array="", array_index=0) == spec
