"""LDA with its defaults, left to stop by itself: seconds, score and topic quality, over seeds and splits.

    python benchmarks/own_stop.py --corpus nips wiki --K 200 --seeds 3 --split 0 1

Split 0 is the one that benchmarks/time_to_quality.py tests on, and some defaults were compared on its test documents;
another split holds out other documents. --role validation scores documents taken out of the training ones instead, and
leaves the test documents alone: that is where settings may be compared.
"""

from __future__ import annotations

import argparse
import time

import datasets
from topmix import LDA
from topmix.metrics import completion_score, duplicate_topics, npmi_coherence, topic_diversity


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["nips", "wiki"])
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--split", type=int, nargs="+", default=[0, 1])
    p.add_argument("--role", choices=datasets.ROLES, default="test", help="which documents are scored")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    print("corpus  split seed  seconds passes    score    NPMI  diversity  duplicate")
    for name in a.corpus:
        for split in a.split:
            data = datasets.load(name, split=split, role=a.role)
            for seed in range(a.seeds):
                start = time.perf_counter()
                lda = LDA(a.K, random_state=seed, n_jobs=a.threads).fit(data.train)
                seconds = time.perf_counter() - start
                phi = lda.topic_word_
                print(
                    f"{name:<8}{split:>5}{seed:>5}{seconds:>9.2f}{lda.n_iter_:>7}"
                    f"{completion_score(phi, data.test):>9.4f}{npmi_coherence(phi, data.train):>8.4f}"
                    f"{topic_diversity(phi):>11.3f}{len(duplicate_topics(phi)):>11}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
