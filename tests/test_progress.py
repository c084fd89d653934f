"""The progress display, and the estimators that use it."""

from __future__ import annotations

import io
import re
import sys
import types

import pytest
from rich.console import Console

from topmix import LDA, MultinomialMixture
from topmix.data import sample_lda
from topmix.learn import history
from topmix.learn.history import FitProgress, Record, describe, in_short


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(50, 30, 3, doc_length=20, random_state=0).corpus


@pytest.mark.parametrize("estimator", [LDA(3, max_iter=2), MultinomialMixture(3, max_iter=2, n_init=2)], ids=str)
def test_verbose_writes_a_line_per_pass_to_stderr(estimator, corpus, capsys):
    estimator.set_params(random_state=0, verbose=1, tol=-1e9).fit(corpus)
    out, err = capsys.readouterr()
    assert out == ""
    assert "\x1b" not in err
    assert len(err.splitlines()) == 2 * getattr(estimator, "n_init", 1)
    assert all(line.startswith(f"{type(estimator).__name__}: pass ") for line in err.splitlines())


def test_the_library_is_silent_unless_asked(corpus, capfd):
    LDA(3, max_iter=2, random_state=0).fit(corpus)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_a_terminal(corpus):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with FitProgress(20, corpus.n_tokens, title="here", console=console) as progress:
        LDA(3, max_iter=20, random_state=0, callbacks=[progress]).fit(corpus)
    last = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", screen.getvalue()).strip().splitlines()[-1]
    assert "here" in last
    assert f"{progress.n_calls}/{progress.n_calls} passes" in last  # full, although it converged early
    assert "per token" in last


@pytest.fixture
def shown(monkeypatch):
    """Stands in for IPython: outputs of a cell, each as it was written last."""
    outputs = []

    class Handle:
        def __init__(self, n):
            self.n = n

        def update(self, data, *, raw):
            assert raw
            outputs[self.n] = data

    def display(data, *, raw, display_id):
        assert raw
        assert display_id
        outputs.append(data)
        return Handle(len(outputs) - 1)

    module = types.ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # not installed
    return outputs


def test_a_notebook_keeps_one_bar_that_is_full_at_the_end(corpus, shown, capfd):
    with FitProgress(20, corpus.n_tokens, title="<here>", console=Console(force_jupyter=True)) as progress:
        LDA(3, max_iter=20, random_state=0, callbacks=[progress]).fit(corpus)
    n = progress.n_calls
    assert n > 3
    assert len(shown) == 1  # one output, and no box beside it
    assert f"{n}/{n} passes" in shown[0]["text/plain"]
    assert f'value="{n}" max="{n}"' in shown[0]["text/html"]
    assert "&lt;here&gt;" in shown[0]["text/html"]
    assert "per token" in shown[0]["text/plain"]
    assert capfd.readouterr() == ("", "")


def test_an_interrupted_fit_leaves_a_bar_that_is_not_full(shown):
    with pytest.raises(KeyboardInterrupt), FitProgress(20, console=Console(force_jupyter=True)) as progress:  # noqa: PT012
        for n in range(1, 6):
            progress(Record(n, 0.5, -3.0, 2), None)
        raise KeyboardInterrupt
    assert "5/20 passes" in shown[0]["text/plain"]


def test_nothing_where_nobody_watches():
    screen = io.StringIO()
    with FitProgress(3, lines=False, console=Console(file=screen)) as progress:
        progress(Record(1, 0.5, -3.0, 2), None)
    assert screen.getvalue() == ""


def test_numbers_in_short():
    assert [in_short(n) for n in (0, 12.34, 999, 999.7, 1234, 999_600, 3.2e6, 4.5e12)] == [
        "0", "12.3", "999", "1k", "1.23k", "1M", "3.2M", "4500G",
    ]  # fmt: skip
    assert describe(Record(2, 4.0, -300.0, 5), 100) == "-3.0000 per token  50 tokens/s"
    assert describe(Record(2, 4.0, -300.0, 5), None) == "objective -300"


@pytest.mark.parametrize("kind", ["terminal", "elsewhere"])
def test_a_long_fit_shows_itself_where_somebody_looks(corpus, kind):
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=kind == "terminal", width=100)
    late = FitProgress(5, corpus.n_tokens, title="LDA", lines=False, after=2.5, console=console)
    assert late.is_seen == (kind == "terminal")
    with late:
        for n in range(1, 5):
            late(Record(n, float(n), -1.0, 3), None)
            assert (seen.getvalue() != "") == (late.is_seen and n > 2)
    assert ("4/4" in seen.getvalue()) == late.is_seen  # the first passes are counted too


def test_fits_are_silent_by_default_where_nobody_looks(corpus, capsys, monkeypatch):
    monkeypatch.setattr(history, "LATE", 0.0)
    assert LDA().verbose is None
    LDA(3, max_iter=2, random_state=0).fit(corpus)
    assert capsys.readouterr().err == ""
