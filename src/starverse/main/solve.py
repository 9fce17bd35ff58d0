"""`starverse solve`: plays a case from a file and shows who runs where, who waits and why."""

import os
from pathlib import Path

import msgspec

from starverse.faces.cli.show import line
from starverse.faces.console.words import translate
from starverse.model import events as ev
from starverse.twin import case_file
from starverse.twin.case_words import Language, say
from starverse.twin.cases import Look, Play, clock, play
from starverse.twin.expecting import Finding, findings
from starverse.twin.pictures import Picture

PICTURES_MAX = 24
EVENTS_MAX = 60


class Wait(msgspec.Struct, frozen=True):
    """A job that waits at a time: each cause, and the start it is promised (0: none)."""

    at_ms: int
    job: str
    why: tuple[str, ...]
    promised_ms: int


class Run(msgspec.Struct, frozen=True):
    """A job that runs at a time, and its cards by node."""

    at_ms: int
    job: str
    cards: dict[str, tuple[int, ...]]


class Told(msgspec.Struct):
    """All that was seen of a case: what `--json` writes."""

    title: str
    start_ms: int
    needs: str
    bug: str
    events: list[tuple[int, ev.Event]] = []
    refused: list[tuple[int, str, str]] = []
    running: list[Run] = []
    waiting: list[Wait] = []
    expected: list[Finding] = []


def solve(file: Path, json: Path | None, language: Language | None) -> None:
    """Play the case and show it. Exits with 1 where what was expected did not come true."""
    teller = Teller(file, language or spoken())
    teller.tell()
    if json:
        json.write_bytes(msgspec.json.format(msgspec.json.encode(teller.told)) + b"\n")
    if not all(finding.met for finding in teller.told.expected):
        raise SystemExit(1)


def spoken() -> Language:
    """The language of this terminal."""
    words = (os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, words), "").lower().startswith("zh") else "en"


class Teller:
    """Tells a case while it is played, mutable: gathers what `--json` writes."""

    def __init__(self, file: Path, language: Language) -> None:
        self.case = case_file.read(file)
        self.language: Language = language
        self.told = Told(self.case.title, self.case.start_ms, self.case.needs, self.case.bug)
        self._drawn: list[str] = []
        self._pictures = 0

    def tell(self) -> None:
        """Play the case; pictures as it goes, then what happened, then what was expected."""
        case = self.case
        line(case.title)
        if case.needs:
            line(self._say("needs", what=case.needs))
        if case.bug:
            line(self._say("bug", what=case.bug))
        played = play(case, self._look)
        self.told.events, self.told.refused = played.journal.rows, played.refused
        self._tell_events(played)
        self._tell_expected()

    def _say(self, key: str, **words: object) -> str:
        return say(self.language, key, **words)

    def _own(self, sentence: str) -> str:
        return translate(self.language, sentence)

    def _look(self, played: Play, look: Look) -> None:
        expect = look.expect
        if expect:
            self.told.expected += findings(played, expect, self.language)
        at_ms = played.now_ms
        for run in played.state.runs.values():
            cards = {share.node: share.cards for share in run.shares}
            self.told.running.append(Run(at_ms, run.job, cards))
        for job in played.waiting():
            self.told.waiting.append(Wait(at_ms, job, played.why(job), played.promised_ms(job)))
        self._draw(played, at_ms, is_end=expect is self.case.expect)

    def _draw(self, played: Play, at_ms: int, *, is_end: bool) -> None:
        drawn = Picture(played, self.language).lines()
        for job in played.waiting()[:20]:
            promised_ms = played.promised_ms(job)
            promise = self._say("promise", at=clock(self.case, promised_ms)) if promised_ms else ""
            why = " ".join(map(self._own, played.why(job)))
            drawn.append(f"{self._say('waiting')}  {job}  {why} {promise}".rstrip())
        is_empty = is_end and not played.state.jobs
        if drawn == self._drawn or self._pictures >= PICTURES_MAX or is_empty:
            return
        self._drawn = drawn
        self._pictures += 1
        line()
        line(self._say("end" if is_end else "at", at=clock(self.case, at_ms)))
        for each in drawn:
            line(f"  {each}")

    def _tell_events(self, played: Play) -> None:
        rows = [(at_ms, *words) for at_ms, event in played.journal.rows for words in self._words(event)]
        rows += [
            (at_ms, about, self._say("refused", text=self._own(refusal)))
            for at_ms, about, refusal in self.told.refused
        ]
        rows.sort(key=lambda row: row[0])
        line()
        line(self._say("happened"))
        for at_ms, about, what in rows[:EVENTS_MAX]:
            line(f"  {clock(self.case, at_ms):>14}  {about}  {what}")
        if len(rows) > EVENTS_MAX:
            line("  " + self._say("more", count=len(rows) - EVENTS_MAX))

    def _words(self, event: ev.Event) -> list[tuple[str, str]]:
        """What an event is told as: about whom, and what; nothing for those of no interest."""
        at_start = self.case.nodes
        match event:
            case ev.RunPlaced(job=job, shares=shares):
                nodes = " ".join(share.node for share in shares[:12]) + " …" * (len(shares) > 12)
                return [(job, self._say("placed", nodes=nodes))]
            case ev.RunEnded(run=run, how=how, code=code) if (how, code) != ("exit", 0):
                return [(run.rpartition(".")[0], self._say("run-ended", how=f"{how} {code}"))]
            case ev.JobRequeued(job=job, why=why):
                return [(job, self._say("requeued", why=self._own(why)))]
            case ev.JobPaused(job=job, why=why):
                return [(job, self._say("paused", why=self._own(why)))]
            case ev.JobEnded(job=job, outcome=outcome, why=why):
                return [(job, self._say("ended", outcome=outcome, why=self._own(why)).rstrip())]
            case ev.RunStopAsked(run=run, why=why):
                return [(run.rpartition(".")[0], self._say("stop-asked", why=why))]
            case ev.StartsPromised(promises=promises):
                return [
                    (each.job, self._say("is-promised", at=clock(self.case, each.at_ms)))
                    if each.at_ms
                    else (each.job, self._say("no-promise"))
                    for each in promises
                ]
            case ev.NodeLost(node=node):
                return [(node, self._say("lost"))]
            case ev.NodeJoined(node=node) if event not in at_start:
                return [(node, self._say("joined"))]
            case ev.NodeCordoned(node=node):
                return [(node, self._say("cordoned"))]
            case ev.NodeUncordoned(node=node):
                return [(node, self._say("uncordoned"))]
            case ev.CardHealthChanged(node=node, card=card, healthy=healthy):
                state = self._say("healed" if healthy else "broken")
                return [(node, self._say("card", card=card, state=state))]
            case ev.LeaderChanged():
                return [("–", self._say("restarted"))]
            case _:
                return []

    def _tell_expected(self) -> None:
        line()
        expected = self.told.expected
        missed = [finding for finding in expected if not finding.met]
        for finding in missed:
            at = clock(self.case, finding.at_ms)
            line(f"✗ {at}  {finding.about}  {self._say('expected')}: {finding.wanted}")
            line(self._say("instead", found=finding.found))
        if not expected:
            line(self._say("none"))
        elif missed:
            line(self._say("not-met", count=len(missed), all=len(expected)))
        else:
            line(self._say("all-met", count=len(expected)))
