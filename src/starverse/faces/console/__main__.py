"""Run the console: python -m starverse.faces.console --api URL --port PORT."""

import argparse
from pathlib import Path

from starverse.faces.console.server import run


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m starverse.faces.console", description=__doc__)
    parser.add_argument("--api", default="http://127.0.0.1:8701", metavar="URL")
    parser.add_argument("--port", type=int, default=8700)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    parser.add_argument("--storage", type=Path, metavar="DIR", help="where it keeps who is signed in")
    parser.add_argument("--name", action="append", default=[], help="a host name browsers may call it by")
    chosen = parser.parse_args()
    run(chosen.api, chosen.port, chosen.host, chosen.storage, chosen.name)


if __name__ == "__main__":
    main()
