"""A cluster as one TOML file: its levels, its nodes and their cards, and the network between them."""

from importlib import resources
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.model.units import CARDS_MAX
from starverse.model.written import as_struct, check_keys, parsed

Ints = NDArray[np.int64]

GBPS = 125_000_000.0
"""A gigabit a second, in bytes."""
AXES_MAX = 6
COUNT_MAX = 100_000
_SUFFIX = ".toml"


class Node(Struct, frozen=True):
    """What each node has: so many cards of a kind, and the switch between them, if there is one."""

    cards: int = 8
    card: str = "h100"
    inside_gbps: float = 0.0
    """What a card sends to others of its node over an NVLink-class switch; 0 without one."""
    inside_hop_ns: float = 250.0


class _Net(Struct, frozen=True, tag_field="kind"):
    """What all networks have: the speed of a link each way, and what a wire and its switch take."""

    link_gbps: float = 800.0
    hop_ns: float = 500.0


class Torus(_Net, frozen=True, kw_only=True, tag="torus"):
    """Domains of the level `of` with wires to both neighbours on each axis, wrapped around.

    The last axis counts fastest. `cables` of `link_gbps` lie side by side between two neighbours, and make
    one link of so many times that speed. Where a domain has several cards, each reaches the domain's switch
    at `card_gbps` (`link_gbps` when 0).
    """

    of: str = "card"
    size: tuple[int, ...]
    cables: int = 1
    card_gbps: float = 0.0


class HyperX(_Net, frozen=True, kw_only=True, tag="hyperx"):
    """Domains of the level `of` on a grid, a switch on each of its lines (BCube where they are cards)."""

    of: str = "card"
    size: tuple[int, ...]
    cables: int = 1
    card_gbps: float = 0.0


class Ethernet(_Net, frozen=True, kw_only=True, tag="ethernet"):
    """One switch."""


class Clos(_Net, frozen=True, kw_only=True, tag="clos"):
    """Tiers of switches of `radix` ports, as many as the cards take.

    `oversubscription` is of the leaves; with `leaves_each` = 2 a card has two leaves at half its speed each.
    """

    radix: int = 64
    oversubscription: float = 1.0
    leaves_each: int = 1


class Rail(_Net, frozen=True, kw_only=True, tag="rail"):
    """A Clos whose leaves each have one card of a node: the first cards on the first leaves, and so on."""

    radix: int = 64
    oversubscription: float = 1.0
    leaves_each: int = 1


class FatTree(_Net, frozen=True, kw_only=True, tag="fat-tree"):
    """Tiers as they were built: what a switch of each has below it, and what is below has above it."""

    down: tuple[int, ...]
    up: tuple[int, ...]


class Dragonfly(_Net, frozen=True, kw_only=True, tag="dragonfly"):
    """Groups of switches that know each other; one cable of `global_gbps` between every two groups."""

    groups: int
    switches: int
    cards_each: int
    global_each: int
    card_gbps: float = 0.0
    global_gbps: float = 0.0


Net = Torus | HyperX | Ethernet | Clos | Rail | FatTree | Dragonfly


