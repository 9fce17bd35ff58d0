"""The client: a method a use case, errors that say what to do, directories sent once, files fetched whole."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.faces.cli.served import Served
from tests.service.place import PASSWORD, Place

from starverse.faces import directory, sse
from starverse.faces.client import Client, Unreachable
from starverse.faces.schemas import FileEntry, JobAsk
from starverse.model.errors import BadInput, Conflict, NotAllowed, NotFound, NotSignedIn, Refused
from starverse.store.manifest import Limits

PORT_OF_NOBODY = "http://127.0.0.1:9"  # discard: nobody listens there


def test_without_a_server_it_says_how_to_start_one() -> None:
    with Client(PORT_OF_NOBODY) as client, pytest.raises(Unreachable) as error:
        client.health()
    assert str(error.value) == f"No server at {PORT_OF_NOBODY}. Start one with `starverse up`."


@pytest.mark.parametrize("url", ["", "localhost:8701", "ftp://x", "http://", "http://[", "nonsense"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="not the address of a server"):
        Client(url)


@pytest.mark.parametrize(("status", "says"), [(200, "is no answer of Starverse's"), (404, "answered 404")])
def test_a_server_of_another_kind_is_told_apart(status: int, says: str) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"<html>It works!</html>")

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        serving = threading.Thread(target=other.handle_request)
        serving.start()
        with Client(f"http://127.0.0.1:{other.server_port}") as client:
            with pytest.raises(Unreachable, match=says) as error:
                client.health()
            assert "Is it a Starverse server" in error.value.remedy
        serving.join(10)


def test_errors_of_the_server_are_raised_as_what_they_are(ann: Client, bob: Client, served: Served) -> None:
    with Client(served.url) as stranger:
        with pytest.raises(NotSignedIn, match="no token"):
            stranger.whoami()
        with pytest.raises(Conflict):
            stranger.register("ann@example.com", PASSWORD)
        with pytest.raises(NotSignedIn, match="is wrong"):
            stranger.login("ann@example.com", "wrong password")
    with pytest.raises(NotFound):
        ann.job("../../healthz")
    with pytest.raises(NotAllowed):
        ann.cordon("here")
    with pytest.raises(BadInput) as error:
        ann.submit(JobAsk(("echo",), cards=5))
    assert error.value.what == "This cluster has 2 cpu cards; you asked for 5."
    assert error.value.remedy == "Ask for 2 or fewer."


def test_people_and_projects(ann: Client, bob: Client) -> None:
    assert ann.whoami().email == "ann@example.com"
    assert ann.login("ann@example.com", PASSWORD, "laptop").account == ann.whoami()
    made = ann.create_token("script", days=1)
    assert {token.name for token in ann.tokens()} == {"registration", "laptop", "script"}
    ann.revoke_token(made.token_id)
    assert {token.name for token in ann.tokens()} == {"registration", "laptop"}
    project = ann.create_project("vision").project
    assert ann.invite(project, "bob@example.com").role == "member"
    assert "vision" in {each.name for each in bob.projects()}
    ann.put_secret("KEY", "value", project)
    assert [secret.name for secret in bob.secrets(project)] == ["KEY"]
    bob.delete_secret("KEY", project)
    ann.remove_member(project, bob.whoami().user)
    assert [member.email for member in ann.members(project)] == ["ann@example.com"]
    ann.logout()
    with pytest.raises(NotSignedIn):
        ann.whoami()


def test_a_job_from_its_directory_to_its_files(ann: Client, place: Place, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print('hello')\n")
    snapshot = ann.upload(code)
    assert (snapshot.files, snapshot.bytes) == (1, 15)
    ask = JobAsk(("train.py",), "1:2", snapshot=snapshot.snapshot, name="first")
    assert ann.preview(ask).cards_max == 2
    job = ann.submit(ask).job
    place.reach(job, "running")
    place.steps(f"{job}.0", 1, 9)
    place.output(job, "deep/wei ß?.txt", b"weights")
    place.writes(f"{job}.0", "stdout", b"hello\n")
    assert ann.why(job).text == "It is running."
    assert [run.run for run in ann.runs(job)] == [f"{job}.0"]
    assert ann.timeline(job)[0].what == "JobSubmitted"
    assert [metric.step for metric in ann.metrics(job)] == list(range(1, 10))
    assert ann.logs(job).text == "hello\n"
    progress = ann.job(job).progress
    assert progress is not None
    assert progress.step == 9
    (file,) = ann.files(job)
    assert ann.download(job, file.path, tmp_path) == tmp_path / "wei ß?.txt"
    assert (tmp_path / "wei ß?.txt").read_bytes() == b"weights"
    with pytest.raises(NotFound):
        ann.download(job, "absent", tmp_path / "absent")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["code", "server", "wei ß?.txt"]
    assert ann.stop(job).job == job
    place.reach(job, "ended")
    with pytest.raises(Refused, match="not paused"):
        ann.resume(job)
    assert [each.job for each in ann.jobs(phase="ended").items] == [job]
    assert {row.kind for row in ann.statement().items} == {"trial", "top-up", "hold", "charge"}


def test_a_file_is_sent_once_whatever_its_name(
    ann: Client, bob: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: Counter[str] = Counter()

    def count(http: Any, root: Path, file: FileEntry, query: Any) -> None:
        sent[file.path] += 1
        directory.send_blob(http, root, file, query)

    monkeypatch.setattr("starverse.faces.client.send_blob", count)
    (tmp_path / "code").mkdir()
    for name in ("a.py", "copy of a.py"):
        (tmp_path / "code" / name).write_text("same")
    progress: list[tuple[int, int]] = []
    first = ann.upload(tmp_path / "code", progress=lambda done, total: progress.append((done, total)))
    assert sum(sent.values()) == 1
    assert progress == [(4, 4)]
    (tmp_path / "code" / "b.py").write_text("new")
    second = ann.upload(tmp_path / "code")
    assert (sent["b.py"], sum(sent.values())) == (1, 2)
    assert first.snapshot != second.snapshot
    bob.upload(tmp_path / "code")
    assert sum(sent.values()) == 4, "what one tenant has sent, another must show to have too"


def test_beyond_the_limit_the_largest_folders_are_named(ann: Client, place: Place, tmp_path: Path) -> None:
    place.platform.blobs.limits = Limits(files=10, bytes=1000)
    for name, size in (("data/a", 900), ("data/b", 300), ("logs/c", 200), ("train.py", 10)):
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_bytes(b"x" * size)
    with pytest.raises(BadInput) as error:
        ann.upload(tmp_path / "code")
    assert "holds 1.4 KB; a job may bring 1.0 KB" in error.value.what
    assert "Largest: data/ (1.2 KB), logs/ (200 bytes), train.py (10 bytes)" in error.value.remedy
    assert ".gitignore" in error.value.remedy
    (tmp_path / "code" / ".gitignore").write_text("data/\n")
    assert ann.upload(tmp_path / "code").files == 3
    for number in range(20):
        (tmp_path / "code" / f"{number}").touch()
    with pytest.raises(BadInput, match="holds 23 files; a job may bring 10"):
        ann.upload(tmp_path / "code")
    with pytest.raises(BadInput, match="is not a directory"):
        ann.upload(tmp_path / "absent")


def test_a_file_that_changes_while_it_is_sent_stops_the_submission(
    ann: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code").mkdir()
    file = tmp_path / "code" / "train.py"
    file.write_text("one")
    changes = iter(("two", "longer", ""))

    def then_change(*limits: Any) -> Any:
        entries = directory.read_directory(*limits)
        file.write_text(next(changes))
        return entries

    monkeypatch.setattr("starverse.faces.client.read_directory", then_change)
    for says in ("What was sent is not", "changed while", "changed while"):
        file.write_text("one")
        with pytest.raises((Refused, BadInput), match=says):
            ann.upload(tmp_path / "code")


def test_a_submission_over_a_breaking_connection_happens_once(
    served: Served, ann: Client, place: Place
) -> None:
    served.stop()
    with ThreadPoolExecutor(1) as pool:
        submitting = pool.submit(ann.submit, JobAsk(("echo",)))
        time.sleep(0.3)  # the first try must fail for the second to be one
        served.start()
        job = submitting.result(20)
    assert [each.job for each in ann.jobs().items] == [job.job]


def test_waits_between_tries_grow_and_end() -> None:
    assert sse.WAIT_FIRST_S < sse.WAIT_LONGEST_S < 10
    began = time.monotonic()
    with Client(PORT_OF_NOBODY, "svt_x") as client:
        stream = client.stream("j-x", patience_s=0.5)
        waits = []
        with pytest.raises(Unreachable):
            waits.extend(event.wait_s for event in stream)  # type: ignore[union-attr]
    assert time.monotonic() - began < 10


def test_several_threads_may_share_a_client(ann: Client) -> None:
    barrier = threading.Barrier(8)

    def look(_: int) -> str:
        barrier.wait(10)
        return ann.whoami().email

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(look, range(8))) == {"ann@example.com"}
