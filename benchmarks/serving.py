"""How long does a text take, how much memory does a service need, and does it grow?

    python -m benchmarks.serving [--corpus arxiv] [--K 1000] [--words 50000] [--calls 1000000] [--callers 4] [--quick]

A model is learned in two passes and saved; `--model FILE` keeps it there, and uses it if it is there. Rare words of the
corpus are divided in two at random until there are `--words`. A process of its own then opens the file and answers
texts: documents of the corpus of at least 40 tokens, their words in random order, a stop word after each. First one
thread asks, then `--callers` threads together. Printed are milliseconds per text, from raw text to named topics, the
size of the file, and resident and anonymous memory: after the imports, with the model, after the first text, after a
tenth of the calls and after all of them.
"""

from __future__ import annotations

import gc
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments, datasets
from benchmarks.harness.memory import of_process
from benchmarks.harness.own_process import measure_apart
from benchmarks.harness.results import Results

TEXTS = 5000
LEAST_TOKENS = 40


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a generated corpus, few topics and calls")
    arguments.add_corpus(p, "arxiv", role=None)
    p.add_argument("--K", type=int, default=1000)
    p.add_argument("--words", type=int, default=50_000)
    p.add_argument("--calls", type=int, default=1_000_000)
    p.add_argument("--callers", type=int, default=4)
    p.add_argument("--model", type=Path, metavar="FILE", help="where the model is kept")
    a = p.parse_args(argv)
    if a.quick:
        a.corpus, a.K, a.words, a.calls = datasets.GENERATED, 20, 500, 400
    data = datasets.load(a.corpus)
    X, words = widened(sp.csr_array(data.train), data.vocabulary, a.words)
    with tempfile.TemporaryDirectory() as folder:
        path, texts = a.model or Path(folder) / "model", Path(folder) / "texts.json"
        if not path.exists():
            learn(X, words, a.K, a.threads, path)
        texts.write_text(json.dumps(as_texts(X, words)))
        asked = {"path": str(path), "texts": str(texts), "calls": a.calls, "callers": a.callers}
        found = measure(**asked) if a.quick else measure_apart("serving", asked)
    one, all_of_them = found["one_caller_ms"], found["all_callers_ms"]
    print(f"{a.corpus}, K = {a.K}, {len(words):,} words: the file has {found['file_mb']:.1f} MB")
    print(f"one caller: {one['p50']:.3f} ms per text at the median, {one['p99']:.3f} at the 99th percentile")
    print(
        f"{a.callers} callers, {a.calls:,} calls: {all_of_them['p50']:.3f} ms, {all_of_them['p99']:.3f}; "
        f"{found['texts_per_second']:.0f} texts per second"
    )
    for when, (resident, anonymous) in found["memory_mb"].items():
        print(f"  {when:>20}: {resident:7.1f} MB resident, {anonymous:7.1f} MB anonymous")
    settings = {name: getattr(a, name) for name in ("K", "words", "calls", "callers")}
    Results(a.out, "serving").add(found, settings, data)
    return 0


def widened(X: sp.csr_array, words: list[str], n_words: int) -> tuple[sp.csr_array, list[str]]:
    """The same documents with more words: of the rarest words, each entry goes to a twin with probability 1/2."""
    more = min(n_words - len(words), len(words))
    if more <= 0:
        return X, words
    rare = np.argsort(np.bincount(X.indices, minlength=len(words)), kind="stable")[:more]
    twin = np.full(len(words), -1, np.int64)
    twin[rare] = len(words) + np.arange(more)
    index = X.indices.astype(np.int64)
    moved = (twin[index] >= 0) & (np.random.default_rng(0).random(len(index)) < 0.5)
    index[moved] = twin[index[moved]]
    wide = sp.csr_array((X.data, index, X.indptr), shape=(X.shape[0], len(words) + more))
    wide.sort_indices()
    return wide, [*words, *(f"{words[v]}zz" for v in rare)]


def learn(X: sp.csr_array, words: list[str], K: int, threads: int, path: Path) -> None:
    from topmix import LDA
    from topmix.data import Corpus

    LDA(K, max_iter=2, random_state=0, n_jobs=threads).fit(Corpus.from_scipy(X, vocabulary=words)).save(path)


def as_texts(X: sp.csr_array, words: list[str]) -> list[str]:
    rng, texts = np.random.default_rng(1), []
    for d in rng.permutation(X.shape[0]).tolist():
        row = slice(X.indptr[d], X.indptr[d + 1])
        tokens = np.repeat(X.indices[row], X.data[row].astype(np.int64))
        if len(tokens) >= LEAST_TOKENS:
            texts.append(" the ".join(words[v] for v in rng.permutation(tokens).tolist()))
        if len(texts) == TEXTS:
            break
    return texts


def measure(path: str, texts: str, calls: int, callers: int) -> dict[str, Any]:
    import topmix

    asked, memory = json.loads(Path(texts).read_text()), {}

    def remember(when: str) -> None:
        gc.collect()
        memory[when] = of_process("self")

    remember("imports and texts")
    began = time.perf_counter()
    predictor = topmix.estimators.load_predictor(path)
    opened = time.perf_counter() - began
    remember("model")
    predictor(asked[0])
    remember("first text")
    seconds = np.zeros(calls, np.float32)  # now: it is not the predictor's
    seconds += 1
    ask(predictor, asked, seconds[: len(asked)], 0, 1)
    alone = in_ms(ask(predictor, asked, seconds[: len(asked)], 0, 1))
    tenth, began = max(calls // 10, 1), time.perf_counter()
    together(predictor, asked, seconds[:tenth], callers)
    remember("a tenth of the calls")
    together(predictor, asked, seconds[tenth:], callers)
    elapsed = time.perf_counter() - began
    remember("all calls")
    return {
        "file_mb": Path(path).stat().st_size / 1e6,
        "open_seconds": opened,
        "tokens_per_text": float(np.mean([text.count(" the ") + 1 for text in asked])),
        "one_caller_ms": alone,
        "all_callers_ms": in_ms(seconds),
        "texts_per_second": calls / elapsed,
        "memory_mb": memory,
    }


def together(predictor: Any, texts: list[str], seconds: np.ndarray, callers: int) -> None:
    threads = [threading.Thread(target=ask, args=(predictor, texts, seconds, n, callers)) for n in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ask(predictor: Any, texts: list[str], seconds: np.ndarray, first: int, step: int) -> np.ndarray:
    """Every `step`-th call; fills in how long each took."""
    for i in range(first, len(seconds), step):
        began = time.perf_counter()
        predictor(texts[i % len(texts)])
        seconds[i] = time.perf_counter() - began
    return seconds


def in_ms(seconds: np.ndarray) -> dict[str, float]:
    p50, p99, p999 = (1000 * np.percentile(seconds, [50, 99, 99.9])).tolist()
    return {"p50": p50, "p99": p99, "p99.9": p999}


if __name__ == "__main__":
    arguments.command(main)
