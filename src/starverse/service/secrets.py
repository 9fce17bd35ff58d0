"""Secrets that jobs may use by name; their values go in and are never told again."""

from starverse.model.errors import NotFound
from starverse.service.access import Actor, project_of
from starverse.service.people import Secret
from starverse.service.platform import Platform
from starverse.store import vault
from starverse.store.database import reading


def names(platform: Platform, actor: Actor, project: str) -> tuple[Secret, ...]:
    """The names of the secrets of the project's tenant."""
    tenant = project_of(actor, project, "member").tenant
    with reading(platform.database) as connection:
        return tuple(Secret(*row) for row in vault.secret_names(connection, tenant))


def put(platform: Platform, actor: Actor, project: str, name: str, value: str) -> Secret:
    """Set a secret."""
    tenant = project_of(actor, project, "member").tenant
    now_ms = platform.now_ms()
    with platform.database.begin() as connection:
        vault.put_secret(connection, tenant, name, value, now_ms)
    return Secret(name, now_ms)


def delete(platform: Platform, actor: Actor, project: str, name: str) -> None:
    """Forget a secret."""
    tenant = project_of(actor, project, "member").tenant
    with platform.database.begin() as connection:
        if not vault.delete_secret(connection, tenant, name):
            raise NotFound(f"There is no secret {name[:80]!r}.", "GET /v1/secrets lists the names.")
