"""Projects, and who is in them."""

from sqlalchemy import Connection

from starverse.model.errors import BadInput, NotFound, Refused
from starverse.model.tenant import Role
from starverse.service.access import Actor, must_be, project_of, tenant_of
from starverse.service.people import Member, Membership
from starverse.service.platform import Platform
from starverse.store import tenants
from starverse.store.database import reading

PROJECTS_MAX = 200


def create(platform: Platform, actor: Actor, name: str) -> Membership:
    """A new project of the caller's own tenant, with the caller as owner."""
    if not name.strip() or len(name) > 64 or not name.isprintable():
        raise BadInput("A project needs a name of 1 to 64 printable characters.", "Choose another.")
    if len(actor.projects) >= PROJECTS_MAX:
        raise Refused(f"You are in {PROJECTS_MAX} projects already.", "Use one of them.")
    project, tenant = platform.new_id("p"), tenant_of(actor.user)
    now_ms = platform.now_ms()
    with platform.database.begin() as connection:
        tenants.add_project(connection, project, tenant, name, now_ms)
        tenants.set_role(connection, project, actor.user, "owner")
    return Membership(project, name, tenant, "owner")


def members(platform: Platform, actor: Actor, project: str) -> tuple[Member, ...]:
    """The people in a project."""
    found = project_of(actor, project, "viewer")
    with reading(platform.database) as connection:
        return tuple(Member(*row) for row in tenants.members_of(connection, found.project))


def invite(platform: Platform, actor: Actor, project: str, email: str, role: Role) -> Member:
    """Let an existing account into a project, or change its role."""
    found = project_of(actor, project, "owner")
    with platform.database.begin() as connection:
        user = tenants.user_by_email(connection, email)
        if user is None:
            raise NotFound(f"Nobody has registered as {email[:254]}.", "Ask them to register first.")
        if role != "owner":
            _keep_an_owner(connection, found.project, user.user)
        tenants.set_role(connection, found.project, user.user, role)
    return Member(user.user, user.email, role)


def remove(platform: Platform, actor: Actor, project: str, user: str) -> None:
    """Take somebody out of a project, or leave it."""
    found = project_of(actor, project, "viewer")
    if user != actor.user:
        must_be(found, "owner")
    with platform.database.begin() as connection:
        _keep_an_owner(connection, found.project, user)
        if not tenants.remove_member(connection, found.project, user):
            raise NotFound("That person is not in the project.", "GET its members to see who is.")


def _keep_an_owner(connection: Connection, project: str, leaving: str) -> None:
    owners = {row.user for row in tenants.members_of(connection, project) if row.role == "owner"}
    if owners == {leaving}:
        raise Refused("A project needs an owner.", "Make somebody else owner first.")
