"""The movements of a wallet in words and figures, gifts and credits in green."""

from collections.abc import Mapping, Sequence

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, tag
from starverse.faces.console.rows import Column, table
from starverse.faces.console.voice import Voice

KINDS = ("trial", "top-up", "hold", "charge", "release", "credit")
PLACES = 6
"""The ledger counts in millionths of a yuan, and a statement hides nothing."""


def statement(voice: Voice, postings: Sequence[sc.Posting], names: Mapping[str, str]) -> Markup:
    """A line a posting; `names` are what jobs are called."""
    say = voice.say
    columns = [
        Column(say("wallet.when")),
        Column(say("wallet.what")),
        Column(say("wallet.for")),
        Column(say("wallet.metered"), figures=True),
        Column(say("wallet.amount"), figures=True),
        Column(say("wallet.to_wallet"), figures=True, minor=True),
        Column(say("wallet.to_held"), figures=True, minor=True),
    ]
    rows = [
        (
            tag("time", voice.when(line.at_ms, seconds=True)),
            _what(voice, line),
            _for(voice, line, names),
            voice.lasts(line.card_ms) if line.card_ms else "",
            _moved(voice, line.amount),
            _moved(voice, line.wallet),
            _moved(voice, line.held),
        )
        for line in postings
    ]
    return table(columns, rows, say("wallet.statement"), [f"is-{line.kind}" for line in postings])


def _what(voice: Voice, line: sc.Posting) -> Markup:
    kind = voice.say(f"posting.{line.kind}") if line.kind in KINDS else line.kind
    note = tag("div", voice.server(line.note), cls="sv-dim") if line.note else None
    return tag("div", tag("span", kind, cls="sv-posting"), note)


def _for(voice: Voice, line: sc.Posting, names: Mapping[str, str]) -> Markup:
    if not line.job:
        return Markup("")
    attempt = line.run.rpartition(".")[2]
    run = tag("span", " · ", voice.say("lives.run", n=attempt), cls="sv-dim") if attempt.isdigit() else None
    return tag("span", tag("a", names.get(line.job, line.job), href=f"/jobs/{line.job}"), run)


def _moved(voice: Voice, amount: int) -> Markup:
    return tag("span", voice.gained(amount, PLACES) if amount else "0", cls=None if amount else "sv-dim")
