"""Collectives between equals in closed form: every card sees the same wire, and nobody else is on it."""

from dataclasses import dataclass
from math import ceil, inf, log2, sqrt

from starverse.model.errors import BadInput

KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast")


@dataclass(frozen=True)
class Wire:
    """What a step between two cards costs (Hockney's model): `step_ns` + bytes / `bytes_per_s`.

    `reduce_bytes_per_s` is the memory that a reduction reads twice and writes once.
    """

    bytes_per_s: float
    step_ns: float = 2_800
    reduce_bytes_per_s: float = inf

    def __post_init__(self) -> None:
        """Refuse a wire that carries nothing."""
        if self.bytes_per_s <= 0 or self.step_ns < 0 or self.reduce_bytes_per_s <= 0:
            raise BadInput(
                "A wire carries bytes and takes no negative time.", "Correct bytes_per_s and step_ns."
            )

    def send_s(self, bytes_: float) -> float:
        """A step that carries so many bytes, in seconds."""
        return self.step_ns * 1e-9 + bytes_ / self.bytes_per_s

    def add_s(self, bytes_: float) -> float:
        """The reduction of so many bytes, in seconds."""
        return 3 * bytes_ / self.reduce_bytes_per_s


@dataclass(frozen=True)
class Timing:
    """How long a collective takes, and how well it uses its wires.

    `bytes_` is the buffer: what each card has (all-reduce, reduce-scatter, all-to-all, broadcast) or ends up
    with (all-gather). `bottleneck` names what holds it up. `wire_bytes_per_s` is what one wire carries, and
    `wires` how many of them a card has, as its share of those that leave its node (`wires.wires_each`).
    Where packets get lost, `kept_s` is the time without that, and `mean_s` with what is sent again for them,
    before the slowest of the messages wait for timeouts, as they do in `time_s`; else both are the time.
    """

    kind: str
    cards: int
    bytes_: float
    time_s: float
    wire_bytes_per_s: float
    bottleneck: str = ""
    wires: float = 1.0
    kept_s: float | None = None
    mean_s: float | None = None

    @property
    def loss_stretch_mean(self) -> float:
        """How many times as long it takes for what is sent again, timeouts apart."""
        return (self.mean_s or self.time_s) / (self.kept_s or self.time_s) if self.time_s else 1.0

    @property
    def loss_stretch_slowest(self) -> float:
        """How many times as long it takes in all for the packets that are lost."""
        return self.time_s / (self.kept_s or self.time_s) if self.time_s else 1.0

    @property
    def algorithm_bytes_per_s(self) -> float:
        """The buffer over the time."""
        return self.bytes_ / self.time_s if self.time_s else inf

    @property
    def bus_bytes_per_s(self) -> float:
        """What a card must send at least, over the time (as nccl-tests count it)."""
        return self.algorithm_bytes_per_s * bus_factor(self.kind, self.cards)

    @property
    def bound_s(self) -> float:
        """The time in which all wires alone would be full."""
        return self.bytes_ * bus_factor(self.kind, self.cards) / (self.wire_bytes_per_s * self.wires)

    @property
    def efficiency_share(self) -> float:
        """The bound over the time: 1 is as quick as the wires allow."""
        return self.bound_s / self.time_s if self.time_s else 1.0

    @property
    def wire_share(self) -> float:
        """The bus bandwidth over that of one wire: of what uses several at once, more than 1."""
        return self.efficiency_share * self.wires


