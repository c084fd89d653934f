"""The page of a sweep: the recommendation, the curves and the table, in one file that loads nothing else."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from topmix._version import __version__
from topmix.model_selection.curves import curve
from topmix.model_selection.measure import MEASURES, Size
from topmix.pages.assets import style

if TYPE_CHECKING:
    from topmix.model_selection.result import SweepResult

DIGITS = {"score": 4, "coherence": 3, "diversity": 3, "stability": 3, "seconds": 1}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(result: SweepResult, title: str) -> str:
    """The HTML of the page. There is no script in it."""
    name, sheet = html.escape(title), style("sweep.css")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{name}</title>\n<style>\n{sheet}</style>\n</head>\n'
        f"<body>\n<h1>{name}</h1>\n{_about(result)}\n{_advice(result)}\n{_curves(result)}\n{_table(result)}\n"
        f"{_meanings()}\n<footer>made by topmix {html.escape(__version__)}</footer>\n</body>\n</html>\n"
    )


def fragment(result: SweepResult) -> str:
    """The table and the recommendation, for a notebook, which has its own style."""
    return f"<div>{_table(result)}{_about(result)}{_advice(result)}</div>"


def in_cell(size: Size, measure: str) -> str:
    """The mean, and the spread where there are several seeds. Seconds have none: the table stays narrow."""
    mean, spread, digits = size.mean(measure), size.spread(measure), DIGITS[measure]
    if not np.isfinite(mean):
        return "-"
    return (
        f"{mean:.{digits}f} ± {spread:.{digits}f}"
        if np.isfinite(spread) and measure != "seconds"
        else f"{mean:.{digits}f}"
    )


def _about(result: SweepResult) -> str:
    return (
        f'<p class="about">{html.escape(result.estimator)}, {result.n_docs:,} documents to learn from with '
        f"{result.n_tokens:,.0f} tokens of {result.n_words:,} words, {result.n_held_out:,} documents held out</p>"
    )


def _advice(result: SweepResult) -> str:
    chosen = "No recommendation" if result.recommended is None else f"{result.recommended} topics"
    return f'<section class="advice"><h2>{chosen}</h2><p>{html.escape(result.reason)}</p></section>'


def _curves(result: SweepResult) -> str:
    panels = [(measure, curve(result, measure)) for measure in MEASURES if measure != "seconds"]
    figures = "".join(
        f"<figure><figcaption><b>{measure}</b> {html.escape(MEASURES[measure])}</figcaption>{svg}</figure>"
        for measure, svg in panels
        if svg
    )
    return f'<section class="curves">{figures}</section>'


def _table(result: SweepResult) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("topics", "seeds", *MEASURES))
    rows = []
    for size in result.sizes:
        kind = ' class="chosen"' if size.n_components == result.recommended else ""
        cells = [str(size.n_components), str(size.n_seeds), *(in_cell(size, measure) for measure in MEASURES)]
        rows.append(f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _meanings() -> str:
    return (
        '<p class="about">Values are means over seeds ± the standard deviation between seeds. Large dots are means, '
        "small dots are single fits. The solid upright line is the recommended size; the dashed line is how low a "
        "score is as good as the best.</p>"
    )
