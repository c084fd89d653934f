"""Topics to be read by a person: ours beside tomotopy's, matched one to one.

    python benchmarks/read_topics.py --corpus nips arxiv_100k --K 100

LDA with its defaults, left to stop by itself, and tomotopy (alpha = 0.5/K, eta = 0.1) given --seconds. Topics are
paired so that the total l1 distance is least, and printed from the most to the least alike: the distance, the share of
tokens of each, and its top words, those of both in capitals. At the end of the list are topics that only one has found.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import datasets
from methods import SETTINGS, Topics, is_installed, train_for
from topmix import LDA
from topmix.metrics import completion_score, match_topics, npmi_coherence, topic_diversity


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--corpus", nargs="+", default=["nips", "arxiv_100k"])
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--words", type=int, default=8)
    p.add_argument("--seconds", type=float, default=60, help="of training, for tomotopy")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--quick", action="store_true", help="a generated corpus and a second, to see that it runs")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seconds = [datasets.GENERATED], 10, 0.5
    if not is_installed("tomotopy"):
        print("tomotopy is not installed: pip install 'topmix[bench]'", file=sys.stderr)
        return 2
    for corpus in a.corpus:
        data = datasets.load(corpus)
        lda = LDA(a.K, random_state=a.seed, n_jobs=a.threads).fit(data.train)
        ours = lda.topic_word_, lda.model_.words.total.totals
        fixed = SETTINGS["tomotopy"]["fixed"]
        theirs = train_for(a.seconds, "tomotopy", data.train, a.K, a.seed, a.threads, **fixed)[:2]
        print(f"\n{corpus}, K = {a.K}")
        for name, (phi, _), s in (("topmix", ours, lda.history_[-1].seconds), ("tomotopy", theirs, a.seconds)):
            quality = f"NPMI {npmi_coherence(phi, data.train):.3f}, diversity {topic_diversity(phi):.3f}"
            print(f"  {name:<9}{s:6.1f} s   score {completion_score(phi, data.test):.4f}, {quality}")
        print(side_by_side(ours, theirs, data.vocabulary, a.words), flush=True)
    return 0


def side_by_side(ours: Topics, theirs: Topics, vocabulary: list[str], n: int) -> str:
    match = match_topics(ours[0], theirs[0])
    share = [counts / counts.sum() for _, counts in (ours, theirs)]
    lines = [f"  {'l1':>5}  {'topmix':<88}tomotopy"]
    for i in np.argsort(match.distance):
        a, b = match.a[i], match.b[i]
        top = [np.argsort(-phi[k])[:n] for (phi, _), k in ((ours, a), (theirs, b))]
        both = set(top[0]) & set(top[1])
        words = [" ".join(vocabulary[v].upper() if v in both else vocabulary[v] for v in t) for t in top]
        left, right = (f"{share[j][k]:5.1%} {words[j]}" for j, k in ((0, a), (1, b)))
        lines.append(f"  {match.distance[i]:5.2f}  {left[:86]:<88}{right[:86]}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
