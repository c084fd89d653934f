"""The page of a sweep, without a script: the recommendation, the curves of its measures, and the table."""

from __future__ import annotations

import html
import io
import re

from topmix._version import __version__
from topmix.apps import plot
from topmix.apps.page import frame, safe_head, style
from topmix.selection.result import SweepResult, about, advice, html_table


def sweep_page(result: SweepResult, title: str) -> str:
    return frame(
        title,
        template="sweep.html",
        head=safe_head(style("sweep.css")),
        about=about(result),
        advice=advice(result),
        curves=curves(result),
        table=html_table(result),
        version=html.escape(__version__),
    )


def curves(result: SweepResult) -> str:
    """What `topmix.plot.sweep` draws, as SVG; nothing where matplotlib is not installed."""
    try:
        from matplotlib import pyplot, rc_context
    except ImportError:
        return ""
    out, nothing = io.StringIO(), dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": "topmix"}):  # names of parts are not random
        figure = plot.sweep(result).get_figure(root=True)
        assert figure is not None
        figure.savefig(out, format="svg", metadata=nothing)
        pyplot.close(figure)
    _, svg, drawing = out.getvalue().partition("<svg")
    return svg + re.sub(r' xmlns(:\w+)?="[^"]*"', "", drawing)
