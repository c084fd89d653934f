"""Where does LDA with its defaults stop by itself, and how good is it there?

    python -m benchmarks.own_stop --corpus nips wiki --K 200 --seeds 3 --split 0 1

Prints seconds, passes, score and topic quality, over seeds and splits. --role validation scores validation documents,
on which settings may be compared.
"""

from __future__ import annotations

from benchmarks.harness import arguments, datasets, evaluate
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch
from topmix.metrics import completion_score


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and few topics")
    arguments.add_corpus(p, ["nips", "wiki"], role=None)
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--split", type=int, nargs="+", default=[0, 1])
    p.add_argument("--role", choices=datasets.ROLES, default="test", help="which documents are scored")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seeds, a.split = [datasets.GENERATED], 20, 1, [0]
    out = Results(a.out, "own_stop")
    print("corpus  split seed  seconds passes    score    NPMI  diversity  duplicate")
    for name in a.corpus:
        for split in a.split:
            data = datasets.load(name, split=split, role=a.role)
            for seed in range(a.seeds):
                watch = Stopwatch()
                lda = ours.lda(a.K, random_state=seed, n_jobs=a.threads).fit(data.train)
                found = {"seconds": watch.seconds, "passes": lda.n_iter_}
                topics = ours.topics_of(lda)
                found["score"] = completion_score(topics.topic_word, data.scored)
                found |= evaluate.describe(topics.topic_word, topics.tokens, data)
                print(
                    f"{name:<8}{split:>5}{seed:>5}{found['seconds']:>9.2f}{found['passes']:>7}{found['score']:>9.4f}"
                    f"{found['npmi']:>8.4f}{found['diversity']:>11.3f}{found['duplicate']:>11}",
                    flush=True,
                )
                out.add(found, {"K": a.K, "seed": seed, "threads": a.threads}, data)
    return 0


if __name__ == "__main__":
    arguments.command(main)
