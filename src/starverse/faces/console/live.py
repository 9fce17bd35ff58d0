"""A live stream for a page: read on a thread of its own, heard on the event loop, over when the page is."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from queue import Full, Queue

from starverse.faces import schemas as sc
from starverse.faces.client import Client, Unreachable
from starverse.model.errors import StarverseError

log = logging.getLogger(__name__)

GATHER_S = 0.25
"""Events of so long are heard together, so that a fast job redraws its page four times a second."""

WAITING_MAX = 500
"""Beyond this the thread waits, and with it the server: a slow browser costs no memory."""

RETRY_S = 10.0
"""After so long a stream that broke for good is opened anew."""

PATIENCE_S = 366 * 86_400.0
"""The stream is taken up again for as long as the page is open."""

Opens = Callable[[Client], Iterator[sc.StreamEvent]]
Hears = Callable[[Sequence[sc.StreamEvent]], Awaitable[None]]


class Live:
    """Follows one stream until it ends or `stop` is called. Its client is its own, and is closed with it."""

    def __init__(self, client: Client, opens: Opens, hears: Hears) -> None:
        self._client = client
        self._opens = opens
        self._hears = hears
        self._queue: Queue[sc.StreamEvent | StarverseError] = Queue(WAITING_MAX)
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="console live", daemon=True)

    async def run(self) -> StarverseError | None:
        """Hear events until the stream ends, or breaks for good: then why. Cancel to leave."""
        self._thread.start()
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                await asyncio.sleep(GATHER_S)
                over, error = await self._hear()
                if over or error is not None:
                    return error
        finally:
            self.stop()

    def stop(self) -> None:
        """Let the thread end. It may sit in a read: closing its connections wakes it with the next byte."""
        if not self._over.is_set():
            self._over.set()
            threading.Thread(target=self._client.close, daemon=True).start()

    async def _hear(self) -> tuple[bool, StarverseError | None]:
        """Whether the stream is over, and what broke it."""
        events: list[sc.StreamEvent] = []
        error: StarverseError | None = None
        for _ in range(self._queue.qsize()):
            item = self._queue.get_nowait()
            if isinstance(item, StarverseError):
                error = item
            else:
                events.append(item)
        if events:
            await self._hears(events)
        return any(type(event) is sc.Ended for event in events), error

    def _read(self) -> None:
        try:
            for event in self._opens(self._client):
                if not self._put(event):
                    return
        except StarverseError as error:
            self._put(error)
        except Exception as error:  # noqa: BLE001 - a closed client fails in ways of its own
            if not self._over.is_set():
                log.warning("a live stream broke: %s", type(error).__name__)
                self._put(Unreachable("The live connection broke.", "Reload the page."))

    def _put(self, item: sc.StreamEvent | StarverseError) -> bool:
        while not self._over.is_set():
            try:
                self._queue.put(item, timeout=1.0)
            except Full:
                continue
            with suppress(RuntimeError):  # the console is shutting down
                self._loop.call_soon_threadsafe(self._news.set)
            return True
        return False
