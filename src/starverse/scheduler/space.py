"""The free cards of one kind, kept so that a place is found without looking at every node."""

from starverse.model.allocation import Share


class Space:
    """Free cards by node, mutable: owned by the state, and by `decide` for the time of a plan.

    Nodes are numbered in the order they joined. `_healthy`, `_used` and `_free` hold a bit set of cards for
    each node; `_by_count[c]` is a bit set of the nodes with exactly c free cards that take new runs. Bit sets
    make the choice the same whatever the order in which cards came free, so that equal states decide alike.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}
        self._healthy: list[int] = []
        self._used: list[int] = []
        self._free: list[int] = []
        self._open: list[bool] = []
        self._by_count: list[int] = [0]
        self.free = 0
        """Free cards on nodes that take new runs."""
        self.changes = 0
        """Counts the times that cards came free: what did not fit does not fit until this has grown."""

    def join(self, node: str, healthy: int, is_open: bool) -> None:
        """Add a node, or say anew which of its cards are healthy (a bit set) and whether runs may come."""
        number = self._number.get(node)
        if number is None:
            number = self._number[node] = len(self.names)
            self.names.append(node)
            self._healthy.append(0)
            self._used.append(0)
            self._free.append(0)
            self._open.append(False)
        self._healthy[number] = healthy
        self._by_count += [0] * (healthy.bit_length() + 1 - len(self._by_count))
        if self._open[number]:
            self._count(number, self._free[number].bit_count(), -1)
        self._free[number] = healthy & ~self._used[number]
        self._open[number] = is_open
        if is_open:
            self._count(number, self._free[number].bit_count(), 1)
        self.changes += 1

    def _count(self, number: int, free: int, sign: int) -> None:
        self._by_count[free] ^= 1 << number
        self.free += sign * free

    def take(self, node: str, mask: int) -> None:
        """Mark cards (a bit set) as used; no run may have them."""
        number = self._number[node]
        used = self._used[number]
        assert not used & mask, f"two runs on one card of {node}: {used & mask:b}"
        self._set(number, used | mask)

    def give(self, node: str, mask: int) -> None:
        """Mark cards (a bit set) as no longer used; a run must have had them."""
        number = self._number[node]
        used = self._used[number]
        assert used & mask == mask, f"cards {mask:b} of {node} were not used"
        self._set(number, used ^ mask)
        self.changes += 1

    def undo(self, node: str, mask: int) -> None:
        """Take back a `take` that was only tried: as if it had never been."""
        number = self._number[node]
        self._set(number, self._used[number] ^ mask)

    def _set(self, number: int, used: int) -> None:
        self._used[number] = used
        free = self._healthy[number] & ~used
        if self._open[number]:
            before = self._free[number].bit_count()
            after = free.bit_count()
            bit = 1 << number
            self._by_count[before] ^= bit
            self._by_count[after] ^= bit
            self.free += after - before
        self._free[number] = free

    def used_on(self, node: str) -> int:
        """The cards of a node that runs have, as a bit set."""
        return self._used[self._number[node]]

    def free_on(self, node: str) -> int:
        """The healthy cards of a node that no run has, as a bit set."""
        return self._free[self._number[node]]

    def find(self, count: int) -> tuple[Share, ...]:
        """A place for `count` cards, () when there is none: the fullest node that holds all of them, else as
        few nodes as possible."""
        if count > self.free:
            return ()
        by_count = self._by_count
        for size in range(count, len(by_count)):
            nodes = by_count[size]
            if nodes:
                return (self._share((nodes & -nodes).bit_length() - 1, count),)
        return self._spread(count)

    def _spread(self, count: int) -> tuple[Share, ...]:
        by_count = self._by_count
        shares: list[Share] = []
        for size in range(len(by_count) - 1, 0, -1):
            nodes = by_count[size]
            while nodes and size <= count:
                lowest = nodes & -nodes
                nodes ^= lowest
                shares.append(self._share(lowest.bit_length() - 1, size))
                count -= size
            if not count:
                return tuple(shares)
            if nodes:  # any of these holds the rest: take it from the fullest node that does
                nodes = next((by_count[tight] for tight in range(count, size) if by_count[tight]), nodes)
                shares.append(self._share((nodes & -nodes).bit_length() - 1, count))
                return tuple(shares)
        raise AssertionError("fewer cards are free than were counted")

    def _share(self, number: int, count: int) -> Share:
        free = self._free[number]
        if count == free.bit_count():
            return Share(self.names[number], free)
        rest = free
        for _ in range(count):
            rest &= rest - 1
        return Share(self.names[number], free ^ rest)
