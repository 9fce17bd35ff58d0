"""The life of a job as a picture: a bar for each run, with checkpoints, faults, resumes and what was lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, tag
from starverse.faces.console.voice import Voice
from starverse.train.contract import EXIT_SAVED

RUNS_SHOWN = 24
CHECKPOINTS_SHOWN = 60
TICKS = 5
LAST = 97.0
"""A tick beyond so many per cent is written to the left of its place, or it would stick out."""
STEPS_OF_TIME_MS = (
    1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000,
    3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """The stretch of time that the picture shows."""

    from_ms: int
    to_ms: int

    def at(self, ms: int) -> float:
        """Where a moment lies, in per cent from the left."""
        part = (ms - self.from_ms) / max(self.to_ms - self.from_ms, 1)
        return round(100 * min(max(part, 0.0), 1.0), 3)


def picture(
    voice: Voice, job: sc.Job, runs: Sequence[sc.Run], moments: Sequence[sc.Moment], now_ms: int
) -> Markup:
    """All runs, the newest last, over one axis of time."""
    span = Span(job.submitted_ms, max(job.ended_ms or now_ms, job.submitted_ms + 1_000))
    shown = runs[-RUNS_SHOWN:]
    earlier = len(runs) - len(shown)
    more = tag("p", voice.count("lives.earlier", earlier), cls="sv-dim") if earlier else None
    rows = [_run(voice, job, run, _before(runs, run), moments, span, now_ms) for run in shown]
    return tag("div", more, *rows, _axis(voice, span), _legend(voice, runs), cls="sv-lives")


def lost_ms(run: sc.Run) -> int:
    """What a fault of the platform's undid: from the last checkpoint to the end."""
    if not run.fault or run.ended_ms is None:
        return 0
    kept_ms = next((ms for ms in (run.checkpoint_ms, run.started_ms) if ms is not None), run.ended_ms)
    return max(0, run.ended_ms - kept_ms)


def resume_ms(before: sc.Run | None, run: sc.Run) -> int | None:
    """From the end of the run before to the first step of this one, if that one ended badly."""
    if (
        before is None
        or before.ended_ms is None
        or run.resumed_ms is None
        or not (before.code or before.fault)
    ):
        return None
    return max(0, run.resumed_ms - before.ended_ms)


def _before(runs: Sequence[sc.Run], run: sc.Run) -> sc.Run | None:
    return next((other for other in runs if other.attempt == run.attempt - 1), None)


def _run(
    voice: Voice,
    job: sc.Job,
    run: sc.Run,
    before: sc.Run | None,
    moments: Sequence[sc.Moment],
    span: Span,
    now_ms: int,
) -> Markup:
    end_ms = run.ended_ms or now_ms
    first_ms = min(run.resumed_ms or end_ms, end_ms)
    lost_from_ms = end_ms - lost_ms(run)
    bars = [
        _bar(span, run.placed_ms, first_ms, "start", voice.say("lives.starts")),
        _bar(span, first_ms, lost_from_ms, "work", voice.say("lives.works")),
        _bar(span, max(lost_from_ms, first_ms), end_ms, "lost", voice.say("lives.lost"))
        if lost_ms(run)
        else None,
    ]
    saved = [m for m in moments if m.what == "CheckpointSaved" and m.run == run.run]
    every = -(-len(saved) // CHECKPOINTS_SHOWN) or 1
    marks = [
        tag(
            "i",
            cls="sv-mark is-saved",
            style=f"left:{span.at(m.at_ms)}%",
            title=f"{voice.clock(m.at_ms)} {voice.server(m.text)}",
        )
        for m in saved[::-every]
    ]
    words = _end(voice, run)
    if run.ended_ms is not None:
        kind = "fault" if run.fault else "done" if run.how == "exit" and run.code == 0 else "ended"
        marks.append(tag("i", cls=f"sv-mark is-{kind}", style=f"left:{span.at(run.ended_ms)}%", title=words))
    cards = voice.count("lives.cards", run.cards)
    name = tag("div", tag("b", voice.say("lives.run", n=run.attempt)), tag("span", cards), cls="sv-life-name")
    gap_ms = resume_ms(before, run)
    back = (
        tag("span", voice.say("lives.back", time=voice.lasts(gap_ms)), cls="is-back")
        if gap_ms is not None
        else None
    )
    from_step = (
        voice.say("lives.from_step", n=voice.number(run.resumed_step))
        if run.resumed_step is not None
        else None
    )
    note = tag("div", back, from_step and tag("span", from_step), tag("span", words), cls="sv-life-note")
    live = " is-live" if run.ended_ms is None and job.phase != "ended" else ""
    return tag("div", name, tag("div", *bars, *marks, cls=f"sv-life-bar{live}"), note, cls="sv-life")


def _bar(span: Span, from_ms: int, to_ms: int, kind: str, title: str) -> Markup | None:
    if to_ms <= from_ms:
        return None
    left, right = span.at(from_ms), span.at(to_ms)
    return tag(
        "span",
        cls=f"sv-bar is-{kind}",
        style=f"left:{left}%;width:{max(right - left, 0.15):.3f}%",
        title=title,
    )


def _end(voice: Voice, run: sc.Run) -> str:
    """How the run ended, in words."""
    if run.ended_ms is None:
        return voice.say("lives.alive")
    lost = voice.say("lives.lost_for", time=voice.lasts(lost_ms(run))) if lost_ms(run) else ""
    who = voice.say("lives.rank", n=run.rank) if run.rank >= 0 else ""
    if run.how == "exit" and run.code == 0:
        text = voice.say("lives.end_done")
    elif (run.how, run.code) == ("exit", EXIT_SAVED):
        text = voice.say("lives.end_saved")
    elif run.how in ("exit", "signal"):
        text = voice.say(f"lives.end_{run.how}", who=who, code=run.code)
    else:
        text = voice.say(f"lives.end_{run.how}")
    if run.injected:
        text = f"{text} ({voice.say('lives.injected')})"
    return " · ".join(filter(None, (text.strip(), lost)))


def _axis(voice: Voice, span: Span) -> Markup:
    """Ticks at round times since the job was submitted."""
    length = span.to_ms - span.from_ms
    step = next((s for s in STEPS_OF_TIME_MS if length / s <= TICKS), STEPS_OF_TIME_MS[-1])
    step = max(step, step * -(-length // (step * TICKS * 2)))
    at = [(ms, span.at(span.from_ms + ms)) for ms in range(0, length + 1, step)]
    ticks = [
        tag("span", _since(voice, ms), style=f"left:{left}%", cls="is-last" if left > LAST else None)
        for ms, left in at
    ]
    return tag("div", *ticks, cls="sv-life-axis num", aria_hidden="true")


def _since(voice: Voice, ms: int) -> str:
    if ms == 0:
        return "0"
    for unit_ms, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= unit_ms and ms % unit_ms == 0:
            return voice.say(f"unit.{unit}", n=ms // unit_ms)
    return voice.lasts(ms)


def _legend(voice: Voice, runs: Sequence[sc.Run]) -> Markup:
    faults = any(run.fault for run in runs)
    items = [("bar", "start"), ("bar", "work"), *([("bar", "lost")] if faults else []), ("mark", "saved")]
    items += [("mark", "fault")] if faults else []
    return tag(
        "div",
        *(
            tag("span", tag("i", cls=f"sv-{shape} is-{kind}"), voice.say(f"lives.legend_{kind}"))
            for shape, kind in items
        ),
        cls="sv-legend",
    )
