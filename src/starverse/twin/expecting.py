"""Whether what a case expects has come true, and what is there instead."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from starverse.model.units import HOUR_MS, SECOND_MS, format_yuan
from starverse.twin.case import Expect, Lies
from starverse.twin.case_words import Language, say
from starverse.twin.cases import Play, clock


class Finding(Struct, frozen=True):
    """One expectation at a time: what it is about, what was wanted and found, and whether that agrees."""

    at_ms: int
    about: str
    wanted: str
    found: str
    met: bool


def findings(play: Play, expect: Expect, language: Language = "en") -> list[Finding]:
    """All that is expected now, one by one."""
    rows = _Reader(play, language).read(expect)
    return [Finding(play.now_ms, *row) for row in rows]


Row = tuple[str, str, str, bool]


class _Reader:
    def __init__(self, play: Play, language: Language) -> None:
        self.play = play
        self.language = language

    def read(self, expect: Expect) -> Iterator[Row]:
        """Each expectation: about what, wanted, found, met."""
        for job, lies in expect.running.items():
            yield self._lies(job, [job], lies)
        for group in expect.together:
            yield self._lies(f"{group.jobs[0]} … {group.jobs[-1]}", group.jobs, group.lies)
        for job, parts in expect.waiting.items():
            yield self._waits(job, parts)
        for job, outcome in expect.ended.items():
            end = self.play.ended.get(job)
            yield self._row(job, outcome, self._stands(job), end is not None and end.outcome == outcome)
        for job, part in expect.refused.items():
            refusal = self.play.refusals().get(job, "")
            wanted = self._say("refused", text=part)
            yield self._row(job, wanted, refusal or self._stands(job), bool(refusal) and part in refusal)
        yield from self._times(expect)
        yield from self._counts(expect)

    def _say(self, key: str, **words: object) -> str:
        return say(self.language, key, **words)

    def _row(self, about: str, wanted: str, found: str, met: bool) -> Row:
        return about, wanted, found, met

    # -- where --------------------------------------------------------------------------------------------

    def _lies(self, about: str, jobs: Iterable[str], lies: Lies) -> Row:
        cards: Counter[str] = Counter()
        met = True
        for job in jobs:
            where = self.play.where(job)
            met = met and bool(where)
            for node, mask in where.items():
                cards[node] += mask.bit_count()
        total = sum(cards.values())
        by_level = {level: self._by_domain(cards, level) for level, _ in (*lies.at_most, *lies.split)}
        met = (
            met
            and (not lies.nodes or sorted(lies.nodes) == sorted(cards))
            and (not lies.cards or lies.cards == total)
            and (not lies.on or set(cards) <= set(lies.on))
            and not set(cards) & set(lies.off)
            and all(len(by_level[level]) <= most for level, most in lies.at_most)
            and all(by_level[level] == list(counts) for level, counts in lies.split)
        )
        found = self._on(cards)
        if by_level and cards:
            found += "; " + "; ".join(f"{level}: {counts}" for level, counts in by_level.items())
        if not cards:
            found = "; ".join(dict.fromkeys(self._stands(job) for job in jobs))
        return self._row(about, self._wanted(lies), found, met)

    def _by_domain(self, cards: Counter[str], level: str) -> list[int]:
        """The cards in each domain of a level, most first."""
        levels = (*self.play.case.layout.levels, "node")
        depth = levels.index(level) + 1
        nodes = self.play.state.nodes
        held: Counter[tuple[str, ...]] = Counter()
        for node, count in cards.items():
            held[(*_path(nodes[node].place, depth, node), node)[:depth]] += count
        return sorted(held.values(), reverse=True)

    def _wanted(self, lies: Lies) -> str:
        parts = [self._say("on", nodes=_short(lies.nodes))] if lies.nodes else []
        parts += [self._say("cards", cards=lies.cards)] if lies.cards else []
        parts += [self._say("among", nodes=_short(lies.on))] if lies.on else []
        parts += [self._say("off", nodes=_short(lies.off))] if lies.off else []
        parts += [self._say("at-most", level=level, most=most) for level, most in lies.at_most]
        parts += [self._say("split", level=level, cards=list(counts)) for level, counts in lies.split]
        return self._say("runs") + (": " + "; ".join(parts) if parts else "")

    def _on(self, cards: Counter[str]) -> str:
        listed = _short([f"{node} ({count})" for node, count in cards.items()])
        return self._say("runs-on", cards=sum(cards.values()), nodes=listed)

    def _stands(self, job: str) -> str:
        """How a job stands, in a sentence."""
        play = self.play
        if job in play.ended:
            end = play.ended[job]
            return self._say("ended", outcome=end.outcome, why=end.why)
        if job in play.refusals():
            return self._say("refused", text=play.refusals()[job])
        standing = play.state.jobs.get(job)
        if standing is None:
            return self._say("not-there")
        where = play.where(job)
        if where:
            return self._on(Counter({node: mask.bit_count() for node, mask in where.items()}))
        return self._say("waits", why=" ".join(play.why(job)))

    def _waits(self, job: str, parts: tuple[str, ...]) -> Row:
        standing = self.play.state.jobs.get(job)
        waits = standing is not None and standing.phase in ("waiting", "paused")
        why = " ".join(self.play.why(job)) if waits else ""
        wanted = self._say("waits", why=" … ".join(parts)).rstrip(" :：")
        return self._row(job, wanted, self._stands(job), waits and all(part in why for part in parts))

    # -- when ---------------------------------------------------------------------------------------------

    def _times(self, expect: Expect) -> Iterator[Row]:
        play = self.play
        for job, at_ms in expect.starts.items():
            found_ms = play.first_start_ms.get(job, 0)
            yield self._time(job, "starts", at_ms, found_ms, found_ms == at_ms)
        for job, at_ms in expect.starts_by.items():
            found_ms = play.first_start_ms.get(job, 0)
            yield self._time(job, "starts-by", at_ms, found_ms, 0 < found_ms <= at_ms)
        for job, at_ms in expect.promised.items():
            found_ms = play.promised_ms(job)
            yield self._time(job, "promised", at_ms, found_ms, found_ms == at_ms)
        for job, at_ms in expect.promised_by.items():
            found_ms = play.promised_ms(job)
            yield self._time(job, "promised-by", at_ms, found_ms, 0 < found_ms <= at_ms)
        for job in expect.never_later:
            times = [*play.promises.get(job, []), *filter(None, [play.first_start_ms.get(job, 0)])]
            met = all(times) and all(later <= sooner for sooner, later in pairwise(times))
            found = ", ".join(self._clock(at_ms) for at_ms in times)
            yield self._row(job, self._say("never-later"), found or self._say("never"), met and bool(times))
        if expect.in_order:
            starts = [play.first_start_ms.get(job, 1 << 62) for job in expect.in_order]
            found = ", ".join(
                f"{job} {self._clock(at_ms if at_ms < 1 << 62 else 0)}"
                for job, at_ms in zip(expect.in_order, starts, strict=True)
            )
            wanted = self._say("in-order", jobs=_short(expect.in_order))
            yield self._row(expect.in_order[0], wanted, found, starts == sorted(starts))

    def _time(self, job: str, key: str, wanted_ms: int, found_ms: int, met: bool) -> Row:
        return self._row(job, self._say(key, at=self._clock(wanted_ms)), self._clock(found_ms), met)

    def _clock(self, at_ms: int) -> str:
        return clock(self.play.case, at_ms) if at_ms else self._say("never")

    # -- how much -----------------------------------------------------------------------------------------

    def _counts(self, expect: Expect) -> Iterator[Row]:
        play = self.play
        for job, count in expect.runs.items():
            found = play.runs.get(job, 0)
            yield self._row(job, self._say("run-count", count=count), str(found), found == count)
        spaces = play.state.spaces.values()
        if expect.free is not None:
            free = sum(space.free for space in spaces)
            yield self._row("cluster", self._say("free", cards=expect.free), str(free), free == expect.free)
        for level, most in expect.largest_free.items():
            found = largest_free(play, level)
            wanted = self._say("largest-free", level=level, cards=most)
            yield self._row("cluster", wanted, str(found), found == most)
        for job, seconds in expect.card_seconds.items():
            found = play.card_ms.get(job, 0)
            wanted = self._say("card-hours", hours=seconds * SECOND_MS / HOUR_MS)
            yield self._row(job, wanted, f"{found / HOUR_MS:.4f}", found == seconds * SECOND_MS)
        for tenant, money in expect.wallet.items():
            found = play.state.accounts.get(f"wallet/{tenant}", 0)
            wanted = self._say("wallet", money=format_yuan(money, 6))
            yield self._row(tenant, wanted, format_yuan(found, 6), found == money)


def largest_free(play: Play, level: str) -> int:
    """The most free cards on open nodes in one domain of a level."""
    held: Counter[tuple[str, ...]] = Counter()
    depth = (*play.case.layout.levels, "node").index(level) + 1
    for name, node in play.state.nodes.items():
        if not (node.cordoned or node.lost or node.rests_until_ms > play.now_ms):
            free = play.state.spaces[node.kind].free_on(name).bit_count()
            held[(*_path(node.place, depth, name), name)[:depth]] += free
    return max(held.values(), default=0)


def _path(place: tuple[str, ...], depth: int, node: str) -> tuple[str, ...]:
    """The domains of a node; those that have no name are its own."""
    return (*place, *[f"({node})"] * (depth - 1 - len(place)))


def _short(names: Iterable[str]) -> str:
    listed = list(names)
    return " ".join(listed[:12]) + (f" … ({len(listed)})" if len(listed) > 12 else "")