def bus_factor(kind: str, cards: int) -> float:
    """The buffers that each card must at least send (nccl-tests, doc/PERFORMANCE.md)."""
    if kind not in KINDS:
        raise BadInput(f"There is no collective '{kind}'.", f"Say {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    if cards < 1:
        raise BadInput(f"{cards} cards have nothing to say to each other.", "Give 1 card or more.")
    if kind == "broadcast":
        return 1.0 if cards > 1 else 0.0
    return (2 if kind == "all-reduce" else 1) * (cards - 1) / cards


def ring_reduce_scatter_s(cards: int, bytes_: float, wire: Wire) -> float:
    """(n - 1)(a + S/nB + 3S/nM): every step hands on one part, reduced so far (Patarasuk and Yuan, 2009)."""
    return (cards - 1) * (wire.send_s(bytes_ / cards) + wire.add_s(bytes_ / cards))


def ring_allgather_s(cards: int, bytes_: float, wire: Wire) -> float:
    """(n - 1)(a + S/nB), S being what each has in the end."""
    return (cards - 1) * wire.send_s(bytes_ / cards)


def ring_allreduce_s(cards: int, bytes_: float, wire: Wire) -> float:
    """2(n - 1)(a + S/nB) and the reduction: reduce-scatter, then all-gather."""
    return ring_reduce_scatter_s(cards, bytes_, wire) + ring_allgather_s(cards, bytes_, wire)


def halving_doubling_allreduce_s(cards: int, bytes_: float, wire: Wire) -> float:
    """2 log2(n) a + 2S(1 - 1/n)/B and the reduction (Rabenseifner; Thakur et al., IJHPCA 2005).

    Where n is no power of two, the cards beyond the last one first add their buffer to a partner's and get
    the result back: two steps of the whole buffer more.
    """
    if cards < 2:
        return 0.0
    rounds = cards.bit_length() - 1
    whole = 1 << rounds
    moved = bytes_ * (1 - 1 / whole)
    time_s = 2 * (rounds * wire.step_ns * 1e-9 + moved / wire.bytes_per_s) + wire.add_s(moved)
    return time_s if whole == cards else time_s + 2 * wire.send_s(bytes_) + wire.add_s(bytes_)


def pipelined_s(hops: int, bytes_: float, wire: Wire) -> float:
    """A buffer through a chain of hops in the best number of blocks: (sqrt((h - 1) a) + sqrt(S/B))² (and a).

    m blocks take (h - 1 + m)(a + S/mB), least at m² = (h - 1) S/(aB). The cross term grows with the root of
    the bytes, as measured all-reduces do.
    """
    return streamed_s(hops - 1, wire.step_ns * 1e-9, bytes_ / wire.bytes_per_s)


def streamed_s(fill: int, lag_s: float, body_s: float) -> float:
    """What takes `body_s` over one hop, in blocks over `fill` hops more, each block `lag_s` a hop beside."""
    blocks = max(1.0, sqrt(fill * body_s / lag_s)) if lag_s else inf
    return (fill + blocks) * (lag_s + body_s / blocks) if blocks < inf else body_s


def tree_allreduce_s(cards: int, bytes_: float, wire: Wire) -> float:
    """Up and down two binary trees, each for half of the buffer, so that all wires work both ways.

    Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009; as
    NCCL's tree. Blocks go up log2(n) hops and down as many in one pipeline; a card that is inner sends each
    byte up and to two below, and as a leaf of the other tree up: twice the buffer.
    """
    if cards < 2:
        return 0.0
    return pipelined_s(2 * ceil(log2(cards)) + 1, 2 * bytes_, wire) + wire.add_s(bytes_)


def broadcast_s(cards: int, bytes_: float, wire: Wire) -> float:
    """Down the two trees, pipelined."""
    return pipelined_s(ceil(log2(cards)) + 1, bytes_, wire) if cards > 1 else 0.0


def direct_alltoall_s(cards: int, bytes_: float, wire: Wire) -> float:
    """Time a + S(1 - 1/n)/B, on a fabric that blocks nobody: every card sends to all others at once."""
    return wire.send_s(bytes_ * (1 - 1 / cards)) if cards > 1 else 0.0


def torus_alltoall_s(dims: tuple[int, ...], bytes_: float, wire: Wire) -> float:
    """The fullest wire of a whole torus, every card sending S/n to each: floor(k²/4) S / 2kB on axis k.

    Of the k - 1 others on an axis the distances sum to floor(k²/4), shared by the wires of both ways; with k
    even this is the bisection bound kS/8B. An axis of 2 has one wire (`Grid`): S/2B. The longest way adds its
    steps.
    """
    body_s = max(k * k // 4 * bytes_ / ((2 if k > 2 else 1) * k * wire.bytes_per_s) for k in dims)
    return sum(k // 2 for k in dims) * wire.step_ns * 1e-9 + body_s


def closed_form_s(kind: str, algorithm: str, cards: int, bytes_: float, wire: Wire) -> float:
    """The time of a collective by the name of its algorithm; raises BadInput for unknown ones."""
    forms = {
        ("all-reduce", "ring"): ring_allreduce_s,
        ("all-reduce", "tree"): tree_allreduce_s,
        ("all-reduce", "halving-doubling"): halving_doubling_allreduce_s,
        ("reduce-scatter", "ring"): ring_reduce_scatter_s,
        ("all-gather", "ring"): ring_allgather_s,
        ("all-to-all", "direct"): direct_alltoall_s,
        ("broadcast", "tree"): broadcast_s,
    }
    bus_factor(kind, cards)
    if (kind, algorithm) not in forms:
        known = [name for of, name in forms if of == kind]
        raise BadInput(f"There is no {kind} by the algorithm '{algorithm}'.", f"Say {' or '.join(known)}.")
    if bytes_ <= 0:
        raise BadInput(f"A collective of {bytes_:g} bytes does nothing.", "Give 1 byte or more.")
    return forms[kind, algorithm](cards, bytes_, wire)
