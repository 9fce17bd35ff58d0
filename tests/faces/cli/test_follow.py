"""Following a job: in a pipe, on a terminal, through a restart of the server, and until Ctrl-C."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from tests.faces.cli.served import Served, Shell, until
from tests.service.place import Place

from starverse.model import events as ev
from starverse.train.contract import EXIT_NO_SPACE

Submit = Callable[..., str]


class Followed:
    """A command that goes on, in a pipe, with what it has printed so far."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self._read = b""
        self.process = shell.start(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def _collect(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._read += line

    @property
    def text(self) -> str:
        return self._read.decode()

    def says(self, what: str) -> None:
        until(lambda: what in self.text or self.process.poll() is not None)
        assert what in self.text, self.text

    def end(self, code: int) -> str:
        assert self.process.wait(20) == code, self.text
        self._thread.join()
        assert self.process.stdout
        self.process.stdout.close()
        return self.text


class Terminal:
    """A command on a terminal so many characters wide."""

    def __init__(self, shell: Shell, *words: str, width: int = 100, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        shell.env |= {"TERM": "xterm-256color", "COLUMNS": None, "LINES": None, **env}
        self.process = shell.start(*words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self._read = b""
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def _collect(self) -> None:
        while True:
            try:
                self._read += os.read(self._ours, 65536)
            except OSError:  # the other side is gone
                return

    @property
    def raw(self) -> str:
        return self._read.decode(errors="replace")

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.raw).replace("\r", "\n")

    def shows(self, what: str) -> None:
        until(lambda: what in self.text or self.process.poll() is not None)
        assert what in self.text, self.text

    def end(self, code: int) -> str:
        assert self.process.wait(20) == code, self.text
        self._thread.join()
        os.close(self._ours)
        return self.text


@pytest.fixture
def job(submitted: Submit, place: Place) -> str:
    job = submitted("--name", "训练", "--", "train.py")
    place.reach(job, "running")
    place.steps(f"{job}.0", 1, 19, loss=4.0)
    place.engine.say(ev.RunResumed(f"{job}.0", 1, place.platform.now_ms()))
    return job


def fault(place: Place, job: str) -> None:
    """Its first run vanishes; the second one goes on from step 11."""
    place.engine.end(f"{job}.0", how="lost")
    place.until(lambda: f"{job}.1" in place.engine.alive)
    place.reach(job, "running")
    place.steps(f"{job}.1", 11, 40, loss=4.0)
    place.engine.say(ev.RunResumed(f"{job}.1", 11, place.platform.now_ms()))


def finish(place: Place, job: str, run: int, code: int = 0) -> None:
    place.engine.end(f"{job}.{run}", code=code, rank=-1 if code == 0 else 0)


def test_in_a_pipe_a_job_is_followed_in_plain_lines(ada: Shell, job: str, place: Place) -> None:
    place.writes(f"{job}.0", "stdout", "第一行\n".encode())
    followed = Followed(ada, "job", "follow", job)
    followed.says("step 1/100 1 %")
    followed.says("第一行")
    fault(place, job)
    followed.says("↻ run 1 goes on with step 11")
    place.steps(f"{job}.1", 41, 100, loss=4.0)
    followed.says("step 100/100 100 %")
    finish(place, job, 1)
    lines = followed.end(0).splitlines()
    assert "✗ fault in run 0: vanished (the platform's: what is lost is not charged)" in lines
    resumed = next(line for line in lines if line.startswith("↻"))
    assert resumed.endswith("later, 9 steps lost")
    assert lines[-1].startswith("✓ done; took ")
    assert "100 steps; loss 4 → 0.04; 1 fault, 9 steps lost; cost ¥" in lines[-1]
    assert "\x1b" not in followed.text
    assert "\r" not in followed.text


def test_on_a_terminal_a_bar_shows_how_far_it_is(ada: Shell, job: str, place: Place) -> None:
    terminal = Terminal(ada, "job", "follow", job)
    terminal.shows("step 19/100 19 %  loss 0.2105  10 tokens/s")
    terminal.shows("训练  running")
    fault(place, job)
    terminal.shows("1 fault")
    terminal.shows("╎")
    finish(place, job, 1)
    shown = terminal.end(0)
    assert "━" in shown
    assert "█" in shown
    assert "✓ done" in shown
    assert terminal.raw.count("\x1b[?25l") == terminal.raw.count("\x1b[?25h") > 0  # the cursor is back


@pytest.mark.parametrize("width", [20, 60, 200])
def test_however_narrow_the_terminal_no_line_is_longer(
    ada: Shell, job: str, place: Place, width: int
) -> None:
    terminal = Terminal(ada, "job", "follow", job, width=width)
    terminal.shows("step 19/100")
    finish(place, job, 0)
    bars = [line for line in terminal.end(0).splitlines() if "step 19" in line]
    assert bars
    assert max(map(cell_len, bars)) <= width


def test_a_narrow_terminal_shows_what_matters_most(ada: Shell, job: str) -> None:
    for width, shown, left_out in ((200, "WHY", "-"), (70, "SUBMITTED", "WHY"), (60, "NAME", "SUBMITTED")):
        terminal = Terminal(ada, "jobs", width=width)
        text = terminal.end(0)
        head = next(line for line in text.splitlines() if line.startswith("JOB"))
        assert shown in head
        assert left_out not in head
        assert "训练" in text
        assert job in text
        assert "…" not in text


def test_colours_and_movement_are_left_out_where_they_are_not_wanted(
    ada: Shell, job: str, place: Place
) -> None:
    finish(place, job, 0)
    place.reach(job, "ended")
    plain = Terminal(ada, "job", "follow", job, TERM="dumb")
    plain.end(0)
    assert "\x1b" not in plain.raw
    grey = Terminal(ada, "jobs", NO_COLOR="1")
    grey.end(0)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", grey.raw)


def test_a_job_is_followed_through_a_restart_of_the_server(
    ada: Shell, job: str, place: Place, served: Served
) -> None:
    followed = Followed(ada, "job", "follow", job)
    followed.says("run 0: 1 card on here")
    served.stop()
    followed.says("The server is away")
    place.writes(f"{job}.0", "stdout", b"meanwhile\n")
    served.start()
    followed.says("The server is back.")
    followed.says("meanwhile")
    finish(place, job, 0)
    said = followed.end(0)
    assert said.count("run 0: 1 card on here") == 1
    assert said.count("meanwhile") == 1


@pytest.mark.parametrize("command", [["job", "follow"], ["job", "logs", "-f"]])
def test_ctrl_c_leaves_the_job_running_and_says_so(
    ada: Shell, job: str, place: Place, command: list[str]
) -> None:
    place.writes(f"{job}.0", "stdout", b"hello\n")
    followed = Followed(ada, *command, job)
    followed.says("hello")
    followed.process.send_signal(signal.SIGINT)
    assert "The job goes on." in followed.end(130)
    assert place.phase(job) == "running"


@pytest.mark.parametrize(
    ("of_run", "of_command", "said"),
    [(0, 0, "✓ done"), (3, 1, "✗ failed: rank 0 exit code 3")],
)
def test_submit_and_follow_ends_as_the_job_does(
    ada: Shell, place: Place, of_run: int, of_command: int, said: str
) -> None:
    followed = Followed(ada, "submit", "-f", "--retries", "0", "--", "train.py")
    followed.says("Submitted j-")
    job = ada.json("job", "why", "last")["job"]
    place.reach(job, "running")
    place.writes(f"{job}.0", "stderr", b"Traceback: oops\n")
    finish(place, job, 0, of_run)
    assert said in followed.end(of_command)
    assert "Traceback: oops" in followed.text


def test_with_json_the_ended_job_is_the_one_document(ada: Shell, job: str, place: Place) -> None:
    finish(place, job, 0)
    ended = ada.json("job", "follow", job)
    assert (ended["job"], ended["outcome"]) == (job, "done")
    process = ada.start("submit", "--json", "-f", "--retries", "0", "--", "train.py", stdout=subprocess.PIPE)
    until(lambda: len(ada.json("jobs")["items"]) == 2)
    second = ada.json("job", "why", "last")["job"]
    place.reach(second, "running")
    finish(place, second, 0, code=1)
    out, _ = process.communicate(timeout=20)
    failed: dict[str, Any] = msgspec.json.decode(out)
    assert (process.returncode, failed["outcome"]) == (1, "failed")


def test_a_job_that_waits_for_a_person_is_not_waited_for(ada: Shell, job: str, place: Place) -> None:
    followed = Followed(ada, "job", "follow", job)
    followed.says("run 0: 1 card on here")
    finish(place, job, 0, EXIT_NO_SPACE)
    assert "paused: No space for a checkpoint" in followed.end(5)
    assert f"starverse job resume {job}" in followed.text


def test_without_its_output_the_last_lines_of_a_failed_job_are_shown(
    ada: Shell, submitted: Submit, place: Place
) -> None:
    job = submitted("--retries", "0", "--", "train.py")
    place.reach(job, "running")
    place.writes(f"{job}.0", "stderr", b"".join(b"line %d\n" % number for number in range(100)))
    finish(place, job, 0, code=1)
    place.reach(job, "ended")
    said = ada("job", "follow", "--no-logs", job, code=1).stdout.splitlines()
    assert said[-20:] == [f"  line {number}" for number in range(80, 100)]


def test_the_list_is_watched_as_it_changes(ada: Shell, job: str, place: Place) -> None:
    followed = Followed(ada, "jobs", "--watch")
    followed.says("running")
    finish(place, job, 0)
    followed.says("done")
    followed.process.send_signal(signal.SIGINT)
    followed.end(130)
    terminal = Terminal(ada, "jobs", "--watch", width=70)
    terminal.shows("done")
    second = ada.json("submit", "--", "train.py")["job"]
    terminal.shows(second)
    terminal.process.send_signal(signal.SIGINT)
    terminal.end(130)


def test_sending_a_directory_shows_a_bar_on_a_terminal_only(ada: Shell, code: Path) -> None:
    (code / "model.bin").write_bytes(os.urandom(3 << 20))
    terminal = Terminal(ada, "submit", "--", "train.py")
    assert "3 files, 3.1 MB, 3.1 MB new" in terminal.end(0)
    assert "━" in terminal.text
    (code / "model.bin").write_bytes(os.urandom(3 << 20))
    piped = Followed(ada, "submit", "--", "train.py")
    piped.end(0)
    assert "\x1b" not in piped.text
    assert "━" not in piped.text
