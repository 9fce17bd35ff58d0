"""Passwords, tokens and secrets: read from stdin or a hidden prompt, never from the words of a command."""

import getpass
import sys

from starverse.model.errors import BadInput

CHARACTERS_MAX = 65_536


def from_stdin(what: str) -> str:
    """All of stdin, without the line end that `echo` adds. Raises BadInput for nothing, or too much."""
    try:
        text = sys.stdin.read(CHARACTERS_MAX + 1)
    except UnicodeDecodeError:
        raise BadInput(f"The {what} on stdin is not text.", "Send UTF-8.") from None
    if len(text) > CHARACTERS_MAX:
        raise BadInput(f"The {what} on stdin is longer than {CHARACTERS_MAX:,} characters.", "Send less.")
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise BadInput(f"There is no {what} on stdin.", f"Pipe it in: `... < {what}.txt`.")
    return text


def prompted(what: str, instead: str, twice: bool = False) -> str:
    """What a person types unseen. Raises BadInput without a terminal, naming what to do `instead`."""
    if not sys.stdin.isatty():
        raise BadInput(f"There is no terminal to ask for the {what} on.", instead)
    text = getpass.getpass(f"{what.capitalize()}: ")
    if not text:
        raise BadInput(f"The {what} is empty.", "Type one.")
    if twice and getpass.getpass(f"{what.capitalize()} again: ") != text:
        raise BadInput(f"The two {what}s differ.", "Try again.")
    return text
