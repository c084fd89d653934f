"""What a sweep found: tables, the recommendation, a plot and a page."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from topmix.data.atomic import atomic_write
from topmix.fitted.frames import frame
from topmix.model_selection.measure import MEASURES, Fit, Size
from topmix.model_selection.page import fragment, in_cell, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 100  # characters, where nobody says how many there are


@dataclass(frozen=True, repr=False)
class SweepResult:
    """What `topmix.sweep` found. Printing it shows the table and the recommendation.

    Attributes
    ----------
    recommended : int or None
        The number of topics: the smallest whose score is within one standard error, or within `tolerance`, of the best.
    reason : str
        Why, in words, and whether the range of sizes should be extended.
    table : DataFrame
        One row per size: means over seeds of score, coherence, diversity, stability and seconds, and their spreads.
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
    frame: str | None = field(default=None, compare=False)  # of which kind tables should be

    @property
    def fits(self) -> tuple[Fit, ...]:
        """One entry per fit, small sizes first."""
        return tuple(fit for size in self.sizes for fit in size.fits)

    @property
    def table(self) -> Any:
        columns: dict[str, Any] = {
            "n_components": [size.n_components for size in self.sizes],
            "seeds": [size.n_seeds for size in self.sizes],
        }
        for measure in MEASURES:
            columns[measure] = [size.mean(measure) for size in self.sizes]
            columns[f"{measure}_spread"] = [size.spread(measure) for size in self.sizes]
        return frame(columns, self.frame)

    @property
    def fits_table(self) -> Any:
        rows = [fit.to_dict() for fit in self.fits]
        return frame({name: [row[name] for row in rows] for name in rows[0]}, self.frame)

    def plot(self) -> Figure:
        """Score, coherence, stability and diversity against the number of topics, in one figure of matplotlib."""
        from topmix import plot

        axes = plot.grid(2, 2, figsize=(8.5, 6)).ravel()
        for ax, measure in zip(axes, ("score", "coherence", "stability", "diversity")):
            plot.sweep(self, measure, ax=ax)
        return axes[0].figure

    def write_html(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Writes one page with the recommendation, the curves and the table. It loads nothing else."""
        with atomic_write(path) as file:
            file.write(page(self, title or "How many topics?").encode())

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers and texts, for JSON."""
        names = ("recommended", "reason", "interrupted", "estimator", "n_docs", "n_held_out", "n_tokens", "n_words",
                 "tolerance")  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "sizes": [size.to_dict() for size in self.sizes],
            "fits": [fit.to_dict() for fit in self.fits],
        }

    def __rich__(self) -> Group:
        lines = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        lines.add_column("topics", justify="right")
        for measure in MEASURES:
            lines.add_column(measure, justify="right")
        for size in self.sizes:
            is_chosen = size.n_components == self.recommended
            cells = [in_cell(size, measure) for measure in MEASURES]
            lines.add_row(str(size.n_components), *cells, style="bold" if is_chosen else None)
        many = max((size.n_seeds for size in self.sizes), default=0) > 1
        about = f"{self.estimator}, {self.n_docs:,} documents to learn from, {self.n_held_out:,} held out"
        about += "; mean ± standard deviation between seeds" if many else ""
        chosen = "Recommended: none." if self.recommended is None else f"Recommended: {self.recommended} topics."
        return Group(
            lines, Text(f"\n{about}\n", style="dim"), Text.assemble((chosen, "bold"), " ", self.reason)
        )  # fmt: skip

    def __str__(self) -> str:
        out = io.StringIO()
        Console(file=out, width=WIDTH, no_color=True).print(self)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(self)
