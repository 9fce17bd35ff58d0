"""What ranks write: bounded, in order, readable from any place, and told apart."""

import os
from pathlib import Path

import pytest

from starverse.engines import reading
from starverse.engines.folder import LOG_PART_BYTES, RunFolder
from starverse.engines.logs import Log, Spout, last_lines
from starverse.model.errors import BadInput
from starverse.model.events import RunStarted

FLOOD_MB = 200


def test_a_flood_neither_fills_the_disk_nor_holds_the_run_up(machine):
    engine = machine.engine()
    command = f"yes 'a line of the flood' | head -c {FLOOD_MB}000000; echo; echo the last line"
    engine.act(machine.order("j-a.0", "sh", "-c", command))
    started = machine.until(engine, RunStarted, "j-a.0")
    ended = machine.ended(engine, "j-a.0", within_s=60)
    assert ended.how == "exit"
    assert ended.happened_ms - started.happened_ms < 15_000
    sizes = [path.stat().st_size for path in Path(machine.folder("j-a.0").path).glob("stdout.*.log")]
    assert len(sizes) == 2
    assert sum(sizes) <= 2 * LOG_PART_BYTES
    home = machine.home
    tail, end = reading.read_log(home, "j-a.0", "stdout", -14)
    assert (tail, end) == (b"the last line\n", FLOOD_MB * 1_000_000 + 15)
    oldest, offset = reading.read_log(home, "j-a.0", "stdout", 0, 100)  # what was there is gone
    assert offset - len(oldest) == (end // LOG_PART_BYTES - 1) * LOG_PART_BYTES


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = tmp_path / "runs" / "j-a.0"
    run.mkdir(parents=True)
    return RunFolder(str(run))


def test_a_reader_follows_a_log_over_its_parts(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LOG_PART_BYTES", 100)
    log = Log(folder, "stdout", part_bytes=100)
    written, read, offset = b"", b"", 0
    for n in range(50):
        line = b"%d\n" % (n * 1001)
        log.write(line)
        written += line
        data, offset = reading.read_log(tmp_path, "j-a.0", "stdout", offset, 3)
        read += data
    while data:
        data, offset = reading.read_log(tmp_path, "j-a.0", "stdout", offset, 64)
        read += data
    assert written.endswith(read[-150:])
    assert offset == len(written)
    assert len(list(Path(folder.path).iterdir())) == 2


def test_lines_of_several_ranks_stay_whole_and_say_whose_they_are(folder):
    log = Log(folder, "stdout")
    pipes = [os.pipe() for _ in range(2)]
    spouts = [Spout(reading_end, log, f"[{rank}] ") for rank, (reading_end, _) in enumerate(pipes)]
    for rank, text in [(0, b"be"), (1, b"one\ntwo\nthr"), (0, b"gin\n"), (1, b"ee"), (0, b"waits")]:
        os.write(pipes[rank][1], text)
        assert spouts[rank].pour()
    spouts[0].tick()
    spouts[0].tick()  # a progress bar without an end of line is shown after a second
    os.close(pipes[1][1])
    assert not spouts[1].pour()
    os.close(pipes[0][1])
    for reading_end, _ in pipes:
        os.close(reading_end)
    assert Path(folder.log("stdout", 0)).read_text() == "[1] one\n[1] two\n[0] begin\n[0] waits\n[1] three\n"


def test_a_full_disk_costs_lines_but_never_the_run(folder, monkeypatch):
    log = Log(folder, "stdout")
    log.write(b"before\n")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("starverse.engines.logs.os.write", full)
    log.write(b"lost\n")
    monkeypatch.undo()
    log.write(b"after\n")
    assert Path(folder.log("stdout", 0)).read_text() == "before\nafter\n"


def test_the_last_lines_are_text_whatever_was_written():
    assert last_lines(b"") == ""
    assert last_lines(b"a\nb\n\n") == "a\nb"
    assert last_lines(b"\xff\x00ok\n") == "\ufffdok"
    assert last_lines(b"".join(b"%d\n" % n for n in range(99))).splitlines() == [
        str(n) for n in range(79, 99)
    ]


def test_only_the_two_streams_can_be_read(tmp_path):
    assert reading.read_log(tmp_path, "j-a.0", "stdout", 5) == (b"", 5)
    with pytest.raises(BadInput, match="Ask for stdout or stderr"):
        reading.read_log(tmp_path, "j-a.0", "../order", 0)
    with pytest.raises(BadInput):
        reading.read_log(tmp_path, "../runs", "stdout", 0)
