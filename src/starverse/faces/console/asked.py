"""What a job asked for beside a number of cards, in the reader's words: how they lie, after whom, when."""

import shlex

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, tag
from starverse.faces.console.voice import Voice

Row = tuple[str, object]


def asked(voice: Voice, job: sc.Job) -> list[Row]:
    """Names and values of all that a job asked for; nothing for what it did not."""
    say = voice.say
    rows: list[tuple[str, object]] = [
        (say("asked.role", name=role.name), _role(voice, role)) for role in job.roles
    ]
    limit = [say("asked.at_once", n=voice.number(job.array_limit))] if job.array_limit else []
    array = [say("asked.index", array=job.array, index=job.array_index), *limit] if job.array else []
    earliest = voice.when(job.earliest_start_ms) if job.earliest_start_ms is not None else ""
    rows += [
        (say("asked.array"), _lines(array)),
        (say("asked.after"), _links(job.after)),
        (say("asked.after_any"), _links(job.after_any)),
        (say("asked.lies"), _lines(lies(voice, job.shape))),
        (say("asked.beside"), _lines(beside(voice, job.shape))),
        (say("asked.earliest"), earliest),
        (say("asked.inside"), job.reservation),
        (say("asked.stays"), say("asked.never_moved") if job.stays else ""),
    ]
    return [(name, value) for name, value in rows if value]


def lies(voice: Voice, shape: sc.ShapeAsk) -> list[str]:
    """How cards are to lie, a sentence each."""
    say, number = voice.say, voice.number
    found = [
        *(say("asked.slice", n=number(n), level=level) for level, n in shape.slices.items()),
        *(say("asked.spread", n=number(n), level=level) for level, n in shape.spread.items()),
    ]
    if shape.require:
        found.insert(0, say("asked.require", level=shape.require))
    if shape.prefer:
        found.append(say("asked.prefer", level=shape.prefer))
    if shape.balanced:
        found.append(say("asked.balanced"))
    if shape.member > 1:
        found.append(say("asked.member", n=number(shape.member)))
    if shape.apart:
        found.append(say("asked.apart", name=shape.apart, level=shape.apart_level))
    return found


def beside(voice: Voice, shape: sc.ShapeAsk) -> list[str]:
    """What is needed beside cards, a sentence each."""
    say, number = voice.say, voice.number
    found = [say("asked.needs", n=number(n), name=name) for name, n in shape.resources.items()]
    if shape.memory_mb:
        found.insert(0, say("asked.memory", n=number(shape.memory_mb)))
    if shape.cpu:
        found.insert(0, say("asked.cpu", n=f"{shape.cpu:g}"))
    return found + [say("asked.licence", n=number(n), name=name) for name, n in shape.licences.items()]


def _role(voice: Voice, role: sc.RoleAsk) -> Markup:
    return tag("span", voice.cards(role.cards, role.cards), " × ", tag("code", shlex.join(role.command)))


def _lines(texts: list[str]) -> object:
    return tag("div", *(tag("div", text) for text in texts)) if texts else ""


def _links(jobs: tuple[str, ...]) -> object:
    links = [tag("div", tag("a", job, href=f"/jobs/{job}", cls="sv-id")) for job in jobs]
    return tag("div", *links) if links else ""
