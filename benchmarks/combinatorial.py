"""What does a pass of Word + Refine cost, in sweeps of the textbook Gibbs sampler?

    python -m benchmarks.combinatorial

One thread, on the synthetic corpora of Jiang, Sra & Kulis (2016). Two samplers, both exact and with K weights per
token: the textbook's plain loop (harness/textbook_gibbs.cpp), and GibbsLDA's sequential one, which is vectorised and so
harder to beat. Times are processor time, medians over passes; the objective and the agreement with the truth stand
beside them.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from benchmarks.harness.synthetic import SYNTHETIC, synthetic
from benchmarks.harness.textbook_gibbs import TextbookGibbs
from topmix.metrics import nmi


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few documents")
    a = p.parse_args(argv)
    out = Results(a.out, "combinatorial")
    for name, how in SYNTHETIC.items():
        sample = synthetic(name, 300 if a.quick else 5000)
        K, corpus = how["n_topics"], sample.corpus
        priors = {"doc_topic_prior": how["doc_topic_prior"], "topic_word_prior": how["topic_word_prior"]}
        sweeps = PassTimes(time.process_time)
        common = {"random_state": 0, "n_jobs": 1}
        ours.gibbs_lda(K, sampler="sequential", **priors, max_iter=12, callbacks=[sweeps], **common).fit(corpus)
        textbook, plain = TextbookGibbs(corpus, K, *priors.values()), PassTimes(time.process_time)
        for _ in range(8):
            textbook.sweep()
            plain()
        slow, fast = float(np.median(plain.seconds())), median(sweeps)
        print(f"{name}: a textbook sweep takes {slow:.3f} s, {corpus.n_tokens / slow / 1e6:.1f} M tokens/s; "
              f"a vectorised one {fast:.3f} s, {corpus.n_tokens / fast / 1e6:.1f} M")  # fmt: skip
        for algorithm in ("basic", "word", "word+refine"):
            passes = PassTimes(time.process_time)
            settings = {"algorithm": algorithm, "max_iter": 10, "tol": -np.inf}
            model = ours.combinatorial_lda(K, callbacks=[passes], **settings, **common).fit(corpus)
            cost, agreement = median(passes), nmi(sample.assignments, model.token_topics_)
            print(f"  {algorithm:<12} {cost:.3f} s per pass = {cost / slow:.1f} sweeps ({cost / fast:.1f} vectorised); "
                  f"objective {model.objective_:.4g}, NMI {agreement:.3f}", flush=True)  # fmt: skip
            found = {"pass_s": cost, "textbook_sweep_s": slow, "vectorised_sweep_s": fast, "nmi": agreement}
            out.add(found, settings | {"synthetic": name, "documents": corpus.n_docs, "K": K})
    return 0


def median(passes: PassTimes) -> float:
    """Seconds of a pass, without the first, which has initialisation in it."""
    return float(np.median(passes.seconds()[1:]))


if __name__ == "__main__":
    arguments.command(main)
