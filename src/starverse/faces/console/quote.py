"""What a job would cost, as a person reads it before pressing the button."""

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, tag
from starverse.faces.console.panels import facts
from starverse.faces.console.voice import Voice


def quote(voice: Voice, preview: sc.Preview) -> Markup:
    """The cost an hour in large figures, and what follows from it."""
    say = voice.say
    hour = _span(voice, preview.per_hour_min, preview.per_hour_max)
    limit = _span(voice, preview.for_time_limit_min, preview.for_time_limit_max)
    lasts = say("quote.forever") if preview.lasts_ms is None else voice.lasts(preview.lasts_ms)
    free = say(
        "overview.free", free=voice.number(preview.cards_free), cards=voice.number(preview.cards_total)
    )
    starts = say("quote.now" if preview.starts_now else "quote.waits", kind=preview.kind, free=free)
    return tag(
        "div",
        tag("div", tag("span", hour, cls="num"), tag("small", say("quote.per_hour")), cls="sv-quote-hour"),
        facts(
            [
                (say("quote.price"), say("unit.per_card_hour", money=voice.money(preview.price))),
                (say("quote.cards"), f"{voice.cards(preview.cards_min, preview.cards_max)} {preview.kind}"),
                (say("quote.limit", time=voice.lasts(preview.time_limit_ms)), limit),
                (say("quote.wallet"), voice.money(preview.available)),
                (say("quote.lasts"), lasts),
            ]
        ),
        tag("p", starts, cls=f"sv-quote-start {'is-now' if preview.starts_now else 'is-later'}"),
        tag("p", say("quote.only_running"), cls="sv-dim"),
    )


def _span(voice: Voice, least: int, most: int) -> str:
    return voice.money(least) if least == most else f"{voice.money(least)} – {voice.money(most)}"
