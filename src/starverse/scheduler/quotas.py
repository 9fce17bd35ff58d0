"""Who may use how many cards: quotas in a tree of tenants, who lend each other what they leave idle."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

UNLIMITED = -1
"""The borrowing or lending limit of who has none."""

_MOST = 1 << 62


class Quota(Struct, gc=False):
    """One place in the tree; all but `parent` in milli-cards.

    `nominal` is what it is guaranteed, `pool` that and what those below lend it, `kept` the part of its pool
    that it never lends. `used` is what it uses itself, and what those below use beyond what they keep.
    """

    parent: str
    nominal: int
    borrow_max: int
    lend_max: int
    pool: int = 0
    kept: int = 0
    used: int = 0


class Quotas:
    """The tree, mutable, owned by the state. Who has no place in it has no limit.

    A tenant may use what it is guaranteed as far as it has not lent it, and borrow what the others under its
    parent leave idle, up to its borrowing limit and their lending limits; parents likewise, to any depth.
    These are the rules of Kueue's cohorts (kubernetes-sigs/kueue, `pkg/cache/scheduler/resource_node.go`).
    """

    def __init__(self) -> None:
        self.places: dict[str, Quota] = {}

    def set(self, tenant: str, quota: Quota, used: Iterable[tuple[str, int]]) -> None:
        """Give a tenant this quota, or another one than before; `used` is what each tenant uses now."""
        self.places[tenant] = quota
        self._count(used)

    def remove(self, tenant: str, used: Iterable[tuple[str, int]]) -> None:
        """Take a tenant with nobody under it out of the tree; `used` is what each tenant uses now."""
        assert all(place.parent != tenant for place in self.places.values()), f"others lie under {tenant}"
        del self.places[tenant]
        self._count(used)

    def _count(self, used: Iterable[tuple[str, int]]) -> None:
        for place in self.places.values():
            place.pool, place.used = place.nominal, 0
        for name in self._upwards():
            place = self.places[name]
            place.kept = 0 if place.lend_max == UNLIMITED else max(0, place.pool - place.lend_max)
            if place.parent in self.places:
                self.places[place.parent].pool += place.pool - place.kept
        for name, milli_cards in used:
            self.add(name, milli_cards)

    def _upwards(self) -> list[str]:
        """All places, each before its parent."""
        depth = {name: sum(1 for _ in self._above(name)) for name in self.places}
        return sorted(self.places, key=lambda name: -depth[name])

    def _above(self, name: str) -> Iterable[str]:
        while name in self.places:
            yield name
            name = self.places[name].parent

    def is_below(self, name: str, other: str) -> bool:
        """Whether one place is another, or lies under it."""
        return other in self._above(name)

    def add(self, tenant: str, milli_cards: int) -> None:
        """A tenant uses so much more, or less: what it does not keep for itself, its parent's pool gives."""
        place = self.places.get(tenant)
        while place is not None and milli_cards:
            before = max(0, place.used - place.kept)
            place.used += milli_cards
            milli_cards = max(0, place.used - place.kept) - before
            place = self.places.get(place.parent)

    def available(self, tenant: str) -> int:
        """How many milli-cards more a tenant may use now; below 0 where it uses more than it may."""
        place = self.places.get(tenant)
        if place is None:
            return _MOST
        above = self.places.get(place.parent)
        if above is None:
            return place.pool - place.used
        given = self.available(place.parent)
        if place.borrow_max != UNLIMITED:
            lent = place.pool - place.kept
            drawn = max(0, place.used - place.kept)
            given = min(given, lent - drawn + place.borrow_max)
        return max(0, place.kept - place.used) + given


def whole_cards(weights: Sequence[int], cards: int) -> list[int]:
    """So many cards shared out by weight, whole ones, by largest remainder (Hamilton); ties go to the first.

    Nobody with a weight gets nothing while there is a card for each: the largest shares give theirs up.
    """
    total = sum(weights)
    if not total:
        return [0] * len(weights)
    shares = [weight * cards // total for weight in weights]
    by_rest = sorted(range(len(weights)), key=lambda i: (-(weights[i] * cards % total), i))
    for i in by_rest[: cards - sum(shares)]:
        shares[i] += 1
    for i, weight in enumerate(weights):
        if weight and not shares[i]:
            largest = max(range(len(weights)), key=lambda j: (shares[j], -j))
            if shares[largest] < 2:
                break
            shares[largest] -= 1
            shares[i] = 1
    return shares
