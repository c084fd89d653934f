"""Scripts of papers make their figures and tables, and slow benchmarks run, on generated data; all of them explain
themselves."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.harness import results

ROOT = Path(__file__).resolve().parents[2]


def run(module: str, *arguments: str | Path) -> str:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def quick(module: str, tmp_path: Path, *arguments: str, remembers: bool = True) -> str:
    """Runs a script of a paper; what it writes has rows."""
    where = ["--draw", tmp_path, "--out", tmp_path / "out.jsonl", *(["--runs", tmp_path] if remembers else [])]
    said = run(module, "--quick", *arguments, *where)
    rows = results.read(tmp_path / "out.jsonl")
    assert rows
    assert all({"machine", "versions", "commit", "corpus", "settings", "result"} <= row.keys() for row in rows)
    return said


def has_figures(folder: Path, names: set[str], said: str) -> bool:
    """They are drawn, or it is said why not."""
    if importlib.util.find_spec("matplotlib") is None:
        return "no figure: matplotlib is not installed" in said
    return {path.name for path in folder.glob("*.png")} == names


def test_sparse_posteriors_has_two_figures_of_mixtures(tmp_path):
    said = quick("papers.sparse_posteriors", tmp_path, "--figures", "1", "2")
    for part in ("1a", "1b", "1c", "1d"):
        assert f"Figure {part}" in said
    score = {}
    for line in said.split("Figure 2")[1].splitlines():
        words = line.split()
        if words[:1] in (["memoized"], ["stochastic"]):
            score[words[0], words[3]] = float(words[4])
    assert len(score) == 8
    for learner in ("memoized", "stochastic"):  # moderate L is as good as dense, and hard assignment is worse
        assert score[learner, "1"] < score[learner, "4"] - 0.1
        assert score[learner, "16"] > score[learner, "K"] - 0.05
    assert has_figures(tmp_path, {"sparse_posteriors_1.png", "sparse_posteriors_2.png"}, said)


def test_sparse_posteriors_has_three_figures_with_all_learners(tmp_path):
    said = quick("papers.sparse_posteriors", tmp_path, "--figures", "3", "4", "5")
    for part in ("3a", "3b", "3d", "4", "5"):
        assert f"Figure {part}" in said or f"Figures {part}" in said
    learners = ("memoized L = 8", "memoized dense", "stochastic L = 8", "batch dense", "collapsed memoized", "sklearn")
    for learner in learners:
        assert f"\n  {learner}" in said
    for peer in ("gensim", "tomotopy"):
        assert f"{peer} is left out: " in said
    assert has_figures(tmp_path, {f"sparse_posteriors_{n}.png" for n in (3, 4, 5)}, said)


def test_scvb0_has_three_figures_and_a_table(tmp_path):
    said = quick("papers.scvb0", tmp_path)
    for part in ("Figures 1, 2", "Figure 3", "Table 2", "SVB-B1-O0.5", "SVB-B5-O0", "batch VB, N = 640"):
        assert part in said
    assert has_figures(tmp_path, {f"scvb0_{n}.png" for n in (1, 2, 3)}, said)


def test_hdp_has_two_figures_and_a_surrogate_that_is_a_bound(tmp_path):
    said = quick("papers.hdp", tmp_path, remembers=False)
    for part in ("Figure 2", "Figure 3", "bound per token: +"):
        assert part in said
    rows = {
        line.split()[0]: [float(x) for x in line.split()[-6:-3]] for line in said.splitlines() if "(1, 5, 20)" in line
    }
    assert all(value < 0 for value in rows["surrogate"])
    assert all(value > 0 for value in rows["point"])
    assert has_figures(tmp_path, {"hdp_2.png", "hdp_3.png"}, said)


def test_esvi_has_figures_of_mixtures_and_topics(tmp_path):
    said = quick("papers.esvi", tmp_path)
    for part in ("Figure 3", "Figure 4", "Figure 6", "Figure 7", "Figure 8", "    ESVI", "    VI", "    SVI"):
        assert part in said
    assert has_figures(tmp_path, {f"esvi_{n}.png" for n in (3, 4, 6, 7, 8)}, said)


def test_combinatorial_topics_recover_better_with_each_refinement(tmp_path):
    said = quick("papers.combinatorial", tmp_path, "--threads", "1", remembers=False)
    for part in ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1"):
        assert part in said
    lines = [line.split() for line in said.split("Table 2")[1].split("Table 3")[0].splitlines() if line]
    error = {x[0]: float(x[-1]) for x in lines if x[0] in ("basic", "word", "word+refine")}  # of SynthB, the last
    assert error["word+refine"] < error["word"] < error["basic"]
    assert has_figures(tmp_path, {f"combinatorial_figure{n}.png" for n in (1, 2)}, said)


@pytest.mark.parametrize(
    ("name", "remembers", "says"),
    [
        ("hdp", True, "over variational LDA at its best K"),
        ("sparsity", True, "the dense run ends at"),
        ("restarts", True, "cold, 5 restarts, ε = 0"),
        ("memory", False, "default, three passes"),
        ("passes", False, "    40 "),
        ("own_stop", False, "generated"),
        ("gibbs", False, "GibbsLDA from lda: ends at"),
        ("pareto", False, "L = 8"),
        ("docword", False, "times as fast"),
    ],
)
def test_benchmark_runs_and_writes_rows(tmp_path, name, remembers, says):
    where = ["--out", tmp_path / "out.jsonl", *(["--runs", tmp_path] if remembers else [])]
    assert says in run(f"benchmarks.{name}", "--quick", "--threads", "1", *where)
    rows = results.read(tmp_path / "out.jsonl")
    assert rows
    assert {row["benchmark"] for row in rows} == {name}


def scripts() -> list[str]:
    found = [
        f"{path.parent.name}.{path.stem}"
        for folder in ("benchmarks", "papers")
        for path in (ROOT / folder).glob("*.py")
    ]
    folders = [f"papers.{path.parent.name}" for path in (ROOT / "papers").glob("*/__main__.py")]
    return sorted(name for name in [*found, *folders] if not name.endswith("__init__"))


@pytest.mark.parametrize("module", scripts())
def test_help_asks_the_question_that_the_script_answers(module, capsys):
    name = f"{module}.__main__" if (ROOT / module.replace(".", "/")).is_dir() else module
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(name).main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "?" in said
    assert f"python -m {module}" in said
    assert "--out FILE" in said
