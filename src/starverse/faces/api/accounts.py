"""Routes of people: accounts, tokens, projects, secrets."""

from fastapi import APIRouter

from starverse.faces.api.bodies import (
    Invitation,
    Login,
    ProjectAsk,
    Registration,
    SecretValue,
    TokenAsk,
)
from starverse.faces.api.context import At, Caller, From, ProjectQuery
from starverse.faces.schemas import Account, Member, Membership, Secret, SignedIn, Token
from starverse.service import accounts, projects, secrets

router = APIRouter(prefix="/v1", tags=["accounts"])


@router.post("/accounts", status_code=201)
def register(at: At, body: Registration, address: From) -> SignedIn:
    """Open an account, with a project, a wallet and the trial credit in it; the token is shown this once."""
    return accounts.register(at, body.email, body.password, address)


@router.post("/sessions", status_code=201)
def log_in(at: At, body: Login, address: From) -> SignedIn:
    """A new token for an account."""
    return accounts.log_in(at, body.email, body.password, body.name, address)


@router.delete("/sessions/current", status_code=204)
def log_out(at: At, caller: Caller) -> None:
    """Revoke the token of this very call."""
    accounts.revoke_token(at, caller, caller.token_id)


@router.get("/me")
def me(caller: Caller) -> Account:
    """Who the token speaks for."""
    return caller.account()


@router.get("/tokens")
def list_tokens(at: At, caller: Caller) -> tuple[Token, ...]:
    """One's own tokens that still work."""
    return accounts.list_tokens(at, caller)


@router.post("/tokens", status_code=201)
def create_token(at: At, caller: Caller, body: TokenAsk) -> SignedIn:
    """Another token; it is shown this once."""
    return accounts.create_token(at, caller, body.name, body.days)


@router.delete("/tokens/{token_id}", status_code=204)
def revoke_token(at: At, caller: Caller, token_id: str) -> None:
    """Make a token of one's own worthless."""
    accounts.revoke_token(at, caller, token_id)


@router.get("/projects")
def list_projects(caller: Caller) -> tuple[Membership, ...]:
    """The projects one belongs to."""
    return caller.projects


@router.post("/projects", status_code=201)
def create_project(at: At, caller: Caller, body: ProjectAsk) -> Membership:
    """A new project, paid from one's own wallet."""
    return projects.create(at, caller, body.name)


@router.get("/projects/{project}/members")
def list_members(at: At, caller: Caller, project: str) -> tuple[Member, ...]:
    """The people in a project."""
    return projects.members(at, caller, project)


@router.put("/projects/{project}/members")
def invite(at: At, caller: Caller, project: str, body: Invitation) -> Member:
    """Owner: let an existing account in, or change its role."""
    return projects.invite(at, caller, project, body.email, body.role)


@router.delete("/projects/{project}/members/{user}", status_code=204)
def remove_member(at: At, caller: Caller, project: str, user: str) -> None:
    """Owner: take somebody out; anybody: leave."""
    projects.remove(at, caller, project, user)


@router.get("/secrets")
def list_secrets(at: At, caller: Caller, project: ProjectQuery = "") -> tuple[Secret, ...]:
    """The names of the secrets jobs may use; never their values."""
    return secrets.names(at, caller, project)


@router.put("/secrets/{name}")
def put_secret(at: At, caller: Caller, name: str, body: SecretValue, project: ProjectQuery = "") -> Secret:
    """Set a secret, an environment variable in the runs that ask for it by name."""
    return secrets.put(at, caller, project, name, body.value)


@router.delete("/secrets/{name}", status_code=204)
def delete_secret(at: At, caller: Caller, name: str, project: ProjectQuery = "") -> None:
    """Forget a secret."""
    secrets.delete(at, caller, project, name)
