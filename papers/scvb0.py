"""Foulds et al., Stochastic Collapsed Variational Bayesian Inference for LDA (2013): Figs. 1 to 3, Tables 2 and 3.

arxiv (525,820 abstracts) and a part of it, arxiv_100k, are in the place of their three large corpora, nips is theirs.
All methods start from the same random topics, of three seeds on abstracts; SCVB0 and the best SVB once more from the
library's start. Half of the tokens of 2,000 test documents is given, the other half predicted, under alpha = .1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import datasets
from benchmarks.harness.jobs import Budget, Job, Write
from benchmarks.harness.runs import train_for
from papers import everything
from papers.topics import preset, scored_run
from topmix.metrics import npmi_coherence, topic_diversity

PAPER = "scvb0"
SVB = {f"SVB-B{B}-O{offset:g}": {"iterations": B, "offset": offset} for B in (1, 5) for offset in (0.0, 0.5)}
BETTER_START = {"init": "blended"}
HELD_OUT = 2000  # test documents, or a tenth of a smaller corpus
RUNS: dict[str, dict[str, Any]] = {
    "SCVB0": preset("scvb0"),
    **{name: preset("stochastic_vb", **arguments) for name, arguments in SVB.items()},
    "CVB0": preset("cvb0"),
    "SCVB0, L = 16": preset("scvb0", change={"n_active": 16}),
    "SCVB0, our start": preset("scvb0", change=BETTER_START),
    "SVB-B5-O0.5, our start": preset("stochastic_vb", change=BETTER_START, **SVB["SVB-B5-O0.5"]),
    "SCVB0, our document step": preset("scvb0", change=BETTER_START | {"inference__doc_decay": 0.6}),
}


def jobs(small: bool) -> list[Job]:
    corpora, K = ({"kos": 10.0}, 20) if small else ({"arxiv": 120.0, "arxiv_100k": 80.0, "wiki": 50.0}, 100)
    found = []
    for corpus, seconds in corpora.items():
        for name in RUNS:
            rank = 3 if corpus == "wiki" else 2 if "," in name else 1
            for seed in range(1 if rank > 1 or small else 3):
                about = {"corpus": corpus, "K": K, "name": name, "seconds": seconds, "seed": seed}
                found.append(Job(PAPER, "figure_1", about, seconds + 40, rank + (seed > 0)))
        for part in (100, 10, 1) if corpus != "wiki" else ():
            about = {"corpus": corpus, "K": K, "part": part, "seconds": seconds}
            found.append(Job(PAPER, "figure_3", about, seconds + 40, 2))
    tables: list[tuple[dict[str, Any], int]] = [
        ({"corpus": "nips", "table": 2, "K": 20, "seconds": 5.0}, 10),
        ({"corpus": "arxiv", "table": 3, "K": 50, "seconds": 60.0}, 3),
    ]
    if small:
        tables = [({"corpus": "kos", "table": 2, "K": 10, "seconds": 1.0}, 2)]
    for about, seeds in tables:
        for name in ("SCVB0", *SVB):
            found.append(Job(PAPER, "table", about | {"name": name, "seeds": seeds}, seeds * about["seconds"] + 25, 2))
    return found


def figure_1(write: Write, budget: Budget, corpus: str, K: int, name: str, seconds: float, seed: int = 0) -> None:
    """And Fig. 2, which has documents in the place of seconds: the curve has both."""
    about, settings = {"figure": 1, "name": name}, RUNS[name]
    scored_run(
        write, budget, about, corpus, K, settings, seconds, evaluator="half_split", seed=seed, held_out=HELD_OUT
    )  # fmt: skip


def figure_3(write: Write, budget: Budget, corpus: str, K: int, part: int, seconds: float) -> None:
    """Batch VB on one document in `part`."""
    n = datasets.load(corpus, most=HELD_OUT).train.shape[0] // part
    about = {"figure": 3, "name": f"batch VB, N = {n:,}"}
    settings = preset("batch_vb", within=False)
    scored_run(
        write, budget, about, corpus, K, settings, seconds, evaluator="half_split", n_docs=n, held_out=HELD_OUT
    )  # fmt: skip


def table(
    write: Write, budget: Budget, corpus: str, table: int, K: int, seconds: float, name: str, seeds: int
) -> None:  # fmt: skip
    """Topics after some seconds: their coherence in the place of people's judgement, and some to read."""
    data = datasets.load(corpus)
    for seed in range(seeds):
        topics, passes = train_for(budget.at_most(seconds), "topmix", data.train, K, seed, 1, **RUNS[name])
        phi = topics.topic_word
        some = np.random.default_rng(seed).choice(K, 3, replace=False)
        found = {
            "npmi": float(npmi_coherence(phi, data.train)),
            "diversity": topic_diversity(phi),
            "documents": passes * data.train.shape[0],
            "topics": [" ".join(data.vocabulary[v] for v in np.argsort(-phi[k])[:10]) for k in some],
        }
        write(found, {"table": table, "name": name, "K": K, "seed": seed, "seconds": seconds}, data)


if __name__ == "__main__":
    raise SystemExit(everything.main(only=(PAPER,)))
