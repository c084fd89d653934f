"""Hughes, Kim & Sudderth, Reliable and Scalable Variational Inference for the HDP (2015): Figs. 2 and 3.

Fig. 3 through the kernel: documents of nips under the topics of an HDP with K = 100, solved from 50 random starts, and
with restarts from the first of them. And whole fits: restarts against none, and our default, which searches for K.
"""

from __future__ import annotations

from typing import Any

from benchmarks.harness import datasets
from benchmarks.harness.internals import shard_of
from benchmarks.harness.jobs import Budget, Job, Write
from papers import everything
from papers.restarts import bounds_from_starts
from papers.surrogate import empty_topics, gaps
from papers.topics import preset, scored_run
from topmix import presets

PAPER = "hdp"
FITS: dict[str, dict[str, Any]] = {
    "5 restarts": preset("restarted_hdp", within=False),
    "no restarts": preset("restarted_hdp", within=False, restarts=0),
    "default HDP": {"estimator": "HDP", "max_iter": 400, "tol": 1e-3, "within_passes": False},
    "default HDP, variational": {
        "estimator": "HDP", "inference": "variational", "max_iter": 400, "tol": 1e-3, "within_passes": False,
    },
}  # fmt: skip


def jobs(small: bool) -> list[Job]:
    K, documents, starts = (20, 5, 8) if small else (100, 50, 50)
    corpora, passes, seconds = (["kos"], 5, 40.0) if small else (["nips", "kos"], 30, 120.0)
    found = [Job(PAPER, "figure_2", {"draws": 20 if small else 2000}, 20, 2)]
    about = {"corpus": corpora[0], "K": K, "documents": documents, "starts": starts}
    found.append(Job(PAPER, "figure_3", about, 30 if small else 120, 1))
    for corpus in corpora:
        for name in FITS:
            for seed in range(1 if small else 3):
                about = {"corpus": corpus, "K": K, "name": name, "passes": passes, "seconds": seconds, "seed": seed}
                found.append(Job(PAPER, "fits", about, 50 if small or corpus == "kos" else seconds + 20, 2))
    return found


def figure_2(write: Write, budget: Budget, draws: int) -> None:
    """The surrogate of E[c_Dir(alpha beta)] beside the exact value, and what empty topics cost."""
    for K, gamma, gap in gaps(draws):
        write({"least": gap.min(), "mean": gap.mean(axis=1)}, {"figure": 2, "K": K, "gamma": gamma, "draws": draws})
    write({"change_by_empty_topics": empty_topics()}, {"figure": 2, "draws": draws})


def figure_3(write: Write, budget: Budget, corpus: str, K: int, documents: int, starts: int) -> None:
    """The bound of each document from random starts, and with restarts, by the kernel."""
    data = datasets.load(corpus)
    model = presets.restarted_hdp(K).set_params(max_iter=8, n_jobs=1, random_state=0)
    fitted = model.fit(data.train)
    found = bounds_from_starts(fitted, shard_of(data.test[:documents]), starts)
    write(found, {"figure": 3, "K": K, "starts": starts, "documents": documents}, data)


def fits(
    write: Write, budget: Budget, corpus: str, K: int, name: str, passes: int, seconds: float, seed: int = 0
) -> None:  # fmt: skip
    """Bound and score of whole fits."""
    settings = FITS[name] | ({"max_iter": passes} if "default" not in name else {})
    scored_run(write, budget, {"figure": "fits", "name": name}, corpus, K, settings, seconds, seed=seed)


if __name__ == "__main__":
    raise SystemExit(everything.main(only=(PAPER,)))
