"""The demo's story as somebody new, and as the owner where no others may run jobs."""

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.faces.cli.served import Served
from tests.service.place import Place

from starverse.demo.story import Story
from starverse.faces.client import Client
from starverse.service import accounts


@pytest.fixture(params=[True, False])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    home = tmp_path / "home"
    home.mkdir()
    served = Served(Place(home, accepts_foreign=request.param))
    served.start()
    yield served
    served.stop()
    served.place.close()


def test_the_story_is_told_as_whoever_may_run_jobs(served: Served) -> None:
    place, said = served.place, io.StringIO()
    made = accounts.make_operator(place.platform)
    assert made

    def work() -> None:
        run = next(iter(place.until(lambda: place.engine.alive)))
        place.reach(run.rpartition(".")[0], "running")
        place.engine.end(run)

    worker = threading.Thread(target=work)
    worker.start()
    server: Any = None  # which nobody kills, since the job takes no step
    figures = Story(Console(file=said), server, served.url, "http://console", made.token).tell(1.0)
    worker.join(20)
    assert figures.state == "done"
    with Client(served.url, made.token) as client:
        mine = [job.job for job in client.jobs().items]
        everyones = [job.job for job in client.jobs(everyone=True).items]
    assert len(everyones) == 1
    others_may = place.platform.accepts_foreign
    assert mine == ([] if others_may else everyones)
    assert ("Registered demo-" in said.getvalue()) == others_may
    assert ("Jobs are not isolated here, so this is the owner's" in said.getvalue()) != others_may
    assert ("with a token that `starverse operator token` makes" in said.getvalue()) != others_may
