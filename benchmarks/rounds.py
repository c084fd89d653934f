"""What do rounds cost? Held-out score of memoized learning with several batches per update, against one.

    python -m benchmarks.rounds [--corpus wiki arxiv_100k] [--widths 1 4] [--seeds 3] [--quick]

Workers of a cluster share the batches of a round, so wide rounds are what a cluster needs; but a wider round is a rarer
update, unless there are more batches: the default makes ten rounds for any width, and `--batches` sets another number.
Everything else is the default. The difference of each width from the first is printed, with its standard error.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from topmix.learners import Memoized
from topmix.metrics import completion_score


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and one seed")
    arguments.add_corpus(p, ["wiki", "arxiv_100k"])
    p.add_argument("--K", type=int, default=200)
    p.add_argument("--widths", nargs="+", type=int, default=[1, 4])
    p.add_argument("--batches", type=int, help="in a pass; the default is that of the learner, ten rounds")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--passes", type=int, default=20)
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.seeds, a.passes = [datasets.GENERATED], 10, 1, 4
    out = Results(a.out, "rounds")
    for name in a.corpus:
        data = datasets.load(name, split=a.split, role=a.role)
        size = None if a.batches is None else -(-data.train.shape[0] // a.batches)
        scores = {}
        for width in a.widths:
            learner = Memoized(batch_size=size, batches_per_update=width)
            scores[width] = np.array([score(data, a, learner, seed) for seed in range(a.seeds)])
            gain = scores[width] - scores[a.widths[0]]
            error = gain.std(ddof=1) / np.sqrt(a.seeds) if a.seeds > 1 else 0.0
            print(
                f"{name}, K = {a.K}, rounds of {width}: score {scores[width].mean():.4f}, "
                f"{gain.mean():+.4f} ± {error:.4f} from rounds of {a.widths[0]}",
                flush=True,
            )
            settings = {
                "K": a.K,
                "width": width,
                "batches": a.batches or 10 * width,
                "seeds": a.seeds,
                "passes": a.passes,
            }
            result = {"scores": scores[width], "score": scores[width].mean(), "difference": gain.mean()}
            out.add(result, settings, data)
    return 0


def score(data: datasets.Dataset, a: object, learner: Memoized, seed: int) -> float:
    K, passes, threads = (getattr(a, name) for name in ("K", "passes", "threads"))
    model = ours.lda(K, max_iter=ours.with_sweeps(passes), random_state=seed, learner=learner, n_jobs=threads).fit(
        data.train
    )
    return float(completion_score(model.topic_word_, data.scored))


if __name__ == "__main__":
    arguments.command(main)
