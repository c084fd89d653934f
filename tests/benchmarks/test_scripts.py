"""Scripts make their figures and tables on generated data, and explain themselves.

Scripts run in this process: starting Python and importing everything would take longer than most of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import datasets, results, runs

ROOT = Path(__file__).resolve().parents[2]
Script = Callable[..., str]


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> Script:
    """script(module, *arguments) runs a script and returns what it prints."""

    def run(module: str, *arguments: str | Path) -> str:
        capsys.readouterr()
        assert main_of(module)([str(x) for x in arguments]) == 0
        return capsys.readouterr().out

    return run


def main_of(module: str) -> Callable[[list[str]], int]:
    name = f"{module}.__main__" if (ROOT / module.replace(".", "/")).is_dir() else module
    return importlib.import_module(name).main


@pytest.fixture
def paper(script: Script, tmp_path: Path) -> Script:
    """paper(module, *arguments) runs a script of a paper and checks the rows that it writes."""

    def run(module: str, *arguments: str, remembers: bool = True) -> str:
        where = ["--draw", tmp_path, "--out", tmp_path / "out.jsonl", *(["--runs", tmp_path] if remembers else [])]
        said = script(module, "--quick", *arguments, *where)
        rows = results.read(tmp_path / "out.jsonl")
        assert rows
        assert all({"machine", "versions", "commit", "corpus", "settings", "result"} <= row.keys() for row in rows)
        return said

    return run


def has_figures(folder: Path, names: set[str], said: str) -> bool:
    """They are drawn, or it is said why not."""
    if importlib.util.find_spec("matplotlib") is None:
        return "no figure: matplotlib is not installed" in said
    return {path.name for path in folder.glob("*.png")} == names


def test_sparse_posteriors_has_two_figures_of_mixtures(paper, tmp_path):
    said = paper("papers.sparse_posteriors", "--figures", "1", "2")
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


def test_sparse_posteriors_has_three_figures_with_all_learners(paper, tmp_path):
    said = paper("papers.sparse_posteriors", "--figures", "3", "4", "5")
    for part in ("3a", "3b", "3d", "4", "5"):
        assert f"Figure {part}" in said or f"Figures {part}" in said
    learners = ("memoized L = 8", "memoized dense", "stochastic L = 8", "batch dense", "collapsed memoized", "sklearn")
    for learner in learners:
        assert f"\n  {learner}" in said
    for peer in ("gensim", "tomotopy"):
        assert f"{peer} is left out: " in said
    assert has_figures(tmp_path, {f"sparse_posteriors_{n}.png" for n in (3, 4, 5)}, said)


def test_scvb0_has_three_figures_and_a_table(paper, tmp_path):
    said = paper("papers.scvb0")
    for part in ("Figures 1, 2", "Figure 3", "Table 2", "SVB-B1-O0.5", "SVB-B5-O0", "batch VB, N = 240"):
        assert part in said
    assert has_figures(tmp_path, {f"scvb0_{n}.png" for n in (1, 2, 3)}, said)


def test_hdp_has_two_figures_and_a_surrogate_that_is_a_bound(paper, tmp_path):
    said = paper("papers.hdp", remembers=False)
    for part in ("Figure 2", "Figure 3", "bound per token: +"):
        assert part in said
    rows = {
        line.split()[0]: [float(x) for x in line.split()[-6:-3]] for line in said.splitlines() if "(1, 5, 20)" in line
    }
    assert all(value < 0 for value in rows["surrogate"])
    assert all(value > 0 for value in rows["point"])
    assert has_figures(tmp_path, {"hdp_2.png", "hdp_3.png"}, said)


def test_esvi_has_figures_of_mixtures_and_topics(paper, tmp_path):
    said = paper("papers.esvi")
    for part in ("Figure 3", "Figure 4", "Figure 6", "Figure 7", "Figure 8", "    ESVI", "    VI", "    SVI"):
        assert part in said
    assert has_figures(tmp_path, {f"esvi_{n}.png" for n in (3, 4, 6, 7, 8)}, said)


def test_combinatorial_topics_recover_better_with_each_refinement(paper, tmp_path):
    said = paper("papers.combinatorial", "--threads", "1", remembers=False)
    for part in ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1"):
        assert part in said
    lines = [line.split() for line in said.split("Table 2")[1].split("Table 3")[0].splitlines() if line]
    error = {x[0]: float(x[-1]) for x in lines if x[0] in ("basic", "word", "word+refine")}  # of SynthB, the last
    assert error["word+refine"] < error["word"] < error["basic"]
    assert has_figures(tmp_path, {f"combinatorial_figure{n}.png" for n in (1, 2)}, said)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hdp", "over variational LDA at its best K"),
        ("sparsity", "the dense run ends at"),
        ("restarts", "cold, 5 restarts, ε = 0"),
        ("explorer", "while a fit runs: compare"),
        ("memory", "default, three passes"),
        ("passes", "    40 "),
        ("own_stop", "generated"),
        ("gibbs", "GibbsLDA from lda: ends at"),
        ("pareto", "L = 8"),
        ("docword", "times as fast"),
        ("combinatorial", "word+refine"),
        ("asynchronous_speedup", "times as fast"),
        ("top_l", "vs numpy"),
        ("corpus_scale", "verify"),
        ("exploration", "GibbsLDA"),
        ("serving", "at the 99th percentile"),
        ("stream", "SCVB0 of the paper"),
        ("texts", "topics_over_time"),
    ],
)
def test_a_benchmark_writes_rows(script, tmp_path, name, says):
    small = {
        "top_l": ["--K", "50", "--L", "4", "--cells", "2000", "--repeat", "1"],
        "corpus_scale": ["--gb", "0.002", "--folder", tmp_path],
        "exploration": ["planted", "--quick"],
        "stream": ["corpus", "--quick"],
        "texts": ["table", "--quick"],
    }
    where = ["--runs", tmp_path] if name in ("hdp", "sparsity", "restarts") else []
    out = ["--threads", "1", "--out", tmp_path / "out.jsonl"]
    assert says in script(f"benchmarks.{name}", *small.get(name, ["--quick"]), *where, *out)
    rows = results.read(tmp_path / "out.jsonl")
    assert rows
    assert {row["benchmark"] for row in rows} == {name}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("patches", "times faster than dense"),
        ("patches_scale", "per cluster"),
        ("candidates", "32 candidates"),
        ("kmeans", "scikit-learn, elkan"),
    ],
)
def test_a_benchmark_of_vectors_writes_rows(script, tmp_path, monkeypatch, name, says):
    monkeypatch.setenv("TOPMIX_DATA", str(tmp_path))
    images = np.random.default_rng(0).integers(0, 256, (20, 72, 72)).cumsum(axis=2) % 256  # neighbours are alike
    save(tmp_path / "bsds400" / "images.npz", train400=images)
    save(tmp_path / "bsds400" / "test_images.npz", set12_1=images[0], bsd68_1=images[1])
    file = ["--file", tmp_path / "patches.npy"] if name == "patches_scale" else []
    assert says in script(f"benchmarks.{name}", "--quick", "--out", tmp_path / "out.jsonl", *file)
    assert results.read(tmp_path / "out.jsonl")


def save(path: Path, **arrays: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)


def test_time_to_quality_tries_settings_of_the_command_line(script, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "in_own_process", lambda plan: runs.train(plan, plan.data()).to_dict())
    where = ["--runs", tmp_path, "--out", tmp_path / "out.jsonl"]
    given = ["--corpus", datasets.GENERATED, "--K", "5", "--seconds", "0.05", "--methods", "topmix"]
    assert "at the end" in script("benchmarks.time_to_quality", *given, "--lda", '{"min_topic_mass": 2}', *where)
    (row,) = results.read(tmp_path / "out.jsonl")
    assert row["settings"]["settings"] == {"inference__min_topic_mass": 2}
    with pytest.raises(SystemExit):
        script("benchmarks.time_to_quality", *given, "--lda", json.dumps({"min_topic_mess": 2}))


def test_asynchronous_stress_survives_its_own_interrupts():
    """In a process of its own, where a SIGINT that comes too late does not end the tests."""
    command = [sys.executable, "-m", "benchmarks.asynchronous_stress", "--runs", "12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert "all well" in done.stdout


def scripts() -> list[str]:
    """Those that answer a question; the others run or read what these wrote (tests/test_papers.py)."""
    others = {f"papers.{name}" for name in ("conclusions", "draw", "everything", "rows", "tables")}
    others |= {"benchmarks.everything", "benchmarks.page"}
    found = [
        f"{path.parent.name}.{path.stem}"
        for folder in ("benchmarks", "papers")
        for path in (ROOT / folder).glob("*.py")
    ]
    folders = [f"papers.{path.parent.name}" for path in (ROOT / "papers").glob("*/__main__.py")]
    return sorted(name for name in {*found, *folders} - others if not name.endswith("__init__"))


@pytest.mark.parametrize("module", scripts())
def test_help_asks_the_question_that_the_script_answers(module, capsys):
    with pytest.raises(SystemExit) as stopped:
        main_of(module)(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "?" in said
    assert f"python -m {module}" in said
    assert "--out FILE" in said


def test_cuda_measures_passes_and_compares_two_fits(script, tmp_path):
    """Here on the processor; tools/gpu-check runs it on a GPU."""
    more = "--scores", "--measures"
    said = script("benchmarks.cuda", "--quick", "--engine", "threads", *more, "--out", tmp_path / "out.jsonl")
    assert "the same bits twice" in said
    (row,) = results.read(tmp_path / "out.jsonl")
    assert row["result"]["repeats"]
    assert len(row["result"]["passes"]) == 1


def test_cuda_mixtures_measures_passes(script, tmp_path):
    """Here on the processor; tools/gpu-check runs it on a GPU."""
    said = script("benchmarks.cuda_mixtures", "--quick", "--engine", "threads", "--out", tmp_path / "out.jsonl")
    assert "the same bits twice" in said
    (row,) = results.read(tmp_path / "out.jsonl")
    assert len(row["result"]["passes"]) == 1
    assert row["settings"]["rows"] == 4_000
