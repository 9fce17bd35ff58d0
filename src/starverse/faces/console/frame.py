"""What surrounds every page: head line, banner, language, look, calls to the API, and what errors lead to."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote

from nicegui import Client as Tab
from nicegui import background_tasks, ui
from starlette.responses import RedirectResponse, Response

from starverse.faces import schemas as sc
from starverse.faces.client import Client, Unreachable
from starverse.faces.console import head, states
from starverse.faces.console.guard import visiting
from starverse.faces.console.live import PATIENCE_S, RETRY_S, Live, Opens
from starverse.faces.console.sessions import Look, Session, Sessions
from starverse.faces.console.voice import Voice
from starverse.faces.console.words import Language
from starverse.model.errors import NotFound, NotSignedIn, StarverseError

RESPONSE_TIMEOUT_S = 30.0
THREADS = 16
HEALTH_EVERY_S = 1.0

RESTYLE_S = 0.3
"""The browser has turned its colours by then."""

DARK: dict[Look, bool | None] = {"auto": None, "light": False, "dark": True}

P = ParamSpec("P")
T = TypeVar("T")

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="console api")


async def on_thread(function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Run what blocks (the client of the API does) beside the event loop."""
    call = functools.partial(function, *given, **named)
    return await asyncio.get_running_loop().run_in_executor(_threads, call)


class ConsolePage(ui.page):
    """A page in the language and look of whoever asks for it."""

    def resolve_language(self) -> Any:
        """The language as Quasar and the browser name it."""
        return "zh-CN" if visiting.get().voice.language == "zh" else "en-US"

    def resolve_dark(self) -> bool | None:
        """Whether to be dark; None follows the system."""
        session = visiting.get().session
        return DARK[session.person.look if session else "auto"]