class Cluster(Struct, frozen=True, kw_only=True):
    """A cluster. `levels` are counts by name, outermost first; the last is the node."""

    name: str = ""
    about: str = ""
    levels: dict[str, int]
    node: Node = Node()
    network: Net

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return prod(self.levels.values())

    @property
    def cards(self) -> int:
        """How many cards there are."""
        return self.nodes * self.node.cards

    def count(self, level: str) -> int:
        """How many domains a level has in all; "card" is the innermost, "node" above it."""
        names = list(self.levels)
        if level == "card":
            return self.cards
        return prod(list(self.levels.values())[: names.index(level) + 1])

    def node_names(self) -> list[str]:
        """The names of all nodes: `pod1-rack1-node1` is the first."""
        parts = [[f"{level}{n}" for n in range(1, count + 1)] for level, count in self.levels.items()]
        return ["-".join(words) for words in product(*parts)]

    def laid_out(self) -> "Laid":
        """Where each node lies."""
        number = np.arange(self.nodes)
        outer = list(self.levels)[:-1]
        domain = [number // (self.nodes // self.count(level)) for level in outer]
        at = np.zeros((self.nodes, 0), np.int64)
        torus_level = ""
        torus: tuple[int, ...] = ()
        net = self.network
        if isinstance(net, Torus) and net.of in outer:
            torus_level, torus = net.of, net.size
            at = np.stack(np.unravel_index(domain[outer.index(net.of)], net.size), 1)
        return Laid(
            tuple(outer), np.array(domain, np.int64).reshape(len(outer), self.nodes), torus_level, torus, at
        )


class Laid(NamedTuple):
    """A cluster as arrays: the domain of each node at each level above it, numbered from 0 over the cluster.

    `domain` is (levels, nodes). Where the domains of a level form a torus, `at` is the place of each node's
    domain on it, (nodes, axes); else it has no axes.
    """

    levels: tuple[str, ...]
    domain: Ints
    torus_level: str
    torus: tuple[int, ...]
    at: Ints


def parse_cluster(text: str, file: str = "the cluster file") -> Cluster:
    """The cluster that a TOML text describes. Raises BadInput, naming key and remedy."""
    given = parsed(text, file)
    check_keys(given, Cluster, "", file)  # before what is missing: it may be there under a wrong name
    for key, remedy in (
        ("levels", "[levels] with rack = 4 and node = 8"),
        ("network", "[network] with its kind"),
    ):
        if not isinstance(given.get(key), dict) or not given[key]:
            raise BadInput(f"{file}: `{key}` must be said.", f"Write {remedy}.")
    cluster = as_struct(given, Cluster, file)
    _check(cluster, file)
    return cluster


def presets() -> list[str]:
    """The names of the clusters that come with the product."""
    found = (entry.name for entry in resources.files(__package__).joinpath("presets").iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


def preset(name: str) -> Cluster:
    """A cluster that comes with the product; raises BadInput with the nearest name for any other."""
    return parse_cluster(preset_text(name), name)


def preset_text(name: str) -> str:
    """What the file of such a cluster says; raises BadInput likewise."""
    known = presets()
    if name not in known:
        raise BadInput(f"There is no cluster '{name}'.", nearest(name, known))
    return resources.files(__package__).joinpath("presets", name + _SUFFIX).read_text("utf-8")


def _check(cluster: Cluster, file: str) -> None:
    """Counts within bounds, levels in order, and a network of just as many places as there are."""
    levels = list(cluster.levels)
    if levels[-1] != "node" or "card" in levels:
        what = (
            f"{file}: `levels` ends with `{levels[-1]}`."
            if "card" not in levels
            else f"{file}: `levels.card`"
        )
        remedy = "Make `node` the last level; cards stand in `node.cards`."
        raise BadInput(what, remedy)
    for name, count in cluster.levels.items():
        bounded(1, COUNT_MAX, file, **{f"levels.{name}": count})
    for part in ("node", "network"):
        table = getattr(cluster, part)
        for name in table.__struct_fields__:
            value = getattr(table, name)
            if not isinstance(value, str):
                for number in value if isinstance(value, tuple) else (value,):
                    bounded(*_LIMITS.get(name, (1, COUNT_MAX)), file, **{f"{part}.{name}": number})
    if cluster.cards > CARDS_MAX:
        raise BadInput(
            f"{file}: `levels` make {cluster.cards:,} cards.", f"Give a cluster of at most {CARDS_MAX:,}."
        )
    _check_places(cluster, file)


def _check_places(cluster: Cluster, file: str) -> None:
    net = cluster.network
    if isinstance(net, Torus | HyperX):
        known = [*cluster.levels, "card"]
        if net.of not in known:
            raise BadInput(f"{file}: `network.of`: there is no level '{net.of}'.", nearest(net.of, known))
        if not 1 <= len(net.size) <= AXES_MAX:
            raise BadInput(
                f"{file}: `network.size` has {len(net.size)} axes.",
                f"Give 1 to {AXES_MAX}, like [10, 15, 5].",
            )
        _check_product("size", net.size, cluster.count(net.of), net.of, file)
    elif isinstance(net, FatTree):
        if len(net.down) != len(net.up) or not net.down:
            raise BadInput(
                f"{file}: `network.up` has {len(net.up)} tiers and `network.down` {len(net.down)}.",
                "Give both one number for each tier.",
            )
        _check_product("down", net.down, cluster.cards, "card", file)
    elif isinstance(net, Dragonfly):
        sizes = (net.groups, net.switches, net.cards_each)
        _check_product("groups", sizes, cluster.cards, "card", file, "groups × switches × cards_each")


def _check_product(
    key: str, sizes: tuple[int, ...], wanted: int, level: str, file: str, what: str = ""
) -> None:
    if prod(sizes) == wanted:
        return
    shape = " × ".join(map(str, sizes))
    raise BadInput(
        f"{file}: `network.{key}`: {what or shape} is {prod(sizes):,}, but there are {wanted:,} {level}s.",
        f"Give sizes whose product is {wanted:,}, or correct `levels`.",
    )


_LIMITS: dict[str, tuple[float, Any]] = {
    "link_gbps": (0.001, 1e6),
    "card_gbps": (0, 1e6),
    "global_gbps": (0, 1e6),
    "inside_gbps": (0, 1e6),
    "hop_ns": (0, 1e9),
    "inside_hop_ns": (0, 1e9),
    "cards": (1, 1024),
    "radix": (2, 65_536),
    "oversubscription": (0.01, 1_000),
    "leaves_each": (1, 8),
    "cables": (1, 4_096),
}
