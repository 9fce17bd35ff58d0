"""Cards that several runs share, a part each: who has them, what is left, and where one more fits.

A shared card is used like any other, until the last of its runs is over; so whoever wants whole cards need
not know of parts. Only whoever wants a part looks at what is left of it.
"""

from collections.abc import Collection, Iterable, Mapping

from numba import njit

from starverse.model.units import CARD
from starverse.scheduler import kernels as k
from starverse.scheduler.kernels import CLAIMED, FREE, HEALTHY, LEFT, MASK, OPEN, WHOSE, Ints
from starverse.scheduler.lot import Lot

NOWHERE = -1


class Parts:
    """Who has a part of which card, and until when at the latest; mutable, owned by the space whose arrays it
    is given. A part is known by its lot, the very object that was taken."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], dict[Lot, int]] = {}

    def of(self, part: Lot) -> Collection[Lot]:
        """All parts that are taken of its card; none where it is no part."""
        return self._of[_place(part)].keys() if part.milli else ()

    def take(self, node: Ints, card: Ints, slot: Ints, part: Lot, ends_ms: int) -> None:
        """Take a part, of a card that is free or has so much left."""
        n, c = place = _place(part)
        there = self._of.setdefault(place, {})
        if not there:
            bad = k.take(node, card, slot, part.nodes, part.masks, ends_ms)
            assert bad < 0, f"a part of card {c} in row {n}, which a run has for itself"
            card[LEFT, n, c] = CARD
        card[LEFT, n, c] -= part.milli
        assert card[LEFT, n, c] >= 0, f"more than all of card {c} in row {n}"
        self.until(node, card, slot, part, ends_ms)

    def give(self, node: Ints, card: Ints, slot: Ints, part: Lot) -> None:
        """Give a part back, and with the last of them the card."""
        n, c = place = _place(part)
        there = self._of[place]
        del there[part]
        card[LEFT, n, c] += part.milli
        if there:
            k.until(node, card, slot, part.nodes, part.masks, max(there.values()))
            return
        assert card[LEFT, n, c] == CARD, f"of card {c} in row {n} {card[LEFT, n, c]} milli-cards came back"
        del self._of[place]
        card[LEFT, n, c] = 0
        bad = k.give(node, card, slot, part.nodes, part.masks)
        assert bad < 0, f"card {c} in row {n} was not used"

    def until(self, node: Ints, card: Ints, slot: Ints, part: Lot, ends_ms: int) -> None:
        """Say anew when the run that has this part ends at the latest."""
        there = self._of[_place(part)]
        there[part] = ends_ms
        k.until(node, card, slot, part.nodes, part.masks, max(there.values()))

    def leaving(self, numbers: Mapping[Lot, int]) -> Iterable[tuple[Lot, int]]:
        """Of each card all whose parts have a number: one of its parts, and the highest of the numbers."""
        for there in self._of.values():
            if all(part in numbers for part in there):
                yield next(iter(there)), max(numbers[part] for part in there)

    def make_room(
        self, node: Ints, card: Ints, slot: Ints,
        numbers: Mapping[Lot, int], milli: int, until_ms: int, below: int,
    ) -> tuple[Lot, list[int]] | None:  # fmt: skip
        """One of the parts of a card, and the numbers of those of them that have to leave to make room for
        the part that is asked for until then: the lowest of a card; of all cards those with the lowest
        highest. None where that is nowhere enough."""
        best: tuple[Lot, list[int]] | None = None
        for (n, c), there in self._of.items():
            if not node[OPEN, n] or not node[HEALTHY, n] >> c & 1:
                continue
            if not k.is_unclaimed(card, slot, n, c, until_ms, below):
                continue
            left, leave = int(card[LEFT, n, c]), []
            for number, part in sorted((numbers[part], part) for part in there if part in numbers):
                if left >= milli:
                    break
                left += part.milli
                leave.append(number)
            if leave and left >= milli and (best is None or leave[-1] < best[1][-1]):
                best = next(iter(there)), leave
        return best


def _place(part: Lot) -> tuple[int, int]:
    """The row of a part, and its card there."""
    return part.nodes.item(), part.masks.item().bit_length() - 1


@njit(cache=True)
def room(
    node: Ints, card: Ints, slot: Ints, stock: Ints, need: Ints,
    size: int, milli: int, until_ms: int, below: int, out: Ints,
) -> int:  # fmt: skip
    """Which nodes can take a member with a part of a card (or, with 0, none) until then: 1 or 0, into `out`;
    returns how many. Claims of those numbered `below` are minded."""
    total = 0
    for n in range(size):
        out[n] = 0
        if not node[OPEN, n]:
            continue
        enough = True
        for r in range(need.size):
            enough = enough and stock[r, n] >= need[r]
        if enough and (not milli or tightest(node, card, slot, n, milli, until_ms, below) >= 0):
            out[n] = 1
            total += 1
    return total


@njit(cache=True)
def tightest(node: Ints, card: Ints, slot: Ints, n: int, milli: int, until_ms: int, below: int) -> int:
    """The card of a node that has least left of those with room for a part until then: a shared one before a
    free one, and of these the one whose claim comes soonest after that; -1 without one."""
    best = NOWHERE
    for c in range(card.shape[2]):
        if holds(node, card, n, c, milli) and k.is_unclaimed(card, slot, n, c, until_ms, below):
            mine = card[LEFT, n, c] or CARD
            if best < 0 or (mine, card[CLAIMED, n, c]) < (
                card[LEFT, n, best] or CARD,
                card[CLAIMED, n, best],
            ):
                best = c
    return best


@njit(cache=True)
def holds(node: Ints, card: Ints, n: int, c: int, milli: int) -> bool:
    """Whether a card can take a part now, whoever has claims on it."""
    if node[FREE, n] >> c & 1:
        return True
    return bool(card[LEFT, n, c] >= milli and node[OPEN, n] and node[HEALTHY, n] >> c & 1)


@njit(cache=True)
def shared(
    node: Ints, card: Ints, slot: Ints, order: Ints, room: Ints, milli: int, until_ms: int, below: int
) -> int:
    """The node, of those with room, with the shared card that has least left for a part; of these the first
    in order. -1 where a new card must be broken."""
    best, least = NOWHERE, CARD
    for n in range(order.size):
        if not room[n]:
            continue
        c = tightest(node, card, slot, n, milli, until_ms, below)
        left = card[LEFT, n, c] if c >= 0 else 0
        if left and (left < least or (left == least and best >= 0 and order[n] < order[best])):
            best, least = n, left
    return best


@njit(cache=True)
def most_left(node: Ints, card: Ints, slot: Ints, size: int, until_ms: int, below: int) -> int:
    """The most milli-cards of one card that can be had until then."""
    most = 0
    for n in range(size):
        for c in range(card.shape[2]):
            if holds(node, card, n, c, 1) and k.is_unclaimed(card, slot, n, c, until_ms, below):
                most = max(most, card[LEFT, n, c] or CARD)
    return most


@njit(cache=True)
def is_ready(
    node: Ints, card: Ints, slot: Ints, nodes: Ints, masks: Ints, milli: int, whose: int, until_ms: int
) -> bool:
    """Whether a part of the one card of a claim can be had, and nobody else's claim on it begins before."""
    n = nodes[0]
    for c in range(card.shape[2]):
        if masks[0] >> c & 1 and not holds(node, card, n, c, milli):
            return False
    for s in range(slot.shape[2]):
        if not slot[WHOSE, n, s]:
            break
        if slot[WHOSE, n, s] != whose and slot[MASK, n, s] & masks[0] and slot[k.FROM, n, s] < until_ms:
            return False
    return True
