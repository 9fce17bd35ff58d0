"""What the command line remembers between calls: the server it talks to, and a token for each."""

import contextlib
import json
import os
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starverse.model.errors import BadInput, StarverseError

_OPENING = "# Written by `starverse login`. Whoever can read this file can use your account.\n"


@dataclass(frozen=True, slots=True)
class Login:
    """A token, and whose it is."""

    token: str = field(repr=False)
    email: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The server that is meant when none is named ("": none yet), and the logins by server."""

    server: str = ""
    logins: dict[str, Login] = field(default_factory=dict)

    def with_login(self, server: str, login: Login) -> "Settings":
        """After signing in there: that server is the one meant from now on."""
        return Settings(server, {**self.logins, server: login})

    def without(self, server: str) -> "Settings":
        """After signing out there."""
        return replace(self, logins={url: login for url, login in self.logins.items() if url != server})


def path() -> Path:
    """Where they are kept: `starverse/config.toml` under XDG_CONFIG_HOME (~/.config)."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return folder / "starverse" / "config.toml"


def load() -> Settings:
    """What was saved, or nothing yet. Raises BadInput when the file is not what was written."""
    file = path()
    try:
        text = file.read_text()
        if file.stat().st_mode & 0o077:  # it holds tokens: close it, however it came to be open
            file.chmod(0o600)
    except FileNotFoundError:
        return Settings()
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not text.", _REMEDY) from None
    except OSError as error:
        raise StarverseError(f"{file} cannot be read: {error.strerror}.") from error
    try:
        return _settings(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{file} is no valid TOML: {error}.", _REMEDY) from None
    except (AttributeError, KeyError, TypeError):
        raise BadInput(f"{file} holds what `starverse login` does not write.", _REMEDY) from None


def save(settings: Settings) -> None:
    """Write them, whole or not at all, readable by the owner alone."""
    file = Path(os.path.realpath(path()))  # who keeps it behind a link, keeps the link
    lines = [_OPENING, f"server = {_quoted(settings.server)}\n"]
    for server, login in settings.logins.items():
        lines.append(f"\n[servers.{_quoted(server)}]\n")
        lines.append(f"email = {_quoted(login.email)}\ntoken = {_quoted(login.token)}\n")
    half = file.with_name(f".{file.name}.{os.getpid()}~")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half.unlink(missing_ok=True)
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write("".join(lines).encode())
        half.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        raise StarverseError(
            f"{file} cannot be written: {error.strerror}.", "Is its folder yours?"
        ) from error


_REMEDY = "Mend or delete it, then `starverse login`."


def _settings(found: dict[str, Any]) -> Settings:
    logins = {
        server.rstrip("/"): Login(_text(entry["token"]), _text(entry.get("email", "")))
        for server, entry in found.get("servers", {}).items()
    }
    return Settings(_text(found.get("server", "")).rstrip("/"), logins)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _quoted(text: str) -> str:
    """A TOML string: JSON's escapes are TOML's too, only DEL must not stand bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
