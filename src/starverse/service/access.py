"""Who is calling, and what they may do: rights are checked here and nowhere else."""

from dataclasses import dataclass

from sqlalchemy import Connection

from starverse.model.errors import NotAllowed, NotFound, NotSignedIn
from starverse.model.tenant import RANK_OF_ROLE, Role
from starverse.service.people import Account, Membership
from starverse.service.platform import Platform
from starverse.store import credentials, tenants
from starverse.store.database import reading
from starverse.store.reading import JobRow, array_row, job_row


@dataclass(frozen=True, slots=True)
class Actor:
    """A person whose token was good, as of this call; the projects of their own tenant come first."""

    user: str
    email: str
    operator: bool
    token_id: str
    projects: tuple[Membership, ...]

    def account(self) -> Account:
        """As answers show it."""
        return Account(self.user, self.email, self.operator, self.projects)


def tenant_of(user: str) -> str:
    """The tenant that is a person's own, made together with the account."""
    return f"t-{user.removeprefix('u-')}"


def actor_of(platform: Platform, token: str) -> Actor:
    """Whom a token speaks for. Raises NotSignedIn when it is missing, unknown, revoked or expired."""
    if not token or not token.isascii():
        raise NotSignedIn("There is no token in the request.", "Send `Authorization: Bearer TOKEN`.")
    with reading(platform.database) as connection:
        bearer = credentials.bearer_of(connection, token, platform.now_ms())
        rows = tenants.projects_of(connection, bearer.user)
    own = tenant_of(bearer.user)
    rows.sort(key=lambda row: row.tenant != own)
    projects = tuple(Membership(row.project, row.name, row.tenant, row.role) for row in rows)
    return Actor(bearer.user, bearer.email, bearer.operator, bearer.token, projects)


def must_operate(actor: Actor) -> None:
    """Raises NotAllowed for whoever is no operator."""
    if not actor.operator:
        raise NotAllowed("That is for operators.", "Ask the operator of this cluster.")


def project_of(actor: Actor, project: str, role: Role) -> Membership:
    """A project by its id or its name ("": the first of one's own), if the caller is at least that in it.

    Raises NotFound when it is not the caller's to see, NotAllowed when their role does not suffice.
    """
    found = next((m for m in actor.projects if not project or project in (m.project, m.name)), None)
    if found is None:
        raise NotFound(f"There is no project {project[:80]!r}.", "`starverse whoami` lists yours.")
    must_be(found, role)
    return found


def must_be(membership: Membership, role: Role) -> None:
    """Raises NotAllowed when one is less than that in the project."""
    if RANK_OF_ROLE[membership.role] < RANK_OF_ROLE[role]:
        raise NotAllowed(
            f"In project {membership.name} you are {membership.role}; that is for {role}s.",
            "Ask an owner of the project.",
        )


def job_of(platform: Platform, actor: Actor, job: str, role: Role = "viewer", arrays: bool = False) -> JobRow:
    """A job, if the caller is at least that in its project; operators see all, and may do what a member may.
    With `arrays` the name of an array stands for the first of its jobs.

    Raises NotFound, for one of other people just as for one that never was; NotAllowed for too low a role.
    """
    with reading(platform.database) as connection:
        return seen_job(connection, actor, job, role, arrays)


def seen_job(
    connection: Connection, actor: Actor, job: str, role: Role = "viewer", arrays: bool = False
) -> JobRow:
    """The same within a reading that goes on, for what must fit together."""
    row = job_row(connection, job) or (array_row(connection, job) if arrays else None)
    found = next((m for m in actor.projects if row and m.project == row.project), None)
    if row is None or (found is None and not actor.operator):
        raise NotFound(f"There is no job {job[:64]!r}.", "`starverse jobs` lists yours.")
    if found is not None and not actor.operator:
        must_be(found, role)
    return row
