"""What always holds, over clusters, jobs and events drawn at random, by the word of the checker."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.scheduler.pictures import Scene, insides_of

from starverse.control.state import State
from starverse.scheduler.decide import decide

CLASSES = st.sampled_from(["on-demand", "on-demand", "preemptible"])
TENANTS = st.sampled_from(["ann", "bob", "eve"])


class AnyDay(RuleBasedStateMachine):
    """Nodes come and go, jobs are asked for, runs end early or at their limit, and time passes."""

    @initialize(racks=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=3))
    def begin(self, racks: list[list[int]]) -> None:
        self.scene = Scene(" | ".join(" ".join("." * cards for cards in nodes) for nodes in racks))
        self.jobs = 0

    @rule(
        cards=st.integers(1, 6), more=st.sampled_from([0, 0, 2]), minutes=st.sampled_from([5, 20, 21, 60]),
        member=st.sampled_from([1, 1, 1, 2]), rack=st.booleans(), tenant=TENANTS, priority=CLASSES,
    )  # fmt: skip
    def ask(
        self, cards: int, more: int, minutes: int, member: int, rack: bool, tenant: str, priority: str
    ) -> None:
        self.jobs += 1
        self.scene.ask(
            f"j{self.jobs}", cards * member, (cards + more) * member, minutes, tenant,
            priority=priority, member=member, require="rack" if rack else "",
        )  # fmt: skip
        self.scene.decide()

    @rule(
        milli=st.sampled_from([1, 250, 250, 400, 500, 999]), minutes=st.sampled_from([5, 20, 21, 60]),
        tenant=TENANTS, priority=CLASSES,
    )  # fmt: skip
    def ask_for_a_part(self, milli: int, minutes: int, tenant: str, priority: str) -> None:
        self.jobs += 1
        self.scene.ask(f"j{self.jobs}", 0, 0, minutes, tenant, priority=priority, milli=milli)
        self.scene.decide()

    @rule(minutes=st.sampled_from([1, 4, 5, 15, 40]))
    def wait(self, minutes: int) -> None:
        self.scene.at(self.scene.minute + minutes)

    @precondition(lambda self: self.scene.state.runs)
    @rule(which=st.integers(0, 99), how=st.sampled_from(["end", "again"]))
    def over(self, which: int, how: str) -> None:
        runs = list(self.scene.state.runs.values())
        getattr(self.scene, how)(runs[which % len(runs)].job)
        self.scene.decide()

    @rule(which=st.integers(0, 99))
    def cordon_or_not(self, which: int) -> None:
        nodes = list(self.scene.state.nodes.values())
        node = nodes[which % len(nodes)]
        (self.scene.reopen if node.cordoned else self.scene.close)(node.node)
        self.scene.decide()

    @rule(which=st.integers(0, 99))
    def lose_or_not(self, which: int) -> None:
        scene = self.scene
        nodes = list(scene.state.nodes.values())
        node = nodes[which % len(nodes)]
        if node.lost:
            scene.tell_back(node.node)
        else:
            scene.lose(node.node)
        scene.decide()

    @precondition(lambda self: self.waiting())
    @rule(which=st.integers(0, 99))
    def stop(self, which: int) -> None:
        waiting = self.waiting()
        self.scene.stop(waiting[which % len(waiting)])
        self.scene.decide()

    def waiting(self) -> list[str]:
        return [name for name, job in self.scene.state.jobs.items() if job.phase == "waiting"]

    @invariant()
    def nothing_is_left_to_do(self) -> None:
        if not hasattr(self, "scene"):
            return
        scene = self.scene
        before = insides_of(scene.state)
        plan, memo = decide(scene.state.view, {}, scene.now_ms)
        assert not plan.places
        assert decide(scene.state.view, {}, scene.now_ms)[0] == plan, "the same again"
        assert decide(scene.state.view, memo, scene.now_ms)[0] == plan, "what was proven changes nothing"
        for job in self.waiting():
            reason = scene.why(job)
            assert reason.causes
            promise = scene.state.truth.promises.get(job)
            assert reason.promised_ms == (promise.at_ms if promise else 0)
        assert settled(insides_of(scene.state)) == settled(before), "to decide, or to ask, changes nothing"

    def teardown(self) -> None:
        """In the end a state from a snapshot decides as the one that lived through it all."""
        if hasattr(self, "scene"):
            scene = self.scene
            again = State.load(scene.state.snapshot(), scene.state.view.terms)
            assert again.truth == scene.state.truth
            assert decide(again.view, {}, scene.now_ms)[0] == decide(scene.state.view, {}, scene.now_ms)[0]


def settled(insides: tuple[object, ...]) -> object:
    """Without the slots that claims stand in: which one is of no matter."""
    snapshot, spaces, *rest = insides
    assert isinstance(spaces, dict)
    slotless = {kind: (node, card, stock) for kind, (node, card, _, stock) in spaces.items()}
    return snapshot, slotless, rest


TestAnyDay = AnyDay.TestCase
TestAnyDay.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
