"""Do seed words stay in their topics, and what do they cost?

    python -m benchmarks.seeds --corpus 20ng
    python -m benchmarks.seeds --quick

Three lists of ten words, of newsgroups that people know. Each fit is made with and without them, from the same random
numbers. Printed are how many of the words are among the 30 most probable of their topic, and the completion score of
the test documents.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch
from topmix import LDA, Seeds
from topmix.inference import Collapsed
from topmix.metrics import completion_score

LISTS = (
    "space nasa orbit launch shuttle moon earth satellite lunar mission",
    "hockey team game players season nhl league play teams goal",
    "god jesus bible christian church faith christ christians sin belief",
)


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus, and seeds of its frequent words")
    arguments.add_corpus(p, "20ng")
    p.add_argument("--K", type=int, default=50)
    p.add_argument("--passes", type=int, default=20)
    p.add_argument("--sweeps", type=int, default=50)
    p.add_argument("--seeds", type=int, default=3, help="fits with different random numbers")
    p.add_argument("--strength", type=float, default=0.3)
    a = p.parse_args(argv)
    data = datasets.load(datasets.GENERATED if a.quick else a.corpus, split=a.split, role=a.role)
    if a.quick:
        a.K, a.passes, a.sweeps, a.seeds = 5, 4, 0, 1
    words = [str(word) for word in data.vocabulary]
    if a.quick:
        common = np.argsort(-np.asarray(data.train.sum(axis=0)).ravel(), kind="stable")[:30]
        lists = [[words[v] for v in common[i::3]] for i in range(3)]
    else:
        lists = [[word for word in line.split() if word in set(words)] for line in LISTS]
    out = Results(a.out, "seeds")
    for seed in range(a.seeds):
        found = {}
        for name, seeds in (("without", None), ("with", Seeds(lists, strength=a.strength))):
            watch = Stopwatch()
            model = LDA(
                a.K, seeds=seeds, inference=Collapsed(sweeps=a.sweeps), n_jobs=a.threads, random_state=seed,
                max_iter=ours.with_sweeps(a.passes, a.sweeps),
            ).fit(data.train, feature_names=words)  # fmt: skip
            found[f"{name}_seconds"] = watch.seconds
            found[name] = completion_score(model.topic_word_, data.scored)
            if seeds is not None:
                top = model.top_words(30, relevance=1)
                held = [sum(word in top[k] for word in given) for k, given in enumerate(lists)]
        asked = [len(given) for given in lists]
        kept = ", ".join(f"{h} of {n}" for h, n in zip(held, asked))
        change = found["with"] - found["without"]
        print(f"seed {seed}: {kept} seed words stay; score {found['with']:.4f}, {change:+.4f} by seeds", flush=True)
        settings = {"K": a.K, "passes": a.passes, "sweeps": a.sweeps, "strength": a.strength, "seed": seed}
        out.add(found | {"held": held, "asked": asked, "change": change}, settings, data)
    return 0


if __name__ == "__main__":
    arguments.command(main)
