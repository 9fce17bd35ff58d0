"""How hard the property tests try: the same modest examples each time, or many new ones with `--deep`."""

import pytest
from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "modest", max_examples=60, derandomize=True, deadline=None, suppress_health_check=SLOW
)
settings.register_profile("deep", settings.get_profile("modest"), max_examples=1_500, derandomize=False)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("modest" if config.getoption("markexpr") else "deep")
