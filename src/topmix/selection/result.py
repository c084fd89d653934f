"""What a sweep found: tables and the recommendation. What a consensus found: the model, and how far its topics can be
relied on."""

from __future__ import annotations

import html
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from topmix.results.measures import Floats
from topmix.results.topics import FittedTopics
from topmix.results.view import LEVEL, DataFrame, Reproducibility, by_columns, frame
from topmix.selection.measure import MEASURES, MeasuredFit, Size
from topmix.selection.views import Model, fitted_of

DIGITS = {"score": 4, "coherence": 3, "diversity": 3, "stability": 3, "seconds": 1}
PRINTED_WORDS = 8  # of a topic
WIDTH = 100  # characters, where nobody says how many there are


def plain_table(width: int | None = None) -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, width=width)


class Printed:
    """A result that is shown as rich draws it, also where there is no terminal."""

    def __str__(self) -> str:
        out = io.StringIO()
        Console(file=out, width=WIDTH, no_color=True).print(self)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class SweepResult(Printed):
    """What `topmix.sweep` found. Printing it shows the table and the recommendation.

    Attributes
    ----------
    recommended : int or None
        The number of topics: the smallest whose score is within one standard error, or within `tolerance`, of the best.
    reason : str
        Why, in words, and whether the range of sizes should be extended.
    table : DataFrame
        One row per size: means over seeds of score, coherence, diversity, stability and seconds, and their spreads;
        from `stability_low` to `stability_high` the stability of other fits of this size would be; `reproducibility`
        is the share of topics that another seed has too.
    between : pair of int or None
        The smallest and the largest size that the data does not tell apart, where there is more than one.
    fits_table : DataFrame
        One row per fit.
    interrupted : bool
        Whether Ctrl-C ended the sweep. The tables have what was measured before.
    """

    sizes: tuple[Size, ...]
    recommended: int | None
    reason: str
    allowed: float  # below the best score by at most so much is as good, for the recommended size
    interrupted: bool
    estimator: str
    n_docs: int  # that were learned from
    n_held_out: int
    n_tokens: float
    n_words: int
    tolerance: float
    between: tuple[int, int] | None = None
    frame: str | None = field(default=None, compare=False)  # of which kind tables should be

    @property
    def fits(self) -> tuple[MeasuredFit, ...]:
        """One entry per fit, small sizes first."""
        return tuple(fit for size in self.sizes for fit in size.fits)

    @property
    def table(self) -> DataFrame:
        columns: dict[str, list[float]] = {
            "n_components": [size.n_components for size in self.sizes],
            "seeds": [size.n_seeds for size in self.sizes],
        }
        for measure in MEASURES:
            columns[measure] = [size.mean(measure) for size in self.sizes]
            columns[f"{measure}_spread"] = [size.spread(measure) for size in self.sizes]
        columns["stability_low"] = [size.stability_interval()[0] for size in self.sizes]
        columns["stability_high"] = [size.stability_interval()[1] for size in self.sizes]
        columns["reproducibility"] = [size.mean("reproducibility") for size in self.sizes]
        return frame(columns, self.frame)

    @property
    def fits_table(self) -> DataFrame:
        rows = [fit.to_dict() for fit in self.fits]
        return frame(by_columns(list(rows[0]), [list(row.values()) for row in rows]), self.frame)

    def to_dict(self) -> dict[str, object]:
        """Everything as numbers and texts, for JSON."""
        return {
            **{name: value for name, value in vars(self).items() if name not in ("sizes", "allowed")},
            "sizes": [size.to_dict() for size in self.sizes],
            "fits": [fit.to_dict() for fit in self.fits],
        }

    def __rich__(self) -> Group:
        lines = plain_table()
        for heading in ("topics", *MEASURES):
            lines.add_column(heading, justify="right")
        for size in self.sizes:
            is_chosen = size.n_components == self.recommended
            cells = [in_cell(size, measure) for measure in MEASURES]
            lines.add_row(str(size.n_components), *cells, style="bold" if is_chosen else None)
        about = f"{self.estimator}, {self.n_docs:,} documents to learn from, {self.n_held_out:,} held out"
        if any(size.n_seeds > 1 for size in self.sizes):
            about += "; mean ± standard deviation between seeds"
        chosen = "Recommended: none." if self.recommended is None else f"Recommended: {self.recommended} topics."
        return Group(lines, Text(f"\n{about}\n", style="dim"), Text.assemble((chosen, "bold"), " ", self.reason))

    def _repr_html_(self) -> str:
        """For a notebook, which has its own style."""
        parts = html_parts(self)
        return f"<div>{parts['table']}{parts['about']}{parts['advice']}</div>"


def in_cell(size: Size, measure: str) -> str:
    """The mean, and the spread where there are several seeds. Seconds have none: the table stays narrow."""
    mean, spread, digits = size.mean(measure), size.spread(measure), DIGITS[measure]
    if not np.isfinite(mean):
        return "-"
    has_spread = np.isfinite(spread) and measure != "seconds"
    return f"{mean:.{digits}f} ± {spread:.{digits}f}" if has_spread else f"{mean:.{digits}f}"


