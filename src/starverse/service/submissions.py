"""Directories on their way in: which files are missing, their contents, and the snapshot they make."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starverse.service.access import Actor, project_of
from starverse.service.answers import Snapshot
from starverse.service.platform import Platform
from starverse.store.blobs import Upload
from starverse.store.manifest import Entry


def missing(platform: Platform, actor: Actor, project: str, digests: Sequence[str]) -> tuple[str, ...]:
    """Those digests whose content the tenant has not sent yet."""
    tenant = project_of(actor, project, "member").tenant
    return tuple(platform.blobs.missing(tenant, digests))


@contextmanager
def receive(platform: Platform, actor: Actor, project: str, digest: str) -> Iterator[Upload]:
    """Take in a file's content, to be written piece by piece and then finished."""
    tenant = project_of(actor, project, "member").tenant
    with platform.blobs.upload(tenant, digest) as upload:
        yield upload


def put_snapshot(platform: Platform, actor: Actor, project: str, entries: Sequence[Entry]) -> Snapshot:
    """Name a directory by its files, all of which were sent before."""
    tenant = project_of(actor, project, "member").tenant
    snapshot = platform.blobs.put_manifest(tenant, entries)
    return Snapshot(snapshot, len(entries), sum(entry.size for entry in entries))
