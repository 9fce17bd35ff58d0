"""Pieces of HTML with everything that is not ours escaped: what only shows needs no live element."""

from collections.abc import Iterable

from markupsafe import Markup, escape
from nicegui import ui

__all__ = ["Markup", "escape", "joined", "shown", "tag"]


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """An element: `tag("td", text, cls="num")`; attributes that are None, False or "" are left out."""
    parts = [Markup("<{}").format(name)]
    for key, value in attributes.items():
        if value is None or value is False or value == "":
            continue
        written = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
        parts.append(Markup(' {}="{}"').format(written, "" if value is True else value))
    body = joined(inside)
    return Markup("").join(parts) + Markup(">") + body + Markup("</{}>").format(name)


def joined(pieces: Iterable[object]) -> Markup:
    """Pieces one after the other; None is nothing."""
    return Markup("").join(escape(piece) for piece in pieces if piece is not None)


def shown(markup: Markup, classes: str = "") -> ui.html:
    """Put markup on the page; it is safe, because all that came from outside was escaped on its way in."""
    return ui.html(markup, sanitize=False).classes(classes)
