"""A live stream of a page: heard together, never more than so many waiting, over when the page is."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starverse.faces import schemas as sc
from starverse.faces.client import Client
from starverse.faces.console import live
from starverse.faces.console.live import Live
from starverse.model.errors import NotSignedIn, StarverseError

WALLET = sc.WalletChanged(sc.Wallet("t-1", 1, 0, 0, 0, None))


def run(story: Coroutine[Any, Any, Any]) -> Any:
    """Tell a story in a thread of its own: a browser that is open in this one has its loop running here."""
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, story).result()


class Ear:
    """Keeps what was heard."""

    def __init__(self) -> None:
        self.heard: list[Sequence[sc.StreamEvent]] = []

    async def hears(self, events: Sequence[sc.StreamEvent]) -> None:
        self.heard.append(events)


def client() -> Client:
    return Client("http://127.0.0.1:1")


def readers() -> int:
    return sum(thread.name == "console live" for thread in threading.enumerate())


async def until_no_reader() -> None:
    for _ in range(500):
        if not readers():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("a reader goes on")


async def listen(stream: Iterator[sc.StreamEvent], ear: Ear) -> StarverseError | None:
    return await Live(client(), lambda _: stream, ear.hears).run()


def test_what_comes_at_once_is_heard_together_and_an_error_ends_it() -> None:
    def stream() -> Iterator[sc.StreamEvent]:
        yield from [WALLET] * 30
        raise NotSignedIn("The token has expired.")

    ear = Ear()
    error = run(listen(stream(), ear))
    assert [len(events) for events in ear.heard] == [30]
    assert isinstance(error, NotSignedIn)
    assert readers() == 0


def test_a_page_that_cannot_keep_up_makes_the_server_wait() -> None:
    sent = 0

    def stream() -> Iterator[sc.StreamEvent]:
        nonlocal sent
        while True:
            sent += 1
            yield WALLET

    async def story() -> None:
        stuck = asyncio.Event()

        async def hears(events: Sequence[sc.StreamEvent]) -> None:
            await stuck.wait()

        task = asyncio.create_task(Live(client(), lambda _: stream(), hears).run())
        await asyncio.sleep(1.0)
        assert sent <= 2 * live.WAITING_MAX + 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await until_no_reader()

    run(story())


def test_leaving_the_page_ends_the_reader_within_its_next_byte() -> None:
    gone = threading.Event()

    def stream() -> Iterator[sc.StreamEvent]:
        while not gone.is_set():
            time.sleep(0.05)
            yield WALLET

    async def story() -> None:
        task = asyncio.create_task(Live(client(), lambda _: stream(), Ear().hears).run())
        await asyncio.sleep(0.3)
        assert readers() == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await until_no_reader()

    run(story())
