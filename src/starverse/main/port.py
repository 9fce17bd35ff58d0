"""Whether a port of this machine is free, and who has it if not."""

import socket
import time
from contextlib import suppress
from pathlib import Path

from starverse.model.errors import PortTaken


def demand_free(host: str, port: int, option: str) -> None:
    """Raise PortTaken if it is not, naming the program that listens there and the `option` for another."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise PortTaken(f"Port {port} may not be used.", f"Choose another with {option}.") from None
        except OSError:
            by = _listener(port)
            raise PortTaken(
                f"Port {port} is taken{f' by {by}' if by else ''}.", f"Choose another with {option}."
            ) from None


def await_free(host: str, port: int, option: str, within_s: float) -> None:
    """Raise PortTaken if it still is not when so long has gone by."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            demand_free(host, port, option)
            return
        except PortTaken:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _listener(port: int) -> str:
    """`name (pid N)` of the program that listens on a port, "" if it cannot be seen."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    sockets.add(f"socket:[{fields[9]}]")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(_leads_to(fd) in sockets for fd in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return ""


def _leads_to(descriptor: Path) -> str:
    with suppress(OSError):  # closed since it was listed
        return str(descriptor.readlink())
    return ""
