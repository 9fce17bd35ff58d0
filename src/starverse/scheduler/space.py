"""The cards of one kind: which are free, until when they are used, and who has a claim on them later."""

from collections.abc import Iterable, Sequence

import numpy as np

from starverse.model.allocation import Share
from starverse.model.events import LayoutSet
from starverse.scheduler import kernels as k
from starverse.scheduler import parts
from starverse.scheduler.ahead import Ahead
from starverse.scheduler.kernels import Ints
from starverse.scheduler.lot import Lot
from starverse.scheduler.parts import Parts
from starverse.scheduler.topology import Topology

NOTHING_ELSE: Ints = np.zeros(0, np.int64)
"""The needs of a member that needs cards only."""

ROW = 62
"""So many cards at most stand in one row of the arrays, as bits of one number: a node with more has several
rows, which lie side by side like nodes."""

_TRAIL_LENGTH = 64
"""So many changed lots are remembered."""

_ROW_MASK = (1 << ROW) - 1

_LOG_LENGTH = 4096
"""So many loosened nodes are remembered; whoever slept through more of them looks at all."""

CPU, MEMORY = "cpu", "memory"


class Space:
    """Free cards by node, mutable: owned by the state, and by `decide` for the time of a plan.

    Nodes stand in rows, numbered in the order they joined. What the arrays hold is said in `kernels.py`;
    nobody else writes to them. `changes` counts the times that a node could take more than before; those
    nodes stand in a log, so that a decision looks at what changed instead of at everything.
    """

    def __init__(self, layout: LayoutSet | None = None) -> None:
        layout = layout or LayoutSet(())
        self.topology = Topology(layout.levels, layout.torus_level, layout.torus)
        self.names: list[str] = []
        self.rows: dict[str, list[int]] = {}
        """The rows of each node: one for each ROW cards."""
        self._shift: list[int] = []
        self.stocks: dict[str, int] = {CPU: 0, MEMORY: 1}
        """The row of each resource in `stock`."""
        self.node = np.zeros((9, 16), np.int64)
        self.card = np.zeros((3, 16, 1), np.int64)
        self.slot = np.zeros((4, 16, 2), np.int64)
        self.stock = np.zeros((2, 16), np.int64)
        self.parts = Parts()
        self._ahead = Ahead()
        self.starts_ms: dict[tuple[int, int], int] = {}
        """When the last request of each size of member and number of them (in powers of two) could start: a
        guess where to look for the next, which no answer hangs on."""
        self.changes = 0
        self.shrunk = 0
        """Counts the times that a node closed or lost a card: promises may lie on it."""
        self.grown = 0
        """Counts the times that a node came, or opened, or a card healed: more may be promised."""
        self.freed = 0
        """Counts the cards that came free or began to give way, again and again."""
        self._log: list[int] = []
        self._log_start = 0
        self._trail: list[Lot] = []
        self._trail_start = 0

    # -- nodes --------------------------------------------------------------------------------------------

    def join(
        self,
        node: str,
        healthy: int,
        is_open: bool,
        place: Sequence[str] = (),
        at: Sequence[int] = (),
        stock: Iterable[tuple[str, int]] = (),
        cards: int = 0,
    ) -> None:
        """Add a node, or say anew which of its cards are healthy (a bit set) and whether runs may come; of so
        many cards, where the last are broken (a run may have one of them)."""
        rows = self.rows.setdefault(node, [])
        cards = max(cards, healthy.bit_length())
        self._widen(min(cards, ROW))
        while not rows or cards > len(rows) * ROW:
            row = self.topology.join(place, at)
            rows.append(row)
            self.names.append(node)
            self._shift.append((len(rows) - 1) * ROW)
            self._grow(row + 1)
            if len(rows) == 1:
                for name, amount in stock:
                    resource = self.row(name)  # may be new, and `stock` another array after it
                    self.stock[resource, row] = amount
        for row in rows:
            self._set(row, healthy >> self._shift[row] & _ROW_MASK, is_open)

    def _set(self, row: int, healthy: int, is_open: bool) -> None:
        was_healthy, was_open = int(self.node[k.HEALTHY, row]), bool(self.node[k.OPEN, row])
        self.shrunk += was_open and bool(not is_open or was_healthy & ~healthy)
        self.grown += is_open and bool(not was_open or healthy & ~was_healthy)
        self.freed += healthy.bit_count()
        self.node[k.HEALTHY, row] = healthy
        self.node[k.OPEN, row] = is_open
        k.refresh(self.node, self.card, self.slot, row)
        self._ahead.reset()
        self._loosened(row)

    def _widen(self, cards: int) -> None:
        more = cards - self.card.shape[2]
        if more > 0:
            self.card = np.pad(self.card, ((0, 0), (0, 0), (0, more)))

    def _grow(self, size: int) -> None:
        have = self.node.shape[1]
        if size <= have:
            return
        self.node = np.pad(self.node, ((0, 0), (0, have)))
        self.card = np.pad(self.card, ((0, 0), (0, have), (0, 0)))
        self.slot = np.pad(self.slot, ((0, 0), (0, have), (0, 0)))
        self.stock = np.pad(self.stock, ((0, 0), (0, have)))

    def row(self, resource: str) -> int:
        """The row of a resource in `stock`."""
        row = self.stocks.get(resource)
        if row is None:
            row = self.stocks[resource] = len(self.stocks)
            self.stock = np.pad(self.stock, ((0, 1), (0, 0)))
        return row

    @property
    def size(self) -> int:
        """How many rows there are, those of lost nodes included."""
        return len(self.names)

    @property
    def free(self) -> int:
        """Free cards on nodes that take new runs."""
        return int(self.node[k.COUNT].sum())

    @property
    def most_left(self) -> int:
        """The most milli-cards of one card that can be had now, whoever has claims on it."""
        return int(parts.most_left(self.node, self.card, self.slot, self.size, 0, 0))

    def used_on(self, node: str) -> int:
        """The cards of a node that runs have, as a bit set."""
        return sum(int(self.node[k.USED, row]) << self._shift[row] for row in self.rows[node])

    def free_on(self, node: str) -> int:
        """The healthy cards of a node that no run has, as a bit set."""
        return sum(
            (int(self.node[k.HEALTHY, row]) & ~int(self.node[k.USED, row])) << self._shift[row]
            for row in self.rows[node]
        )

    # -- what changed -------------------------------------------------------------------------------------

    def _loosened(self, number: int) -> None:
        self.changes += 1
        self._log.append(number)
        if len(self._log) >= 2 * _LOG_LENGTH:
            del self._log[:_LOG_LENGTH]
            self._log_start += _LOG_LENGTH

    def touch(self, lot: Lot) -> None:
        """Have whoever decides look at these nodes again."""
        self.freed += lot.count
        for number in lot.nodes.tolist():
            self._loosened(number)

    def loosened_since(self, changes: int) -> Ints | None:
        """The nodes that could take more since `changes` stood so, each once; None when too many did."""
        if changes < self._log_start:
            return None
        return np.array(list(dict.fromkeys(self._log[changes - self._log_start :])), np.int64)

    @property
    def mark(self) -> int:
        """How many lots were changed so far, in whatever way, what was only tried included."""
        return self._trail_start + len(self._trail)

    def changed_since(self, mark: int) -> list[Lot] | None:
        """Those that were changed since, None when too many were."""
        return self._trail[mark - self._trail_start :] if mark >= self._trail_start else None

    def _follow(self, lot: Lot) -> None:
        self._trail.append(lot)
        if len(self._trail) >= 2 * _TRAIL_LENGTH:
            del self._trail[:_TRAIL_LENGTH]
            self._trail_start += _TRAIL_LENGTH

    # -- runs ---------------------------------------------------------------------------------------------

    def lot(self, shares: Sequence[Share]) -> Lot:
        """The same cards by row."""
        if len(shares) == 1:
            share = shares[0]
            own = self.rows[share.node]
            if len(own) == 1:
                return Lot(np.array(own), np.array((share.mask,)), share.milli)
        rows: list[int] = []
        masks: list[int] = []
        for share in shares:
            mask = share.mask
            for row in self.rows[share.node]:
                if mask & _ROW_MASK:
                    rows.append(row)
                    masks.append(mask & _ROW_MASK)
                mask >>= ROW
        return Lot(np.array(rows, np.int64), np.array(masks, np.int64), shares[0].milli if shares else 0)

    def shares(self, lot: Lot) -> tuple[Share, ...]:
        """The same cards by name."""
        names, shift = self.names, self._shift
        if lot.nodes.size == 1:
            row = lot.nodes.item()
            return (Share(names[row], lot.masks.item() << shift[row], lot.milli),)
        masks: dict[str, int] = {}
        for row, mask in zip(lot.nodes.tolist(), lot.masks.tolist(), strict=True):
            name = names[row]
            masks[name] = masks.get(name, 0) | mask << shift[row]
        return tuple([Share(name, mask) for name, mask in masks.items()])

    def take(self, lot: Lot, ends_ms: int) -> None:
        """Mark cards as used, at the latest until then; no run may have them, or so much of a shared one."""
        self._ahead.forget(lot.nodes)
        self._follow(lot)
        if lot.milli:
            self.parts.take(self.node, self.card, self.slot, lot, ends_ms)
            return
        bad = k.take(self.node, self.card, self.slot, lot.nodes, lot.masks, ends_ms)
        assert bad < 0, f"two runs on one card of {self.names[lot.nodes[bad]]}: {lot.masks[bad]:b}"

    def give(self, lot: Lot) -> None:
        """Mark cards as no longer used; a run must have had them."""
        self.undo(lot)
        self.touch(lot)

    def undo(self, lot: Lot) -> None:
        """Take back a `take` that was only tried: nobody hears of it."""
        self._ahead.forget(lot.nodes)
        self._follow(lot)
        if lot.milli:
            self.parts.give(self.node, self.card, self.slot, lot)
            return
        bad = k.give(self.node, self.card, self.slot, lot.nodes, lot.masks)
        assert bad < 0, f"cards {lot.masks[bad]:b} of {self.names[lot.nodes[bad]]} were not used"

    def until(self, lot: Lot, ends_ms: int) -> None:
        """Say anew when the run on these cards ends at the latest."""
        self._ahead.forget(lot.nodes)
        self._follow(lot)
        if lot.milli:
            self.parts.until(self.node, self.card, self.slot, lot, ends_ms)
            return
        k.until(self.node, self.card, self.slot, lot.nodes, lot.masks, ends_ms)

    def use(self, lot: Lot, member: int, needs: Iterable[tuple[str, int]], sign: int) -> None:
        """Take (1) or give back (-1) what members of so many cards on these nodes need beside cards, each."""
        members = np.maximum(lot.counts // member, 1)  # one needs no card
        for name, amount in needs:
            row = self.row(name)
            np.subtract.at(self.stock[row], lot.nodes, sign * amount * members)

    def busy(self, below: int) -> Ints:
        """When each card of each row is free for good, the claims of those numbered `below` minded."""
        return self._ahead.busy(self.node, self.card, self.slot, self.size, below)

    # -- claims -------------------------------------------------------------------------------------------

    def claim(self, lot: Lot, from_ms: int, to_ms: int, whose: int) -> None:
        """Keep cards for one claimant (not 0; below 0 a reservation) from one moment to another."""
        args = lot.nodes, lot.masks, from_ms, to_ms, whose
        while not k.claim(self.node, self.card, self.slot, *args):
            self.slot = np.pad(self.slot, ((0, 0), (0, 0), (0, self.slot.shape[2])))
        self._ahead.claimed(lot, to_ms, whose)
        self._follow(lot)

    def forget(self, lot: Lot, whose: int) -> None:
        """Take back a `claim` that was only tried: nobody hears of it."""
        k.unclaim(self.node, self.card, self.slot, lot.nodes, whose)
        self._ahead.unclaimed(lot.nodes, whose)
        self._follow(lot)

    def unclaim(self, lot: Lot, whose: int) -> None:
        """Let go of what one claimant has there."""
        self.forget(lot, whose)
        self.touch(lot)

    @property
    def is_booked(self) -> bool:
        """Whether there are reservations."""
        return bool((self.node[k.FIRST, : self.size] < 0).any())

    def is_free(self, lot: Lot) -> bool:
        """Whether no run has any of these cards, and all are healthy and on open nodes."""
        return not (lot.masks & ~self.node[k.FREE, lot.nodes]).any()

    def is_broken(self, lot: Lot) -> bool:
        """Whether a card of a claim is on a closed node or is not healthy."""
        is_closed = self.node[k.OPEN, lot.nodes] == 0
        return bool((is_closed | (lot.masks & ~self.node[k.HEALTHY, lot.nodes] != 0)).any())
