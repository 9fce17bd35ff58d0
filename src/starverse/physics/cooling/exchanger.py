"""Heat exchangers by effectiveness and NTU, and the CDUs among them."""

from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]

Arrangement = Literal["counter", "cross"]


def effectiveness(ntu: ArrayLike, ratio: ArrayLike, arrangement: Arrangement = "counter") -> Floats:
    """ε of shape NTU x ratio broadcast; `ratio` is Cmin / Cmax (Kays and London; Incropera, table 11.4).

    Counterflow exactly (NTU / (1 + NTU) at ratio 1); crossflow with both streams unmixed in Kays' form,
    1 - exp(NTU^0.22 / r (exp(-r NTU^0.78) - 1)).
    """
    n, r = np.broadcast_arrays(np.asarray(ntu, dtype=float), np.asarray(ratio, dtype=float))
    if n.size and not (n.min() >= 0 and r.min() >= 0 and r.max() <= 1 + 1e-12):
        raise BadInput("NTU must not be negative, and Cmin is the smaller one.", "Give `ratio` from 0 to 1.")
    r = np.minimum(r, 1.0)
    if arrangement == "cross":
        safe = np.maximum(r, 1e-9)
        found: Floats = 1 - np.exp(n**0.22 / safe * np.expm1(-safe * n**0.78))
        return found
    gap = np.maximum(1 - r, 1e-12)
    fall = np.exp(-n * gap)
    share: Floats = np.where(r > 1 - 1e-9, n / (1 + n), (1 - fall) / (1 - r * fall))
    return share


def ntu_for(wanted: float, ratio: float, arrangement: Arrangement = "counter") -> float:
    """The NTU of an effectiveness, by bisection to a part in 10^12. Raises BadInput where none reaches it."""
    if not 0 <= wanted < 1:
        raise BadInput(f"No heat exchanger is {wanted:g} effective.", "Raise the approach temperature.")
    low, high = 0.0, 200.0
    if float(effectiveness(high, ratio, arrangement)) < wanted:
        raise BadInput(
            f"No {arrangement}flow exchanger is {wanted:g} effective at flows of {ratio:g}.",
            "Raise the approach temperature.",
        )
    for _ in range(60):
        middle = (low + high) / 2
        if float(effectiveness(middle, ratio, arrangement)) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


class Cdu(Struct, frozen=True):
    """A coolant distribution unit at its design point: heat in W, flows in kg/s, heat capacities in J/kg/K.

    `approach_k` is the rack supply above the facility supply. `pump_w` and `head_pa` are the secondary
    pumps'.
    """

    name: str
    source: str
    heat_w: float
    rack_kg_per_s: float
    facility_kg_per_s: float
    approach_k: float
    head_pa: float
    pump_w: float
    rack_j_per_kg_k: float = 3981.0
    facility_j_per_kg_k: float = 4180.0


DESCHUTES = Cdu(
    "Google Project Deschutes",
    "OCP contribution Project Deschutes; LBNL Modelica Buildings, GoogleProjectDeschutes record",
    heat_w=2e6,
    rack_kg_per_s=31.48,
    facility_kg_per_s=32.30,
    approach_k=3.0,
    head_pa=586e3,
    pump_w=74e3,
)
XDU1350 = Cdu(
    "Vertiv Liebert XDU1350",
    "LBNL Modelica Buildings (flow, approach); heat by its name; head of 250 kPa and 65 % assumed",
    heat_w=1.35e6,
    rack_kg_per_s=20.6,
    facility_kg_per_s=20.6,
    approach_k=4.0,
    head_pa=250e3,
    pump_w=20.6 / 1007 * 250e3 / 0.65,
)
CDUS = {"deschutes": DESCHUTES, "xdu1350": XDU1350}


class CduState(Struct, frozen=True):
    """A CDU's temperatures in °C and the heat it passes in W, each shaped as the inputs broadcast."""

    rack_supply_c: Floats
    facility_return_c: Floats
    heat_w: Floats


def cdu_state(
    cdu: Cdu,
    rack_return_c: ArrayLike,
    facility_supply_c: ArrayLike,
    rack_share: ArrayLike = 1.0,
    facility_share: ArrayLike = 1.0,
) -> CduState:
    """Both outlets from both inlets and flows (as shares of design), counterflow plates.

    UA from the design approach; at other flows each side's film scales as m^0.8 (Dittus-Boelter), equal at
    design: 1/UA = ½ (1/s₁^0.8 + 1/s₂^0.8) / UA0 (LBNL Modelica Buildings, CDU_epsNTU, with hA ratio 1).
    """
    hot_share, cold_share = np.broadcast_arrays(
        np.asarray(rack_share, dtype=float), np.asarray(facility_share, dtype=float)
    )
    if hot_share.size and not (hot_share.min() > 0 and cold_share.min() > 0):
        raise BadInput("Without flow a CDU passes no heat.", "Give `rack_share` and `facility_share` > 0.")
    hot0 = cdu.rack_kg_per_s * cdu.rack_j_per_kg_k
    cold0 = cdu.facility_kg_per_s * cdu.facility_j_per_kg_k
    conductance0 = _design_conductance(cdu, hot0, cold0)
    conductance = conductance0 * 2 / (hot_share**-0.8 + cold_share**-0.8)
    hot, cold = hot0 * hot_share, cold0 * cold_share
    least, most = np.minimum(hot, cold), np.maximum(hot, cold)
    share = effectiveness(conductance / least, least / most)
    warm = np.asarray(rack_return_c, dtype=float)
    cool = np.asarray(facility_supply_c, dtype=float)
    heat: Floats = share * least * (warm - cool)
    return CduState(warm - heat / hot, cool + heat / cold, heat)


def facility_supply_c(cdu: Cdu, rack_supply_c: ArrayLike, share: ArrayLike) -> Floats:
    """How cold the facility's water must be in °C for a supply of the racks, at a share of heat and flows.

    The inverse of `cdu_state`: Treturn = Tsupply + Q / C, Tfacility = Treturn - Q / (ε Cmin).
    """
    part = np.asarray(share, dtype=float)
    heat = part * cdu.heat_w
    back = np.asarray(rack_supply_c, dtype=float) + heat / (part * cdu.rack_kg_per_s * cdu.rack_j_per_kg_k)
    found: Floats = back - heat / cdu_state(cdu, 1.0, 0.0, part, part).heat_w
    return found


def cdu_pump_w(cdu: Cdu, flow_share: ArrayLike) -> Floats:
    """The secondary pumps' power in W by the affinity laws: cube of the flow."""
    share = np.asarray(flow_share, dtype=float)
    power: Floats = cdu.pump_w * share**3
    return power


def _design_conductance(cdu: Cdu, hot: float, cold: float) -> float:
    drop = cdu.heat_w / hot
    least, most = min(hot, cold), max(hot, cold)
    return least * ntu_for(cdu.heat_w / (least * (drop + cdu.approach_k)), least / most)
