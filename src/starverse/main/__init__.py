"""The command `starverse`: builds everything from one settings file and starts it."""

import sys

from starverse import __version__


def main() -> None:
    """Run the command line; only what a command needs is imported for it."""
    if sys.argv[1:] in (["version"], ["--version"]):
        print(f"starverse {__version__}")
        return
    from starverse.main.commands import build

    build()()
