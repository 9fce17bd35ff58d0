"""What callers send: pydantic reads it strictly, and refuses what it does not know."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from starverse.faces.schemas import JobAsk, RoleAsk, ShapeAsk
from starverse.model.array import AFTER_MAX
from starverse.model.job import Launch, Priority
from starverse.model.tenant import Role
from starverse.scheduler.asked import ROLES_MAX

Text = Annotated[str, Field(max_length=4096)]
Name = Annotated[str, Field(max_length=128)]
Email = Annotated[str, Field(max_length=254, examples=["ada@example.com"])]
Password = Annotated[str, Field(max_length=1024, examples=["correct horse battery"])]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=0, le=2**53 - 1)]
Amounts = Annotated[dict[Name, Whole], Field(max_length=64)]


class Body(BaseModel):
    """Strict: a number is no text, and a field that is not known is refused rather than overlooked."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Registration(Body):
    """A new account; the password has 8 characters or more."""

    email: Email
    password: Password


class Login(Registration):
    """Email and password for a token; `name` is what it is called in lists."""

    name: Name = ""


class TokenAsk(Body):
    """Another token, for so many days."""

    name: Name = ""
    days: Annotated[int, Field(ge=1, le=3650)] = 90


class ProjectAsk(Body):
    """A new project."""

    name: Name


class Invitation(Body):
    """An existing account, and as what it comes in."""

    email: Email
    role: Role = "member"


class SecretValue(Body):
    """The value of a secret: given to runs, never shown again."""

    value: Annotated[str, Field(max_length=65536)]


class RoleBody(Body):
    """A kind of member in a gang: a command, and on how many cards."""

    name: Name
    command: list[str]
    cards: Annotated[int, Field(ge=1)] = 1
    launch: Launch | Literal[""] = ""
    environment: dict[str, str] = {}


class ShapeBody(Body):
    """How cards are to lie and what is needed beside them; see ShapeAsk."""

    member: Whole = 1
    cpu: Annotated[int | float, Field(ge=0, le=2**30, allow_inf_nan=False)] = 0
    memory_mb: Whole = 0
    resources: Amounts = {}
    require: Name = ""
    prefer: Name = ""
    slices: Amounts = {}
    spread: Amounts = {}
    balanced: bool = False
    licences: Amounts = {}
    apart: Name = ""
    apart_level: Name = ""

    def ask(self) -> ShapeAsk:
        """As the use case takes it."""
        return ShapeAsk(**self.model_dump())


class JobBody(Body):
    """What to run, on how many cards. `cards` is a count, `MIN:MAX`, or 0.25 for a part of one card; see
    JobAsk for the defaults."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"command": ["train.py", "--steps", "400"], "cards": "1:2", "name": "first"}]
        }
    )

    command: list[str] = []
    cards: int | float | Text = 1
    kind: Name = ""
    name: Name = ""
    time_limit_ms: int = 0
    launch: Launch | Literal[""] = ""
    snapshot: Name = ""
    environment: dict[str, str] = {}
    secrets: list[Name] = []
    project: Name = ""
    priority: Priority = "on-demand"
    retries: int = 2
    image: Text = ""
    after: Annotated[list[Name], Field(max_length=AFTER_MAX)] = []
    after_any: Annotated[list[Name], Field(max_length=AFTER_MAX)] = []
    array: Text = ""
    roles: Annotated[list[RoleBody], Field(max_length=ROLES_MAX)] = []
    shape: ShapeBody = ShapeBody()
    earliest_start_ms: Whole = 0
    reservation: Name = ""
    stays: bool = False

    def ask(self) -> JobAsk:
        """As the use case takes it."""
        values = self.model_dump()
        for name in ("command", "secrets", "after", "after_any"):
            values[name] = tuple(values[name])
        values["roles"] = tuple(
            RoleAsk(**{**role.model_dump(), "command": tuple(role.command)}) for role in self.roles
        )
        values["shape"] = self.shape.ask()
        return JobAsk(**values)


class Digests(Body):
    """Digests (sha256, in hex) of files that a snapshot is to hold."""

    digests: Annotated[list[Digest], Field(max_length=5000)]


class FileBody(Body):
    """A file of a snapshot."""

    path: Annotated[str, Field(max_length=4096)]
    digest: Digest
    size: Whole
    mode: Annotated[int, Field(ge=0, le=0o777)] = 0o644


class Manifest(Body):
    """All files of a snapshot; their content was sent before."""

    files: Annotated[list[FileBody], Field(max_length=20_000)]


class Fault(Body):
    """The rank to kill."""

    rank: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class TopUpBody(Body):
    """Money that came in, in micro-yuan, and where it came from."""

    amount: Annotated[int, Field(ge=1, le=10**15)]
    note: Annotated[str, Field(max_length=512)] = ""


class PriceBody(Body):
    """A dated price in micro-yuan per card-hour; `from_ms` 0 is now."""

    kind: Annotated[str, Field(min_length=1, max_length=64)]
    price: Annotated[int, Field(ge=0, le=10**12)]
    from_ms: Whole = 0
