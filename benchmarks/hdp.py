"""Does the HDP find the number of topics, and are they as good as those of an LDA at its best K?

    python -m benchmarks.hdp planted                    # 10, 30 and 100 topics that made the corpus
    python -m benchmarks.hdp corpora --corpus nips      # real ones: score, number of topics, time
    python -m benchmarks.hdp planted corpora --quick    # small and generated, for a test
    python -m benchmarks.hdp corpora --corpus kos --engine cuda --seconds 0     # our fits on a GPU, without peers

planted: 5,000 documents of 150 words, V = 2,000, topics with Zipf-like sizes, documents of concentration 1, which is
sample_lda's 0.1 per topic at 10 topics; it is the same for 30 and 100, as an HDP has it. The truth is the topics with
at least 200 tokens. From 1, from twice and from five times as many: the number found, and topic_recovery_error, in
which a true topic without a partner costs 2. Beside it the error of LDA with the true number of topics, collapsed or
variational, the better of them.

corpora: document completion by the evaluator of time_to_quality, on validation documents (--role test: others), of the
HDP, of variational LDA over a grid of K, of tomotopy's HDPModel and gensim's HdpModel; the number of topics over seeds
and over the number it starts from; and seconds until the HDP is as good as tomotopy's after --seconds.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.methods import SETTINGS, is_installed, ours
from benchmarks.harness.results import Results
from benchmarks.harness.runs import NO_LIMIT, Run, Runs
from benchmarks.harness.stopwatch import Stopwatch
from topmix.data import sample_lda
from topmix.metrics import topic_recovery_error

CONCENTRATION = 1.0  # of planted documents
LEAST = 200  # tokens of a topic that counts as true
VARIATIONAL = {"inference": "variational", "max_iter": 50, "tol": 1e-4}
OURS = {"estimator": "HDP", "tol": 1e-3}
PEERS = ("tomotopy_hdp", "gensim_hdp")


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="small generated corpora")
    p.add_argument("parts", nargs="*", metavar="planted, corpora", help="what to run; both unless given")
    arguments.add_corpus(p, ["nips", "wiki", "kos"])
    p.add_argument("--topics", nargs="+", type=int, default=[10, 30, 100])
    p.add_argument("--grid", nargs="+", type=int, default=[50, 100, 200, 400], help="K of the variational LDA")
    p.add_argument("--starts", nargs="+", type=int, default=[100, 1, 300], help="topics to start from, the usual first")
    p.add_argument("--seeds", type=int, default=None, help="1 planted corpus, 5 fits of a real one")
    p.add_argument("--seconds", type=float, default=40.0, help="of peers; 0 leaves them out")
    p.add_argument("--engine", default="threads", help="of our fits: threads or cuda")
    arguments.add_runs(p)
    p.set_defaults(role="validation")  # benchmarks.everything looks at test documents
    a = p.parse_args(argv)
    parts = set(a.parts) or {"planted", "corpora"}
    if not parts <= {"planted", "corpora"}:
        p.error(f"{', '.join(a.parts)}: there is planted, and corpora")
    passes, documents = 400, 5000
    if a.quick:
        a.corpus, a.topics, a.grid, a.starts, a.seeds, a.seconds = ["generated"], [4], [20], [20, 1], 1, 0.2
        passes, documents = 20, 100
    out = Results(a.out, "hdp")
    if "planted" in parts:
        planted(a.topics, a.seeds or 1, documents, passes, a.threads, a.engine, out)
    if "corpora" in parts:
        runs = Runs(a.runs, a.threads, a.fresh, a.split, a.role, own_process=not a.quick, results=out)
        for name in a.corpus:
            corpora(runs, name, a.grid, a.starts, a.seeds or 5, passes, a.seconds, a.engine)
    return 0


def planted(
    topics: list[int], seeds: int, documents: int, passes: int, threads: int, engine: str, out: Results
) -> None:
    print("\n  true  seed  started  found  off by   error  told LDA   ratio  passes  seconds")
    for T in topics:
        for seed in range(seeds):
            sizes, common = 1.0 / (1.0 + np.arange(T)), {"random_state": seed, "n_jobs": threads}
            common |= on(engine)
            sample = sample_lda(
                documents, 2000, T, doc_length=150, topic_sizes=sizes, doc_topic_prior=CONCENTRATION / T,
                random_state=seed,
            )  # fmt: skip
            true = sample.topic_word[np.bincount(sample.assignments, minlength=T) >= LEAST]
            fits = (ours.lda(len(true), inference=name, **common) for name in ("collapsed", "variational"))
            told = min(topic_recovery_error(lda.fit(sample.corpus).topic_word_, true) for lda in fits)
            for start in (1, 2 * T, 5 * T):
                watch = Stopwatch()
                hdp = ours.hdp(start, max_iter=passes, **common).fit(sample.corpus)
                seconds, K = watch.seconds, len(hdp.topic_word_)
                error = topic_recovery_error(hdp.topic_word_, true)
                print(
                    f"  {len(true):>4}{seed:>6}{start:>9}{K:>7}{K / len(true) - 1:>8.0%}{error:>8.3f}{told:>10.3f}"
                    f"{error / told:>8.2f}{hdp.n_iter_:>8}{seconds:>9.1f}",
                    flush=True,
                )
                found = {"true": len(true), "found": K, "error": error, "error_of_lda": told, "seconds": seconds}
                out.add(found, {"topics": T, "start": start, "seed": seed, "documents": documents} | on(engine))


def corpora(
    runs: Runs, name: str, grid: list[int], starts: list[int], seeds: int, passes: int, seconds: float, engine: str
) -> None:  # fmt: skip
    def adaptive(start: int, seed: int) -> Run:
        settings = OURS | {"max_iter": passes} | on(engine)
        return runs.run("topmix", f"HDP from {start}", name, start, seed, NO_LIMIT, settings)

    print(f"\n{name}, {runs.role} documents of split {runs.split}")
    print(f"  {'method':<32}{'K':>6}{'score':>10}{'seconds':>9}")
    lda = [runs.run("topmix", "variational LDA", name, K, 0, NO_LIMIT, VARIATIONAL | on(engine)) for K in grid]
    hdp = [adaptive(starts[0], seed) for seed in range(seeds)]
    others = [adaptive(start, 0) for start in starts[1:]]
    peers = []
    for method in PEERS if seconds else ():
        if is_installed(method):
            peers += [runs.run(method, setting, name, 150, 0, seconds) for setting in SETTINGS[method]]
        else:
            print(f"  {method} is left out: it is not installed", file=sys.stderr)
    for run in [*lda, *hdp, *others, *peers]:
        named = f"{run.plan.label}, seed {run.plan.seed}" if run in hdp else run.plan.label
        print(f"  {named:<32}{topics_of(run):>6}{run.final['score']:>10.4f}{run.curve.seconds[-1]:>9.1f}")
    gain = np.mean([r.final["score"] for r in hdp]) - max(r.final["score"] for r in lda)
    print(f"  over variational LDA at its best K: {gain:+.4f} (mean of seeds)")
    spread("seeds", hdp)
    spread("starts", [hdp[0], *others])
    sampled = [r.curve for r in peers if r.plan.method == "tomotopy_hdp"]
    if sampled:
        peer = max(sampled, key=lambda c: c.best(1.1 * seconds))
        score = peer.best(1.1 * seconds)
        reached = sorted(r.curve.time_to(score) for r in hdp)[len(hdp) // 2]
        print(
            f"  {peer.name} has {score:.4f} after {peer.time_to(score):.1f} s, the HDP after {reached:.2f} s: "
            f"{peer.time_to(score) / reached:.1f} times sooner"
        )


def on(engine: str) -> dict[str, str]:
    """Nothing for the default, so that earlier runs keep their names."""
    return {} if engine == "threads" else {"engine": engine}


def topics_of(run: Run) -> int:
    """How many there were at the end."""
    found = run.curve.last("n_components")
    return run.plan.K if np.isnan(found) else int(found)


def spread(over: str, runs: list[Run]) -> None:
    K = np.array([topics_of(r) for r in runs])
    print(f"  topics over {over}: {K.min()} to {K.max()}, {(K.max() - K.min()) / (K.max() + K.min()):.0%} to each side")


if __name__ == "__main__":
    arguments.command(main)
