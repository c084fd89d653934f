"""Tutorials from programs: runs the cells of docs/tutorials/*.py, and writes each as a notebook and as a page.

    python -m tools.notebooks [NAME ...]

A cell begins with "# %%", and one of text with "# %% [markdown]". Cells run here, in one process and one after another,
as they would in Jupyter: what is printed, the value of a last expression, and figures are the outputs. A notebook is
JSON, so nothing has to be installed for it. The test of the tutorials runs the same cells.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
CELL = re.compile(r"^# %%( \[markdown\])?.*$", re.MULTILINE)


@dataclass
class Cell:
    is_text: bool
    source: str
    outputs: list[tuple[str, Any]] = field(default_factory=list)  # ("stdout", text), ("value", bundle), ("png", bytes)


def cells_of(program: str) -> list[Cell]:
    marks = list(CELL.finditer(program))
    ends = [mark.start() for mark in marks[1:]] + [len(program)]
    cells = []
    for mark, end in zip(marks, ends):
        body = program[mark.end() : end].strip("\n")
        if mark[1]:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
        cells.append(Cell(bool(mark[1]), body))
    return cells


def run(cells: list[Cell], name: str) -> list[Cell]:
    """The same cells with their outputs. An error is raised."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": name}
    for n, cell in enumerate(cells):
        if cell.is_text:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _execute(cell.source, names, f"{name}, cell {n}")
        if printed.getvalue():
            cell.outputs.append(("stdout", printed.getvalue()))
        if value is not None and not plt.get_fignums():
            cell.outputs.append(("value", _bundle(value)))
        for number in plt.get_fignums():
            png = io.BytesIO()
            plt.figure(number).savefig(png, format="png", dpi=90, bbox_inches="tight", metadata={"Software": None})
            cell.outputs.append(("png", png.getvalue()))
        plt.close("all")
    return cells


def _execute(source: str, names: dict[str, Any], place: str) -> Any:
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), names)


def _bundle(value: Any) -> dict[str, str]:
    if hasattr(value, "_repr_mimebundle_"):
        return dict(value._repr_mimebundle_())
    found = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_") and (html := value._repr_html_()) is not None:
        found["text/html"] = html
    return found


def as_notebook(cells: list[Cell]) -> str:
    """The notebook, as JSON (nbformat 4.5)."""
    made, count = [], 0
    for n, cell in enumerate(cells):
        about: dict[str, Any] = {
            "cell_type": "markdown" if cell.is_text else "code",
            "id": hashlib.sha256(f"{n} {cell.source}".encode()).hexdigest()[:12],
            "metadata": {},
            "source": cell.source.splitlines(keepends=True),
        }
        if not cell.is_text:
            count += 1
            about |= {"execution_count": count, "outputs": [_as_output(output, count) for output in cell.outputs]}
        made.append(about)
    about_all = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return json.dumps({"cells": made, "metadata": about_all, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _as_output(output: tuple[str, Any], count: int) -> dict[str, Any]:
    kind, value = output
    if kind == "stdout":
        return {"output_type": "stream", "name": "stdout", "text": value.splitlines(keepends=True)}
    if kind == "png":
        data = {"image/png": base64.b64encode(value).decode(), "text/plain": "<Figure>"}
        return {"output_type": "display_data", "data": data, "metadata": {}}
    data = {of: text.splitlines(keepends=True) for of, text in value.items()}
    return {"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}}


def as_page(cells: list[Cell], name: str) -> tuple[str, dict[str, bytes]]:
    """Markdown for the documentation, and its pictures by file name."""
    parts, pictures = [], {}
    for cell in cells:
        if cell.is_text:
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for kind, value in cell.outputs:
            if kind == "png":
                file = f"{name}-{len(pictures) + 1}.png"
                pictures[file] = value
                parts.append(f"![a figure, made by the code above](img/{file})")
            elif kind == "value" and "text/html" in value:
                parts.append("\n".join(line.strip() for line in value["text/html"].splitlines() if line.strip()))
            else:
                text = value if kind == "stdout" else value["text/plain"]
                parts.append(f"```text\n{text.rstrip()}\n```")
    end = f"This page is also a notebook: [{name}.ipynb]({name}.ipynb), written by `python -m tools.notebooks`."
    return "\n\n".join([*parts, end]) + "\n", pictures


def tutorials() -> Iterator[Path]:
    yield from sorted(FOLDER.glob("*.py"))


def main(names: list[str]) -> int:
    for path in tutorials():
        if names and path.stem not in names:
            continue
        cells = run(cells_of(path.read_text(encoding="utf-8")), path.stem)
        path.with_suffix(".ipynb").write_text(as_notebook(cells), encoding="utf-8")
        page, pictures = as_page(cells, path.stem)
        path.with_suffix(".md").write_text(page, encoding="utf-8")
        (FOLDER / "img").mkdir(exist_ok=True)
        for file, png in pictures.items():
            (FOLDER / "img" / file).write_bytes(png)
        print(f"{path.stem}: {len(cells)} cells, {len(pictures)} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
