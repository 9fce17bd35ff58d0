"""Follows all jobs of a person and their wallet live, one look at a time."""

from starverse.service import billing, rows
from starverse.service.access import Actor, tenant_of
from starverse.service.answers import JobChanged, Wallet, WalletChanged
from starverse.service.platform import Platform
from starverse.store import history
from starverse.store.chain import job_of
from starverse.store.database import reading

JOBS_MAX = 500
"""Jobs told of in one look: when more have changed, the rest is told when they change again."""

BEHIND_MAX = 10_000
"""Rows of the journal a reader may be behind; who was away for longer hears of what is alive only."""

COST_EVERY_S = 2.0
IDLE_S = 15.0
_DIGITS_MAX = 18


class Overview:
    """For one reader. Mutable owner of how far it has read: a row of the journal, its event id too."""

    def __init__(self, platform: Platform, actor: Actor, last_id: str) -> None:
        self._platform = platform
        self._actor = actor
        sound = last_id.isascii() and last_id.isdigit() and len(last_id) <= _DIGITS_MAX
        self._seq = int(last_id) if sound else -1
        self._begun = False
        self._metered: set[str] = set()
        self._wallet: Wallet | None = None

    @property
    def again_s(self) -> float:
        """When to look again if nothing is heard: soon while something runs, for its cost goes up."""
        return COST_EVERY_S if self._metered else IDLE_S

    def look(self) -> list[tuple[JobChanged | WalletChanged, str]]:
        """What is new, each with the mark to go on from."""
        names = self._metered | self._changed()
        news: list[tuple[JobChanged | WalletChanged, str]] = []
        mark = str(self._seq)
        now_ms = self._platform.now_ms()
        with reading(self._platform.database) as connection:
            if not self._begun:
                names |= rows.jobs_alive(connection, self._actor.projects, JOBS_MAX)
            found = rows.jobs_named(connection, self._actor.projects, sorted(names)[:JOBS_MAX])
            live = rows.live_of_jobs(connection, found, now_ms)
        self._begun = True
        self._metered = {row.job for row in found if row.phase in rows.METERED}
        news += [(JobChanged(rows.job_answer(row, live)), mark) for row in found]
        wallet = billing.wallet_of(self._platform, tenant_of(self._actor.user))
        if wallet != self._wallet:
            self._wallet = wallet
            news.append((WalletChanged(wallet), mark))
        return news

    def _changed(self) -> set[str]:
        """The jobs, of whomever, that something happened to since the last look."""
        database = self._platform.database
        newest = history.newest(database)
        if not 0 <= newest - self._seq <= BEHIND_MAX or self._seq < 0:
            self._seq = newest
        tail = history.tail(database, self._seq, BEHIND_MAX)
        self._seq = tail.seq
        return {job for _, _, event in tail.events if (job := job_of(event))}
