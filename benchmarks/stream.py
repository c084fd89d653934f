"""Does a stream of documents keep learning, follow a change, and survive being killed?

    python -m benchmarks.stream corpus [--corpus arxiv] [--K 100] [--batches 500] [--threads 1]
    python -m benchmarks.stream change
    python -m benchmarks.stream kills [--kills 20]

corpus: batches of a corpus go to a `topmix.Stream`, whose words are admitted as they come. The score of held-out
documents is that of the whole vocabulary: a word that the model does not have yet counts as the rarest of each topic.
`SCVB0 of the paper` has the paper's step in documents (0.9). `whole pass` is one pass of `fit` over the same documents.

change: half of ten planted topics are replaced after 200 batches. Scores are differences from those of the true topics.

kills: a process that learns a stream is killed at a random moment and started again, twenty times. The last one goes
on to the end, and its model has to have the bits of a stream that was never stopped.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments, datasets
from benchmarks.harness.results import Results
from topmix import LDA, Stream
from topmix.data import Corpus, sample_lda
from topmix.inference import SCVB0, Collapsed
from topmix.learners import Stochastic
from topmix.metrics import completion_score

METHODS = {"SCVB0": SCVB0(), "SCVB0 of the paper": SCVB0(doc_decay=0.9), "fixed point": Collapsed()}
MARKS = 8  # scores along a stream
CHILD = "--child"


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus, short streams and two kills")
    p.add_argument("what", nargs="+", choices=("corpus", "change", "kills"))
    arguments.add_corpus(p, ["arxiv_100k"])
    p.add_argument("--K", type=int, default=100)
    p.add_argument("--size", type=int, default=1000, help="documents of a batch")
    p.add_argument("--batches", type=int, default=500, help="at most")
    p.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    p.add_argument("--kills", type=int, default=20)
    p.add_argument(CHILD, type=Path, metavar="FOLDER", help="learn the stream of `kills` there, and no more")
    a = p.parse_args(argv)
    if a.child is not None:
        killed_stream(a.child, a.quick)
        return 0
    if a.quick:
        a.corpus, a.K, a.size, a.kills = [datasets.GENERATED], 10, 50, 2
    out = Results(a.out, "stream")
    if "corpus" in a.what:
        for name in a.corpus:
            corpus_streams(datasets.load(name, split=a.split, role=a.role), a, out)
    if "change" in a.what:
        change(20 if a.quick else 200, a.threads, out)
    return 0 if "kills" not in a.what or kills(a.kills, a.quick, out) else 1


# Streams of a corpus


def corpus_streams(data: datasets.Dataset, a: Any, out: Results) -> None:
    n = min(a.batches, data.train.shape[0] // a.size)
    marks = sorted({int(m) for m in np.round(np.geomspace(min(5, n), n, MARKS))})
    for method in a.methods:
        stream, began, scores = Stream(lda(a.K, METHODS[method], a.threads)), time.process_time(), {}
        for b in range(n):
            rows = data.train[b * a.size : (b + 1) * a.size]
            stream.learn(Corpus.from_scipy(rows, vocabulary=data.vocabulary), id=b)
            if b + 1 in marks:
                scores[b + 1] = whole_score(stream.model, data)
        seconds = time.process_time() - began
        fit = lda(a.K, METHODS[method], a.threads, learner="stochastic", max_iter=1).fit(data.train[: n * a.size])
        whole = completion_score(fit.topic_word_, data.scored)
        said = ", ".join(f"{b}: {score:.3f}" for b, score in scores.items())
        print(
            f"{data.name}, K = {a.K}, {method}: {said}; whole pass {whole:.3f}; {stream.model.n_features_in_} words, "
            f"{seconds / n:.2f} s per batch with its score",
            flush=True,
        )
        fall = float(np.max(np.maximum.accumulate(list(scores.values())) - list(scores.values())))
        result = {"scores": scores, "largest_fall": fall, "whole_pass": whole, "seconds_per_batch": seconds / n}
        out.add(result, {"what": "corpus", "method": method, "K": a.K, "size": a.size, "batches": n}, data)


def lda(K: int, inference: Any, threads: int, learner: Any = "stochastic", **more: Any) -> LDA:
    return LDA(K, inference=inference, learner=learner, n_jobs=threads, random_state=0, **more)


def whole_score(model: Any, data: datasets.Dataset) -> float:
    """Over all words of the corpus, whichever the model has."""
    column = {word: v for v, word in enumerate(data.vocabulary)}
    known = [column[str(word)] for word in model.feature_names_in_]
    topics = np.repeat(model.topic_word_.min(axis=1, keepdims=True), len(column), axis=1)
    topics[:, known] = model.topic_word_
    return float(completion_score(topics, data.scored))


# A planted change


def planted(before: int, after: int, size: int = 200) -> list[tuple[sp.csr_array, np.ndarray, sp.csr_array]]:
    """(documents, topics, held-out documents) before and after half of ten topics are others."""
    rng, often = np.random.default_rng(0), 1.0 / np.arange(1, 301)
    first = rng.dirichlet(60 * often / often.sum(), 10)
    second = first.copy()
    second[:5] = rng.dirichlet(60 * often / often.sum(), 5)

    def documents(topics: np.ndarray, n: int, seed: int) -> sp.csr_array:
        how = {"doc_length": 40, "doc_topic_prior": 0.05, "topic_word": topics, "random_state": seed}
        return sample_lda(n * size, 300, 10, **how).corpus.to_scipy()

    parts = enumerate([(first, before), (second, after)])
    return [(documents(topics, n, i), topics, documents(topics, 2, i + 2)) for i, (topics, n) in parts]


def change(before: int, threads: int, out: Results, after: int = 50, size: int = 200) -> None:
    parts = planted(before, after, size)
    for method, inference in METHODS.items():
        for half_life in (None, 3.0 * size):
            model = lda(10, inference, threads, Stochastic(half_life=half_life))

            def behind(part: int, model: LDA = model) -> float:
                _, topics, held_out = parts[part]
                return completion_score(model.topic_word_, held_out) - completion_score(topics, held_out)

            for b in range(before):
                model.partial_fit(parts[0][0][b * size : (b + 1) * size])
            result: dict[str, Any] = {"old_before": behind(0), "new_at_change": behind(1), "new_after": {}}
            for b in range(after):
                model.partial_fit(parts[1][0][b * size : (b + 1) * size])
                if (b + 1) % 10 == 0:
                    result["new_after"][b + 1] = behind(1)
            result["old_after"] = behind(0)
            lost = result["old_before"] - result["new_at_change"]
            result["recovered"] = (result["new_after"][after] - result["new_at_change"]) / lost
            along = ", ".join(f"{b}: {x:.3f}" for b, x in result["new_after"].items())
            print(
                f"change, {method}, half-life {half_life}: {result['old_before']:.3f} before, "
                f"{result['new_at_change']:.3f} at the change, after {along} ({result['recovered']:.0%} recovered); "
                f"old topics {result['old_after']:.3f}",
                flush=True,
            )
            out.add(
                result, {"what": "change", "method": method, "half_life": half_life, "size": size, "before": before}
            )


# Kills


def killed_stream(path: Path | None, quick: bool) -> Stream:
    """A stream with words that come and go, in which all batches are sent again each time."""
    n, size = (20, 50) if quick else (100, 100)
    X, names = (
        sample_lda(n * size, 2000, 10, doc_length=40, random_state=0).corpus.to_scipy(),
        list(map(str, range(2000))),
    )
    stream = Stream(lda(20, SCVB0(), 1, Stochastic(half_life=2000)), path, admit=3, max_words=1200)
    for b in range(n):
        stream.learn(Corpus.from_scipy(X[b * size : (b + 1) * size], vocabulary=names), id=b)
    return stream


def bits(stream: Stream) -> str:
    model = stream.model
    parts = [
        model.components_.tobytes(),
        "\n".join(model.feature_names_in_).encode(),
        repr(stream.info().values.tolist()),
    ]
    return hashlib.sha256(b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)).hexdigest()


def kills(n: int, quick: bool, out: Results) -> bool:
    """Whether all of them left nothing behind."""
    began = time.perf_counter()
    want = bits(killed_stream(None, quick))
    alone, rng, learned = time.perf_counter() - began, np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        child = [sys.executable, "-m", "benchmarks.stream", "kills", CHILD, str(path), *(["--quick"] if quick else [])]
        for _ in range(n):
            state = path / "state"
            before, process = _changed(state), subprocess.Popen(child)
            while process.poll() is None and _changed(state) == before:
                time.sleep(0.001)  # until it has learned a batch, or is at its end
            time.sleep(rng.uniform(0, 2 * alone / n))
            process.kill()
            process.wait()
            learned.append(Stream(lda(20, SCVB0(), 1, Stochastic(half_life=2000)), path).n_batches)
        same = bits(killed_stream(path, quick)) == want
    print(f"kills: {n}, after {learned} batches: {'the same bits' if same else 'OTHER BITS'}", flush=True)
    out.add({"same_bits": same, "batches_at_kills": learned}, {"what": "kills", "kills": n})
    return same


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


if __name__ == "__main__":
    arguments.command(main)
