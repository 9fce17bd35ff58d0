"""Draws who has which card: a tree of domains with a sign for each card, or the layers of a torus."""

from collections.abc import Iterator
from itertools import chain, groupby, product

from starverse.control.truth import Node
from starverse.model.units import format_cards
from starverse.twin.case_words import Language, say
from starverse.twin.cases import Play

CELLS_MAX = 640
"""A cluster of more cards is summed up by domain."""

LINES_MAX = 48
WIDTH = 100

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz0123456789"
"""One for each job, in the order of submission; without the x of a broken card."""

FREE, CLOSED, BROKEN, OTHER, SEVERAL = ".", "#", "x", "?", "*"


class Picture:
    """The cluster at one time; the signs of jobs stay the same over all pictures of a case."""

    def __init__(self, play: Play, language: Language) -> None:
        self.play = play
        self.language = language
        jobs = sorted(play.case.jobs.values(), key=lambda job: job.submit_ms)
        names = [job.spec.job for job in jobs]
        self.signs = {name: SIGNS[n] if n < len(SIGNS) else OTHER for n, name in enumerate(names)}
        self.there: dict[str, str] = {}
        """The cards of each job that has any."""
        self.cells = {name: self._free_cells(node, play.now_ms) for name, node in play.state.nodes.items()}
        for run in play.state.runs.values():
            self.there[run.job] = format_cards(run.milli_cards)
            for share in run.shares:
                for card in share.cards:
                    is_taken = share.milli and self.cells[share.node][card] not in (FREE, CLOSED, BROKEN)
                    self.cells[share.node][card] = SEVERAL if is_taken else self.signs[run.job]

    @staticmethod
    def _free_cells(node: Node, now_ms: int) -> list[str]:
        rest = CLOSED if node.cordoned or node.rests_until_ms > now_ms else FREE
        return [BROKEN if node.lost or node.broken >> card & 1 else rest for card in range(node.cards)]

    def lines(self) -> list[str]:
        """The picture, and whose signs there are in it."""
        if self.play.case.layout.torus:
            drawn = list(self._torus())
        elif sum(map(len, self.cells.values())) > CELLS_MAX:
            drawn = list(self._sums())
        else:
            drawn = list(self._tree())
        if len(drawn) > LINES_MAX:
            drawn[LINES_MAX:] = [say(self.language, "more", count=len(drawn) - LINES_MAX)]
        return [*drawn, *self._legend()]

    def _legend(self) -> Iterator[str]:
        words = [f"{self.signs[job]} {job} ({cards})" for job, cards in self.there.items()]
        most = 60  # more would tell nobody anything
        line = ""
        for word in [*words[:most], *[f"… ({len(words)})"] * (len(words) > most)]:
            if line and len(line) + len(word) > WIDTH:
                yield line.rstrip()
                line = ""
            line += word + "  "
        yield line.rstrip()
        several = say(self.language, "several") if SEVERAL in chain(*self.cells.values()) else ""
        yield say(self.language, "legend") + several

    def _by_place(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """The nodes of each innermost domain, in the order of the tree."""
        nodes = self.play.state.nodes
        first: dict[tuple[str, ...], int] = {}
        for n, node in enumerate(nodes.values()):
            for depth in range(1, len(node.place) + 1):
                first.setdefault(node.place[:depth], n)

        def place(name: str) -> list[int]:
            path = nodes[name].place
            return [first[path[:depth]] for depth in range(1, len(path) + 1)]

        return [
            (path, list(names))
            for path, names in groupby(sorted(nodes, key=place), key=lambda name: nodes[name].place)
        ]

    def _tree(self) -> Iterator[str]:
        above: tuple[str, ...] = ()
        for path, names in self._by_place():
            for depth, domain in enumerate(path[:-1]):
                if path[: depth + 1] != above[: depth + 1]:
                    yield "  " * depth + domain
            above = path
            head = "  " * max(len(path) - 1, 0) + (path[-1] if path else "")
            line = head + "  " if head else ""
            indent = " " * len(line)
            for name in names:
                word = f"{name} {''.join(self.cells[name])}"
                if len(line) + len(word) > WIDTH and line.strip():
                    yield line.rstrip()
                    line = indent
                line += word + "  "
            yield line.rstrip()

    def _sums(self) -> Iterator[str]:
        yield self._sum("", [sign for cells in self.cells.values() for sign in cells])
        for path, names in self._by_place():
            if path:
                yield self._sum(" / ".join(path), [sign for name in names for sign in self.cells[name]])

    def _sum(self, head: str, signs: list[str]) -> str:
        free, closed, broken = (signs.count(sign) for sign in (FREE, CLOSED, BROKEN))
        used = len(signs) - free - closed - broken
        words = {"cards": len(signs), "used": used, "free": free, "closed": closed, "broken": broken}
        whose = [sign for sign in dict.fromkeys(signs) if sign not in (FREE, CLOSED, BROKEN)]
        said = say(self.language, "summary", **words)
        jobs = "  ".join(f"{sign} {signs.count(sign)}" for sign in whose[:10])
        return f"{head}  {said}  {jobs}".strip()

    def _torus(self) -> Iterator[str]:
        """Layer by layer along the last axis: a sign for each domain, several jobs in one being a star."""
        layout = self.play.case.layout
        size = layout.torus + (1,) * (3 - len(layout.torus))
        held: dict[tuple[int, ...], list[str]] = {}
        for name, node in self.play.state.nodes.items():
            held.setdefault(node.at + (0,) * (3 - len(node.at)), []).extend(self.cells[name])
        for z in range(size[2]):
            if len(layout.torus) == 3:
                yield f"z = {z}"
            for y in range(size[1]):
                yield "  " + " ".join(_sign(held.get((x, y, z), [])) for x in range(size[0]))
        if any(_sign(held.get(at, [])) == SEVERAL for at in product(*map(range, size))):
            yield say(self.language, "several")


def _sign(signs: list[str]) -> str:
    """One sign for all cards of a domain."""
    if not signs:
        return " "
    jobs = [sign for sign in dict.fromkeys(signs) if sign not in (FREE, CLOSED, BROKEN)]
    if jobs:
        return jobs[0] if len(jobs) == 1 else SEVERAL
    return FREE if FREE in signs else signs[0]
