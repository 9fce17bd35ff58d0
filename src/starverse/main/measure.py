"""`starverse bench`: measures and shows."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console

from starverse.bench import figure
from starverse.model.errors import BadInput
from starverse.model.names import nearest

BENCHES = {
    "spine": "the loop, the journal, the API and the start of the main job",
    "scheduler": "decisions on 3,750 nodes, and how good they are on the traces",
    "physics": "the models of power, heat and weather at the size of the reference cluster",
    "openb": "the packing of shared cards by `decide`, beside FGD",
}


def measure(name: str, json: Path | None) -> None:
    """Run a bench by name. Raises BadInput, naming those there are, for another."""
    if name not in BENCHES:
        if name:
            raise BadInput(f"There is no bench '{name}'.", nearest(name, BENCHES))
        known = "; ".join(f"`{bench}`: {what}" for bench, what in BENCHES.items())
        raise BadInput("Which bench?", f"There is {known}.")
    console = Console()
    run: Callable[[Callable[[str], None]], Sequence[figure.Figure]]
    run = import_module(f"starverse.bench.{name}").run
    with console.status("measuring") as status:
        figures = run(lambda what: status.update(f"measuring {what}"))
    console.print(figure.table(name, figures))
    if json:
        figure.write(figures, json)
