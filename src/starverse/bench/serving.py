"""A real server on this machine: how soon a job runs, how many reads it answers, how much memory it takes."""

import socket
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from starverse.bench.figure import Figure
from starverse.faces import schemas as sc
from starverse.faces.client import Client
from starverse.faces.process import ServerProcess

JOBS = 15
READERS = 4
READ_S = 4.0
SETTLE_S = 2.0


def measure() -> Sequence[Figure]:
    """Start a server in an empty home, use it, and end it."""
    with tempfile.TemporaryDirectory(prefix="starverse-bench-") as folder:
        port = _free_port()
        api = f"http://127.0.0.1:{port}"
        server = ServerProcess(Path(folder), api, ["--port", str(port), "--no-console"])
        try:
            ready_s = server.start()
            time.sleep(SETTLE_S)
            idle_mb = server.rss_mb()
            with Client(api) as client:
                client.token = client.register("bench@example.org", "a password for the bench").token
                latencies = [_seconds_to_running(client) for _ in range(JOBS)]
                job = client.jobs(limit=1).items[0].job
                reads = _reads_a_second(api, str(client.token), job)
        finally:
            server.stop()
    return (
        Figure("ready", "server ready, from nothing", ready_s, "s", 3),
        Figure("submit_running", "submit → RUNNING, median", median(latencies) * 1000, "ms", 300),
        Figure("api_reads", f"reads of a job a second, {READERS} clients", reads, "reads/s", better="more"),
        Figure("server_rss", "memory of the idle server (RSS)", idle_mb, "MB", 250),
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _seconds_to_running(client: Client) -> float:
    """From the call to the moment the run's processes were there; server and client share a clock."""
    began_ms = time.time_ns() / 1e6
    job = client.submit(sc.JobAsk(("sleep", "0.5"), snapshot=""))
    while not (found := client.job(job.job)).ended_ms:
        time.sleep(0.05)
    assert found.started_ms, f"job {found.job} never ran: {found.why}"
    return (found.started_ms - began_ms) / 1000


def _reads_a_second(api: str, token: str, job: str) -> float:
    until = time.monotonic() + READ_S

    def read(_: int) -> int:
        count = 0
        with Client(api, token) as client:
            while time.monotonic() < until:
                client.job(job)
                count += 1
        return count

    with ThreadPoolExecutor(READERS) as readers:
        return sum(readers.map(read, range(READERS))) / READ_S
