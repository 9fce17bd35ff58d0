"""Raises old rows of the journal to today's events: the one place that knows what events once looked like."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from starverse.model.events import Event

Shape = dict[str, Any]
"""An event as JSON has it; its tag stands under `type`."""

OLD: Mapping[str, Callable[[Shape], Shape]] = {}
"""For each tag that is written no more: from its shape to the next newer one, with the new tag under `type`.

One row stays one event, and is worth what it was worth: what it did to money and to jobs when it was heard.
"""

_SHAPES_MAX = 100  # that a row may pass through: far more than there will ever be, and no ring is endless
_decode = msgspec.json.Decoder(Event).decode


def raised(tag: str, body: str, old: Mapping[str, Callable[[Shape], Shape]] = OLD) -> Event:
    """The event of a row, whenever written. Raises msgspec.MsgspecError for what was never an event."""
    if tag not in old:
        return _decode(body)
    shape: Shape = msgspec.json.decode(body, type=Shape)
    for _ in range(_SHAPES_MAX):
        if shape["type"] not in old:
            break
        shape = old[shape["type"]](shape)
    return msgspec.convert(shape, Event)  # type: ignore[no-any-return]
