"""The client of the API: one method a use case, plain answers, errors that say what to do."""

import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

from starverse.faces import schemas as sc
from starverse.faces import sse, transport
from starverse.faces.directory import BytesSent, read_directory, send_blob
from starverse.faces.transport import Unreachable

__all__ = ["Client", "Unreachable"]

URL_DEFAULT = "http://127.0.0.1:8701"
TIMEOUT_S = 30.0
PATIENCE_S = 60.0
"""How long a broken stream is tried again before the client gives up."""

DIGESTS_AT_ONCE = 5000
SUBMIT_TRIES = 4

T = TypeVar("T")


class Client:
    """Speaks to one server, as one token; for somebody at `address`, which a server believes of this machine.

    Every method may raise BadInput, NotFound, Refused, Conflict or NotSignedIn (model.errors) with the
    server's sentence and remedy, and Unreachable when there is no server. Lists come in pages: ask on with
    the cursor until it is empty.
    """

    def __init__(
        self,
        base_url: str = URL_DEFAULT,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        address: str = "",
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._http = transport.connect(self.base_url, timeout_s, address)
        self.token = token

    @property
    def token(self) -> str | None:
        """The bearer token that calls are made with."""
        return self._token

    @token.setter
    def token(self, token: str | None) -> None:
        self._token = token
        self._http.headers.pop("authorization", None)
        if token:
            self._http.headers["authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- people -------------------------------------------------------------------------------------------

    def health(self) -> sc.Health:
        """Whether the server is ready, and its version; needs no token."""
        return self._get("/healthz", sc.Health)

    def register(self, email: str, password: str) -> sc.SignedIn:
        """Open an account with a wallet and the trial credit; the client goes on as this account."""
        signed_in = self._post("/v1/accounts", sc.SignedIn, {"email": email, "password": password})
        self.token = signed_in.token
        return signed_in

    def login(self, email: str, password: str, name: str = "") -> sc.SignedIn:
        """A new token, called `name` in lists; the client goes on with it."""
        body = {"email": email, "password": password, "name": name}
        signed_in = self._post("/v1/sessions", sc.SignedIn, body)
        self.token = signed_in.token
        return signed_in

    def logout(self) -> None:
        """Revoke the token the client has."""
        self._delete("/v1/sessions/current")
        self.token = None

    def whoami(self) -> sc.Account:
        """Who the token speaks for."""
        return self._get("/v1/me", sc.Account)

    def tokens(self) -> tuple[sc.Token, ...]:
        """One's own tokens that still work, without their secret parts."""
        return self._get("/v1/tokens", tuple[sc.Token, ...])

    def create_token(self, name: str, days: int = 90) -> sc.SignedIn:
        """Another token for the same account, for a script or a machine; the client keeps the one it has."""
        return self._post("/v1/tokens", sc.SignedIn, {"name": name, "days": days})

    def revoke_token(self, token_id: str) -> None:
        """Make a token worthless."""
        self._delete(f"/v1/tokens/{_part(token_id)}")

    def projects(self) -> tuple[sc.Membership, ...]:
        """The projects one belongs to."""
        return self._get("/v1/projects", tuple[sc.Membership, ...])

    def create_project(self, name: str) -> sc.Membership:
        """A new project, paid from one's own wallet."""
        return self._post("/v1/projects", sc.Membership, {"name": name})

    def members(self, project: str) -> tuple[sc.Member, ...]:
        """The people in a project."""
        return self._get(f"/v1/projects/{_part(project)}/members", tuple[sc.Member, ...])

    def invite(self, project: str, email: str, role: str = "member") -> sc.Member:
        """Let an existing account into a project as viewer, member or owner, or change its role."""
        path = f"/v1/projects/{_part(project)}/members"
        return self._call("PUT", path, sc.Member, json={"email": email, "role": role})

    def remove_member(self, project: str, user: str) -> None:
        """Take a person out of a project."""
        self._delete(f"/v1/projects/{_part(project)}/members/{_part(user)}")

    def secrets(self, project: str = "") -> tuple[sc.Secret, ...]:
        """The names of the secrets that jobs of the project may use."""
        return self._get("/v1/secrets", tuple[sc.Secret, ...], project=project)

    def put_secret(self, name: str, value: str, project: str = "") -> sc.Secret:
        """Set a secret; its value is never shown again, only given to runs that ask for it by name."""
        path = f"/v1/secrets/{_part(name)}"
        return self._call(
            "PUT", path, sc.Secret, params=transport.given(project=project), json={"value": value}
        )

    def delete_secret(self, name: str, project: str = "") -> None:
        """Forget a secret."""
        self._delete(f"/v1/secrets/{_part(name)}", project=project)

    # -- the cluster --------------------------------------------------------------------------------------

    def cluster(self) -> sc.Cluster:
        """What there is to rent, at what price and within which limits."""
        return self._get("/v1/cluster", sc.Cluster)

    def nodes(self) -> tuple[sc.Node, ...]:
        """All nodes."""
        return self._get("/v1/nodes", tuple[sc.Node, ...])

    def cordon(self, node: str) -> sc.Node:
        """Operator: let no new runs come to the node."""
        return self._post(f"/v1/nodes/{_part(node)}/cordon", sc.Node)

    def drain(self, node: str) -> sc.Node:
        """Operator: cordon the node and ask the runs there to save and leave."""
        return self._post(f"/v1/nodes/{_part(node)}/drain", sc.Node)

    def uncordon(self, node: str) -> sc.Node:
        """Operator: let runs come to the node again."""
        return self._post(f"/v1/nodes/{_part(node)}/uncordon", sc.Node)

    def inject_fault(self, run: str, rank: int = 0) -> None:
        """Operator: kill one rank of a run; the platform answers for what is lost."""
        self._call("POST", f"/v1/runs/{_part(run)}/faults", None, json={"rank": rank})

    # -- jobs ---------------------------------------------------------------------------------------------

    def upload(
        self, directory: str | Path, project: str = "", progress: BytesSent | None = None
    ) -> sc.Snapshot:
        """Store a snapshot of the directory, sending only what the server has not got.

        Leaves out .git and what .gitignore and .starverseignore (nested ones too) name. `progress` is called
        with (bytes sent, bytes to send). Raises BadInput, naming the largest folders, beyond the limit.
        """
        limits = self.cluster()
        root = Path(directory)
        files = read_directory(root, limits.snapshot_bytes_max, limits.snapshot_files_max)
        where = transport.given(project=project)
        by_digest = {file.digest: file for file in files}
        digests = list(by_digest)
        missing: list[str] = []
        for first in range(0, len(digests), DIGESTS_AT_ONCE):
            body = {"digests": digests[first : first + DIGESTS_AT_ONCE]}
            missing += self._call("POST", "/v1/blobs/missing", sc.Missing, params=where, json=body).missing
        total = sum(by_digest[digest].size for digest in missing)
        sent = 0
        for digest in missing:
            file = by_digest[digest]
            with transport.problems(self.base_url):
                send_blob(self._http, root, file, where)
            sent += file.size
            if progress:
                progress(sent, total)
        manifest = {"files": [asdict(file) for file in files]}
        return self._call("POST", "/v1/snapshots", sc.Snapshot, params=where, json=manifest)

    def preview(self, ask: sc.JobAsk) -> sc.Preview:
        """What the job would cost, per hour and for its time limit, and how long the wallet lasts."""
        return self._post("/v1/jobs/preview", sc.Preview, asdict(ask))

    def submit(self, ask: sc.JobAsk, idempotency_key: str = "") -> sc.Job:
        """Submit a job. A broken connection is tried again under the same key: the job starts once."""
        return self._once("/v1/jobs", sc.Job, asdict(ask), idempotency_key)

    def jobs(
        self,
        project: str = "",
        phase: str = "",
        cursor: str = "",
        limit: int = 50,
        everyone: bool = False,
        array: str = "",
        fold: bool = False,
    ) -> sc.Page[sc.Job]:
        """Jobs, the newest first; those in `phase`, or of one `array`; with `everyone` (operator) those of
        all tenants; with `fold` each array as its first job, which then has `array_jobs`."""
        query: dict[str, Any] = {"project": project, "phase": phase, "cursor": cursor, "limit": limit}
        query |= {name: "true" for name, given in (("everyone", everyone), ("fold", fold)) if given}
        return self._get("/v1/jobs", sc.Page[sc.Job], **query, **({"array": array} if array else {}))

    def job(self, job: str) -> sc.Job:
        """One job, with its progress."""
        return self._get(f"/v1/jobs/{_part(job)}", sc.Job)

    def stop(self, job: str) -> sc.Job:
        """End the job, or all jobs of an array, with their grace; stopping what has ended does nothing."""
        return self._post(f"/v1/jobs/{_part(job)}/stop", sc.Job)

    def resume(self, job: str) -> sc.Job:
        """Let a paused job wait for cards again."""
        return self._post(f"/v1/jobs/{_part(job)}/resume", sc.Job)

    def why(self, job: str) -> sc.Why:
        """Why the job is where it is, and what would start it."""
        return self._get(f"/v1/jobs/{_part(job)}/why", sc.Why)

    def runs(self, job: str) -> tuple[sc.Run, ...]:
        """The runs of the job, the first one first."""
        return self._get(f"/v1/jobs/{_part(job)}/runs", tuple[sc.Run, ...])

    def timeline(self, job: str) -> tuple[sc.Moment, ...]:
        """What happened to the job, in order."""
        return self._get(f"/v1/jobs/{_part(job)}/timeline", tuple[sc.Moment, ...])

    def metrics(self, job: str, points: int = 500) -> tuple[sc.Metric, ...]:
        """What the job reported over all its runs, thinned evenly to about `points`; the last one is kept."""
        return self._get(f"/v1/jobs/{_part(job)}/metrics", tuple[sc.Metric, ...], points=points)

    def logs(
        self,
        job: str,
        run: str = "",
        stream: Literal["stdout", "stderr"] = "stdout",
        offset: int = 0,
        limit: int = 65536,
    ) -> sc.LogPart:
        """A piece of the output of a run (its last, unless named); a negative offset is from the end."""
        query = {"run": run, "stream": stream, "offset": offset, "limit": limit}
        return self._get(f"/v1/jobs/{_part(job)}/logs", sc.LogPart, **query)

    def files(self, job: str) -> tuple[sc.OutputFile, ...]:
        """What the job wrote into its output folder."""
        return self._get(f"/v1/jobs/{_part(job)}/files", tuple[sc.OutputFile, ...])

    def download(self, job: str, path: str, destination: str | Path) -> Path:
        """Fetch an output file into a file, or into a folder under its own name; say where it is."""
        target = Path(destination)
        if target.is_dir():
            target /= Path(path).name
        url = f"/v1/jobs/{_part(job)}/files/{quote(path)}"
        with transport.problems(self.base_url):
            transport.download(self._http, url, target)
        return target

    def stream(
        self, job: str, from_now: bool = False, patience_s: float = PATIENCE_S
    ) -> Iterator[sc.StreamEvent]:
        """Live events of a job from its beginning (or from now) until Ended.

        A broken connection is taken up where it broke, with Reconnecting events between, and given up with
        Unreachable after `patience_s`: so it survives a restart of the server.
        """
        query = {"from": "now"} if from_now else {}
        return sse.follow(self._http, f"/v1/jobs/{_part(job)}/stream", query, patience_s, self.base_url)

    def stream_all(self, patience_s: float = PATIENCE_S) -> Iterator[sc.StreamEvent]:
        """JobChanged and WalletChanged for all of the caller's jobs, without end."""
        return sse.follow(self._http, "/v1/stream", {}, patience_s, self.base_url)

    # -- reservations and limits --------------------------------------------------------------------------

    def offer(self, ask: sc.ReservationAsk) -> sc.Offer:
        """Whether cards can be booked so, and what could be had instead."""
        return self._post("/v1/reservations/preview", sc.Offer, asdict(ask))

    def reserve(self, ask: sc.ReservationAsk, idempotency_key: str = "") -> sc.Reservation:
        """Book cards in advance; as with `submit`, a broken connection books nothing twice."""
        return self._once("/v1/reservations", sc.Reservation, asdict(ask), idempotency_key)

    def reservations(
        self, project: str = "", everyone: bool = False, ended: bool = False
    ) -> tuple[sc.Reservation, ...]:
        """What is booked and not over, or the last that `ended`; with `everyone` (operator) all tenants'."""
        query = {"project": project, "everyone": everyone or "", "ended": ended or ""}
        return self._get("/v1/reservations", tuple[sc.Reservation, ...], **query)

    def reservation(self, name: str) -> sc.Reservation:
        """One booking, by its id or what it is called."""
        return self._get(f"/v1/reservations/{_part(name)}", sc.Reservation)

    def cancel_reservation(self, name: str) -> None:
        """Give the cards back; jobs inside are asked to leave."""
        self._delete(f"/v1/reservations/{_part(name)}")

    def limits(self) -> sc.Limits:
        """Operator: quotas, licences, budgets, and resting nodes."""
        return self._get("/v1/limits", sc.Limits)

    def set_quota(self, quota: sc.Quota) -> sc.Quota:
        """Operator: give a tenant or a group this quota; what it uses is not heard."""
        body = {
            name: value for name, value in asdict(quota).items() if name not in ("tenant", "used", "left")
        }
        return self._call("PUT", f"/v1/limits/quotas/{_part(quota.tenant)}", sc.Quota, json=body)

    def remove_quota(self, tenant: str) -> None:
        """Operator: let a tenant or a group have no quota any more."""
        self._delete(f"/v1/limits/quotas/{_part(tenant)}")

    def set_licence(self, licence: str, count: int) -> sc.Licence:
        """Operator: there are so many of a licence for the whole cluster."""
        return self._call("PUT", f"/v1/limits/licences/{_part(licence)}", sc.Licence, json={"count": count})

    def set_budget(self, feed: str, watts: float | None) -> sc.Budget:
        """Operator: a feed gives so much at most; None lifts the budget."""
        return self._call("PUT", f"/v1/limits/budgets/{_part(feed)}", sc.Budget, json={"watts": watts})

    # -- money --------------------------------------------------------------------------------------------

    def wallet(self, project: str = "") -> sc.Wallet:
        """What the tenant of the project (one's own, unless named) has."""
        return self._get("/v1/wallet", sc.Wallet, project=project)

    def statement(self, project: str = "", cursor: str = "", limit: int = 50) -> sc.Page[sc.Posting]:
        """Every movement of the wallet, the newest first."""
        query = {"project": project, "cursor": cursor, "limit": limit}
        return self._get("/v1/wallet/statement", sc.Page[sc.Posting], **query)

    def prices(self) -> tuple[sc.Price, ...]:
        """All dated prices."""
        return self._get("/v1/prices", tuple[sc.Price, ...])

    def set_price(self, kind: str, price: int, from_ms: int = 0) -> sc.Price:
        """Operator: from then on (0: from now) a card-hour of this kind costs `price` micro-yuan."""
        return self._post("/v1/prices", sc.Price, {"kind": kind, "price": price, "from_ms": from_ms})

    def top_up(self, tenant: str, amount: int, note: str = "") -> sc.Wallet:
        """Operator: put money that came in into a wallet."""
        path = f"/v1/tenants/{_part(tenant)}/top-ups"
        return self._post(path, sc.Wallet, {"amount": amount, "note": note})

    # -- calls --------------------------------------------------------------------------------------------

    def _once(self, path: str, answer: type[T], body: dict[str, Any], key: str) -> T:
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        for attempt in range(1, SUBMIT_TRIES):
            try:
                return self._call("POST", path, answer, json=body, headers=headers)
            except Unreachable:
                time.sleep(0.5 * attempt)
        return self._call("POST", path, answer, json=body, headers=headers)

    def _call(self, method: str, path: str, answer: type[T] | None, **options: Any) -> T:
        with transport.problems(self.base_url):
            response = self._http.request(method, path, **options)
            return transport.read(response, answer)

    def _get(self, path: str, answer: type[T], **query: Any) -> T:
        return self._call("GET", path, answer, params=transport.given(**query))

    def _post(self, path: str, answer: type[T], body: dict[str, Any] | None = None) -> T:
        return self._call("POST", path, answer, json=body)

    def _delete(self, path: str, **query: Any) -> None:
        self._call("DELETE", path, None, params=transport.given(**query))


def _part(text: str) -> str:
    """A piece of a path, in which nothing means anything else; an empty one names nothing either."""
    return quote(text, safe="") or "-"
