"""The live world: what people and engines say, on the wall clock; and the thread the loop turns on."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from starverse.control.controller import Controller
from starverse.control.ports import Engine, Input, Source
from starverse.control.state import State
from starverse.engines.clock import Clock
from starverse.model.commands import Command
from starverse.model.errors import Refused
from starverse.model.events import Event

T = TypeVar("T")

POLL_S = 0.05
"""How often engines are looked at while nothing rings the bell."""


class LiveWorld:
    """Fulfils `control.ports.World` with real sources. `ring` ends a wait at once."""

    def __init__(self, clock: Clock, engine: Engine, sources: Sequence[Source]) -> None:
        self._clock = clock
        self._engine = engine
        self._sources = (*sources, engine)
        self._bell = threading.Event()

    def ring(self) -> None:
        """Somebody has something to say: look now."""
        self._bell.set()

    def wait(self, until_ms: int | None) -> tuple[int, Sequence[Input]]:
        """Sleep until a source speaks, the time comes, or the bell rings."""
        while True:
            rung = self._bell.is_set()
            self._bell.clear()
            now_ms = self._clock.now_ms()
            heard: list[Input] = []
            for source in self._sources:
                heard += source.poll(now_ms)
            if heard or rung or (until_ms is not None and now_ms >= until_ms):
                return now_ms, heard
            left_s = POLL_S if until_ms is None else min(POLL_S, (until_ms - now_ms) / 1000)
            self._bell.wait(left_s)

    def act(self, commands: Iterable[Command]) -> None:
        """Hand each order to the engine."""
        for command in commands:
            self._engine.act(command)

    def survey(self, runs: Sequence[str]) -> Sequence[Event]:
        """Ask the engine what became of these runs."""
        return self._engine.survey(runs, self._clock.now_ms())


class _Question:
    def __init__(self, ask: Callable[[State], Any]) -> None:
        self.ask = ask
        self.answered = threading.Event()
        self.answer: Any = None
        self.error: BaseException | None = None


class LoopThread:
    """Turns the loop on a thread of its own until stopped, and answers questions between turns.

    `after_turn` is called after each turn with the state (to take snapshots); `on_failure` when the loop
    cannot go on: the process must then end, since its state is ahead of its journal.
    """

    def __init__(
        self,
        controller: Controller,
        world: LiveWorld,
        after_turn: Callable[[State], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._controller = controller
        self._world = world
        self._after_turn = after_turn
        self._on_failure = on_failure
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._questions: list[_Question] = []
        self._closed = False
        self._thread = threading.Thread(target=self._turn_on, name="loop", daemon=True)

    def start(self) -> None:
        """Begin to turn."""
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> bool:
        """End after the turn that is under way; whether it has ended, and the state stands still."""
        self._stopping.set()
        self._world.ring()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def ask(self, question: Callable[[State], T], timeout_s: float = 10.0) -> T:
        """The answer of a function of the state, which must not change it, run between two turns.

        Raises Refused when the loop does not answer in time or has ended.
        """
        asked = _Question(question)
        with self._lock:
            if self._closed:
                raise Refused("The scheduler loop has ended.", "Restart the server with `starverse up`.")
            self._questions.append(asked)
        self._world.ring()
        if not asked.answered.wait(timeout_s):
            raise Refused("The scheduler loop is busy.", "Try again in a moment.")
        if asked.error is not None:
            raise asked.error
        answer: T = asked.answer
        return answer

    def _turn_on(self) -> None:
        try:
            while not self._stopping.is_set():
                self._controller.turn()
                self._answer_all()
                self._after_turn(self._controller.state)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the process must hear of it and end
            self._on_failure(error)
        finally:
            with self._lock:
                self._closed = True
            self._answer_all()

    def _answer_all(self) -> None:
        with self._lock:
            questions, self._questions = self._questions, []
        for question in questions:
            try:
                question.answer = question.ask(self._controller.state)
            except Exception as error:  # noqa: BLE001 - it is the asker's, and raised there
                question.error = error
            question.answered.set()
