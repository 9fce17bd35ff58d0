"""Training that survives faults: `train.start(…)`, `for batch in session:`, `session.step(loss=…)`.

Importing this package costs nothing: torch is loaded when `start`, `Session` or `Batches` is first
asked for, so that the platform can import `starverse.train.contract` alone.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starverse.train.data import Batches
    from starverse.train.session import Session, start

__all__ = ["Batches", "Session", "start"]


def __getattr__(name: str) -> Any:
    if name == "Batches":
        from starverse.train.data import Batches

        return Batches
    if name in ("Session", "start"):
        from starverse.train import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
