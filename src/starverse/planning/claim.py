"""A line of the claims table: what is claimed, what the models make of it, and the verdict."""

from typing import Literal

from msgspec import Struct

Verdict = Literal["holds", "holds under this definition", "doesn't hold", "shown", "not yet"]

ROUND_SHARE = 0.2
"""The article's figures are round: one within a fifth of it is met. Where the last points count (PUE, hops,
efficiency) a row is stricter and compares by itself."""

ARTICLE = "the article behind the reference cluster"


class Claim(Struct, frozen=True):
    """A row. `claimed` and `computed` are the figure that leads, in `unit`; the other figures are in `why`.

    Rows that are features have no figures: `shown` names the `command` that shows it, `not yet` is what the
    product cannot do so far. Otherwise `command` asks the same model, where there is one.
    """

    id: str
    definition: str
    claimed: float | None
    computed: float | None
    unit: str
    verdict: Verdict
    why: str
    source: str
    command: str


def near(claimed: float, computed: float, share: float = ROUND_SHARE) -> bool:
    """Whether a figure is met: the computed one is within a share of it."""
    return abs(computed - claimed) <= share * abs(claimed)


def judged(*met: bool, as_written: bool = False) -> Verdict:
    """The verdict on figures that are each met or not, under a definition of ours or the words as written."""
    if not all(met):
        return "doesn't hold"
    return "holds" if as_written else "holds under this definition"


def percent(share: float, digits: int = 0) -> str:
    """A share as a person reads it."""
    return f"{100 * share:.{digits}f} %"
