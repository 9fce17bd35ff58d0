"""What `starverse plan` asks of the models, and of which files."""

from pathlib import Path
from typing import Any, Literal

from starverse.main.answer import show_answer
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.cooling.weather import XIAMEN, Weather, read_epw, synthetic_year
from starverse.physics.fabric.measured import SWEEPS
from starverse.planning.checkpoints import plan_checkpoint
from starverse.planning.cooling import card_w, plan_cooling
from starverse.planning.faults import plan_faults
from starverse.planning.noise import plan_noise
from starverse.planning.power import plan_power
from starverse.planning.published import YEARS, plan_published
from starverse.planning.site import plan_site, site_year
from starverse.planning.site_file import parse_site
from starverse.planning.site_hours import hours_csv
from starverse.planning.slope import plan_slope
from starverse.planning.sweep import plan_sweep


def site(
    spec: str | None,
    weather: Path | None,
    plot: Path | None,
    hours: Path | None,
    changes: list[str],
    against_pue: float | None,
    *,
    json: bool,
) -> None:
    """Print a site's year, draw it, and write its hours."""
    form = _form(plot) if plot else "png"
    if spec in YEARS:
        alone = {"--plot": plot, "--hours": hours, "--set": changes, "--against-pue": against_pue}
        for option, value in alone.items():
            if value:
                raise BadInput(f"{spec} is as published: {option} is not for it.", f"Leave out {option}.")
        show_answer(plan_published(spec, _weather(weather) if weather else None), json=json)
        return
    asked = parse_site(_spec_text(spec), spec or "--set", changes)
    year = _weather(weather)
    answer = plan_site(asked, year, against_pue)
    if plot:
        from starverse.planning.site_picture import site_picture

        _write(plot, site_picture(answer, site_year(asked, year), form))
    if hours:
        _write(hours, hours_csv(site_year(asked, year), year).encode())
    show_answer(answer, json=json)


def power(given: dict[str, Any], *, json: bool) -> None:
    """Print what a machine or a rack draws, and where it is lost."""
    show_answer(plan_power(**_asked(given)), json=json)


def cooling(kind: str, card: str | None, load: float | None, given: dict[str, Any], *, json: bool) -> None:
    """Print how hot a card gets."""
    asked = _asked(given)
    if card is not None:
        if "power_w" in asked:
            raise BadInput("--card and --power-w both say what a card draws.", "Leave one of them out.")
        asked["power_w"] = card_w(card, 1.0 if load is None else load)
        asked["full_w"] = card_w(card, 1.0)
    elif load is not None:
        raise BadInput("--load is a share of a known card's power.", "Name it with --card.")
    show_answer(plan_cooling(kind, **asked), json=json)


def noise(
    full_db: float, speed_share: float, number_share: float, target_db: float | None, *, json: bool
) -> None:
    """Print how loud fans are."""
    show_answer(plan_noise(full_db, speed_share, number_share, target_db), json=json)


def slope(power: Path, temperature: Path, *, json: bool) -> None:
    """Print the kelvin per watt of cards in use."""
    watts, celsius = text_of(power).splitlines(), text_of(temperature).splitlines()
    show_answer(plan_slope(watts, celsius, (str(power), str(temperature))), json=json)


def sweep(words: str, cards: int | None, megabytes: float | None, *, json: bool) -> None:
    """Print the curve of a measured all-reduce."""
    file = Path(words)
    lines = None if words in SWEEPS else text_of(file).splitlines() if file.is_file() else None
    show_answer(plan_sweep(words, lines, cards, megabytes), json=json)


def faults(given: dict[str, Any], *, json: bool) -> None:
    """Print how often a fleet stops."""
    show_answer(plan_faults(**_asked(given)), json=json)


def checkpoint(given: dict[str, Any], *, json: bool) -> None:
    """Print how often to save."""
    show_answer(plan_checkpoint(**_asked(given)), json=json)


def text_of(file: Path, encoding: str = "utf-8") -> str:
    """What a file says."""
    try:
        return file.read_text(encoding)
    except OSError as wrong:
        raise BadInput(f"{file} cannot be read: {wrong.strerror}.", "Name a file that is there.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text.", "Save it as UTF-8.") from None


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """Of what could be asked, what was: the rest is left to the defaults of the models."""
    return {name: value for name, value in given.items() if value is not None}


def _spec_text(spec: str | None) -> str:
    if spec is None:
        return ""
    file = Path(spec)
    if file.suffix != ".toml" and not file.is_file():
        raise BadInput(f"There is no site '{spec}'.", f"{nearest(spec, YEARS)} Or name a .toml file.")
    return text_of(file)


def _form(plot: Path) -> Literal["png", "svg"]:
    if plot.suffix == ".png":
        return "png"
    if plot.suffix == ".svg":
        return "svg"
    raise BadInput(f"{plot} is no picture.", "Name a file that ends in .png or .svg.")


def _weather(file: Path | None) -> Weather:
    return read_epw(text_of(file, "latin-1").splitlines(), str(file)) if file else synthetic_year(XIAMEN)


def _write(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as wrong:
        raise BadInput(f"{file} cannot be written: {wrong.strerror}.", "Name another file.") from None
