"""The fluid table against CoolProp where both exist, and never outside its range."""

import pytest

from starverse.model.errors import BadInput
from starverse.physics.cooling.fluids import FLUIDS, fluid_named, peak_flux_w_per_cm2, properties

COOLPROP = {
    "water": "Water",
    "pg25": "INCOMP::MPG-25%",
    "eg25": "INCOMP::MEG-25%",
    "novec-7100": "INCOMP::HFE2",
    "mineral-oil": "INCOMP::PNF",
    "silicone-oil": "INCOMP::XLT2",
}


@pytest.mark.parametrize("name", COOLPROP)
def test_a_fluid_is_as_in_coolprop(name: str) -> None:
    """At and between the table's rows: 0.5 %, viscosity 3 %."""
    from CoolProp.CoolProp import PropsSI

    fluid = fluid_named(name)
    low, high = fluid.rows[0][0], fluid.rows[-1][0]
    for share in (0.0, 0.13, 0.5, 0.77, 1.0):
        celsius = low + share * (high - low)
        found = properties(fluid, celsius)
        state = ("T", celsius + 273.15, "P", 2e5, COOLPROP[name])
        assert float(found.density_kg_per_m3) == pytest.approx(PropsSI("D", *state), rel=0.005)
        assert float(found.heat_capacity_j_per_kg_k) == pytest.approx(PropsSI("C", *state), rel=0.005)
        assert float(found.conductivity_w_per_m_k) == pytest.approx(PropsSI("L", *state), rel=0.005)
        assert float(found.viscosity_pa_s) == pytest.approx(PropsSI("V", *state), rel=0.03)


@pytest.mark.parametrize(
    ("name", "relative", "stranger"), [("novec-649", 0.003, "Novec649"), ("fc-72", 0.03, "n-Perfluorohexane")]
)
def test_boiling_fluids_are_as_in_coolprop(name: str, relative: float, stranger: str) -> None:
    """FC-72 is a mixture whose main part is perfluorohexane, so 3 % there."""
    from CoolProp.CoolProp import PropsSI

    fluid = fluid_named(name)
    found = properties(fluid, 25.0)
    state = ("T", 298.15, "P", 2e5, stranger)
    assert float(found.density_kg_per_m3) == pytest.approx(PropsSI("D", *state), rel=relative)
    assert float(found.heat_capacity_j_per_kg_k) == pytest.approx(PropsSI("C", *state), rel=relative)
    boiling_k = PropsSI("T", "P", 101325, "Q", 0, stranger)
    assert fluid.boiling_c == pytest.approx(boiling_k - 273.15, abs=1.5)
    latent = PropsSI("H", "P", 101325, "Q", 1, stranger) - PropsSI("H", "P", 101325, "Q", 0, stranger)
    assert fluid.latent_j_per_kg == pytest.approx(latent, rel=0.05)


@pytest.mark.parametrize(("name", "peak"), [("water", 110), ("novec-649", 14), ("fc-72", 14)])
def test_boiling_peaks_where_zuber_says(name: str, peak: float) -> None:
    """Water at one atmosphere: 1.1 MW/m² (Incropera, section 10.3)."""
    assert peak_flux_w_per_cm2(fluid_named(name)) == pytest.approx(peak, rel=0.04)


def test_every_fluid_names_its_source() -> None:
    assert all(fluid.source for fluid in FLUIDS)


@pytest.mark.parametrize(
    ("name", "celsius", "says"),
    [("pg25", 90.0, "from 5 to 75"), ("water", -1.0, "5 to 85"), ("tea", 20.0, "pg25")],
)
def test_no_table_is_stretched(name: str, celsius: float, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        properties(fluid_named(name), celsius)
