"""Live events on the client's side: read, and taken up again where the connection broke."""

import time
from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec

from starverse.faces import schemas as sc
from starverse.faces import transport

SILENCE_S = 40.0
"""The server speaks at least every 15 s; after this long it is gone."""

WAIT_FIRST_S = 0.25
WAIT_LONGEST_S = 4.0

SHAPES: dict[str, type[sc.StreamEvent]] = {
    "job": sc.JobChanged,
    "metric": sc.Metric,
    "log": sc.LogText,
    "wallet": sc.WalletChanged,
    "end": sc.Ended,
}


def follow(
    http: httpx2.Client, path: str, query: dict[str, Any], patience_s: float, base_url: str
) -> Iterator[sc.StreamEvent]:
    """The events of a stream until its end; see Client.stream."""
    last_id = ""
    attempt = 0
    give_up_s = time.monotonic() + patience_s
    while True:
        heard = False
        why = "The server closed the stream."
        try:
            with transport.problems(base_url):
                for event, resume_id in _read(http, path, query, last_id):
                    last_id, attempt, heard = resume_id, 0, True
                    if event is not None:
                        yield event
                    if type(event) is sc.Ended:
                        return
        except transport.Unreachable as error:
            if not heard and time.monotonic() > give_up_s:
                raise
            heard, why = False, error.what
        if heard:  # the server lets streams end from time to time: go on, with no word about it
            give_up_s = time.monotonic() + patience_s
            time.sleep(WAIT_FIRST_S)
            continue
        if not attempt:
            give_up_s = time.monotonic() + patience_s
        elif time.monotonic() > give_up_s:
            raise transport.Unreachable(f"Streams from {base_url} keep breaking.", "Try again soon.")
        attempt += 1
        wait_s = min(WAIT_FIRST_S * 2 ** min(attempt - 1, 8), WAIT_LONGEST_S)
        yield sc.Reconnecting(attempt, wait_s, why)
        time.sleep(wait_s)


def _read(
    http: httpx2.Client, path: str, query: dict[str, Any], last_id: str
) -> Iterator[tuple[sc.StreamEvent | None, str]]:
    """Events of one connection, each with the id to resume after it; None for one of an unknown kind."""
    headers = {"accept": "text/event-stream"} | ({"last-event-id": last_id} if last_id else {})
    timeout = httpx2.Timeout(10.0, read=SILENCE_S)
    with http.stream("GET", path, params=query, headers=headers, timeout=timeout) as response:
        if not response.is_success:
            response.read()
            transport.read(response, None)
        for message in httpx2.EventSource(response):
            last_id = message.id or last_id
            shape = SHAPES.get(message.event)
            yield (msgspec.json.decode(message.data, type=shape) if shape and message.data else None), last_id
