"""The tutorials run, and the notebooks and pages that are committed are made of them."""

from __future__ import annotations

import json

import pytest

from tools.notebooks import as_notebook, as_page, cells_of, run, tutorials
from topmix import LDA


@pytest.mark.slow  # twenty seconds each
@pytest.mark.parametrize("path", list(tutorials()), ids=lambda path: path.stem)
def test_a_tutorial_runs_and_its_notebook_is_the_same_program(path, demo_cache, monkeypatch):
    monkeypatch.setenv("TOPMIX_CACHE", demo_cache["TOPMIX_CACHE"])
    cells = cells_of(path.read_text(encoding="utf-8"))
    notebook = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    kept = [("".join(cell["source"]), cell["cell_type"] == "markdown") for cell in notebook["cells"]]
    assert kept == [(cell.source, cell.is_text) for cell in cells], "run python -m tools.notebooks"
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert all(cell.source in page for cell in cells)
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert not any(output["output_type"] == "error" for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    import matplotlib.pyplot as plt  # here, because it takes a while to load

    plt.close("all")  # figures of other tests are not of this program
    run(cells, path.stem)
    made, pictures = as_page(cells, path.stem)
    assert sorted(pictures) == sorted(p.name for p in (path.parent / "img").glob(f"{path.stem}-*.png"))
    assert made.count("```python") == page.count("```python")
    assert len(json.loads(as_notebook(cells))["cells"]) == len(notebook["cells"])


def test_a_fitted_model_shows_its_topics_and_runs_nothing():
    evil = "<script>alert(1)</script>"
    texts = [f"boat sail wind {evil}", "rook pawn queen board", "chord violin tune tempo"] * 20
    model = LDA(3, random_state=0, max_iter=3)
    assert "sk-container" in model._repr_html_()  # as scikit-learn shows it
    model.fit(texts)
    model.name_topics({0: evil})
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    assert shown["text/html"] == model._repr_html_()
    assert "<script" not in shown["text/html"]
    assert "&lt;script&gt;" in shown["text/html"]
    assert shown["text/html"].count("<tr>") == 1 + 3
    assert "9 smaller topics" in LDA(21, max_iter=1, random_state=0).fit(texts)._repr_html_()
