"""What is said of a job in words and figures: state, reason, cost, progress, details, files, history."""

import shlex
from collections.abc import Sequence

from starverse.faces import schemas as sc
from starverse.faces.console.asked import asked
from starverse.faces.console.downloads import address
from starverse.faces.console.markup import Markup, joined, tag
from starverse.faces.console.output import plain
from starverse.faces.console.panels import facts, tile
from starverse.faces.console.rows import Column, badge, name_of, ran_ms, state_of, table
from starverse.faces.console.voice import NOTHING, Voice

HISTORY_SHOWN = 200
FILES_SHOWN = 500


def title(voice: Voice, job: sc.Job) -> Markup:
    """Name and state."""
    return tag("div", tag("h1", name_of(job)), badge(voice, state_of(job)), cls="sv-job-name")


def reason(voice: Voice, job: sc.Job, why: sc.Why | None, last: sc.Run | None = None) -> Markup:
    """Why it is where it is, and what would start it, or its last words; empty for one that simply runs."""
    if why is not None and job.phase in ("waiting", "paused"):
        causes = [tag("li", voice.server(cause.text)) for cause in why.causes]
        change = (
            tag("p", tag("b", voice.say("job.change")), " ", voice.server(why.change)) if why.change else None
        )
        promised = (
            tag("p", voice.say("job.promised", time=voice.when(why.promised_ms)))
            if why.promised_ms is not None
            else None
        )
        words = tag("ul", *causes) if causes else tag("p", voice.server(why.text))
        head = tag("b", voice.say("job.why_paused" if job.phase == "paused" else "job.why_waiting"))
        return tag("div", tag("div", head, words), promised, change, cls=f"sv-reason is-{job.phase}")
    if job.why and job.phase != "running":
        text = last.text.strip() if last is not None and job.outcome == "failed" else ""
        said = tag("pre", plain(text)) if text else None
        return tag("div", tag("p", _sentence(voice, job.why)), said, cls=f"sv-reason is-{state_of(job)}")
    return Markup("")


def figures(voice: Voice, job: sc.Job, last: sc.Run | None, now_ms: int) -> Markup:
    """Cost with its parts, cards, time, speed and loss."""
    say = voice.say
    parts = [say("job.charged", money=voice.money(job.charged))]
    if job.credited:
        parts.append(say("job.credited", money=voice.money(job.credited)))
    under_cost = tag("span", parts[0], *(tag("em", part, cls="is-plus") for part in parts[1:]))
    live = last is not None and last.ended_ms is None
    has = (last.cards, last.cards) if last is not None and live else (job.cards_min, job.cards_max)
    cards = voice.cards(*has)
    now = job.progress
    loss = f"{now.loss:.4f}" if now and now.loss is not None else NOTHING
    speed = voice.number(now.tokens_per_s) if now and now.tokens_per_s and live else NOTHING
    billed = say("job.metered", time=voice.lasts(job.card_ms)) if job.card_ms else None
    tiles = [
        tile(say("job.cost"), voice.money(job.cost), under_cost),
        tile(say("job.cards"), cards, say("unit.per_card_hour", money=voice.money(job.price))),
        tile(
            say("job.time"),
            voice.lasts(ran_ms(job, now_ms)),
            say("job.limit", time=voice.lasts(job.time_limit_ms)),
        ),
        tile(say("job.runs"), voice.number(job.runs), billed),
    ]
    if now:
        tiles.append(tile(say("curve.loss"), loss, say("job.speed", n=speed) if speed != NOTHING else None))
    return joined(tiles)


def progress_of(point: sc.Metric) -> sc.Progress:
    """The progress that a report of a step tells of."""
    return sc.Progress(point.step, point.steps, point.loss, point.tokens_per_s, point.at_ms)


