"""A small server that speaks the documented API over real HTTP, for a pretended world; it dies and returns.

python -m tests.faces.console.pretend PORT
"""

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from tests.faces.console.world import ACCOUNT, World, now_ms

from starverse.faces import schemas as sc

TICK_S = 0.2


class Server:
    """The pretended server on a port of its own, which can be killed and come back."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.port = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        config = uvicorn.Config(
            build(self.world), port=self.port, log_level="error", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()


def build(world: World) -> Starlette:  # noqa: PLR0915 - a table of routes
    def answer(value: Any, status: int = 200) -> Response:
        return Response(msgspec.json.encode(value), status, media_type="application/json")

    def problem(status: int, kind: str, detail: str, remedy: str = "") -> Response:
        return answer(sc.Problem(f"urn:starverse:problem:{kind}", kind, status, detail, remedy), status)

    def signed_in(name: str) -> sc.SignedIn:
        token = f"tok-{len(world.tokens)}-{'x' * 30}"
        shown = sc.Token(f"k-{len(world.tokens)}", name, now_ms(), now_ms() + 90 * 86_400_000, False)
        world.tokens[token] = shown
        return sc.SignedIn(token, shown.token_id, shown.expires_ms, world.account)

    async def register(request: Request) -> Response:
        body = await request.json()
        if body["email"] in world.passwords:
            return problem(
                409, "conflict", "There is an account with this address.", "Sign in, or use another."
            )
        if len(body["password"]) < 8:
            return problem(
                422, "bad-input", "The password has fewer than 8 characters.", "Choose a longer one."
            )
        world.passwords[body["email"]] = body["password"]
        world.post("trial", 10_000_000, 10_000_000, 0)
        return answer(signed_in("console"), 201)

    async def log_in(request: Request) -> Response:
        body = await request.json()
        world.addresses.append(request.headers.get("x-forwarded-for", ""))
        if world.passwords.get(body["email"]) != body["password"]:
            return problem(401, "not-signed-in", "Email or password is wrong.", "Try again, or register.")
        return answer(signed_in(body.get("name", "")), 201)

    async def stream(request: Request) -> Response:
        job = request.path_params.get("job", "")
        if job and job not in world.jobs:
            return problem(404, "not-found", f"There is no job {job}.")

        async def events() -> AsyncIterator[str]:
            seen: Any = None
            metric, log, beats = len(world.metrics.get(job, ())), 0, 0
            number = 0

            def event(kind: str, value: Any) -> str:
                nonlocal number
                number += 1
                return f"id: {number}\nevent: {kind}\ndata: {msgspec.json.encode(value).decode()}\n\n"

            yield ": hello\n\n"
            while True:
                jobs = [world.jobs[job]] if job else list(world.jobs.values())
                shown = (jobs, [world.runs.get(j.job, ())[-1:] for j in jobs])
                if shown != seen:
                    for each in jobs if job or seen is not None else []:
                        yield event("job", sc.JobChanged(each, tuple(world.runs[each.job]) if job else ()))
                    if not job:
                        yield event("wallet", sc.WalletChanged(world.wallet()))
                    seen = (list(jobs), list(shown[1]))
                for point in world.metrics.get(job, ())[metric:]:
                    metric += 1
                    yield event("metric", point)
                text = world.logs.get(jobs[0].run, "") if job else ""
                if len(text) != log:
                    yield event("log", sc.LogText(jobs[0].run, "stdout", text[log:]))
                    log = len(text)
                if job and jobs[0].phase == "ended":
                    yield event("end", sc.Ended(jobs[0]))
                    return
                beats += 1
                if beats % 50 == 0:
                    yield ": alive\n\n"
                await asyncio.sleep(TICK_S)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def call(request: Request) -> Response:
        method, parts, query = request.method, request.path_params["path"].split("/"), request.query_params
        world.requests.append(f"{method} /v1/{request.path_params['path']}")
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in world.tokens:
            return problem(401, "not-signed-in", "The token is not valid any more.", "Sign in again.")
        body = (
            await request.json()
            if "json" in request.headers.get("content-type", "") and await request.body()
            else {}
        )
        match method, *parts:
            case "DELETE", "sessions", "current":
                del world.tokens[token]
                return Response(status_code=204)
            case "GET", "me":
                return answer(world.account)
            case "GET", "projects":
                return answer(ACCOUNT.projects)
            case "GET", "tokens":
                return answer(
                    [replace(shown, current=secret == token) for secret, shown in world.tokens.items()]
                )
            case "POST", "tokens":
                return answer(signed_in(body["name"]), 201)
            case "DELETE", "tokens", which:
                world.tokens = {secret: t for secret, t in world.tokens.items() if t.token_id != which}
                return Response(status_code=204)
            case "GET", "secrets":
                return answer([])
            case "GET", "cluster":
                return answer(world.cluster())
            case "GET", "reservations":
                return answer(world.gone if query.get("ended") else list(world.reservations.values()))
            case "POST", "reservations":
                return answer(world.reserve(body), 201)
            case "DELETE", "reservations", which:
                gone = world.reservations.pop(which)
                world.gone.append(
                    replace(gone, state="cancelled", ended_ms=now_ms(), windows=(), windows_left=0)
                )
                return Response(status_code=204)
            case "GET", "limits":
                return answer(world.limits)
            case "PUT" | "DELETE", "limits", what, name:
                return set_limit(what, name, body)
            case "GET", "nodes":
                return answer(list(world.nodes.values()))
            case "POST", "nodes", node, "cordon" | "drain" | "uncordon":
                world.nodes[node] = replace(world.nodes[node], cordoned=parts[-1] != "uncordon")
                return answer(world.nodes[node])
            case "POST", "runs", run, "faults":
                world.end(run.rpartition(".")[0], "signal", 9, fault=True)
                return Response(status_code=204)
            case "GET", "wallet":
                return answer(world.wallet())
            case "GET", "wallet", "statement":
                return answer(page(world.postings[::-1], query))
            case "GET", "prices":
                return answer([sc.Price("cpu", 0, world.price)])
            case "POST", "blobs", "missing":
                return answer(sc.Missing(tuple(body["digests"])))
            case "PUT", "blobs", _:
                return Response(status_code=204)
            case "POST", "snapshots":
                size = sum(file["size"] for file in body["files"])
                return answer(sc.Snapshot("5e" * 32, len(body["files"]), size), 201)
            case "POST", "jobs", "preview":
                return preview(body)
            case "POST", "jobs":
                key = request.headers.get("idempotency-key", "")
                if key not in world.submitted:
                    world.submitted[key] = world.submit(body).job
                return answer(world.jobs[world.submitted[key]], 201)
            case "GET", "jobs":
                phase = query.get("phase", "")
                jobs = [replace(j, progress=None) for j in world.jobs.values() if phase in ("", j.phase)]
                return answer(page(jobs[::-1], query))
            case _, "jobs", name, *rest if name not in world.jobs:
                return problem(
                    404, "not-found", f"There is no job '{name}'.", "`starverse jobs` lists yours."
                )
            case method, "jobs", name, *rest:
                return of_job(method, name, rest, query)
        return problem(404, "not-found", "There is nothing at this address.")

    def page(items: list[Any], query: Any) -> sc.Page[Any]:
        first, size = int(query.get("cursor") or 0), int(query.get("limit", 50))
        more = str(first + size) if first + size < len(items) else ""
        return sc.Page(tuple(items[first : first + size]), more)

    def set_limit(what: str, name: str, body: dict[str, Any]) -> Response:
        limits = world.limits
        if what == "licences":
            world.limits = replace(limits, licences=(sc.Licence(name, body["count"]),))
            return answer(world.limits.licences[0])
        if what == "budgets":
            world.limits = replace(limits, budgets=(sc.Budget(name, body["watts"]),))
            return answer(world.limits.budgets[0])
        others = tuple(each for each in limits.quotas if each.tenant != name)
        if not body and any(each.parent == name for each in others):
            return problem(409, "refused", f"t-1 would hang in the air without the quota of {name}.", "No.")
        made = (sc.Quota(name, **body),) if body else ()
        world.limits = replace(limits, quotas=others + made)
        return answer(made[0]) if made else Response(status_code=204)

    def preview(body: dict[str, Any]) -> Response:
        low, _, high = str(body["cards"]).partition(":")
        total = sum(n.cards for n in world.nodes.values())
        if not low.isdigit() or int(low) < 1:
            return problem(422, "bad-input", f"'{low}' is not a number of cards.", "Write 2, or 1:8.")
        if int(low) > total:
            return problem(
                422,
                "bad-input",
                f"This cluster has {total} cpu cards; you asked for {low}.",
                f"Ask for {total} or fewer.",
            )
        low_h, high_h = world.price * int(low), world.price * int(high or low)
        limit = body["time_limit_ms"] or 7 * 86_400_000
        free, money = world.cluster().kinds[0].free, world.wallet().available
        return answer(
            sc.Preview(
                kind="cpu",
                cards_min=int(low),
                cards_max=int(high or low),
                price=world.price,
                per_hour_min=low_h,
                per_hour_max=high_h,
                time_limit_ms=limit,
                for_time_limit_min=low_h * limit // 3_600_000,
                for_time_limit_max=high_h * limit // 3_600_000,
                available=money,
                lasts_ms=money * 3_600_000 // high_h,
                cards_free=free,
                cards_total=total,
                starts_now=free >= int(low),
            )
        )

    def of_job(method: str, name: str, rest: list[str], query: Any) -> Response:
        job = world.jobs[name]
        match method, *rest:
            case ("GET",):
                return answer(job)
            case "POST", "stop":
                if job.phase == "running":
                    world.end(name, "exit", 85, outcome="stopped", why="stopped on request")
                elif job.phase != "ended":
                    why = "stopped on request"
                    world.jobs[name] = replace(
                        job, phase="ended", outcome="stopped", why=why, ended_ms=now_ms()
                    )
                return answer(world.jobs[name])
            case "POST", "resume":
                world.jobs[name] = replace(job, phase="waiting")
                return answer(world.jobs[name])
            case "GET", "why":
                causes = (sc.Cause("cards", "It needs 2 cpu cards at once; 1 are free."),)
                change = "It would start now with 1 card."
                return answer(sc.Why(name, job.phase, causes[0].text, causes, change))
            case "GET", "runs":
                return answer(world.runs[name])
            case "GET", "timeline":
                return answer(world.moments[name])
            case "GET", "metrics":
                return answer(world.metrics[name][:: max(1, len(world.metrics[name]) // 500)])
            case "GET", "logs":
                run = query.get("run") or job.run
                text = world.logs.get(run, "") if query["stream"] == "stdout" else ""
                offset = int(query["offset"])
                offset = max(0, len(text) + offset) if offset < 0 else min(offset, len(text))
                part = text[offset : offset + int(query["limit"])]
                end = offset + len(part)
                return answer(sc.LogPart(run, query["stream"], part, offset, end, end < len(text)))
            case "GET", "files":
                return answer([sc.OutputFile(p, len(b), now_ms()) for p, b in world.files[name].items()])
            case "GET", "files", *path:
                return Response(world.files[name]["/".join(path)], media_type="application/octet-stream")
        return problem(404, "not-found", "There is nothing at this address.")

    async def health(_: Request) -> Response:
        return answer(sc.Health(True, "0.1.0"))

    async def time_passes() -> None:
        while True:
            await asyncio.sleep(TICK_S)
            world.tick()

    routes = [
        Route("/healthz", health),
        Route("/v1/accounts", register, methods=["POST"]),
        Route("/v1/sessions", log_in, methods=["POST"]),
        Route("/v1/stream", stream),
        Route("/v1/jobs/{job}/stream", stream),
        Route("/v1/{path:path}", call, methods=["GET", "POST", "PUT", "DELETE"]),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.create_task(time_passes())
        yield
        ticking.cancel()

    return Starlette(routes=routes, lifespan=lifespan)


if __name__ == "__main__":
    pretended = Server()
    pretended.port = int(sys.argv[1])
    pretended.world.post("trial", 10_000_000, 10_000_000, 0)
    pretended.world.fault_at = 150
    pretended.start()
    time.sleep(1e9)
