"""`starverse plan` of what stands in a hall: its year, its power, its heat and its noise."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def site(
    spec: Annotated[
        str | None,
        typer.Argument(
            metavar="SPEC.toml",
            help="The site's file; lbnl-chicago or energyplus-tampa, as published; "
            "else the reference cluster's.",
        ),
    ] = None,
    weather: Annotated[
        Path | None,
        typer.Option(
            help="A year as an EPW file.",
            show_default="a synthetic year of Xiamen's normals; the published sites' own",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the year into this .png or .svg file.", show_default=False)
    ] = None,
    hours: Annotated[
        Path | None, typer.Option(help="Write the year's hours into this .csv file.", show_default=False)
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="A key of the site, such as plant.kind=air; again for more."),
    ] = None,
    against_pue: Annotated[
        float | None,
        typer.Option(
            help="Of an air-cooled site: say how much less is drawn than there.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """A year of a site: PUE month by month, power at peak, water, and the cost of a card-hour."""
    from starverse.main import plan

    plan.site(spec, weather, plot, hours, changes or [], against_pue, json=json)


def power(
    system: Annotated[
        Literal["frontier-9472", "busbar", "ac", "ac-eco"],
        typer.Argument(help="Frontier's nodes, or a rack on one of the chains that sites have."),
    ] = "frontier-9472",
    load: Annotated[float, typer.Option(help="How busy all is, 0 to 1.")] = 1.0,
    rack_w: Annotated[
        float | None, typer.Option(help="Of a rack at full load, W.", show_default="30000")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="The chain that another is compared with.", show_default=False)
    ] = None,
    card: Annotated[
        str | None,
        typer.Option(help="Fill the rack with a100, h100, h200, b200 or rtx-4090.", show_default=False),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(help="Of 8 such cards in the rack.", min=1, show_default="4")
    ] = None,
    temperature_c: Annotated[
        float | None, typer.Option(help="Of the cards' dies, °C.", show_default="63")
    ] = None,
    leakage_per_k: Annotated[
        float | None, typer.Option(help="A card's power per kelvin.", show_default="0.004")
    ] = None,
    cap_w: Annotated[
        float | None, typer.Option(help="That no card may exceed, W.", show_default="none")
    ] = None,
    json: Json = False,
) -> None:
    """What a machine draws from the grid, and which converter loses how much."""
    given = {name: value for name, value in locals().items() if name not in {"load", "json"}}
    from starverse.main import plan

    plan.power({**given, "load_share": load}, json=json)


def cooling(
    kind: Annotated[
        Literal["air", "cold-plate", "single-phase", "two-phase"],
        typer.Option(help="How it is cooled."),
    ] = "cold-plate",
    card: Annotated[
        str | None,
        typer.Option(help="a100, h100, h200, b200 or rtx-4090, for its power.", show_default=False),
    ] = None,
    load: Annotated[float | None, typer.Option(help="How busy that card is.", show_default="1")] = None,
    coolant: Annotated[str, typer.Option(help="The fluid.", show_default="the usual one of the kind")] = "",
    power_w: Annotated[float | None, typer.Option(help="What the card draws, W.", show_default="700")] = None,
    inlet_c: Annotated[
        float | None, typer.Option(help="The coolant, or air, or bath, °C.", show_default="32")
    ] = None,
    limit_c: Annotated[
        float | None, typer.Option(help="The hottest that the card may get, °C.", show_default="87")
    ] = None,
    die_k_per_w: Annotated[
        float | None, typer.Option(help="Die to its lid, K/W.", show_default="0.02")
    ] = None,
    sink_j_per_k: Annotated[
        float | None, typer.Option(help="Heat that the sink or plate stores, J/K.", show_default="250")
    ] = None,
    flow_l_per_min: Annotated[
        float | None, typer.Option(help="Through a cold plate.", show_default="1")
    ] = None,
    pump_speed_share: Annotated[
        float | None, typer.Option(help="Of the pump's full speed, which gives that flow.", show_default="1")
    ] = None,
    loop_pa: Annotated[
        float | None, typer.Option(help="The plates' loop at full flow, Pa.", show_default="250000")
    ] = None,
    pump_efficiency: Annotated[
        float | None, typer.Option(help="Of pump, motor and drive.", show_default="0.65")
    ] = None,
    loop_l_per_kw: Annotated[
        float | None, typer.Option(help="Coolant in the plates' loop.", show_default="1")
    ] = None,
    approach_k: Annotated[
        float | None, typer.Option(help="A CDU's coolant above its water, K.", show_default="4")
    ] = None,
    air_share: Annotated[
        float | None, typer.Option(help="Of the heat past the plates, to rear doors.", show_default="0")
    ] = None,
    area_m2: Annotated[
        float | None, typer.Option(help="Wetted, of an immersed card.", show_default="0.3")
    ] = None,
    tank_l_per_kw: Annotated[
        float | None, typer.Option(help="Liquid in a single-phase tank.", show_default="10")
    ] = None,
    air_flow_share: Annotated[
        float | None, typer.Option(help="Of the reference flow of air.", show_default="1")
    ] = None,
    inlet_step_k: Annotated[
        float | None, typer.Option(help="By which a loop's inlet warms.", show_default="10")
    ] = None,
    after_s: Annotated[
        float | None, typer.Option(help="Say what comes round the loop so long after.", show_default=False)
    ] = None,
    cdu: Annotated[
        str | None, typer.Option(help="deschutes or xdu1350, in place of --approach-k.", show_default=False)
    ] = None,
    cdu_share: Annotated[
        float | None, typer.Option(help="Of that CDU's heat and flows.", show_default="1")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(help="Of 8 such cards, to be cooled together.", min=1, show_default="1")
    ] = None,
    capacity_share: Annotated[
        float | None,
        typer.Option(help="Cooling installed, as a multiple of the nodes' heat.", show_default="1.4"),
    ] = None,
    json: Json = False,
) -> None:
    """How hot a card gets, what its pump takes, how long it lasts without flow, what nodes of it need."""
    given = {name: value for name, value in locals().items() if name not in {"kind", "card", "load", "json"}}
    from starverse.main import plan

    plan.cooling(kind, card, load, given, json=json)


def noise(
    full_db: Annotated[float, typer.Option(help="Of all fans at full speed, dB.")] = 82.0,
    speed_share: Annotated[float, typer.Option(help="Of full speed, at which they run.")] = 1.0,
    number_share: Annotated[float, typer.Option(help="Of the fans, those that run.")] = 1.0,
    target_db: Annotated[
        float | None,
        typer.Option(help="Say what this level takes, by speed or number alone.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """How loud a hall's fans are when they run slower, or fewer of them do."""
    from starverse.main import plan

    plan.noise(full_db, speed_share, number_share, target_db, json=json)


def slope(
    power: Annotated[Path, typer.Argument(metavar="POWER.csv", help="W and cumulative per cent.")],
    temperature: Annotated[Path, typer.Argument(metavar="TEMPERATURE.csv", help="°C, likewise.")],
    json: Json = False,
) -> None:
    """How many kelvin a watt costs cards in use, from a trace's two distributions."""
    from starverse.main import plan

    plan.slope(power, temperature, json=json)
