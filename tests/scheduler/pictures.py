"""Clusters and plans as pictures: a word is a node, a character a card.

.  free      x  used by another run      #  broken      -  on a node that takes no new runs
1  2  3 …    given to that job by the plan
"""

from collections import deque
from dataclasses import dataclass

from starverse.model.allocation import Share
from starverse.model.job import JobSpec
from starverse.model.units import CARD
from starverse.money.lease import LeaseTerms
from starverse.scheduler.plan import Plan
from starverse.scheduler.space import Space
from starverse.scheduler.view import View

TERMS = LeaseTerms(window_ms=60_000, least_ms=10_000, grace_ms=4_000)
PRICE = 3_600_000
"""A micro-yuan for each card-millisecond: the window costs 60,000 a card, the least 10,000."""


@dataclass(frozen=True)
class Waiting:
    spec: JobSpec


def space_of(picture: str) -> Space:
    space = Space()
    for n, cards in enumerate(picture.split()):
        healthy = sum(1 << card for card, mark in enumerate(cards) if mark != "#")
        space.join(f"n{n}", healthy, is_open="-" not in cards)
        used = sum(1 << card for card, mark in enumerate(cards) if mark == "x")
        if used:
            space.take(f"n{n}", used)
    return space


def view_of(clusters: dict[str, str], queues: dict[str, str], money: dict[str, int] | None = None) -> View:
    """A queue is `1=2 2=1-8 3=4@bob`: job 1 wants 2 cards, 2 takes 1 to 8, 3 is bob's (others are ann's)."""
    jobs: dict[str, Waiting] = {}
    names: dict[str, deque[str]] = {}
    for kind, queue in queues.items():
        names[kind] = deque()
        for word in queue.split():
            job, _, wants = word.partition("=")
            wants, _, tenant = wants.partition("@")
            low, _, high = wants.partition("-")
            spec = JobSpec(job, tenant or "ann", int(low) * CARD, int(high or low) * CARD, kind, price=PRICE)
            jobs[job] = Waiting(spec)
            names[kind].append(job)
    accounts = {
        f"wallet/{tenant}": amount for tenant, amount in (money or {"ann": 10**9, "bob": 10**9}).items()
    }
    spaces = {kind: space_of(picture) for kind, picture in clusters.items()}
    return View(names, spaces, jobs, accounts, TERMS)


def picture_of(picture: str, shares: dict[str, tuple[Share, ...]]) -> str:
    """The picture with what each job was given."""
    nodes = [list(cards) for cards in picture.split()]
    for job, given in shares.items():
        for share in given:
            for card in share.cards:
                assert nodes[int(share.node[1:])][card] == ".", (
                    f"card {card} of {share.node} was not to be had"
                )
                nodes[int(share.node[1:])][card] = job
    return " ".join("".join(cards) for cards in nodes)


def shares_in(plan: Plan) -> dict[str, tuple[Share, ...]]:
    return {place.job: place.shares for place in plan.places}


def insides(space: Space) -> dict[str, str]:
    """All that a space holds, to compare before and after."""
    return {name: repr(value) for name, value in vars(space).items()}
