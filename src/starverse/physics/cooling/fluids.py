"""Coolants: density, heat capacity, conductivity and viscosity by temperature, from a sourced table."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput
from starverse.model.names import nearest

Floats = NDArray[np.floating[Any]]


class Fluid(Struct, frozen=True):
    """A liquid at about 1 to 2 bar. Rows are (°C, kg/m³, J/kg/K, W/m/K, mPa·s), linear in between.

    `boiling_c`, `latent_j_per_kg`, `vapour_kg_per_m3` and `surface_n_per_m` (tension) are at boiling under
    101,325 Pa; `flash_c` is the flash point. None where it has none or none is sourced.
    """

    name: str
    source: str
    rows: tuple[tuple[float, float, float, float, float], ...]
    boiling_c: float | None = None
    latent_j_per_kg: float | None = None
    vapour_kg_per_m3: float | None = None
    surface_n_per_m: float | None = None
    flash_c: float | None = None


class Properties(Struct, frozen=True):
    """A fluid at temperatures: each field shaped as those."""

    density_kg_per_m3: Floats
    heat_capacity_j_per_kg_k: Floats
    conductivity_w_per_m_k: Floats
    viscosity_pa_s: Floats

    @property
    def prandtl(self) -> Floats:
        """Momentum over thermal diffusivity."""
        number: Floats = self.viscosity_pa_s * self.heat_capacity_j_per_kg_k / self.conductivity_w_per_m_k
        return number


_IAPWS = "IAPWS-95 for water, as CoolProp 8.0.0 evaluates it at 2 bar"
_MELINDER = "Melinder, Properties of Secondary Working Fluids (IIR, 2010), 25 % by mass, as in CoolProp 8.0.0"

FLUIDS: tuple[Fluid, ...] = (
    Fluid(
        "water",
        _IAPWS,
        (
            (5, 1000.0, 4204.6, 0.5679, 1.518),
            (15, 999.1, 4188.1, 0.5889, 1.1375),
            (25, 997.1, 4181.0, 0.6066, 0.8900),
            (35, 994.1, 4179.0, 0.6218, 0.7191),
            (45, 990.3, 4179.9, 0.6348, 0.5958),
            (55, 985.7, 4182.7, 0.6461, 0.5036),
            (65, 980.6, 4187.1, 0.6556, 0.4329),
            (75, 974.9, 4193.0, 0.6636, 0.3774),
            (85, 968.7, 4200.5, 0.6701, 0.3331),
        ),
        boiling_c=99.97,
        latent_j_per_kg=2_256_500,
        vapour_kg_per_m3=0.598,
        surface_n_per_m=0.0589,
    ),
    Fluid(
        "pg25",
        f"propylene glycol in water: {_MELINDER}",
        (
            (5, 1024.5, 3884.2, 0.4541, 4.393),
            (15, 1021.2, 3908.4, 0.4633, 2.928),
            (25, 1017.2, 3932.6, 0.4724, 2.071),
            (35, 1012.5, 3956.7, 0.4814, 1.542),
            (45, 1007.2, 3980.6, 0.4903, 1.199),
            (55, 1001.4, 4004.1, 0.4989, 0.967),
            (65, 995.3, 4027.2, 0.5074, 0.802),
            (75, 988.8, 4049.7, 0.5156, 0.679),
        ),
    ),
    Fluid(
        "eg25",
        f"ethylene glycol in water: {_MELINDER}",
        (
            (5, 1035.8, 3774.9, 0.4702, 3.079),
            (15, 1032.8, 3798.8, 0.4808, 2.208),
            (25, 1029.2, 3822.5, 0.4910, 1.650),
            (35, 1024.9, 3845.9, 0.5008, 1.280),
            (45, 1020.1, 3868.8, 0.5103, 1.026),
            (55, 1014.7, 3891.2, 0.5194, 0.847),
            (65, 1008.7, 3912.9, 0.5282, 0.717),
            (75, 1002.3, 3933.9, 0.5365, 0.619),
        ),
    ),
    Fluid(
        "novec-649",
        "density, heat, boiling: McLinden et al., J. Chem. Eng. Data 60 (2015); conductivity and "
        "viscosity indicative, after 3M's Novec 649 sheet, not checked against it",
        (
            (5, 1661.7, 1092.4, 0.0629, 0.87),
            (15, 1632.7, 1096.4, 0.0610, 0.75),
            (25, 1603.0, 1101.9, 0.0590, 0.64),
            (35, 1572.4, 1108.9, 0.0571, 0.56),
            (45, 1540.8, 1117.4, 0.0551, 0.49),
        ),
        boiling_c=49.05,
        latent_j_per_kg=87_950,
        vapour_kg_per_m3=12.78,
        # 10.8 mN/m at 25 °C (3M), carried to boiling by Guggenheim's (1 - T/Tc)^1.22, Tc 441.8 K
        surface_n_per_m=0.0086,
    ),
    Fluid(
        "novec-7100",
        "methoxy-nonafluorobutane: Melinder 2010, as in CoolProp 8.0.0 (HFE2); boiling: 3M data sheet",
        (
            (5, 1527.0, 1143.0, 0.0727, 0.4706),
            (25, 1481.6, 1183.0, 0.0688, 0.3716),
            (45, 1436.2, 1223.0, 0.0649, 0.3060),
            (55, 1413.5, 1243.0, 0.0630, 0.2812),
        ),
        boiling_c=61.0,
        latent_j_per_kg=112_000,
    ),
    Fluid(
        "fc-72",
        "perfluorohexane: the linear formulas of 3M's FC-72 data sheet (1740 - 2.61 T, 1014 + 1.554 T, "
        "0.060 - 0.00011 T), and its viscosity; indicative, not checked against the sheet",
        (
            (5, 1727.0, 1021.8, 0.0595, 0.82),
            (25, 1674.8, 1052.9, 0.0573, 0.64),
            (45, 1622.6, 1083.9, 0.0551, 0.50),
            (55, 1596.5, 1099.5, 0.0540, 0.45),
        ),
        boiling_c=56.0,
        latent_j_per_kg=88_000,
        vapour_kg_per_m3=13.3,
        # 10 mN/m at 25 °C (3M), carried likewise, Tc 449 K
        surface_n_per_m=0.0076,
    ),
    Fluid(
        "mineral-oil",
        "paraffinic heat-transfer oil (Paratherm NF, the maker's data as in CoolProp 8.0.0, PNF)",
        (
            (25, 880.8, 1865.9, 0.1045, 39.57),
            (45, 867.6, 1966.2, 0.1034, 15.76),
            (65, 854.3, 2067.7, 0.1022, 7.488),
        ),
        flash_c=174,
    ),
    Fluid(
        "silicone-oil",
        "Syltherm XLT (Dow's data as in CoolProp 8.0.0, XLT2)",
        (
            (25, 850.1, 1782.5, 0.1097, 1.266),
            (45, 829.6, 1824.5, 0.1053, 0.943),
            (65, 809.1, 1866.5, 0.1008, 0.732),
        ),
        flash_c=42,
    ),
)
"""Where a name is a mixture or a stand-in, the source says so. Immersion oils sold under trade names (PAO,
EC-100, S5 X) have no open tables and are not here."""


def fluid_named(name: str) -> Fluid:
    """The fluid of that name. Raises BadInput, naming those there are."""
    for fluid in FLUIDS:
        if fluid.name == name:
            return fluid
    names = [fluid.name for fluid in FLUIDS]
    near, listed = nearest(name, names), nearest("", names)
    raise BadInput(f"There is no fluid '{name}'.", near if near == listed else f"{near} {listed}")


CONDUCTING = ("water", "pg25", "eg25")
"""What carries current, and so never touches a card."""


def dielectric_named(name: str) -> Fluid:
    """The fluid of that name for immersion. Raises BadInput for one that conducts, or is not known."""
    if name in CONDUCTING:
        fit = ", ".join(fluid.name for fluid in FLUIDS if fluid.name not in CONDUCTING)
        raise BadInput(f"{name} conducts: no card is immersed in it.", f"Choose {fit}.")
    return fluid_named(name)


def properties(fluid: Fluid, temperature_c: ArrayLike) -> Properties:
    """Properties at temperatures in °C of any shape. Raises BadInput outside the table: it is not
    stretched."""
    temperature = np.asarray(temperature_c, dtype=float)
    rows = np.array(fluid.rows)
    low, high = rows[0, 0], rows[-1, 0]
    if temperature.size and not (temperature.min() >= low and temperature.max() <= high):
        outside = temperature.min() if not temperature.min() >= low else temperature.max()
        raise BadInput(
            f"The table of {fluid.name} ends before {outside:g} °C.",
            f"Keep `temperature_c` from {low:g} to {high:g}, or choose another fluid.",
        )
    density, heat, conductivity = (np.interp(temperature, rows[:, 0], rows[:, k]) for k in (1, 2, 3))
    # Viscosity falls like an exponential, so it is straight on a logarithmic scale.
    viscosity = np.exp(np.interp(temperature, rows[:, 0], np.log(rows[:, 4] * 1e-3)))
    return Properties(density, heat, conductivity, viscosity)


def peak_flux_w_per_cm2(fluid: Fluid) -> float:
    """The most that boiling takes from a plain surface: 0.131 hfg √ρv (σ g (ρl - ρv))^¼ (Zuber, 1959).

    Above it vapour covers the surface and the card burns out. Raises BadInput where the boiling is not known.
    """
    known = (fluid.boiling_c, fluid.latent_j_per_kg, fluid.vapour_kg_per_m3, fluid.surface_n_per_m)
    if None in known:
        boils = ", ".join(f.name for f in FLUIDS if f.surface_n_per_m is not None)
        raise BadInput(f"No boiling data of {fluid.name} is known.", f"Choose {boils}.")
    _, latent, vapour, tension = (float(value or 0) for value in known)
    liquid = fluid.rows[-1][1]
    return float(0.131 * latent * vapour**0.5 * (tension * 9.81 * (liquid - vapour)) ** 0.25 / 1e4)
