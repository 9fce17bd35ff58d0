"""No number that is none, and none that is absurd, gets an answer."""

import json
from typing import Any

import pytest

from starverse.main.commands import build
from starverse.model.errors import BadInput
from starverse.planning.checkpoints import plan_checkpoint
from starverse.planning.cooling import plan_cooling
from starverse.planning.faults import plan_faults


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e30", "-1e30"])
@pytest.mark.parametrize(
    ("ask", "name"),
    [
        *((plan_faults, name) for name in ("days", "age_years", "temperature_c")),
        *((plan_checkpoint, name) for name in ("parameters", "volume_bytes_per_s", "stops_per_hour")),
        *((plan_checkpoint, name) for name in ("memory_survives", "restart_s", "least_interval_s")),
        *((plan_cooling, name) for name in ("power_w", "inlet_c", "flow_l_per_min", "limit_c")),
    ],
)
def test_no_absurd_number_is_answered(ask: Any, name: str, value: str) -> None:
    with pytest.raises(BadInput):
        ask(**{name: float(value)})


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e30"])
def test_no_absurd_buffer_is_answered(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build()(["plan", "collective", "ethernet:8", "--megabytes", value, "--json"])
    assert end.value.code == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "bad-input"
