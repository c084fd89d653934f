"""Curves of the measures of a sweep, as SVG that a page can hold: one panel per measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from topmix.model_selection.measure import Size

if TYPE_CHECKING:
    from topmix.model_selection.result import SweepResult

WIDE, HIGH = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 12, 40


def curve(result: SweepResult, measure: str) -> str:
    """One panel: means over seeds as a line, spreads as bars, single fits as dots, and the recommended size."""
    sizes = [size for size in result.sizes if np.isfinite(size.mean(measure))]
    if not sizes:
        return ""
    x_of = _Axis([size.n_components for size in result.sizes], LEFT + 14, WIDE - RIGHT - 14, is_log=True)
    values = [getattr(fit, measure) for size in sizes for fit in size.fits]
    values += [size.mean(measure) + sign * _spread(size, measure) for size in sizes for sign in (-1, 1)]
    floor = max(size.mean(measure) for size in sizes) - result.allowed
    y_of = _Axis([v for v in values if np.isfinite(v)], HIGH - BOTTOM - 8, TOP + 8)
    parts = [f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{measure} against the number of topics">']
    for tick in ticks(y_of.low, y_of.high):
        y = y_of(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(tick, y_of)}</text>')
    if result.recommended is not None:
        x = x_of(result.recommended)
        parts.append(f'<line class="chosen" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HIGH - BOTTOM}"/>')
    if measure == "score" and floor >= y_of.low:
        y = y_of(floor)
        parts.append(f'<line class="floor" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    last = -np.inf
    for size in result.sizes:
        x = x_of(size.n_components)
        if x - last >= 9 * len(str(size.n_components)):  # labels that would overlap are left out
            parts.append(f'<text x="{x:.1f}" y="{HIGH - BOTTOM + 18}" text-anchor="middle">{size.n_components}</text>')
            last = x
    parts.append(f'<text x="{(LEFT + WIDE - RIGHT) / 2}" y="{HIGH - 5}" text-anchor="middle">topics</text>')
    points = [(x_of(size.n_components), y_of(size.mean(measure))) for size in sizes]
    parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
    for size, (x, y) in zip(sizes, points):
        spread = _spread(size, measure)
        if spread > 0:
            low, high = y_of(size.mean(measure) - spread), y_of(size.mean(measure) + spread)
            parts.append(f'<line class="spread" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        if size.n_seeds > 1:
            dots = (y_of(getattr(fit, measure)) for fit in size.fits)
            parts += [f'<circle class="fit" cx="{x:.1f}" cy="{dot:.1f}" r="2.2"/>' for dot in dots]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    return "".join([*parts, "</svg>"])


class _Axis:
    """Values to positions, from `begin` at the smallest to `end` at the largest."""

    def __init__(self, values: Sequence[float], begin: float, end: float, is_log: bool = False):
        self.is_log, self.begin, self.end = is_log, begin, end
        self.low, self.high = min(values), max(values)
        if not is_log and self.high - self.low < 1e-9:
            self.low, self.high = self.low - 0.01, self.high + 0.01

    def __call__(self, value: float) -> float:
        scale = np.log if self.is_log else float
        low, high, v = (float(scale(number)) for number in (self.low, self.high, value))
        part = (v - low) / (high - low) if high > low else 0.5
        return float(self.begin + part * (self.end - self.begin))


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Round values between low and high: steps of 1, 2 or 5 times a power of ten, about n of them."""
    rough = (high - low) / n
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(s for s in (1, 2, 5, 10) if s * power >= rough)
    return [float(k * step) for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _number(value: float, axis: _Axis) -> str:
    digits = max(0, int(np.ceil(-np.log10((axis.high - axis.low) / 5))))
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _spread(size: Size, measure: str) -> float:
    spread = size.spread(measure)
    return spread if np.isfinite(spread) else 0.0
