"""The page of a sweep, without a script: the recommendation, a curve of each measure as SVG, and the table."""

from __future__ import annotations

import html

import numpy as np

from topmix._version import __version__
from topmix.apps.page import frame, safe_head, style
from topmix.selection.measure import MEASURES
from topmix.selection.result import SweepResult, about, advice, html_table

WIDE, HIGH = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 12, 40
INSIDE = 14  # between the ends of an axis and its first and last points


def sweep_page(result: SweepResult, title: str) -> str:
    figure = "<figure><figcaption><b>{}</b> {}</figcaption>{}</figure>"
    curves = {measure: curve(result, measure) for measure in MEASURES if measure != "seconds"}
    return frame(
        title,
        template="sweep.html",
        head=safe_head(style("sweep.css")),
        about=about(result),
        advice=advice(result),
        curves="".join(figure.format(name, html.escape(MEASURES[name]), svg) for name, svg in curves.items() if svg),
        table=html_table(result),
        version=html.escape(__version__),
    )


def curve(result: SweepResult, measure: str) -> str:
    """Means as a line, spreads as bars, single fits as dots where there are several seeds, over the logarithm of the
    number of topics. The upright line is the recommended size, and the dashed one how low a score is as good as the
    best. Nothing where nothing was measured."""
    sizes = [size for size in result.sizes if np.isfinite(size.mean(measure))]
    if not sizes:
        return ""
    means = np.array([size.mean(measure) for size in sizes])
    spreads = np.nan_to_num([size.spread(measure) for size in sizes])
    fits = [size.values(measure) if size.n_seeds > 1 else () for size in sizes]
    values = np.concatenate([means - spreads, means + spreads, *fits])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    axis = [size.n_components for size in result.sizes]
    first, last = np.log([axis[0], axis[-1]])

    def x_of(n: int) -> float:
        part = np.interp(np.log(n), (first, last), (0.0, 1.0)) if last > first else 0.5
        return float(LEFT + INSIDE + part * (WIDE - RIGHT - LEFT - 2 * INSIDE))

    def y_of(y: float) -> float:
        begin, end = HIGH - BOTTOM - 8, TOP + 8
        return float(begin + (y - low) / (high - low) * (end - begin))

    label = f"{measure} against the number of topics"
    parts = [f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{label}">']
    for tick in ticks(low, high):
        parts.append(_line("grid", (LEFT, WIDE - RIGHT), (y_of(tick),) * 2))
        parts.append(_text(LEFT - 8, y_of(tick) + 4, "end", _number(tick, high - low)))
    if result.recommended is not None:
        parts.append(_line("chosen", (x_of(result.recommended),) * 2, (TOP, HIGH - BOTTOM)))
    if measure == "score" and (floor := means.max() - result.allowed) >= low:
        parts.append(_line("floor", (LEFT, WIDE - RIGHT), (y_of(floor),) * 2))
    end = -np.inf
    for n in axis:
        if x_of(n) - end >= 9 * len(str(n)):  # labels that would overlap are left out
            parts.append(_text(x_of(n), HIGH - BOTTOM + 18, "middle", str(n)))
            end = x_of(n)
    parts.append(_text((LEFT + WIDE - RIGHT) / 2, HIGH - 5, "middle", "topics"))
    places = [x_of(size.n_components) for size in sizes]
    line = " ".join(f"{x:.1f},{y_of(mean):.1f}" for x, mean in zip(places, means))
    parts.append(f'<polyline points="{line}"/>')
    for x, mean, spread, single in zip(places, means, spreads, fits):
        if spread > 0:
            parts.append(_line("spread", (x, x), (y_of(mean - spread), y_of(mean + spread))))
        parts += [f'<circle class="fit" cx="{x:.1f}" cy="{y_of(y):.1f}" r="2.2"/>' for y in single]
        parts.append(f'<circle cx="{x:.1f}" cy="{y_of(mean):.1f}" r="4"/>')
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Round values between low and high: steps of 1, 2 or 5 times a power of ten, about n of them."""
    rough = (high - low) / n
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(s for s in (1, 2, 5, 10) if s * power >= rough)
    return [float(k * step) for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _line(kind: str, x: tuple[float, float], y: tuple[float, float]) -> str:
    return f'<line class="{kind}" x1="{x[0]:.1f}" x2="{x[1]:.1f}" y1="{y[0]:.1f}" y2="{y[1]:.1f}"/>'


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _number(value: float, span: float) -> str:
    text = f"{value:.{max(0, int(np.ceil(-np.log10(span / 5))))}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")
