"""The papers' figures and tables come out of their scripts, and the slow benchmarks run, on a generated corpus."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, *arguments: str | Path) -> str:
    command = [sys.executable, ROOT / script, "--quick", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_figures(folder: Path, names: set[str], said: str) -> bool:
    """They are drawn, or it is said why not."""
    if importlib.util.find_spec("matplotlib") is None:
        return "no figure: matplotlib is not installed" in said
    return {path.name for path in folder.glob("*.png")} == names


def test_sparse_posteriors_has_two_figures_of_mixtures(tmp_path):
    said = run("papers/sparse_posteriors.py", "--figures", "1", "2", "--out", tmp_path, "--results", tmp_path)
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
    figures = ("--figures", "3", "4", "5")
    said = run("papers/sparse_posteriors.py", *figures, "--out", tmp_path, "--results", tmp_path)
    for part in ("3a", "3b", "3d", "4", "5"):
        assert f"Figure {part}" in said or f"Figures {part}" in said
    learners = ("memoized L = 8", "memoized dense", "stochastic L = 8", "batch dense", "collapsed memoized", "sklearn")
    for learner in learners:
        assert f"\n  {learner}" in said
    for peer in ("gensim", "tomotopy"):
        assert f"{peer} is left out: " in said
    assert has_figures(tmp_path, {f"sparse_posteriors_{n}.png" for n in (3, 4, 5)}, said)


def test_scvb0_has_three_figures_and_a_table(tmp_path):
    said = run("papers/scvb0.py", "--out", tmp_path, "--results", tmp_path)
    for part in ("Figures 1, 2", "Figure 3", "Table 2", "SVB-B1-O0.5", "SVB-B5-O0", "batch VB, N = 720"):
        assert part in said
    assert has_figures(tmp_path, {f"scvb0_{n}.png" for n in (1, 2, 3)}, said)


def test_hdp_has_two_figures_and_a_surrogate_that_is_a_bound(tmp_path):
    said = run("papers/hdp.py", "--out", tmp_path)
    for part in ("Figure 2", "Figure 3", "bound a token: +"):
        assert part in said
    rows = {
        line.split()[0]: [float(x) for x in line.split()[-6:-3]] for line in said.splitlines() if "(1, 5, 20)" in line
    }
    assert all(value < 0 for value in rows["surrogate"])
    assert all(value > 0 for value in rows["point"])
    assert has_figures(tmp_path, {"hdp_2.png", "hdp_3.png"}, said)


def test_esvi_has_figures_of_mixtures_and_topics(tmp_path):
    said = run("papers/esvi.py", "--out", tmp_path, "--results", tmp_path)
    for part in ("Figure 3", "Figure 4", "Figure 6", "Figure 7", "Figure 8", "    ESVI", "    VI", "    SVI"):
        assert part in said
    assert has_figures(tmp_path, {f"esvi_{n}.png" for n in (3, 4, 6, 7, 8)}, said)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("hdp", ["--out"], "over variational LDA at its best K"),
        ("sparsity", ["--out"], "the dense run ends at"),
        ("restarts", ["--out"], "cold, 5 restarts, ε = 0"),
        ("memory", ["--inputs", "mapped"], "default, three passes"),
        ("passes", [], "    40 "),
    ],
)
def test_benchmark_runs(tmp_path, name, options, says):
    folder = [tmp_path] if "--out" in options else []
    assert says in run(f"benchmarks/{name}.py", "--threads", "1", *options, *folder)
