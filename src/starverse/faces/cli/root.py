"""The frame around every command: sections in the help, errors as one sentence, exit codes for scripts."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from starverse.faces.cli import exits, plain
from starverse.faces.cli.show import coloured, document, note
from starverse.model.errors import StarverseError

SECTIONS = ("Jobs", "Money", "Account", "Cluster", "Server", "Setup")
"""The sections of `starverse --help`; a command is in the one that its `rich_help_panel` names."""

RED = "31"
HELP_CHARACTERS = 200


class Command(TyperCommand):
    """A command whose help names its arguments plainly, and whose words are read without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, which read themselves."""
        return plain.lightened(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What must be given stands there as it is, without braces."""
        return [re.sub(r"^\{(.*)\}(\.\.\.)?$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments without the names of Python's types, then the options."""
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                of_argument = param.param_type_name == "argument"
                name = record[0].partition(" <")[0] if of_argument else record[0]
                text = record[1].replace("  [required]", "")
                records["Arguments" if of_argument else "Options"].append((name, text))
        for section, rows in records.items():
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


class Group(TyperGroup):
    """A command of commands: alone, it shows them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, which read themselves."""
        return plain.lightened(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help when nothing was asked for."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the commands, by section where they have one, then the options."""
        shown = {name: command for name, command in self.commands.items() if not command.hidden}
        widest = max(map(len, shown), default=0)
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in self.sections()}
        for name, command in shown.items():
            panel = getattr(command, "rich_help_panel", None)
            section = panel if panel in sections else self.sections()[-1]
            sections[section].append((name.ljust(widest), command.get_short_help_str(HELP_CHARACTERS)))
        options = [record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        for section, rows in (sections | {"Options": options}).items():
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def sections(self) -> tuple[str, ...]:
        """The sections of the help; what names none of them is in the last."""
        return ("Commands",)


class App(typer.Typer):
    """A Typer of the groups and commands above; its help is plain, because rich would take longer to load."""

    def __init__(self, **settings: Any) -> None:
        ours = {"cls": Group, "rich_markup_mode": None, "pretty_exceptions_enable": False}
        super().__init__(**ours | settings)

    def command(self, *args: Any, **settings: Any) -> Any:
        """Add a command."""
        return super().command(*args, **{"cls": Command} | settings)


class Root(Group):
    """`starverse` itself."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the words ask for, and exit with its code (standalone) or return it."""
        words = list(sys.argv[1:] if args is None else args)
        self._main_shell_completion(extra, "starverse", complete_var)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no reason to fail
                stream.reconfigure(errors="replace")

        def run() -> None:
            with self.make_context("starverse", rearranged(words), **extra) as ctx:
                self.invoke(ctx)
            sys.stdout.flush()

        code = outcome(run, as_json=self._prints_json(_own(words)))
        if standalone_mode:
            sys.exit(code)
        return code

    def _prints_json(self, words: Sequence[str]) -> bool:
        """Whether --json is there, and is not the file that the command writes its figures to."""
        command: Any = self
        for word in words:
            command = getattr(command, "commands", {}).get(word, command)
        takes_file = any("--json" in param.opts and not param.is_flag for param in _options(command))
        return "--json" in words and not takes_file

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The exit codes, too."""
        super().format_options(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in exits.MEANING.items()])

    def get_params(self, ctx: Any) -> list[Any]:
        """Typer's own options for completion work, but `starverse completion` is what is shown."""
        params = super().get_params(ctx)
        for param in params:
            param.hidden = param.hidden or param.name in ("install_completion", "show_completion")
        return params

    def sections(self) -> tuple[str, ...]:
        """Those of the front page."""
        return SECTIONS


def rearranged(words: Sequence[str]) -> list[str]:
    """The words of a command line with `--server URL` at the front, wherever it stood, and -1 as `last`.

    What follows `--` is not ours and stays.
    """
    own = _own(words)
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(own)
    for word in waiting:
        if word == "--server":
            front += [word, *(value for value in [next(waiting, None)] if value is not None)]
        elif word.startswith("--server="):
            front.append(word)
        else:
            rest.append(word)
    if rest[:1] in (["job"], ["why"]):  # the only place where -1 is no number: the newest job
        rest = ["last" if word == "-1" else word for word in rest]
    return [*front, *rest, *words[len(own) :]]


def outcome(run: Callable[[], None], as_json: bool) -> int:
    """Run, and say what went wrong in a sentence: the exit code."""
    try:
        run()
    except typer.Exit as error:
        return error.exit_code
    except StarverseError as error:
        code, kind = exits.exit_of(error)
        return _complain(error.what, error.remedy, kind, code, as_json)
    except typer.TyperException as error:
        return _complain(*_usage(error), "usage", error.exit_code, as_json)
    except (KeyboardInterrupt, typer.Abort, EOFError):
        return _complain("Interrupted.", "", "interrupted", exits.INTERRUPTED, as_json)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.OK
    except OSError as error:
        _debug()
        what = f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror or error}."
        return _complain(what, "", "failed", exits.FAILED, as_json)
    except Exception as error:  # noqa: BLE001 - a bug of ours; its traceback is no help to a person
        _debug()
        what = f"The command line itself broke ({type(error).__name__}: {error})."
        remedy = "Please report it; with STARVERSE_DEBUG=1 it says where."
        return _complain(what, remedy, "broken", exits.FAILED, as_json)
    return exits.OK


def _own(words: Sequence[str]) -> list[str]:
    """The words that are for us: those before `--`."""
    return list(words[: words.index("--")]) if "--" in words else list(words)


def _options(command: Any) -> list[Any]:
    return [param for param in command.params if hasattr(param, "is_flag")]


_EXAMPLE = "starverse submit -- train.py --steps 100"


def _usage(error: typer.TyperException) -> tuple[str, str]:
    """What was wrong with the words of a command, and where to look."""
    ctx = getattr(error, "ctx", None)
    what = error.format_message().strip()
    if not what.endswith((".", "?", ")")):
        what += "."
    if ctx is None:
        return what, ""
    option = getattr(error, "option_name", "")
    if option and ctx.info_name == "submit":
        return f"`submit` has no option {option}.", f"What is the script's own stands behind --: {_EXAMPLE}"
    return what, f"See `{ctx.command_path} --help`."


def _complain(what: str, remedy: str, kind: str, code: int, as_json: bool) -> int:
    if as_json:
        document(exits.document_of(what, remedy, kind, code))
    else:
        note(f"{coloured(what, RED, sys.stderr)}{' ' * bool(remedy)}{remedy}")
    return code


def _debug() -> None:
    """Let the error go on, traceback and all, where that was asked for."""
    if os.environ.get("STARVERSE_DEBUG") == "1":
        raise  # noqa: PLE0704 - called while handling one
