"""Which job is meant: by its id, the beginning of it, its name, or `last`."""

from typing import TYPE_CHECKING

from starverse.model.errors import BadInput, NotFound

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import Job

LAST = "last"
PAGE = 200
PAGES_MAX = 50
NAMED_MAX = 5


def pick(client: "Client", text: str) -> "Job":
    """The job meant by what a person wrote; of several with that name, the newest.

    Raises NotFound when there is none, BadInput when several begin so.
    """
    if not text:
        raise BadInput("No job is named.", "Name one, or write `last` for the newest.")
    if text == LAST:
        newest = client.jobs(limit=1).items
        if not newest:
            raise NotFound("You have no jobs yet.", "`starverse submit -- train.py` makes one.")
        return client.job(newest[0].job)
    try:
        return client.job(text)
    except NotFound:
        return client.job(_search(client, text))


def _search(client: "Client", text: str) -> str:
    """The id of the job that is named so, or begins so, among one's own."""
    begin_so: list[Job] = []
    cursor = ""
    for _ in range(PAGES_MAX):
        page = client.jobs(cursor=cursor, limit=PAGE)
        for job in page.items:
            if job.name == text:
                return job.job
            if job.job.removeprefix("j-").startswith(text.removeprefix("j-")):
                begin_so.append(job)
        cursor = page.cursor
        if not cursor:
            break
    if len(begin_so) == 1:
        return begin_so[0].job
    if begin_so:
        listed = ", ".join(job.job for job in begin_so[:NAMED_MAX]) + ", …" * (len(begin_so) > NAMED_MAX)
        raise BadInput(f"{len(begin_so)} jobs begin with '{text[:64]}': {listed}.", "Write more of the id.")
    raise NotFound(f"You have no job '{text[:64]}'.", "`starverse jobs --all` lists them.")
