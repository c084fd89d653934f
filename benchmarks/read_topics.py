"""How do our topics read beside tomotopy's?

    python -m benchmarks.read_topics --corpus nips arxiv_100k --K 100

LDA with its defaults, which stops by itself, and tomotopy (alpha = 0.5/K, eta = 0.1) for --seconds. Topics are paired
one to one so that the total l1 distance is least, and printed from the most to the least alike: the distance, the share
of tokens of each, and its top words, common ones in capitals. At the end of the list are topics that only one of the
two has found.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.harness import arguments, datasets, evaluate
from benchmarks.harness.methods import SETTINGS, is_installed, ours
from benchmarks.harness.methods.method import Topics
from benchmarks.harness.results import Results
from benchmarks.harness.runs import train_for
from topmix.metrics import completion_score, match_topics


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and a second")
    arguments.add_corpus(p, ["nips", "arxiv_100k"])
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--words", type=int, default=8)
    p.add_argument("--seconds", type=float, default=60, help="of training, for tomotopy")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seconds = [datasets.GENERATED], 10, 0.2
    if not is_installed("tomotopy"):
        print("tomotopy is not installed: pip install --group bench", file=sys.stderr)
        return 2
    out = Results(a.out, "read_topics")
    for corpus in a.corpus:
        data = datasets.load(corpus, split=a.split, role=a.role)
        lda = ours.lda(a.K, random_state=a.seed, n_jobs=a.threads).fit(data.train)
        fixed = SETTINGS["tomotopy"]["fixed"]
        theirs, _ = train_for(a.seconds, "tomotopy", data.train, a.K, a.seed, a.threads, **fixed)
        both = {"topmix": ours.topics_of(lda), "tomotopy": theirs}
        seconds = {"topmix": lda.history_[-1].seconds, "tomotopy": a.seconds}
        print(f"\n{corpus}, K = {a.K}")
        for name, topics in both.items():
            found = {"score": completion_score(topics.topic_word, data.scored), "seconds": seconds[name]}
            found |= evaluate.describe(topics.topic_word, topics.tokens, data)
            quality = f"NPMI {found['npmi']:.3f}, diversity {found['diversity']:.3f}"
            print(f"  {name:<9}{seconds[name]:6.1f} s   score {found['score']:.4f}, {quality}")
            out.add(found, {"method": name, "K": a.K, "seed": a.seed, "threads": a.threads}, data)
        print(side_by_side(both["topmix"], both["tomotopy"], data.vocabulary, a.words), flush=True)
    return 0


def side_by_side(left: Topics, right: Topics, vocabulary: list[str], n: int) -> str:
    match = match_topics(left.topic_word, right.topic_word)
    lines = [f"  {'l1':>5}  {'topmix':<88}tomotopy"]
    for i in np.argsort(match.distance):
        pair = ((left, match.a[i]), (right, match.b[i]))
        top = [np.argsort(-topics.topic_word[k])[:n] for topics, k in pair]
        both = set(top[0]) & set(top[1])
        cells = []
        for (topics, k), words in zip(pair, top):
            named = " ".join(vocabulary[v].upper() if v in both else vocabulary[v] for v in words)
            cells.append(f"{topics.tokens[k] / topics.tokens.sum():5.1%} {named}"[:86])
        lines.append(f"  {match.distance[i]:5.2f}  {cells[0]:<88}{cells[1]}")
    return "\n".join(lines)


if __name__ == "__main__":
    arguments.command(main)
