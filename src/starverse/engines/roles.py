"""The ranks of a gang whose members do several kinds of work: who runs what, on which of its cards."""

from collections.abc import Sequence
from typing import NamedTuple

from starverse.model.job import Role, ranks_of_role


class Part(NamedTuple):
    """A rank of a gang with roles: its number among all, and in its role of so many. Its role has the cards
    of the run from the place `first` on."""

    role: Role
    rank: int
    role_rank: int
    role_ranks: int
    first: int


def parts(roles: Sequence[Role]) -> list[Part]:
    """All ranks, ordered by role: each role has the next of the run's cards."""
    found: list[Part] = []
    first = 0
    for role in roles:
        ranks = ranks_of_role(role)
        for role_rank in range(ranks):
            found.append(Part(role, len(found), role_rank, ranks, first))
        first += role.cards
    return found