class Frame:
    """One open page of somebody signed in. Mutable owner of its live stream and its banner."""

    def __init__(self, sessions: Sessions, session: Session, tab: Tab, voice: Voice) -> None:
        self.sessions = sessions
        self.session = session
        self.tab = tab
        self.voice = voice
        self.say = voice.say
        self._live: asyncio.Task[None] | None = None
        self._mending: asyncio.Task[None] | None = None
        self._restyle: list[Callable[[], Awaitable[None] | None]] = []
        self._refresh: Callable[[], Awaitable[None]] | None = None
        self.head = head.Head(self)
        self.content = ui.element("div").classes("sv-main")  # the page around it is the landmark
        tab.on_delete(self._leave)

    @property
    def dark(self) -> bool | None:
        """Whether the page is to be dark; None follows the system."""
        return DARK[self.session.person.look]

    # -- the API ------------------------------------------------------------------------------------------

    @property
    def api(self) -> Client:
        """The client of this session; call it by `ask` only, it blocks."""
        return self.session.client

    async def ask(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Call the API beside the event loop."""
        return await on_thread(function, *given, **named)

    async def act(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T | None:
        """Call the API for a button: an error is shown, and None comes back."""
        try:
            return await self.ask(function, *given, **named)
        except StarverseError as error:
            await self.fail(error)
            return None

    async def did(self, function: Callable[P, object], *given: P.args, **named: P.kwargs) -> bool:
        """Call the API for a button that needs no answer: whether it went well; an error is shown."""
        try:
            await self.ask(function, *given, **named)
        except StarverseError as error:
            await self.fail(error)
            return False
        return True

    async def quietly(self, refresh: Callable[[], Awaitable[None]]) -> None:
        """Bring a page up to date by itself: an error leaves it as it is, except that the banner may come."""
        try:
            await refresh()
        except StarverseError as error:
            if isinstance(error, NotSignedIn | Unreachable):
                await self.fail(error)

    async def fail(self, error: StarverseError) -> None:
        """Show what went wrong: a banner when the API is away, the sign-in page when the token is no good."""
        if isinstance(error, NotSignedIn):
            self.sessions.forget(self.session)
            self.go("/sign-in?ended=1")
        elif isinstance(error, Unreachable):
            self._mend(error)
        else:
            self.tell(self.voice.error(error.what, error.remedy), bad=True)

    def tell(self, text: str, bad: bool = False) -> None:
        """A short notice at the edge of the page."""
        if not self.tab.is_deleted:
            with self.tab:
                ui.notify(
                    text,
                    type="negative" if bad else "positive",
                    position="top",
                    timeout=7000 if bad else 3500,
                )

    def go(self, path: str) -> None:
        """Lead the browser to another page."""
        if not self.tab.is_deleted:
            with self.tab:
                ui.navigate.to(path)

    @property
    def is_away(self) -> bool:
        """Whether the API does not answer."""
        return self._mending is not None

    # -- live ---------------------------------------------------------------------------------------------

    def follow(
        self,
        opens: Opens | None,
        hears: Callable[[Sequence[sc.StreamEvent]], Awaitable[None] | None],
        refresh: Callable[[], Awaitable[None]],
    ) -> None:
        """Hear a stream (None: that of all of one's jobs) while the page is open; `refresh` after a gap."""
        self._refresh = refresh

        async def heard(events: Sequence[sc.StreamEvent]) -> None:
            if self.tab.is_deleted:
                return
            if any(type(event) is sc.Reconnecting for event in events):
                self._mend()
            with self.tab:
                answer = hears([event for event in events if type(event) is not sc.Reconnecting])
                if answer is not None:
                    await answer

        async def listen() -> None:
            first = opens
            while not self.tab.is_deleted:
                stream = first or (lambda client: client.stream_all(patience_s=PATIENCE_S))
                error = await Live(self.session.new_client(), stream, heard).run()
                if error is None:
                    first = None  # the job has ended: from now on, whatever else changes
                    await asyncio.sleep(HEALTH_EVERY_S)
                    continue
                if isinstance(error, NotSignedIn):
                    await self.fail(error)
                    return
                if isinstance(error, Unreachable):
                    self._mend()
                await asyncio.sleep(RETRY_S)  # too many are open, perhaps: the page is there, only not live

        def start() -> None:
            if self._live is None:
                self._live = background_tasks.create(listen(), name="console live")

        self.tab.on_connect(start)

    def _mend(self, error: StarverseError | None = None) -> None:
        """See whether the API is away, say so until it is back, then bring the page up to date."""
        if self._mending is None and not self.tab.is_deleted:
            self._mending = background_tasks.create(self._wait_for_api(error), name="console mend")

    async def _wait_for_api(self, error: StarverseError | None) -> None:
        try:
            while not self.tab.is_deleted:
                try:
                    await self.ask(self.api.health)
                    break
                except StarverseError:
                    error = None  # the banner says it
                    self.head.away()
                    await asyncio.sleep(HEALTH_EVERY_S)
        finally:
            self._mending = None
        if self.tab.is_deleted:
            return
        if error is not None:  # it is there, but that one call failed
            self.tell(self.voice.error(error.what, error.remedy), bad=True)
            return
        self.head.back()
        with self.tab:
            if self._refresh is None:
                ui.navigate.reload()
                return
            try:
                await self._refresh()
            except StarverseError as failure:
                await self.fail(failure)

    def _leave(self) -> None:
        for task in (self._live, self._mending):
            if task is not None:
                task.cancel()

    # -- the reader ---------------------------------------------------------------------------------------

    def speak(self, language: Language) -> None:
        """Change the language, here and on every page to come."""
        self.sessions.like(self.session, language=language)
        with self.tab:
            ui.run_javascript(f"svCookie('language', '{language}'); location.reload()")

    def look(self, look: Look) -> None:
        """Change between dark and light."""
        self.sessions.like(self.session, look=look)
        for restyle in self._restyle:
            ui.timer(RESTYLE_S, restyle, once=True)

    def on_look(self, restyle: Callable[[], Awaitable[None] | None]) -> None:
        """Call this when dark turns light or back: what is drawn on a canvas has to be drawn again."""
        self._restyle.append(restyle)


def screen(sessions: Sessions, path: str, title: str, build: Callable[..., Awaitable[None]]) -> None:
    """Serve a page at the path for those signed in: `build(frame, **path parameters)` fills it."""

    async def serve(**given: Any) -> Response | None:
        tab = ui.context.client
        session = visiting.get().session
        if session is None:
            return RedirectResponse(f"/sign-in?next={quote(tab.request.url.path)}", 303)
        voice = visiting.get().voice
        tab.title = f"{voice.say(title)} · Starverse"
        frame = Frame(sessions, session, tab, voice)
        with frame.content:
            try:
                await build(frame, **given)
            except NotSignedIn:
                sessions.forget(session)
                return RedirectResponse("/sign-in?ended=1", 303)
            except NotFound as error:
                tab.status_code = 404
                frame.content.clear()
                states.not_found(voice, error)
            except StarverseError as error:
                frame.content.clear()
                states.failed(voice, error)
                if isinstance(error, Unreachable):
                    tab.status_code = 503
                    await frame.fail(error)
        return None

    parameters = list(inspect.signature(build).parameters.values())[1:]
    serve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ConsolePage(path, response_timeout=RESPONSE_TIMEOUT_S)(serve)
