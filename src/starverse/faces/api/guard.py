"""What every request passes first: bounded bodies, careful headers, and a count."""

import re
from collections import Counter

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from starverse.faces.api import problems

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NO_CONTENT = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
NO_STORE = (b"cache-control", b"no-store")


class Guard:
    """Refuses bodies beyond their bound, adds security headers, counts answers by method and status class.

    `bounds` are (pattern of method and path, bytes); the first that matches holds. Mutable owner of `counts`.
    """

    def __init__(
        self, app: ASGIApp, bounds: tuple[tuple[str, int], ...], counts: Counter[tuple[str, str]]
    ) -> None:
        self._app = app
        self._bounds = tuple((re.compile(pattern), size) for pattern, size in bounds)
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        what = f"{method} {scope['path']}"
        bound = next(size for pattern, size in self._bounds if pattern.match(what))
        got = 0
        begun = False

        async def bounded_receive() -> Message:
            nonlocal got
            message = await receive()
            if message["type"] == "http.request":
                got += len(message.get("body", b""))
                if got > bound:
                    raise _too_large(bound)
            return message

        async def careful_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._counts[method, f"{message['status'] // 100}xx"] += 1
                message["headers"] = _with_headers(message["headers"])
            await send(message)

        if _length(scope) > bound:
            response = problems.problem_of_status(_too_large(bound))
            await response(scope, receive, careful_send)
            return
        try:
            await self._app(scope, bounded_receive, careful_send)
        except Exception as error:
            if begun:
                raise
            await problems.problem_of_fault(error)(scope, receive, careful_send)


def _too_large(bound: int) -> HTTPException:
    return HTTPException(413, f"The body is larger than {bound:,} bytes", {"connection": "close"})


def _length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


def _with_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    extra = [pair for pair in (*HEADERS, NO_CONTENT, NO_STORE) if pair[0] not in present]
    return [*headers, *extra]
