"""How long does a pass of LDA take on a GPU, does it repeat, and are its topics as good as the processor's?

    python -m benchmarks.cuda                                   # four corpora, as in docs/gpu.md
    python -m benchmarks.cuda --corpus nips --K 100 --passes 6
    python -m benchmarks.cuda --corpus arxiv:10000 --copies 25 --passes 4 --sweeps 0      # a billion tokens
    python -m benchmarks.cuda --corpus arxiv_100k --memory 400000000 --sweeps 0           # less than they need

Each fit is made twice: the seconds are of the second, when kernels are compiled and the driver is awake, and both must
have the same bits. `start` is everything before the first pass ends: making shards, copying them, the first topics and
the first pass. With --engine threads the same is measured on the processor. With --scores a third fit says what the
topics of each pass are worth, and so after how many seconds of the second fit they were good enough.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments, datasets
from benchmarks.harness.methods import ours
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import PassTimes
from topmix import LDA
from topmix.data import Corpus
from topmix.engines.cuda import Cuda
from topmix.inference import Collapsed
from topmix.metrics import completion_score

CORPORA = ["nips:200", "wiki:200", "arxiv_100k:200", "arxiv:1000"]


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus and two passes")
    arguments.add_corpus(p, CORPORA)
    p.add_argument("--K", type=int, default=200, help="where a corpus does not say its own, as in nips:200")
    p.add_argument("--passes", type=int, default=12)
    p.add_argument("--engine", default="cuda", help="cuda or threads")
    p.add_argument("--copies", type=int, default=1, help="how often each document is there")
    p.add_argument("--memory", type=int, help="bytes that the GPU may use")
    p.add_argument("--sweeps", type=int, help="of sampling, where not as by default")
    p.add_argument("--scores", action="store_true", help="the score after each pass")
    p.add_argument("--inference", help="collapsed unless given, or variational")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.passes = [f"{datasets.GENERATED}:20"], 2
    out = Results(a.out, "cuda")
    for given in a.corpus:
        name, _, K = given.partition(":")
        data = datasets.load(name, split=a.split, role=a.role)
        settings: dict[str, Any] = {"engine": Cuda(memory=a.memory) if a.engine == "cuda" else a.engine}
        if a.sweeps is not None:
            settings["inference"] = Collapsed(sweeps=a.sweeps)
        if a.inference:
            settings["inference"] = a.inference
        n_passes = a.passes if a.inference else ours.with_sweeps(a.passes, a.sweeps)
        X = data.train if a.copies == 1 else sp.vstack([data.train] * a.copies, format="csr")
        documents, n_topics = Corpus.from_scipy(X), int(K or a.K)
        found = measured(documents, n_topics, n_passes, n_jobs=a.threads, **settings)
        if a.scores:
            found["scores"] = scored(documents, n_topics, n_passes, data, n_jobs=a.threads, **settings)
            after = np.cumsum([found["start"], *found["passes"]])
            print(" ".join(f"{x:.4f} after {s:.3f} s" for x, s in zip(found["scores"], after)), flush=True)
        found["score"] = completion_score(found.pop("topics"), data.scored)
        found["device"] = device_name() if a.engine == "cuda" else None
        print(
            f"{name:12s} K {K or a.K}: start {found['start'] * 1e3:.0f} ms, passes "
            f"{' '.join(f'{s * 1e3:.1f}' for s in found['passes'])} ms, all {found['seconds']:.2f} s, "
            f"score {found['score']:.4f}, {'the same bits twice' if found['repeats'] else 'OTHER BITS'}",
            flush=True,
        )
        given = {"K": int(K or a.K), "passes": a.passes} | {
            name: getattr(a, name) for name in ("engine", "threads", "copies", "memory", "sweeps", "inference")
        }
        out.add(found, given, data)
        if not found["repeats"]:
            return 1
    return 0


def measured(X: Corpus, K: int, n_passes: int, **settings: Any) -> dict[str, Any]:
    hashes = []
    for _ in range(2):
        times, begin = PassTimes(), time.perf_counter()
        model = LDA(K, max_iter=n_passes, tol=0.0, random_state=0, callbacks=[times], **settings).fit(X)
        seconds = time.perf_counter() - begin
        hashes.append(hashlib.sha256(model.components_.tobytes()).hexdigest()[:16])
    return times.summary() | {
        "seconds": seconds,
        "tokens": X.n_tokens,
        "hash": hashes[-1],
        "repeats": hashes[0] == hashes[1],
        "topics": model.topic_word_,
    }


def scored(X: Corpus, K: int, n_passes: int, data: datasets.Dataset, **settings: Any) -> list[float]:
    """The completion score after each pass."""
    scores = []

    def look(record: Any, view: Any) -> None:
        topics = view.fitted().topic_word_
        scores.append(completion_score(topics, data.scored))

    LDA(K, max_iter=n_passes, tol=0.0, random_state=0, callbacks=[look], **settings).fit(X)
    return scores


def device_name() -> str:
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
    return str(name.decode() if isinstance(name, bytes) else name)


if __name__ == "__main__":
    arguments.command(main)
