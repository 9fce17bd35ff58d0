"""Live streams lose and repeat nothing: not over a broken connection, a fault, or a restart of the server."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from tests.faces.cli.served import Served, until
from tests.service.place import Place

from starverse.faces.api import live
from starverse.faces.client import Client, Unreachable
from starverse.faces.schemas import (
    Ended,
    JobAsk,
    JobChanged,
    LogText,
    Metric,
    Reconnecting,
    StreamEvent,
    WalletChanged,
)
from starverse.model.errors import NotFound, Refused
from starverse.service.platform import Limits

Event = tuple[str, str, str]
"""(event, data, id)."""


def read(http: httpx2.Client, client: Client, job: str, last_id: str = "") -> Iterator[Event]:
    """A stream as a browser would read it."""
    headers = {"authorization": f"Bearer {client.token}"} | ({"last-event-id": last_id} if last_id else {})
    with http.stream("GET", f"/v1/jobs/{job}/stream", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        for message in httpx2.EventSource(response):
            yield message.event, message.data, message.id


def wrote(events: list[StreamEvent]) -> tuple[list[int], str]:
    """The steps and the text that events tell of."""
    steps = [event.step for event in events if type(event) is Metric]
    return steps, "".join(event.text for event in events if type(event) is LogText)


@pytest.fixture
def job(ann: Client, place: Place) -> str:
    job = ann.submit(JobAsk(("train",), cards=2, launch="per-card")).job
    place.reach(job, "running")
    return job


def a_life_with_a_fault(place: Place, operator: Client, job: str) -> None:
    place.steps(f"{job}.0", 1, 30)
    place.writes(f"{job}.0", "stdout", "步 30\n".encode())
    operator.inject_fault(f"{job}.0", 1)
    place.until(lambda: f"{job}.1" in place.engine.alive)
    place.reach(job, "running")
    place.steps(f"{job}.1", 21, 40)
    place.writes(f"{job}.1", "stdout", b"step 40\n")
    place.writes(f"{job}.1", "stderr", b"done\n")
    place.engine.end(f"{job}.1")
    place.reach(job, "ended")


def test_a_stream_tells_all_of_a_life_in_order(ann: Client, operator: Client, place: Place, job: str) -> None:
    events: list[StreamEvent] = []
    reader = threading.Thread(target=lambda: events.extend(ann.stream(job)))
    reader.start()
    a_life_with_a_fault(place, operator, job)
    reader.join(20)
    assert wrote(events) == ([*range(1, 31), *range(21, 41)], "步 30\nstep 40\ndone\n")
    jobs = [event for event in events if type(event) is JobChanged]
    assert jobs[-1].job.phase == "ended"
    assert [(run.how, run.injected) for run in jobs[-1].runs] == [("signal", True), ("exit", False)]
    assert type(events[-1]) is Ended
    assert events[-1].job.outcome == "done"
    assert events[-1].job == replace(ann.job(job), progress=None)


def test_what_a_run_wrote_is_told_before_its_end(ann: Client, place: Place, job: str) -> None:
    events = ann.stream(job)
    assert type(next(events)) is JobChanged
    place.writes(f"{job}.0", "stderr", b"x" * 200_000)
    place.engine.end(f"{job}.0", code=0)
    told = [event for event in events if type(event) is not JobChanged or event.runs[0].ended_ms]
    assert [type(event) for event in told] == [*[LogText] * 4, JobChanged, Ended]


def test_a_stream_goes_on_after_any_of_its_events(
    http: httpx2.Client, ann: Client, operator: Client, place: Place, job: str
) -> None:
    a_life_with_a_fault(place, operator, job)
    whole = list(read(http, ann, job))
    written = [event for event in whole if event[0] in ("metric", "log")]
    assert len(written) == 53
    assert whole[-1][0] == "end"
    for place_in, (_, _, last_id) in enumerate(written):
        if place_in % 5 and place_in not in (29, 30, 31, 32, 50, 51):
            continue
        rest = [event for event in read(http, ann, job, last_id) if event[0] in ("metric", "log")]
        assert rest == written[place_in + 1 :], last_id


@pytest.mark.parametrize("last_id", ["nonsense", "1.2.3", "-1.0.0.0.0", "9" * 100, "0.0.0.0.x"])
def test_an_id_that_is_none_begins_at_the_beginning(
    http: httpx2.Client, ann: Client, operator: Client, place: Place, job: str, last_id: str
) -> None:
    a_life_with_a_fault(place, operator, job)
    assert [event for event, _, _ in read(http, ann, job, last_id)].count("metric") == 50


def test_a_client_reads_on_through_a_restart_of_the_server(
    served: Served, ann: Client, place: Place, job: str
) -> None:
    events: list[StreamEvent] = []
    reader = threading.Thread(target=lambda: events.extend(ann.stream(job)))
    reader.start()
    place.steps(f"{job}.0", 1, 10)
    until(lambda: wrote(events)[0] == list(range(1, 11)))
    served.stop()
    until(lambda: any(type(event) is Reconnecting for event in events))
    place.steps(f"{job}.0", 11, 20)
    place.writes(f"{job}.0", "stdout", b"while nobody listened\n")
    served.start()
    place.steps(f"{job}.0", 21, 30)
    place.engine.end(f"{job}.0")
    reader.join(30)
    assert wrote(events) == (list(range(1, 31)), "while nobody listened\n")
    assert type(events[-1]) is Ended


def test_a_client_gives_up_after_its_patience(served: Served, ann: Client, job: str) -> None:
    stream = ann.stream(job, patience_s=1.0)
    assert type(next(stream)) is JobChanged
    served.stop()
    with pytest.raises(Unreachable) as error:
        list(stream)
    assert "starverse up" in error.value.remedy
    served.start()


def test_a_stream_of_what_is_not_there_is_refused_at_once(ann: Client, bob: Client, job: str) -> None:
    with pytest.raises(NotFound):
        next(bob.stream(job))
    with pytest.raises(NotFound):
        next(ann.stream("j-absent"))


def test_a_stream_from_now_leaves_out_what_was(ann: Client, place: Place, job: str) -> None:
    place.steps(f"{job}.0", 1, 10)
    place.writes(f"{job}.0", "stdout", b"old\n")
    stream = ann.stream(job, from_now=True)
    assert type(next(stream)) is JobChanged
    place.steps(f"{job}.0", 11, 12)
    place.writes(f"{job}.0", "stdout", b"new\n")
    place.engine.end(f"{job}.0")
    assert wrote(list(stream)) == ([11, 12], "new\n")


def test_much_output_comes_whole(ann: Client, place: Place, job: str) -> None:
    text = "".join(f"line {number} 行\n" for number in range(100_000))
    place.writes(f"{job}.0", "stdout", text.encode())
    place.steps(f"{job}.0", 1, 9000)
    place.engine.end(f"{job}.0")
    steps, said = wrote(list(ann.stream(job)))
    assert steps == list(range(1, 9001))
    assert said == text


def test_the_stream_of_all_tells_of_every_job_and_of_money(ann: Client, bob: Client, place: Place) -> None:
    waiting = ann.submit(JobAsk(("echo",), cards=2)).job
    stream = ann.stream_all()
    phases: dict[str, list[str]] = {}
    wallets = []

    def read_until(true: Any) -> None:
        while not true():
            event = next(stream)
            if type(event) is JobChanged:
                phases.setdefault(event.job.job, []).append(event.job.phase)
            elif type(event) is WalletChanged:
                wallets.append(event.wallet)

    read_until(lambda: "running" in phases.get(waiting, []) and wallets)
    bob.submit(JobAsk(("echo",)))
    place.engine.end(f"{waiting}.0")
    read_until(lambda: "ended" in phases[waiting] and wallets[-1].held == 0)
    another = ann.submit(JobAsk(("echo",))).job
    read_until(lambda: another in phases)
    assert set(phases) == {waiting, another}
    assert {wallet.tenant for wallet in wallets} == {ann.whoami().projects[0].tenant}


def test_the_stream_of_all_goes_on_where_it_broke(http: httpx2.Client, ann: Client, place: Place) -> None:
    first = ann.submit(JobAsk(("echo",))).job
    place.reach(first, "running")

    def read_all(last_id: str, wanted: str) -> list[str]:
        headers = {"authorization": f"Bearer {ann.token}"} | ({"last-event-id": last_id} if last_id else {})
        seen = []
        with http.stream("GET", "/v1/stream", headers=headers) as response:
            for message in httpx2.EventSource(response):
                seen.append(message.data)
                if wanted in message.data:
                    return [message.id, *seen]
        raise AssertionError("the stream ended")

    mark, *_ = read_all("", first)
    place.engine.end(f"{first}.0")
    place.reach(first, "ended")
    assert '"ended"' in read_all(mark, first)[-1]


def test_a_quiet_stream_is_kept_alive(
    http: httpx2.Client, ann: Client, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "PING_S", 0.1)
    headers = {"authorization": f"Bearer {ann.token}"}
    with http.stream("GET", f"/v1/jobs/{job}/stream", headers=headers) as response:
        assert any(line.startswith(": ping") for line in response.iter_lines())


def test_streams_end_now_and_then_and_the_client_goes_on_in_silence(
    ann: Client, place: Place, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LIFE_S", 0.3)
    events: list[StreamEvent] = []
    reader = threading.Thread(target=lambda: events.extend(ann.stream(job)))
    reader.start()
    for step in range(1, 6):
        place.steps(f"{job}.0", step, step)
        until(lambda: wrote(events)[0][-1:] == [step])  # noqa: B023 - waited for within the turn
    place.engine.end(f"{job}.0")
    reader.join(20)
    assert wrote(events)[0] == [1, 2, 3, 4, 5]
    assert not any(type(event) is Reconnecting for event in events)


def test_who_takes_nothing_is_let_go(
    served: Served, ann: Client, place: Place, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SEND_WITHIN_S", 0.5)
    place.writes(f"{job}.0", "stdout", b"x" * (8 << 20))
    pulse = served.app.state.pulse
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = (
            f"GET /v1/jobs/{job}/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ann.token}\r\n\r\n"
        )
        lazy.sendall(request.encode())
        until(lambda: pulse.streams == 1)
        until(lambda: pulse.streams == 0)


def test_one_person_opens_only_so_many(served: Served, ann: Client, bob: Client, job: str) -> None:
    served.stop()
    served.place.platform.__dict__["limits"] = Limits(streams_per_user=2, answer_wait_s=10)
    served.start()
    streams = [ann.stream(job), ann.stream_all()]
    for stream in streams:
        next(stream)
    with pytest.raises(Refused, match="2 streams of yours are open"):
        next(ann.stream(job))
    next(bob.stream_all())
    for stream in streams:
        stream.close()  # type: ignore[attr-defined]
    until(lambda: _opens(ann, job))


def _opens(client: Client, job: str) -> bool:
    try:
        next(client.stream(job))
    except Refused:
        return False
    return True


def test_many_streams_leave_room_for_other_calls(served: Served, ann: Client, place: Place, job: str) -> None:
    with ThreadPoolExecutor(24) as pool:
        readers = [pool.submit(lambda: list(ann.stream(job))) for _ in range(24)]
        until(lambda: served.app.state.pulse.streams == 24)
        for step in range(1, 21):
            place.steps(f"{job}.0", step, step)
            ann.job(job)
        place.engine.end(f"{job}.0")
        for reader in readers:
            assert wrote(reader.result(30))[0] == list(range(1, 21))
