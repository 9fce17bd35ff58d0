"""How many stories are told: the same few each time, many with `--deep`."""

import pytest


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> range:
    """The seeds of the stories to tell."""
    return range(200 if request.config.getoption("markexpr") else 400)
