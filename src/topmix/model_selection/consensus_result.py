"""What a consensus found: the model, and a table of its topics with how far they can be relied on."""

from __future__ import annotations

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

from topmix.fitted.frames import DataFrame, frame
from topmix.fitted.reproducibility import LEVEL, Reproducibility
from topmix.fitted.topics import FittedTopics
from topmix.metrics.counts import Floats
from topmix.model_selection.result import WIDTH
from topmix.views.model import Model, fitted_of

WORDS = 8  # that are printed


@dataclass(frozen=True, repr=False)
class ConsensusResult:
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
        words that come and go, and `confused` topics that take its place.
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

    def _columns(self) -> dict[str, Any]:
        """By topic."""
        r, f = self.reproducibility, fitted_of(self.model)
        names = f.reading.words
        words = [str(v) for v in (range(f.reading.n_features) if names is None else names)]
        K = len(r.found)
        named = f.topic_names if isinstance(f, FittedTopics) else [str(k) for k in range(K)]
        return {
            "topic": list(range(K)),
            "name": named,
            "reproducibility": r.found.tolist(),
            "low": r.low.tolist(),
            "high": r.high.tolist(),
            "similarity": r.similarity.tolist(),
            "sharpness": r.sharpness.tolist(),
            "reliability": r.reliability.tolist(),
            "real": r.is_real.tolist(),
            "always": [[words[v] for v in r.always(k)] for k in range(K)],
            "sometimes": [[words[v] for v in r.sometimes(k)] for k in range(K)],
            "confused": [[j for j, _ in r.confused[k]] for k in range(K)],
        }

    def to_dict(self) -> dict[str, Any]:
        """The table as numbers and texts, for JSON."""
        columns = self._columns()
        topics = [{name: values[k] for name, values in columns.items()} for k in range(len(self.is_real))]
        return {"fits": self.n_fits, "level": LEVEL, "interrupted": self.interrupted, "topics": topics}

    def __rich__(self) -> Group:
        lines = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for heading in ("topic", "in fits", "interval", "reliability"):
            lines.add_column(heading, justify="right", no_wrap=True)
        lines.add_column("words (those that come and go in brackets)")
        columns, r = self._columns(), self.reproducibility
        for k in np.lexsort((-r.similarity, ~r.is_real)).tolist():
            steady = set(columns["always"][k])
            words = [
                word if word in steady else f"({word})"
                for word in ([*columns["always"][k], *columns["sometimes"][k]] if steady else columns["sometimes"][k])
            ][:WORDS]
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

    def __str__(self) -> str:
        out = io.StringIO()
        Console(file=out, width=WIDTH, no_color=True).print(self)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    __repr__ = __str__
