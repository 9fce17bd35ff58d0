"""Arguments and options that several commands have."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, as the API answers it.")]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", show_default=False, help="Its id or the beginning of it, its name, or `last`."
    ),
]
Project = Annotated[
    str, typer.Option("--project", metavar="PROJECT", help="Its id or name; your first one unless named.")
]
