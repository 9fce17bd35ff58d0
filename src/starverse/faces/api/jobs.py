"""Routes of jobs: what they cost, submit, list, stop, and all that is known of one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from starverse.faces.api.bodies import Fault, JobBody
from starverse.faces.api.context import At, Caller, CursorQuery, Key, LimitQuery, answered
from starverse.faces.schemas import Job, LogPart, Metric, Moment, OutputFile, Page, Preview, Run, Why
from starverse.model.job import Phase
from starverse.service import jobs, operations, outputs, submitting

router = APIRouter(prefix="/v1", tags=["jobs"])

JobId = Annotated[str, Path(max_length=64, examples=["j-4h7kq2mxwp"])]


@router.post("/jobs/preview")
def preview(at: At, caller: Caller, body: JobBody) -> Preview:
    """What a job would cost per hour and for its time limit, and how long the wallet lasts."""
    return submitting.preview(at, caller, body.ask())


@router.post("/jobs", status_code=201)
def submit(at: At, caller: Caller, body: JobBody, key: Key = "") -> Job:
    """Submit a job, or an array, whose first job is answered: all of its jobs are taken up or none. With an
    Idempotency-Key, sending it again submits nothing new."""
    return submitting.submit(at, caller, body.ask(), key)


@router.get("/jobs")
def list_jobs(
    at: At,
    caller: Caller,
    project: Annotated[
        str, Query(max_length=128, description="Of this project; of all one's own if empty.")
    ] = "",
    phase: Annotated[Phase | Literal[""], Query(description="Only those in this phase.")] = "",
    cursor: CursorQuery = "",
    limit: LimitQuery = 50,
    everyone: Annotated[bool, Query(description="Operator: those of all tenants.")] = False,
    array: Annotated[str, Query(max_length=64, description="Only the jobs of this array.")] = "",
    fold: Annotated[bool, Query(description="Each array as its first job, with `array_jobs`.")] = False,
) -> Page[Job]:
    """Jobs, the newest first."""
    return jobs.list_jobs(at, caller, project, phase, cursor, limit, everyone, array, fold)


@router.get("/jobs/{job}", response_model=Job)
def show(at: At, caller: Caller, job: JobId) -> Response:
    """One job with its progress."""
    return answered(jobs.show(at, caller, job))


@router.post("/jobs/{job}/stop")
def stop(at: At, caller: Caller, job: JobId) -> Job:
    """End a job, or all jobs of an array: they are asked to save and leave, then killed. Stopping what has
    ended does nothing."""
    return jobs.stop(at, caller, job)


@router.post("/jobs/{job}/resume")
def resume(at: At, caller: Caller, job: JobId) -> Job:
    """Let a paused job wait for cards again."""
    return jobs.resume(at, caller, job)


@router.get("/jobs/{job}/why")
def why(at: At, caller: Caller, job: JobId) -> Why:
    """Why a job is where it is, and the smallest change that would start it."""
    return jobs.why(at, caller, job)


@router.get("/jobs/{job}/runs")
def runs(at: At, caller: Caller, job: JobId) -> tuple[Run, ...]:
    """The runs of a job, the first one first."""
    return jobs.runs(at, caller, job)


@router.get("/jobs/{job}/timeline")
def timeline(at: At, caller: Caller, job: JobId) -> tuple[Moment, ...]:
    """What happened to a job, in order."""
    return jobs.timeline(at, caller, job)


@router.get("/jobs/{job}/metrics")
def metrics(
    at: At,
    caller: Caller,
    job: JobId,
    points: Annotated[int, Query(ge=2, le=5000, description="About so many, thinned evenly.")] = 500,
) -> tuple[Metric, ...]:
    """The training steps that a job reported, over all its runs."""
    return outputs.metrics(at, caller, job, points)


@router.get("/jobs/{job}/logs")
def logs(
    at: At,
    caller: Caller,
    job: JobId,
    run: Annotated[str, Query(max_length=80, description="A run of the job; its last one if empty.")] = "",
    stream: Literal["stdout", "stderr"] = "stdout",
    offset: Annotated[int, Query(ge=-(2**53), le=2**53, description="In bytes; negative: from the end.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1 << 20, description="Bytes at most.")] = 65536,
) -> LogPart:
    """A piece of what a run wrote."""
    return outputs.logs(at, caller, job, run, stream, offset, limit)


@router.get("/jobs/{job}/files")
def files(at: At, caller: Caller, job: JobId) -> tuple[OutputFile, ...]:
    """What a job wrote into its output folder."""
    return outputs.files(at, caller, job)


@router.get(
    "/jobs/{job}/files/{path:path}",
    response_class=StreamingResponse,
    responses={200: {"description": "The content.", "content": {"application/octet-stream": {}}}},
)
def file(at: At, caller: Caller, job: JobId, path: str) -> StreamingResponse:
    """One file of the output folder."""
    size, content = outputs.content(at, caller, job, path)
    headers = {"content-length": str(size), "content-disposition": "attachment"}
    return StreamingResponse(content, media_type="application/octet-stream", headers=headers)


@router.post("/runs/{run}/faults", status_code=204, tags=["operations"])
def inject_fault(at: At, caller: Caller, run: Annotated[str, Path(max_length=80)], body: Fault) -> None:
    """Operator: kill one rank of a run, to see what happens; the platform answers for what is lost."""
    operations.inject_fault(at, caller, run, body.rank)
