"""The loss of a job as a curve over its steps, live, with faults and the work they undid."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.voice import Voice

POINTS_MAX = 600
"""Beyond this every other point is left out: the browser draws no more, and the page sends no more."""

SMOOTH = 0.85
"""Weight of what was, in the smoothed curve."""

RUNS_DRAWN = 20
FONTS = "Roboto, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'WenQuanYi Micro Hei', sans-serif"


def _css(name: str) -> str:
    """An expression that the browser evaluates to a colour of the page as it is now, dark or light."""
    return f"getComputedStyle(document.body).getPropertyValue('--{name}').trim()"


class Curve:
    """Mutable owner of one chart and its points."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._points: dict[tuple[str, int], sc.Metric] = {}
        self._log = False
        self._changed = False
        self._chart = (
            ui.echart(_empty(voice))
            .classes("sv-chart")
            .props(f'role=img aria-label="{voice.say("curve.title")}"')
        )

    @property
    def has_points(self) -> bool:
        """Whether there is anything to draw."""
        return any(point.loss is not None for point in self._points.values())

    def add(self, metrics: Sequence[sc.Metric]) -> None:
        """Take up reports of steps; the same one twice is one."""
        for point in metrics:
            self._points[point.run, point.step] = point
            self._changed = True
        if len(self._points) > 2 * POINTS_MAX:
            kept = list(self._points.items())
            self._points = dict([*kept[:-1:2], kept[-1]])

    def clear(self) -> None:
        """Forget all points: they are read anew."""
        self._points.clear()
        self._changed = True

    def set_log(self, log: bool) -> None:
        """Draw the loss on a logarithmic axis, or not."""
        self._log = log
        self._changed = True

    def restyle(self) -> None:
        """Draw again in the colours of the page as it is now."""
        self._changed = True

    def draw(self, runs: Sequence[sc.Run]) -> None:
        """Draw what has changed."""
        if not self._changed:
            return
        self._changed = False
        options = self._options(runs)
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()

    def _options(self, runs: Sequence[sc.Run]) -> dict[str, Any]:
        points = [p for p in self._points.values() if p.loss is not None and (p.loss > 0 or not self._log)]
        order = {run.run: index for index, run in enumerate(runs)}
        by_run: dict[str, list[sc.Metric]] = {}
        for point in sorted(points, key=lambda p: (order.get(p.run, len(order)), p.step)):
            by_run.setdefault(point.run, []).append(point)
        lines = list(by_run.values())[-RUNS_DRAWN:]
        options = _empty(self._voice)
        options["yAxis"] |= self._axis([p.loss for p in points if p.loss is not None])
        series: list[dict[str, Any]] = [
            _line(self._voice.say("curve.loss"), _raw(line), faint=True) for line in lines
        ]
        name = self._voice.say("curve.smooth")
        series += [_line(name, smooth, faint=False) for smooth in _smoothed(lines)]
        series.append(_faults(self._voice, runs, by_run))
        options["series"] = series
        steps = max((p.steps or 0 for p in points), default=0)
        options["xAxis"]["max"] = steps or None
        return options

    def _axis(self, losses: list[float]) -> dict[str, Any]:
        if not losses or not self._log:
            return {"type": "value", "scale": True}
        low, high = min(losses), max(losses)
        base = max((high / low) ** 0.2, 1.01)  # about five lines, wherever the losses lie
        return {"type": "log", "logBase": base, "min": low / base**0.25, "max": high * base**0.25}


def _empty(voice: Voice) -> dict[str, Any]:
    axis = {":color": _css("muted"), "fontSize": 12}
    line = {"lineStyle": {":color": _css("line")}}
    return {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"fontFamily": FONTS},
        "grid": {"left": 52, "right": 18, "top": 26, "bottom": 40},
        "tooltip": {
            "trigger": "axis",
            ":backgroundColor": _css("surface"),
            ":borderColor": _css("line"),
            "textStyle": {":color": _css("ink"), "fontSize": 12},
            ":valueFormatter": "v => v == null ? '' : Number(v).toFixed(4)",
        },
        "xAxis": {
            "type": "value",
            "name": voice.say("curve.step"),
            "nameLocation": "middle",
            "nameGap": 26,
            "nameTextStyle": axis,
            "axisLabel": axis,
            "axisLine": line,
            "splitLine": {"show": False},
            "minInterval": 1,
        },
        "yAxis": {
            "type": "value",
            "name": voice.say("curve.loss"),
            "nameTextStyle": axis | {"align": "right"},
            "axisLabel": axis | {":formatter": "v => Number(v).toFixed(2)"},
            "splitLine": line,
            "scale": True,
        },
        "series": [],
    }


def _line(name: str, data: list[list[float]], faint: bool) -> dict[str, Any]:
    colour = _css("faint" if faint else "run")
    return {
        "type": "line",
        "name": name,
        "data": data,
        "showSymbol": False,
        "silent": faint,
        "z": 2 if faint else 3,
        "lineStyle": {"width": 1 if faint else 2, ":color": colour},
        "itemStyle": {":color": colour},
    }


def _raw(line: list[sc.Metric]) -> list[list[float]]:
    return [[p.step, round(p.loss, 5)] for p in line if p.loss is not None]


def _smoothed(lines: Sequence[Sequence[sc.Metric]]) -> list[list[list[float]]]:
    """An exponential mean of each run's loss, which goes on from where the run before was at that step."""
    known: dict[int, float] = {}
    smooth = []
    for line in lines:
        before = [step for step in known if step < line[0].step]
        mean, seen = (known[max(before)], len(before)) if before else (0.0, 0)
        data = []
        for point in line:
            assert point.loss is not None
            seen += 1
            mean += max(1 - SMOOTH, 1 / seen) * (
                point.loss - mean
            )  # at first the plain mean, so it doesn't lag
            known[point.step] = mean
            data.append([float(point.step), round(mean, 5)])
        smooth.append(data)
    return smooth


def _faults(voice: Voice, runs: Sequence[sc.Run], by_run: dict[str, list[sc.Metric]]) -> dict[str, Any]:
    """Upright lines where faults struck, and the steps that had to be taken again."""
    lines, areas = [], []
    for run in runs:
        taken = by_run.get(run.run, [])
        if run.ended_ms is None or not (run.fault or run.code) or not taken:
            continue
        last = taken[-1].step
        lines.append(
            {"xAxis": last, "label": {"formatter": voice.say("curve.fault" if run.fault else "curve.failed")}}
        )
        saved = run.checkpoint_step if run.checkpoint_step is not None else taken[0].step
        if saved < last:
            areas.append([{"xAxis": saved}, {"xAxis": last}])
    bad = {":color": _css("bad")}
    return {
        "type": "line",
        "name": "",
        "data": [],
        "markLine": {
            "symbol": "none",
            "silent": True,
            "lineStyle": {**bad, "type": "dashed", "width": 1.5},
            "label": {**bad, "position": "end", "fontSize": 11},
            "data": lines,
        },
        "markArea": {"silent": True, "itemStyle": {**bad, "opacity": 0.1}, "data": areas},
    }