def progress(voice: Voice, job: sc.Job, last: sc.Run | None, now_ms: int) -> Markup:
    """The bar of steps, with what is left at the present pace."""
    now = job.progress
    if now is None or not now.steps:
        return Markup("")
    part = min(1.0, now.step / now.steps)
    words = voice.say(
        "job.steps", step=voice.number(now.step), steps=voice.number(now.steps), part=f"{part:.0%}"
    )
    left = _left_ms(job, last, now, now_ms)
    to_go = tag("span", voice.say("job.to_go", time=voice.lasts(left))) if left is not None else None
    bar = tag("div", tag("i", style=f"width:{100 * part:.2f}%"), cls="sv-progress-bar", role="progressbar",
              aria_valuenow=now.step, aria_valuemin=0, aria_valuemax=now.steps, aria_label=words)  # fmt: skip
    return tag(
        "div", bar, tag("div", tag("span", words), to_go, cls="sv-progress-words num"), cls="sv-progress"
    )


def _left_ms(job: sc.Job, last: sc.Run | None, now: sc.Progress, now_ms: int) -> int | None:
    """By the pace of the present run since its first step."""
    if job.phase != "running" or last is None or last.resumed_ms is None or not now.steps:
        return None
    done = now.step - (last.resumed_step or 0)
    taken_ms = now.at_ms - last.resumed_ms
    if done < 5 or taken_ms <= 0:
        return None
    rest_ms = (now.steps - now.step) * taken_ms // done
    return max(0, rest_ms - max(0, now_ms - now.at_ms)) if now.step < now.steps else None


def details(voice: Voice, job: sc.Job) -> Markup:
    """What was asked for."""
    say = voice.say
    variables = [tag("div", tag("code", f"{name}={value}")) for name, value in job.environment.items()]
    rows: list[tuple[str, object]] = [
        *([(say("details.command"), tag("code", shlex.join(job.command)))] if not job.roles else []),
        (say("details.launch"), say(f"launch.{job.launch}")),
        (say("details.cards"), f"{voice.cards(job.cards_min, job.cards_max)} {job.kind}"),
        (say("details.priority"), say(f"priority.{job.priority}")),
        (say("details.submitted"), voice.when(job.submitted_ms, seconds=True)),
    ]
    rows += asked(voice, job)
    if variables:
        rows.append((say("details.environment"), tag("div", *variables)))
    if job.secrets:
        rows.append((say("details.secrets"), ", ".join(job.secrets)))
    if job.snapshot:
        rows.append(
            (say("details.snapshot"), tag("span", job.snapshot[:12], cls="sv-id", title=job.snapshot))
        )
    rows.append((say("details.job"), tag("span", job.job, cls="sv-id")))
    return facts(rows)


def files_table(voice: Voice, job: str, files: Sequence[sc.OutputFile]) -> Markup:
    """Output files with links to download them."""
    if not files:
        return tag("p", voice.say("files.none"), cls="sv-dim")
    columns = [
        Column(voice.say("files.path")),
        Column(voice.say("files.size"), figures=True),
        Column(voice.say("files.modified"), figures=True),
    ]
    rows = [
        (
            tag(
                "a",
                file.path,
                href=address(job, file.path),
                download=file.path.rpartition("/")[2],
                cls="sv-file",
            ),
            voice.bytes(file.bytes),
            voice.when(file.modified_ms),
        )
        for file in files[:FILES_SHOWN]
    ]
    return table(columns, rows, voice.say("files.title"))


def history(voice: Voice, moments: Sequence[sc.Moment]) -> Markup:
    """What happened, the newest first."""
    lines = [
        tag("li", tag("time", voice.when(moment.at_ms, seconds=True)), tag("span", voice.server(moment.text)))
        for moment in moments[: -HISTORY_SHOWN - 1 : -1]
    ]
    return tag("ol", *lines, cls="sv-events num")


def _sentence(voice: Voice, why: str) -> str:
    """A reason as the journal has it, as a sentence."""
    said = voice.server(why)
    return said if said != why else said[:1].upper() + said[1:] + ("" if said.endswith(".") else ".")
