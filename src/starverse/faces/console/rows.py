"""Tables: jobs and anything else in rows, aligned for reading, and stacked on a narrow screen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, tag
from starverse.faces.console.voice import NOTHING, Voice

NAME_SHOWN = 60


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it holds figures, and whether a narrow screen leaves it out."""

    title: str
    figures: bool = False
    minor: bool = False

    @property
    def classes(self) -> str:
        """As the style sheet names it."""
        return " ".join(filter(None, ("num" if self.figures else "", "minor" if self.minor else "")))


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[object]], caption: str = "", marks: Sequence[str] = ()
) -> Markup:
    """A table; `marks` are a class for each row. On a narrow screen each cell carries its heading."""
    head = tag("tr", *(tag("th", c.title, scope="col", cls=c.classes) for c in columns))
    body = []
    for index, row in enumerate(rows):
        cells = [
            tag("td", cell, cls=c.classes, data_title=c.title) for c, cell in zip(columns, row, strict=True)
        ]
        body.append(tag("tr", *cells, cls=marks[index] if index < len(marks) else None))
    shown = tag("caption", caption, cls="sv-unseen") if caption else None
    return tag("div", tag("table", shown, tag("thead", head), tag("tbody", *body)), cls="sv-table")


def state_of(job: sc.Job) -> str:
    """What a job's badge says: its phase, or how it ended."""
    return job.outcome if job.phase == "ended" and job.outcome else job.phase


def badge(voice: Voice, state: str) -> Markup:
    """A state in its colour, with a mark of its own for those who see no colours."""
    return tag("span", tag("i", aria_hidden="true"), voice.say(f"state.{state}"), cls=f"sv-badge is-{state}")


def name_of(job: sc.Job) -> str:
    """What a person calls the job: its name, or the command."""
    text = job.name or " ".join(job.command)
    return text if len(text) <= NAME_SHOWN else text[: NAME_SHOWN - 1] + "…"


def ran_ms(job: sc.Job, now_ms: int) -> int | None:
    """How long ago the job first ran, or for how long if it has ended."""
    return (job.ended_ms or now_ms) - job.started_ms if job.started_ms else None


def jobs_table(voice: Voice, jobs: Sequence[sc.Job], now_ms: int, with_owner: bool = False) -> Markup:
    """Jobs, a row each, with a link to the page of each."""
    say = voice.say
    columns = [
        Column(say("jobs.name")),
        Column(say("jobs.state")),
        *([Column(say("jobs.owner"))] if with_owner else []),
        Column(say("jobs.cards"), figures=True),
        Column(say("jobs.cost"), figures=True),
        Column(say("jobs.took"), figures=True),
        Column(say("jobs.submitted"), figures=True, minor=True),
    ]
    rows = []
    for job in jobs:
        named = tag("a", name_of(job), href=f"/jobs/{job.job}", cls="sv-name", title=job.job)
        rows.append(
            (
                named,
                badge(voice, state_of(job)),
                *([tag("span", job.tenant, cls="sv-dim")] if with_owner else []),
                tag(
                    "span",
                    voice.cards(job.cards_min, job.cards_max),
                    " ",
                    tag("span", job.kind, cls="sv-dim"),
                ),
                voice.money(job.cost),
                voice.lasts(ran_ms(job, now_ms)) if job.started_ms else NOTHING,
                voice.when(job.submitted_ms),
            )
        )
    return table(columns, rows, say("jobs.title"))
