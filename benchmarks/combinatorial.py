"""What a pass of Word + Refine costs, in sweeps of the textbook Gibbs sampler.

    python benchmarks/combinatorial.py

Both in one thread, on the paper's synthetic corpora. The sampler is GibbsLDA's sequential one: exact, K weights a
token, and vectorised, so a harder measure than a plain loop. Times are of the processor, medians over passes; the
objective and the agreement with the truth stand beside them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from topmix import CombinatorialLDA, GibbsLDA
from topmix.data import sample_lda
from topmix.metrics import nmi

SYNTH: dict[str, dict[str, Any]] = {
    "SynthA": {"n_words": 2000, "n_topics": 20, "doc_length": 150, "doc_topic_prior": 0.04, "topic_word_prior": 0.05},
    "SynthB": {"n_words": 3000, "n_topics": 50, "doc_length": 200, "doc_topic_prior": 0.02, "topic_word_prior": 0.01},
}


class Passes:
    """A callback: processor seconds of each pass but the first, which holds what comes before it."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def __call__(self, record: Any, model: Any) -> None:
        self.at.append(time.process_time())

    @property
    def median(self) -> float:
        return float(np.median(np.diff(self.at)))


def main() -> None:
    for name, how in SYNTH.items():
        sample = sample_lda(5000, length_distribution="fixed", random_state=0, **how)
        K = how["n_topics"]
        sweeps = Passes()
        GibbsLDA(
            K, sampler="sequential", doc_topic_prior=how["doc_topic_prior"], topic_word_prior=how["topic_word_prior"],
            max_iter=12, random_state=0, n_jobs=1, callbacks=[sweeps],
        ).fit(sample.corpus)  # fmt: skip
        speed = sample.corpus.n_tokens / sweeps.median / 1e6
        print(f"{name}: a sweep takes {sweeps.median:.3f} s, {speed:.1f} M tokens/s")
        for algorithm in ("basic", "word", "word+refine"):
            passes = Passes()
            model = CombinatorialLDA(
                K, algorithm=algorithm, max_iter=10, tol=-np.inf, random_state=0, n_jobs=1, callbacks=[passes]
            ).fit(sample.corpus)
            cost, agreement = passes.median / sweeps.median, nmi(sample.assignments, model.labels_)
            print(f"  {algorithm:<12} {passes.median:.3f} s a pass = {cost:.1f} sweeps; ", end="")
            print(f"objective {model.objective_:.4g}, NMI {agreement:.3f}", flush=True)


if __name__ == "__main__":
    main()
