"""The folded part of the form that submits a job: what few need, and all can ask for."""

from collections.abc import Callable, Sequence

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.more_wishes import MoreWishes


def fields(
    say: Callable[..., str],
    wishes: MoreWishes,
    changed: Callable[[], None],
    cluster: sc.Cluster,
    booked: Sequence[sc.Reservation],
) -> None:
    """Draw the fields; each writes into the wishes and says that it `changed` them."""

    def put(name: str, value: object) -> None:
        if getattr(wishes, name) != value:
            setattr(wishes, name, value)
            changed()

    def text(name: str, label: str, hint: str = "") -> None:
        field = ui.input(label, value=getattr(wishes, name)).classes("sv-field")
        field.props("outlined dense" + (f' hint="{hint}"' if hint else ""))
        field.on_value_change(lambda event: put(name, event.value or ""))

    def choose(name: str, label: str, options: dict[str, str]) -> None:
        there = getattr(wishes, name)
        field = ui.select(options, label=label, value=there if there in options else "")
        put(name, field.value)
        field.props("outlined dense options-dense").classes("sv-field")
        field.on_value_change(lambda event: put(name, event.value or ""))

    def tick(name: str, label: str) -> None:
        field = ui.checkbox(label, value=getattr(wishes, name)).props("dense")
        field.on_value_change(lambda event: put(name, bool(event.value)))

    where = {"": say("more.anywhere"), **{level: level for level in cluster.levels}}
    nodes = {"": say("more.of_a_node"), **{level: level for level in cluster.levels if level != "node"}}
    has, counted = ", ".join(cluster.resources), ", ".join(cluster.licences)
    inside = {"": say("more.no_reservation")}
    inside |= {each.reservation: each.label or each.reservation for each in booked}
    with (
        ui.expansion(say("more.title")).classes("sv-panel sv-history").props("dense"),
        ui.element("div").classes("sv-form-grid"),
    ):
        choose("require", say("more.require"), where)
        choose("prefer", say("more.prefer"), where)
        text("member", say("more.member"))
        text("slices", say("more.slices"), say("more.slices_hint"))
        text("spread", say("more.spread"), say("more.spread_hint"))
        text("cpu", say("more.cpu"))
        text("memory_mb", say("more.memory"))
        text("resources", say("more.resources"), has and say("more.of_these", names=has))
        text("licences", say("more.licences"), counted and say("more.of_these", names=counted))
        text("apart", say("more.apart"))
        choose("apart_level", say("more.apart_level"), nodes)
        text("after", say("more.after"), say("more.after_hint"))
        text("after_any", say("more.after_any"), say("more.after_hint"))
        text("array", say("more.array"), say("more.array_hint"))
        text("wait", say("more.wait"), say("more.wait_hint"))
        choose("reservation", say("more.reservation"), inside)
        tick("balanced", say("more.balanced"))
        tick("stays", say("more.stays"))
