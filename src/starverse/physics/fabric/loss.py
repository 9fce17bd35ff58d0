"""Packets that get lost, and what that costs a flow, a collective and a training step."""

from math import expm1, log1p

from starverse.model.errors import BadInput

RECOVERIES = ("go-back-n", "selective-repeat")


def window_packets(bytes_per_s: float, round_trip_s: float, mtu_bytes: float = 4096) -> float:
    """The packets on their way at full speed: the bandwidth-delay product over the MTU."""
    return max(1.0, bytes_per_s * round_trip_s / mtu_bytes)


def goodput_share(loss_share: float, window: float, recovery: str) -> float:
    """The share of a flow's packets that are new ones.

    Go-back-N sends the whole window W again after each loss: (1 - p)/(1 - p + pW). Selective repeat sends
    only what was lost: 1 - p (Bertsekas and Gallager, "Data Networks", 2nd ed., 2.4). Packets are lost
    independently; congestion control does not slow down after a loss.
    """
    _check(loss_share, recovery)
    kept = 1 - loss_share
    return kept / (kept + loss_share * window) if recovery == "go-back-n" else kept


def tail_s(loss_share: float, flows: int, timeout_s: float) -> float:
    """How much longer the last of so many messages takes whose last packet may be lost, in seconds: the mean.

    What follows a loss tells of it, but nothing follows the last packet: it is sent again after a timeout, as
    often as it is lost. The most of n such counts is on average the sum over j of 1 - (1 - p^j)^n.
    """
    _check(loss_share, "selective-repeat")
    total, term, power = 0.0, 1.0, 1
    while loss_share and term > 1e-12 and power < 10_000:
        term = -expm1(flows * log1p(-(loss_share**power)))
        total += term
        power += 1
    return total * timeout_s


def step_stretch(exposed_share: float, stretch: float) -> float:
    """How many times as long a training step takes when the part that waits for the network is stretched."""
    if not 0 <= exposed_share <= 1:
        raise BadInput(f"exposed_share = {exposed_share:g} is no share.", "Give 0 to 1 of the step.")
    return 1 + exposed_share * (stretch - 1)


def _check(loss_share: float, recovery: str) -> None:
    if not 0 <= loss_share < 1:
        raise BadInput(f"loss_share = {loss_share:g} is no share of packets.", "Give 0 up to less than 1.")
    if recovery not in RECOVERIES:
        raise BadInput(f"There is no recovery '{recovery}'.", f"Say {' or '.join(RECOVERIES)}.")
