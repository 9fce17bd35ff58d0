"""What is folded away in the form: how the cards lie, what is needed beside them, after whom, and when."""

from dataclasses import dataclass
from typing import Any

from starverse.faces.schemas import ShapeAsk
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
    apart: str = ""
    after: str = ""
    array: str = ""
    wait: str = ""
    reservation: str = ""
    stays: bool = False

    def asks(self, now_ms: int) -> dict[str, Any]:
        """As parts of an ask, from `now_ms` on. Raises BadInput for what cannot be read."""
        wait = self.wait.strip()
        shape = ShapeAsk(
            member=_whole(self.member, 1),
            cpu=_number(self.cpu),
            memory_mb=_whole(self.memory_mb, 0),
            require=self.require,
            prefer=self.prefer,
            apart=self.apart.strip(),
        )
        return {
            "shape": shape,
            "after": tuple(name for part in self.after.split(",") if (name := part.strip())),
            "array": self.array.strip(),
            "earliest_start_ms": now_ms + parse_duration_ms(wait) if wait else 0,
            "reservation": self.reservation,
            "stays": self.stays,
        }


def _whole(text: str, nothing: int) -> int:
    text = text.strip()
    if not text:
        return nothing
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise BadInput(f"'{text[:40]}' is not a whole number.", "Write it like 2.")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text.strip() or 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 30:
        raise BadInput(f"'{text[:40]}' is not a number.", "Write it like 1.5.")
    return number
