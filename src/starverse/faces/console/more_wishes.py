"""What is folded away in the form: how the cards lie, what is needed beside them, after whom, and when."""

from dataclasses import dataclass
from typing import Any

from starverse.faces.schemas import ShapeAsk
from starverse.faces.typed import whole
from starverse.model.errors import BadInput
from starverse.model.units import parse_duration_ms


@dataclass
class MoreWishes:
    """The fields of the folded part as they stand. Mutable: the form writes here."""

    require: str = ""
    prefer: str = ""
    member: str = ""
    cpu: str = ""
    memory_mb: str = ""
    slices: str = ""
    spread: str = ""
    balanced: bool = False
    resources: str = ""
    licences: str = ""
    apart: str = ""
    apart_level: str = ""
    after: str = ""
    after_any: str = ""
    array: str = ""
    wait: str = ""
    reservation: str = ""
    stays: bool = False

    def asks(self, now_ms: int) -> dict[str, Any]:
        """As parts of an ask, from `now_ms` on. Raises BadInput for what cannot be read."""
        wait = self.wait.strip()
        shape = ShapeAsk(
            member=whole(self.member.strip() or "1"),
            cpu=_number(self.cpu),
            memory_mb=whole(self.memory_mb.strip() or "0"),
            require=self.require,
            prefer=self.prefer,
            slices=_counts(self.slices, "rack=8"),
            spread=_counts(self.spread, "rack=8"),
            balanced=self.balanced,
            resources=_counts(self.resources, "nic=2"),
            licences=_counts(self.licences, "solver=2"),
            apart=self.apart.strip(),
            apart_level=self.apart_level,
        )
        return {
            "shape": shape,
            "after": _parts(self.after),
            "after_any": _parts(self.after_any),
            "array": self.array.strip(),
            "earliest_start_ms": now_ms + parse_duration_ms(wait) if wait else 0,
            "reservation": self.reservation,
            "stays": self.stays,
        }


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for each in text.split(",") if (part := each.strip()))


def _counts(text: str, example: str) -> dict[str, int]:
    """Names with a count each. Raises BadInput for what is none, or named twice."""
    found: dict[str, int] = {}
    for part in _parts(text):
        name, sign, number = (each.strip() for each in part.rpartition("="))
        if not (sign and name and number.isascii() and number.isdecimal() and len(number) < 16):
            raise BadInput(f"'{part[:40]}' names nothing and how many of it.", f"Write it like {example}.")
        if name in found:
            raise BadInput(f"'{name[:40]}' is named twice.", "Name each once.")
        found[name] = int(number)
    return found


def _number(text: str) -> float:
    try:
        number = float(text.strip() or 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 30:
        raise BadInput(f"'{text[:40]}' is not a number.", "Write it like 1.5.")
    return number