def html_parts(found: SweepResult) -> dict[str, str]:
    """What it is about, the recommendation, and the table."""
    head = "".join(f"<th>{name}</th>" for name in ("topics", "seeds", *MEASURES))
    rows = []
    for size in found.sizes:
        kind = ' class="chosen"' if size.n_components == found.recommended else ""
        cells = [str(size.n_components), str(size.n_seeds), *(in_cell(size, measure) for measure in MEASURES)]
        rows.append(f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    n_tokens = f" with {found.n_tokens:,.0f} tokens of {found.n_words:,} words" if found.n_tokens else ""
    about = (
        f"{html.escape(found.estimator)}, {found.n_docs:,} documents to learn from{n_tokens}, "
        f"{found.n_held_out:,} documents held out"
    )
    chosen = "No recommendation" if found.recommended is None else f"{found.recommended} topics"
    return {
        "about": f'<p class="about">{about}</p>',
        "advice": f'<section class="advice"><h2>{chosen}</h2><p>{html.escape(found.reason)}</p></section>',
        "table": f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>",
    }


@dataclass(frozen=True, repr=False)
class ConsensusResult(Printed):
    """What `topmix.consensus` found. Printing it shows the topics, the most reliable first.

    Attributes
    ----------
    model : topic model or mixture
        A fitted model like any other: save it, transform documents, edit and explore it. Its file has the numbers of
        the table too, and `topic_info` shows them.
    table : DataFrame
        One row per topic of the model. `reproducibility` is the share of the fits that have the topic, and `low` and
        `high` its interval; `similarity` is how alike the topic is in the fits, and `sharpness` by how much its match
        is better than the next best; `reliability` is the probability that the topic is real. `real` says whether it is
        called real: of such topics 95% are. `always` are words that nearly all fits with the topic have, `sometimes`
        words that come and go.
    is_real : ndarray of shape (n_topics,)
        The column `real`, by the number of the topic.
    doc_topic : sparse array of shape (n_samples, n_topics)
        Topic proportions of the documents, mean over the fits.
    similarity : ndarray of shape (n_fits, n_topics)
        Of each topic and its partner in each fit, from 0 to 1.
    reproducibility : Reproducibility
        The numbers of the table, as they are saved with the model.
    interrupted : bool
        Whether Ctrl-C ended the fits. The consensus is of those that were made.
    """

    model: Model
    reproducibility: Reproducibility
    doc_topic: sp.csr_array
    similarity: Floats
    interrupted: bool = False
    frame: str | None = field(default=None, compare=False)  # of which kind tables should be

    @property
    def is_real(self) -> NDArray[np.bool_]:
        return self.reproducibility.is_real

    @property
    def n_fits(self) -> int:
        return self.reproducibility.n_fits

    def labels(self) -> NDArray[np.int64]:
        """The largest topic of each document, by `doc_topic`."""
        return np.asarray(self.doc_topic.argmax(axis=1), np.int64).ravel()

    @property
    def table(self) -> DataFrame:
        columns = self._columns()
        order = np.lexsort((-self.reproducibility.similarity, ~self.is_real)).tolist()
        return frame({name: [values[k] for k in order] for name, values in columns.items()}, self.frame)

    def _columns(self) -> dict[str, list[Any]]:
        """By topic."""
        r, f = self.reproducibility, fitted_of(self.model)
        words, K = f.words, len(r.found)
        named = f.topic_names if isinstance(f, FittedTopics) else [str(k) for k in range(K)]
        return {
            "topic": list(range(K)),
            "name": named,
            "reproducibility": r.found.tolist(),
            **{name: vars(r)[name].tolist() for name in ("low", "high", "similarity", "sharpness", "reliability")},
            "real": r.is_real.tolist(),
            "always": [[words[v] for v in r.always(k)] for k in range(K)],
            "sometimes": [[words[v] for v in r.sometimes(k)] for k in range(K)],
        }

    def to_dict(self) -> dict[str, object]:
        """The table as numbers and texts, for JSON."""
        columns = self._columns()
        topics = [{name: values[k] for name, values in columns.items()} for k in range(len(self.is_real))]
        return {"fits": self.n_fits, "level": LEVEL, "interrupted": self.interrupted, "topics": topics}

    def __rich__(self) -> Group:
        lines = plain_table()
        for heading in ("topic", "in fits", "interval", "reliability"):
            lines.add_column(heading, justify="right", no_wrap=True)
        lines.add_column("words (those that come and go in brackets)")
        columns, r = self._columns(), self.reproducibility
        for k in np.lexsort((-r.similarity, ~r.is_real)).tolist():
            words = [*columns["always"][k], *(f"({word})" for word in columns["sometimes"][k])][:PRINTED_WORDS]
            lines.add_row(
                str(k), f"{r.found[k]:.0%}", f"{r.low[k]:.0%}–{r.high[k]:.0%}", f"{r.reliability[k]:.2f}",
                " ".join(words), style=None if r.is_real[k] else "dim",
            )  # fmt: skip
        n, K = int(r.is_real.sum()), len(r.is_real)
        said = f"{n} of {K} topics are called real, by {self.n_fits} fits; {LEVEL:.0%} of such topics should be."
        if n < K:
            said += " The others (dim) are not to be relied on."
        if self.interrupted:
            said = f"Stopped by Ctrl-C after {self.n_fits} fits. {said}"
        return Group(lines, Text(f"\n{said}"))
