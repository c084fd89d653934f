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
from topmix.fitted.frames import DataFrame, frame
from topmix.model_selection.measure import MEASURES, Measured
from topmix.model_selection.page import fragment, in_cell, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 100  # characters, where nobody says how many there are


@dataclass(frozen=True, repr=False)
class SweepResult(Measured):
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

    frame: str | None = field(default=None, compare=False)  # of which kind tables should be

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
        return {
            **{name: value for name, value in vars(self).items() if name not in ("sizes", "allowed", "reader")},
            "sizes": [size.to_dict() for size in self.sizes],
            "fits": [fit.to_dict() for fit in self.fits],
        }

    def __rich__(self) -> Group:
        lines = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
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

    def __str__(self) -> str:
        out = io.StringIO()
        Console(file=out, width=WIDTH, no_color=True).print(self)
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(self)
