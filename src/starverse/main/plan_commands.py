"""`starverse plan`: each model asked from the command line, with defaults for what is not given."""

from typing import Annotated, Literal

import typer

from starverse.faces.cli.root import App
from starverse.main.plan_hall import Json, cooling, noise, power, site, slope


def build() -> App:
    """The commands of `starverse plan`."""
    app = App(name="plan", help="What a cluster would do and cost, by models with their sources.")
    for command in (collective, train, faults, checkpoint, power, cooling, noise, slope, sweep, site):
        app.command()(command)
    return app


def sweep(
    words: Annotated[
        str,
        typer.Argument(
            metavar="SWEEP",
            help="h200-node, b200-node or b200-4-nodes, as published; else what all_reduce_perf printed.",
        ),
    ] = "b200-4-nodes",
    cards: Annotated[int | None, typer.Option(help="That reduced, of a file.", show_default=False)] = None,
    megabytes: Annotated[
        float | None, typer.Option(help="Say how long so much takes, 10⁶ bytes.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """The curve of a measured all-reduce: latency, bandwidth, and how well half its sizes tell the rest."""
    from starverse.main import plan

    plan.sweep(words, cards, megabytes, json=json)


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
    flap_up_s: Annotated[
        float | None, typer.Option(help="A flapping link's mean time up, s.", show_default=False)
    ] = None,
    flap_down_s: Annotated[float | None, typer.Option(help="And down, s.", show_default="2")] = None,
    tolerated_s: Annotated[
        float | None, typer.Option(help="The outage that a job bears, s.", show_default="5")
    ] = None,
    json: Json = False,
) -> None:
    """How often a fleet stops, of what, and what heat does to it."""
    given = {name: value for name, value in locals().items() if name != "json"}
    from starverse.main import plan

    plan.faults(given, json=json)


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
    restart_s: Annotated[float, typer.Option(help="From a stop to the first new step, s.")] = 300.0,
    least_interval_s: Annotated[float, typer.Option(help="Save no more often; such as a step, s.")] = 10.0,
    asynchronous: Annotated[bool, typer.Option(help="Train on while the copy in memory is written.")] = True,
    json: Json = False,
) -> None:
    """How often to save, where, and what is left of the time for training."""
    given = {name: value for name, value in locals().items() if name != "json"}
    from starverse.main import plan

    plan.checkpoint(given, json=json)


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
            help="torus:32x32x30, hyperx:32x32x32 (each /CARDS at a place), ethernet:512, "
            "clos:CARDS/PORTS[/OVERSUBSCRIPTION[/LEAVES]] (30720/64/3/2: leaves thinned 3 to 1, two a card), "
            "rail: the same by rails, dragonfly:GROUPS/SWITCHES/CARDS/CABLES (73/12/6/6).",
            show_default="torus:32x32x30",
        ),
    ] = None,
    cluster: Cluster = None,
    kind: Annotated[
        Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "permutation"],
        typer.Option(help="The collective; or each card to one other, drawn."),
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
        float | None, typer.Option(help="A link: its wire and what is at its end.", show_default="500")
    ] = None,
    loss: Annotated[float, typer.Option(help="The share of packets lost.")] = 0.0,
    recovery: Annotated[
        Literal["go-back-n", "selective-repeat"], typer.Option(help="What is sent again after a loss.")
    ] = "selective-repeat",
    round_trip_us: Annotated[
        float | None,
        typer.Option(help="Until a loss is heard of, µs.", show_default="of each step: twice its message"),
    ] = None,
    exposed_share: Annotated[
        float | None,
        typer.Option(help="Of a training step, what waits for it: says what loss adds.", show_default=False),
    ] = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Spread flows over all shortest paths, and around a full one.")
    ] = False,
    lossless: Annotated[
        bool, typer.Option("--lossless", help="Count waiting behind others, as on lossless Ethernet.")
    ] = False,
    chunks: Annotated[
        int | None,
        typer.Option(
            help="Of the buffer, by bucket or hierarchical.", min=1, show_default="1, hierarchical the best"
        ),
    ] = None,
    memory_gb_per_s: Annotated[
        float | None, typer.Option(help="Of a card, that reductions go through.", show_default="no limit")
    ] = None,
    ends_ns: Annotated[
        float | None,
        typer.Option(help="To send and receive a message, beside its hops.", show_default="1100"),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Of a permutation, to take the mean of.", min=1, show_default="1")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of its first draw.", min=0, show_default="0")] = None,
    json: Json = False,
) -> None:
    """How long a collective takes on a network, and which link holds it up."""
    from starverse.main import plan_network

    question = plan_network.Question(
        topology, cluster, kind, megabytes, cards, placement, job, beside, algorithm, failed or [],
        slow or [], node_cards, link_gbps, hop_ns, loss, recovery, round_trip_us, exposed_share,
        adaptive, lossless, chunks, memory_gb_per_s, ends_ns, draws, seed,
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
