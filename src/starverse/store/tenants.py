"""Rows of tenants, their projects, and the people in them; ids are the caller's."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Insert, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from starverse.model.errors import Conflict, NotFound
from starverse.model.tenant import Role
from starverse.store.database import is_sqlite
from starverse.store.schema import members, projects, tenants, users

UNIX_ID_FIRST = 61_000
"""The Unix user of the first tenant's jobs: above what Debian gives out (59999), below nobody (65534)."""

UNIX_IDS_TAKEN = range(65_500, 100_000)
"""Where `nobody` and the other ids that systems give away themselves may lie: no tenant gets one of these."""


class Tenant(NamedTuple):
    """Who pays."""

    tenant: str
    name: str
    unix_id: int
    created_ms: int


_PROJECTS_OF = (  # built once: every request of the API asks this
    select(projects.c.project, projects.c.tenant, projects.c.name, members.c.role)
    .join(members, members.c.project == projects.c.project)
    .where(members.c.user == bindparam("person"))
    .order_by(projects.c.created_ms, projects.c.project)
)


class Project(NamedTuple):
    """Where a tenant's people work together; `role` is that of the person who asked."""

    project: str
    tenant: str
    name: str
    role: Role


class User(NamedTuple):
    """A person; `operator`s run the platform. `password` is an argon2id hash."""

    user: str
    email: str
    password: str
    operator: bool
    created_ms: int


class Member(NamedTuple):
    """A person in a project."""

    user: str
    email: str
    role: Role


def add_tenant(connection: Connection, tenant: str, name: str, now_ms: int) -> Tenant:
    """A new tenant with a Unix user of its own."""
    if not is_sqlite(connection):  # two at once would take the same number
        connection.exec_driver_sql("LOCK TABLE tenants IN SHARE ROW EXCLUSIVE MODE")
    last = connection.execute(select(func.max(tenants.c.unix_id))).scalar()
    number = UNIX_ID_FIRST if last is None else last + 1
    if UNIX_IDS_TAKEN.start <= number < UNIX_IDS_TAKEN.stop:
        number = UNIX_IDS_TAKEN.stop
    row = Tenant(tenant, name, number, now_ms)
    connection.execute(insert(tenants), row._asdict())
    return row


def tenant_of(connection: Connection, tenant: str) -> Tenant:
    """The tenant. Raises NotFound."""
    found = connection.execute(select(tenants).where(tenants.c.tenant == tenant)).first()
    if found is None:
        raise NotFound(f"There is no tenant {tenant}.")
    return Tenant(*found)


def add_project(connection: Connection, project: str, tenant: str, name: str, now_ms: int) -> None:
    """A new project of a tenant. Raises Conflict when the tenant has one of that name."""
    row = {"project": project, "tenant": tenant, "name": name, "created_ms": now_ms}
    same = (projects.c.tenant == tenant) & (projects.c.name == name)
    _add(connection, insert(projects).values(row), same, f"There is a project '{name}' already.")


def add_user(
    connection: Connection, user: str, email: str, password_hash: str, now_ms: int, *, operator: bool = False
) -> None:
    """A new person. Raises Conflict when the e-mail address is registered."""
    row = {"user": user, "email": _folded(email), "password": password_hash, "operator": operator}
    added = insert(users).values(**row, created_ms=now_ms)
    _add(connection, added, users.c.email == _folded(email), f"{_folded(email)} is registered already.")


def user_by_email(connection: Connection, email: str) -> User | None:
    """The person with this address, in whatever case it is written."""
    return _user(connection, select(users).where(users.c.email == _folded(email)))


def user_by_id(connection: Connection, user: str) -> User | None:
    """The person."""
    return _user(connection, select(users).where(users.c.user == user))


def set_password(connection: Connection, user: str, password_hash: str) -> None:
    """Replace a person's password."""
    connection.execute(update(users).where(users.c.user == user), {"password": password_hash})


def operators(connection: Connection) -> list[User]:
    """Those who run the platform; none before `up` has made the first."""
    found = select(users).where(users.c.operator).order_by(users.c.user)
    return [User(*row) for row in connection.execute(found)]


# -- who is in which project ------------------------------------------------------------------------------


def set_role(connection: Connection, project: str, user: str, role: Role) -> None:
    """Make a person a member of a project, or change what the member may do."""
    row = (members.c.project == project) & (members.c.user == user)
    if not connection.execute(update(members).where(row), {"role": role}).rowcount:
        connection.execute(insert(members), {"project": project, "user": user, "role": role})


def remove_member(connection: Connection, project: str, user: str) -> bool:
    """Take a person out of a project; False when they were not in it."""
    row = (members.c.project == project) & (members.c.user == user)
    return bool(connection.execute(delete(members).where(row)).rowcount)


def role_of(connection: Connection, user: str, project: str) -> Role | None:
    """What a person may do in a project; None for those who are not in it."""
    row = (members.c.project == project) & (members.c.user == user)
    return connection.execute(select(members.c.role).where(row)).scalar()


def projects_of(connection: Connection, user: str) -> list[Project]:
    """The projects a person is in, the oldest first."""
    return [Project(*row) for row in connection.execute(_PROJECTS_OF, {"person": user})]


def members_of(connection: Connection, project: str) -> list[Member]:
    """The people in a project, by address."""
    found = (
        select(users.c.user, users.c.email, members.c.role)
        .join(members, members.c.user == users.c.user)
        .where(members.c.project == project)
        .order_by(users.c.email)
    )
    return [Member(*row) for row in connection.execute(found)]


# -- how --------------------------------------------------------------------------------------------------


def _folded(email: str) -> str:
    return email.strip().lower()


def _user(connection: Connection, found: Any) -> User | None:
    row = connection.execute(found).first()
    return None if row is None else User(*row)


def _add(connection: Connection, row: Insert, same: ColumnElement[bool], taken: str) -> None:
    try:
        with connection.begin_nested():
            connection.execute(row)
    except IntegrityError as error:
        if connection.execute(select(row.table).where(same)).first() is None:
            raise
        raise Conflict(taken) from error
