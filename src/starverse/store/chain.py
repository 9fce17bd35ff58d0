"""What a row of the journal is: an event, the job it belongs to, and a checksum chained to the row before."""

from hashlib import blake2b
from typing import Any

from msgspec.json import Encoder

from starverse.model import events as ev

START = bytes(16)
"""The chain before the first row."""

Row = tuple[int, int, str, str | None, str, bytes]
"""(seq, heard_ms, tag, job, body, chain), as the table has them."""

_encode = Encoder().encode

_HAS_JOB = {event for event in ev.Event.__args__ if "job" in event.__struct_fields__}
_HAS_RUN = {event for event in ev.Event.__args__ if "run" in event.__struct_fields__} - _HAS_JOB


def link(chain: bytes, seq: int, heard_ms: int, body: bytes) -> bytes:
    """The chain of a row, from the chain of the one before."""
    return blake2b(b"%b%d %d %b" % (chain, seq, heard_ms, body), digest_size=16).digest()


def write(chain: bytes, seq: int, heard_ms: int, event: Any) -> Row:
    """An event as the row after (`seq - 1`, `chain`)."""
    body = _encode(event)
    return seq, heard_ms, type(event).__name__, job_of(event), body.decode(), link(chain, seq, heard_ms, body)


def job_of(event: Any) -> str | None:
    """The job an event belongs to, if it belongs to one; a run of job J is named `J.attempt`."""
    kind = type(event)
    if kind in _HAS_JOB:
        return event.job or None
    if kind in _HAS_RUN:
        return str(event.run.rpartition(".")[0])
    return event.spec.job if kind is ev.JobSubmitted else None
