"""Moist air: humidity, wet bulb and dew point, for whole years at once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starverse.model.bounds import spanned
from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]

SEA_LEVEL_PA = 101_325.0
TRIPLE_C = 0.01

_ICE = (-5.6745359e3, 6.3925247, -9.677843e-3, 6.2215701e-7, 2.0747825e-9, -9.484024e-13, 4.1635019)
_LIQUID = (-5.8002206e3, 1.3914993, -4.8640239e-2, 4.1764768e-5, -1.4452093e-8, 6.5459673)
"""ASHRAE Handbook Fundamentals (2017), chapter 1, equations 5 and 6."""


def saturation_pa(temperature_c: ArrayLike) -> Floats:
    """Vapour pressure at saturation in Pa, over ice below 0.01 °C, over water above (Hyland and Wexler).

    Raises BadInput outside -100 to 200 °C, where the correlation ends.
    """
    temperature = np.asarray(temperature_c, dtype=float)
    if temperature.size and not (temperature.min() >= -100 and temperature.max() <= 200):
        raise BadInput(
            f"Air of {spanned(temperature.min(), temperature.max())} °C is outside the steam tables.",
            "Keep `temperature_c` from -100 to 200.",
        )
    kelvin = temperature + 273.15
    a = _ICE
    ice = a[0] / kelvin + a[1] + kelvin * (a[2] + kelvin * (a[3] + kelvin * (a[4] + kelvin * a[5])))
    b = _LIQUID
    liquid = b[0] / kelvin + b[1] + kelvin * (b[2] + kelvin * (b[3] + kelvin * b[4]))
    log_pressure = np.where(
        temperature <= TRIPLE_C, ice + a[6] * np.log(kelvin), liquid + b[5] * np.log(kelvin)
    )
    pressure: Floats = np.exp(log_pressure)
    return pressure


def humidity_ratio(temperature_c: ArrayLike, relative_humidity: ArrayLike, pressure_pa: ArrayLike) -> Floats:
    """Kg of water per kg of dry air: 0.621945 pw / (p - pw) (ASHRAE 2017, 1, equation 20)."""
    vapour = np.asarray(relative_humidity, dtype=float) * saturation_pa(temperature_c)
    ratio: Floats = 0.621945 * vapour / (np.asarray(pressure_pa, dtype=float) - vapour)
    least: Floats = np.maximum(ratio, 1e-7)
    return least


def humidity_ratio_at_wet_bulb(
    temperature_c: ArrayLike, wet_bulb_c: ArrayLike, pressure_pa: ArrayLike
) -> Floats:
    """Kg of water per kg of dry air from the wet bulb (ASHRAE 2017, 1, equations 33 and 35)."""
    dry = np.asarray(temperature_c, dtype=float)
    wet = np.asarray(wet_bulb_c, dtype=float)
    saturated = humidity_ratio(wet, 1.0, pressure_pa)
    over_water = ((2501 - 2.326 * wet) * saturated - 1.006 * (dry - wet)) / (2501 + 1.86 * dry - 4.186 * wet)
    over_ice = ((2830 - 0.24 * wet) * saturated - 1.006 * (dry - wet)) / (2830 + 1.86 * dry - 2.1 * wet)
    ratio: Floats = np.maximum(np.where(wet >= 0, over_water, over_ice), 1e-7)
    return ratio


def wet_bulb_c(temperature_c: ArrayLike, relative_humidity: ArrayLike, pressure_pa: ArrayLike) -> Floats:
    """Wet bulb in °C of air of any shape, relative humidity from 0 to 1.

    The temperature at which saturated air has the same enthalpy balance, by bisection to 0.001 K between dry
    bulb less 60 K and dry bulb: psychrolib's method (GetTWetBulbFromHumRatio), vectorised, because that
    one takes 1.5 s for a year and a second to import. Raises BadInput for a humidity outside 0 to 1.
    """
    dry, humidity, pressure = np.broadcast_arrays(
        np.asarray(temperature_c, dtype=float),
        np.asarray(relative_humidity, dtype=float),
        np.asarray(pressure_pa, dtype=float),
    )
    if humidity.size and not (humidity.min() >= 0 and humidity.max() <= 1):
        raise BadInput(
            f"A relative humidity of {spanned(humidity.min(), humidity.max())} is not a share.",
            "Give `relative_humidity` from 0 to 1.",
        )
    ratio = humidity_ratio(dry, humidity, pressure)
    low = np.maximum(dry - 60, -99.0)  # drier than any air on earth
    high = dry.copy()
    for _ in range(20):  # 60 K halved 20 times is 6e-5 K
        middle = (low + high) / 2
        above = humidity_ratio_at_wet_bulb(dry, middle, pressure) > ratio
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    found: Floats = (low + high) / 2
    return found


def dew_point_c(temperature_c: ArrayLike, relative_humidity: ArrayLike) -> Floats:
    """Dew point in °C: where the vapour saturates, by bisection to 1e-4 K; never above the dry bulb."""
    dry, humidity = np.broadcast_arrays(
        np.asarray(temperature_c, dtype=float), np.asarray(relative_humidity, dtype=float)
    )
    vapour = humidity * saturation_pa(dry)
    low = np.full(dry.shape, -99.0)
    high = dry.copy()
    for _ in range(22):
        middle = (low + high) / 2
        above = saturation_pa(middle) > vapour
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    found: Floats = (low + high) / 2
    return found


def relative_humidity_at_dew_point(temperature_c: ArrayLike, dew_c: ArrayLike) -> Floats:
    """Relative humidity, 0 to 1, from dry bulb and dew point: the ratio of saturation pressures."""
    share: Floats = np.clip(saturation_pa(dew_c) / saturation_pa(temperature_c), 0, 1)
    return share
