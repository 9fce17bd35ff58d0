"""How the cards of a job or a booking are to lie, as people ask for it and are told of it.

Only the standard library is imported here, because the client reads answers into this same shape.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ShapeAsk:
    """How cards are to lie, and what is needed beside them; what is left out is not asked for.

    Members of `member` cards lie on one node each, with so many processors (`cpu`, such as 1.5), `memory_mb`
    and named `resources` of it for each member. All cards lie in one domain of the level `require`, and of
    `prefer` where that can be had. `slices` are whole multiples of so many cards in each domain of a level,
    `spread` is the most cards in one; `balanced` fills the domains evenly. `licences` are counted for the
    whole cluster. A tenant's jobs with the same `apart` share no domain of `apart_level` ("": no node).
    """

    member: int = 1
    cpu: int | float = 0
    memory_mb: int = 0
    resources: dict[str, int] = field(default_factory=dict)
    require: str = ""
    prefer: str = ""
    slices: dict[str, int] = field(default_factory=dict)
    spread: dict[str, int] = field(default_factory=dict)
    balanced: bool = False
    licences: dict[str, int] = field(default_factory=dict)
    apart: str = ""
    apart_level: str = ""


ANYHOW = ShapeAsk()
"""The shape of what may lie anyhow."""
