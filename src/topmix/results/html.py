"""A fitted topic model as HTML, for notebooks: its topics as a table, and their map. No script, and nothing is fetched.

Everything that comes from the data is escaped, and colours follow the notebook: it may be light or dark.
"""

from __future__ import annotations

from html import escape

import numpy as np

from topmix.results.names import relevant_words_of
from topmix.results.topic_map import map_hues, map_radii
from topmix.results.topics import Fitted
from topmix.results.view import TopicView

MOST_ROWS = 12
MOST_CIRCLES = 100  # topics: with more, positions take longer than a notebook should wait
WORDS, LABEL = 8, 2
SIDE = 320  # pixels
LONGEST = 24  # letters of a word


def html_of(f: Fitted, owner: str) -> str:
    """`owner` is the name of the estimator."""
    view = f.view
    shown = range(view.n_topics) if view.n_topics <= MOST_CIRCLES else view.by_size()[:MOST_ROWS].tolist()
    is_empty = view.is_empty()
    labels = {
        k: [] if is_empty[k] else [word[:LONGEST] for word in relevant_words_of(view, view.topic_word[k], WORDS)]
        for k in shown
    }
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start">'
        f'<div style="flex:1 1 380px;min-width:0">{_table(f, owner, labels)}</div>{_svg_map(view, labels)}</div>'
    )


def _table(f: Fitted, owner: str, labels: dict[int, list[str]]) -> str:
    names, view = f.names, f.view
    order = view.by_size().tolist()
    cell = 'style="text-align:left;padding:2px 10px 2px 0"'
    head = "".join(f"<th scope='col' {cell}>{title}</th>" for title in ("topic", "share", "words"))
    rows = []
    for k in order[:MOST_ROWS]:
        name = f"<b>{escape(names[k][:60])}</b> " if k in names else ""
        words = escape(" ".join(labels[k])) or "(empty)"
        rows.append(
            f"<tr><td {cell}>{k}</td><td {cell}>{100 * view.share[k]:.1f}%</td><td {cell}>{name}{words}</td></tr>"
        )
    rest = len(order) - MOST_ROWS
    more = f"<p style='opacity:.7'>{rest:,} smaller topics are not shown: topic_info()</p>" if rest > 0 else ""
    title = f"{owner} with {len(order):,} topics of {len(view.words):,} words"
    return f"<p><b>{escape(title)}</b></p><table><tr>{head}</tr>{''.join(rows)}</table>{more}"


def _svg_map(view: TopicView, labels: dict[int, list[str]]) -> str:
    K = view.n_topics
    if not 2 < K <= MOST_CIRCLES:
        return ""
    # The circles fill the square.
    places, radii, hues = view.places, map_radii(view.share), map_hues(view.places)
    low, high = (places - radii[:, None]).min(axis=0), (places + radii[:, None]).max(axis=0)
    scale = (SIDE - 2) / float((high - low).max())
    at, radii = SIDE / 2 + scale * (places - (low + high) / 2) * [1, -1], np.maximum(scale * radii, 2.0)
    circles, said = [], []
    taken: list[tuple[float, float, float]] = []
    for k in view.by_size().tolist():  # the largest first: small circles lie on top, and large topics get their label
        x, y = at[k].tolist()
        title = escape(f"topic {k}, {100 * view.share[k]:.1f}%: {' '.join(labels[k])}")
        circles.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radii[k]:.1f}" fill="hsl({hues[k]:.0f} 48% 56%)" '
            f'fill-opacity=".75"><title>{title}</title></circle>'
        )
        text = f"{k} {' '.join(labels[k][:LABEL])}"[:28]
        half = 2.9 * len(text)
        x = min(max(x, half), SIDE - half)
        if all(abs(y - other) > 13 or abs(x - middle) > half + wide for middle, other, wide in taken):
            taken.append((x, y, half))
            said.append(f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{escape(text)}</text>')
    return (
        f'<svg style="flex:none" width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}" role="img" '
        f'aria-label="Map of the topics: topics with the same words are near each other">{"".join(circles)}'
        f'<g font-size="10" text-anchor="middle" fill="currentColor" font-family="sans-serif">{"".join(said)}</g></svg>'
    )
