"""What a pass of Word + Refine costs, in sweeps of the textbook Gibbs sampler.

    python benchmarks/combinatorial.py

All in one thread, on the paper's synthetic corpora. Two samplers, both exact and with K weights a token: the textbook's
plain loop (textbook_gibbs.cpp), and GibbsLDA's sequential one, which is vectorised and so a harder measure. Times are
of the processor, medians over passes; the objective and the agreement with the truth stand beside them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from textbook_gibbs import TextbookGibbs
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
        plain = TextbookGibbs(sample.corpus, K, how["doc_topic_prior"], how["topic_word_prior"])
        at = [time.process_time()]
        for _ in range(8):
            plain.sweep()
            at.append(time.process_time())
        textbook = float(np.median(np.diff(at)))
        speed = sample.corpus.n_tokens / sweeps.median / 1e6
        plain_speed = sample.corpus.n_tokens / textbook / 1e6
        print(f"{name}: a textbook sweep takes {textbook:.3f} s, {plain_speed:.1f} M tokens/s; ", end="")
        print(f"a vectorised one {sweeps.median:.3f} s, {speed:.1f} M")
        for algorithm in ("basic", "word", "word+refine"):
            passes = Passes()
            model = CombinatorialLDA(
                K, algorithm=algorithm, max_iter=10, tol=-np.inf, random_state=0, n_jobs=1, callbacks=[passes]
            ).fit(sample.corpus)
            cost, harder = passes.median / textbook, passes.median / sweeps.median
            agreement = nmi(sample.assignments, model.labels_)
            print(
                f"  {algorithm:<12} {passes.median:.3f} s a pass = {cost:.1f} sweeps ({harder:.1f} vectorised); ",
                end="",
            )
            print(f"objective {model.objective_:.4g}, NMI {agreement:.3f}", flush=True)


if __name__ == "__main__":
    main()
