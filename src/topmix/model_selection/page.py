"""The page of a sweep: the recommendation, a curve of each measure and the table, in one file that loads nothing else.
Curves are SVG, and there is no script."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from topmix._version import __version__
from topmix.model_selection.measure import MEASURES, Measured, Size
from topmix.pages.assets import style

DIGITS = {"score": 4, "coherence": 3, "diversity": 3, "stability": 3, "seconds": 1}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
{about}
{advice}
<section class="curves">{curves}</section>
{table}
<p class="about">Values are means over seeds ± the standard deviation between seeds. Large dots are means, \
small dots are single fits. The solid upright line is the recommended size; the dashed line is how low a \
score is as good as the best.</p>
<footer>made by topmix {version}</footer>
</body>
</html>
"""
WIDE, HIGH = 420, 260  # of a curve
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 12, 40


def page(found: Measured, title: str) -> str:
    curves = [(measure, _curve(found, measure)) for measure in MEASURES if measure != "seconds"]
    figure = "<figure><figcaption><b>{}</b> {}</figcaption>{}</figure>"
    return PAGE.format(
        policy=POLICY,
        title=html.escape(title),
        style=style("sweep.css"),
        about=_about(found),
        advice=_advice(found),
        curves="".join(figure.format(name, html.escape(MEASURES[name]), svg) for name, svg in curves if svg),
        table=_table(found),
        version=html.escape(__version__),
    )


def fragment(found: Measured) -> str:
    """The table and the recommendation, for a notebook, which has its own style."""
    return f"<div>{_table(found)}{_about(found)}{_advice(found)}</div>"


def in_cell(size: Size, measure: str) -> str:
    """The mean, and the spread where there are several seeds. Seconds have none: the table stays narrow."""
    mean, spread, digits = size.mean(measure), size.spread(measure), DIGITS[measure]
    if not np.isfinite(mean):
        return "-"
    has_spread = np.isfinite(spread) and measure != "seconds"
    return f"{mean:.{digits}f} ± {spread:.{digits}f}" if has_spread else f"{mean:.{digits}f}"


def _about(found: Measured) -> str:
    size = f" with {found.n_tokens:,.0f} tokens of {found.n_words:,} words" if found.n_tokens else ""
    return (
        f'<p class="about">{html.escape(found.estimator)}, {found.n_docs:,} documents to learn from{size}, '
        f"{found.n_held_out:,} documents held out</p>"
    )


def _advice(found: Measured) -> str:
    chosen = "No recommendation" if found.recommended is None else f"{found.recommended} topics"
    return f'<section class="advice"><h2>{chosen}</h2><p>{html.escape(found.reason)}</p></section>'


def _table(found: Measured) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("topics", "seeds", *MEASURES))
    rows = []
    for size in found.sizes:
        kind = ' class="chosen"' if size.n_components == found.recommended else ""
        cells = [str(size.n_components), str(size.n_seeds), *(in_cell(size, measure) for measure in MEASURES)]
        rows.append(f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _curve(found: Measured, measure: str) -> str:
    """Means over seeds as a line, spreads as bars, single fits as dots, and the recommended size."""
    sizes = [size for size in found.sizes if np.isfinite(size.mean(measure))]
    if not sizes:
        return ""
    mean = {size.n_components: size.mean(measure) for size in sizes}
    spread = {size.n_components: float(np.nan_to_num(size.spread(measure))) for size in sizes}
    values = [value for size in sizes for value in size.values(measure) if np.isfinite(value)]
    values += [mean[K] + sign * spread[K] for K in mean for sign in (-1, 1)]
    x_of = _Axis([size.n_components for size in found.sizes], LEFT + 14, WIDE - RIGHT - 14, is_log=True)
    y_of = _Axis(values, HIGH - BOTTOM - 8, TOP + 8)
    parts = [f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{measure} against the number of topics">']
    for tick in ticks(y_of.low, y_of.high):
        parts.append(_line("grid", (LEFT, WIDE - RIGHT), (y_of(tick), y_of(tick))))
        parts.append(f'<text x="{LEFT - 8}" y="{y_of(tick) + 4:.1f}" text-anchor="end">{_number(tick, y_of)}</text>')
    if found.recommended is not None:
        parts.append(_line("chosen", (x_of(found.recommended),) * 2, (TOP, HIGH - BOTTOM)))
    floor = max(mean.values()) - found.allowed
    if measure == "score" and floor >= y_of.low:
        parts.append(_line("floor", (LEFT, WIDE - RIGHT), (y_of(floor), y_of(floor))))
    last = -np.inf
    for size in found.sizes:
        x, label = x_of(size.n_components), str(size.n_components)
        if x - last >= 9 * len(label):  # labels that would overlap are left out
            parts.append(f'<text x="{x:.1f}" y="{HIGH - BOTTOM + 18}" text-anchor="middle">{label}</text>')
            last = x
    parts.append(f'<text x="{(LEFT + WIDE - RIGHT) / 2}" y="{HIGH - 5}" text-anchor="middle">topics</text>')
    points = " ".join(f"{x_of(K):.1f},{y_of(mean[K]):.1f}" for K in mean)
    parts.append(f'<polyline points="{points}"/>')
    for size in sizes:
        K, x = size.n_components, x_of(size.n_components)
        if spread[K] > 0:
            parts.append(_line("spread", (x, x), (y_of(mean[K] - spread[K]), y_of(mean[K] + spread[K]))))
        if size.n_seeds > 1:
            dots = map(y_of, size.values(measure))
            parts += [f'<circle class="fit" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for y in dots]
        parts.append(f'<circle cx="{x:.1f}" cy="{y_of(mean[K]):.1f}" r="4"/>')
    return "".join([*parts, "</svg>"])


def _line(kind: str, x: tuple[float, float], y: tuple[float, float]) -> str:
    return f'<line class="{kind}" x1="{x[0]:.1f}" x2="{x[1]:.1f}" y1="{y[0]:.1f}" y2="{y[1]:.1f}"/>'


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
