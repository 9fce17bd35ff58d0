"""`starverse plan`: each model asked from the command line, with defaults for what is not given."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from starverse.faces.cli.root import App

Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def build() -> App:
    """The commands of `starverse plan`."""
    app = App(name="plan", help="What a cluster would do and cost, by models with their sources.")
    for command in (collective, train, faults, checkpoint, power, cooling, noise, slope, site):
        app.command()(command)
    return app


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
    rack_w: Annotated[float, typer.Option(help="Of a rack at full load, W.")] = 30_000.0,
    against: Annotated[
        str, typer.Option(help="The chain that another is compared with.", show_default=False)
    ] = "",
    json: Json = False,
) -> None:
    """What a machine draws from the grid, and which converter loses how much."""
    from starverse.main import plan

    plan.power(system, load, rack_w, against, json=json)


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


def faults(
    fleet: Annotated[
        Literal["llama3", "titan-old", "titan-new"], typer.Option(help="Whose published rates to take.")
    ] = "llama3",
    cards: Annotated[int, typer.Option(help="How many cards.", min=1)] = 30_000,
    days: Annotated[float, typer.Option(help="For how long.")] = 30.0,
    temperature_c: Annotated[
        float | None, typer.Option(help="Of the cards, °C.", show_default="that of the fleet")
    ] = None,
    than_c: Annotated[
        float | None, typer.Option(help="Compare with this °C.", show_default="that of the fleet")
    ] = None,
    age_years: Annotated[float, typer.Option(help="Of the cards; matters to what wears.")] = 1.0,
    shared: Annotated[bool, typer.Option(help="Add switches, PDUs, CDUs, leaks, UPS (assumed).")] = False,
    json: Json = False,
) -> None:
    """How often a fleet stops, of what, and what heat does to it."""
    from starverse.main import plan

    plan.faults(fleet, cards, days, temperature_c, age_years, than_c, shared=shared, json=json)


def checkpoint(
    parameters: Annotated[float, typer.Option(help="Of the model.")] = 405e9,
    cards: Annotated[int, typer.Option(help="How many cards train it.", min=1)] = 16_384,
    volume_bytes_per_s: Annotated[float, typer.Option(help="What the volume takes in all.")] = 2e12,
    memory_survives: Annotated[
        float, typer.Option(help="The share of stops after which a peer's memory has the state.")
    ] = 0.0,
    stops_per_hour: Annotated[
        float | None, typer.Option(help="Of the whole job.", show_default="Llama 3's rate")
    ] = None,
    stall_s: Annotated[
        float | None,
        typer.Option(help="How long a save stalls, s.", show_default="by the state's size"),
    ] = None,
    asynchronous: Annotated[bool, typer.Option(help="Train on while the copy in memory is written.")] = True,
    json: Json = False,
) -> None:
    """How often to save, where, and what is left of the time for training."""
    from starverse.main import plan

    plan.checkpoint(
        parameters, cards, volume_bytes_per_s, memory_survives, stops_per_hour, stall_s,
        asynchronous=asynchronous, json=json,
    )  # fmt: skip


Cluster = Annotated[
    str | None,
    typer.Option(
        help="A cluster's .toml file, or the name of a preset such as xiamen-30k.", show_default=False
    ),
]


def collective(
    topology: Annotated[
        str | None,
        typer.Argument(
            help="torus:32x32x30, hyperx:32x32x32, ethernet:512, clos:30720/64, rail:30720/64 …",
            show_default="torus:32x32x30",
        ),
    ] = None,
    cluster: Cluster = None,
    kind: Annotated[
        Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast"],
        typer.Option(help="The collective."),
    ] = "all-reduce",
    megabytes: Annotated[float, typer.Option(help="Of each card's buffer, 10⁶ bytes.")] = 1073.741824,
    cards: Annotated[int, typer.Option(help="The first so many cards; 0 for all.", min=0)] = 0,
    placement: Annotated[
        str | None,
        typer.Option(
            help="Cards (0-63,128), nodes (node[0-7]), or what `solve --json` wrote.", show_default=False
        ),
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Whose placement, where a solved case has several.", show_default=False)
    ] = None,
    beside: Annotated[bool, typer.Option("--beside", help="The solved case's other jobs send, too.")] = False,
    algorithm: Annotated[str, typer.Option(help="By name; else the quickest.")] = "best",
    failed: Annotated[
        list[str] | None,
        typer.Option(help="A switch (`spine 3`) or cable (`leaf 0 -> spine 3`); again for more."),
    ] = None,
    slow: Annotated[
        list[str] | None,
        typer.Option(help="What runs at a share of its speed (`leaf 0 -> spine 3=0.5`); again for more."),
    ] = None,
    node_cards: Annotated[
        int | None, typer.Option(help="Cards behind one NVLink-class switch.", min=1, show_default="1")
    ] = None,
    link_gbps: Annotated[float | None, typer.Option(help="Of each link, Gbit/s.", show_default="800")] = None,
    hop_ns: Annotated[
        float | None, typer.Option(help="A switch or card passed, with its wire.", show_default="500")
    ] = None,
    loss: Annotated[float, typer.Option(help="The share of packets lost.")] = 0.0,
    recovery: Annotated[
        Literal["go-back-n", "selective-repeat"], typer.Option(help="What is sent again after a loss.")
    ] = "selective-repeat",
    round_trip_us: Annotated[
        float | None,
        typer.Option(help="Until a loss is heard of, µs.", show_default="twice the way"),
    ] = None,
    exposed_share: Annotated[
        float | None,
        typer.Option(help="Of a training step, what waits for it: says what loss adds.", show_default=False),
    ] = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Spread flows over all shortest paths, not by hash.")
    ] = False,
    lossless: Annotated[
        bool, typer.Option("--lossless", help="Count waiting behind others, as on lossless Ethernet.")
    ] = False,
    json: Json = False,
) -> None:
    """How long a collective takes on a network, and which link holds it up."""
    from starverse.main import plan_network

    question = plan_network.Question(
        topology, cluster, kind, megabytes, cards, placement, job, beside, algorithm, failed or [],
        slow or [], node_cards, link_gbps, hop_ns, loss, recovery, round_trip_us, exposed_share,
        adaptive, lossless,
    )  # fmt: skip
    plan_network.collective(question, json=json)


ModelWords = Annotated[
    str | None,
    typer.Option(
        help="Its shape (`layers=96 hidden=12288 heads=96 experts=8 active_experts=2 gated …`), or a "
        "published run's name (`Megatron Core 177B`), which also says what else is not given.",
        show_default=False,
    ),
]
LayoutWords = Annotated[
    str | None,
    typer.Option(
        help="As `tensor=8 pipeline=6 data=96 interleave=16 …`, or a published run's.",
        show_default="searched for",
    ),
]


def train(
    parameters: Annotated[
        float | None, typer.Option(help="Of the dense model.", show_default="405e9")
    ] = None,
    model: ModelWords = None,
    layout: LayoutWords = None,
    cluster: Cluster = None,
    cards: Annotated[
        int | None,
        typer.Option(help="At most so many.", min=1, show_default="16384, or those of the cluster"),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Sequences in a step.", min=1, show_default="2048")
    ] = None,
    sequence: Annotated[
        int | None, typer.Option(help="Tokens in a sequence.", min=1, show_default="8192")
    ] = None,
    card: Annotated[
        str | None,
        typer.Option(help="a100, h100, h200 or b200.", show_default="h100, or that of the cluster"),
    ] = None,
    stack: Annotated[
        str | None, typer.Option(help="Whose software's constants to take.", show_default="llama-3")
    ] = None,
    tokens: Annotated[float, typer.Option(help="To train on.")] = 15e12,
    mfu_share: Annotated[
        float | None,
        typer.Option(help="Of the peak, taken as given instead of a layout's.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """The best layout of a model, or a given one; its step part by part, and the days it trains."""
    from starverse.main import plan_train

    asked = plan_train.Asked(
        parameters, model, layout, cluster, cards, batch, sequence, card, stack, mfu_share
    )
    plan_train.train(asked, tokens, json=json)
