"""How much sooner is pycisTopic's MALLET step done by `topmix.sc`, at the same held-out score?

    python -m benchmarks.cistopic --cells 4000 --regions 50000 --K 20
    python -m benchmarks.cistopic --quick

Cells with planted topics of regions, 1% accessible; a fifth of the cells is held out, and scored by document
completion. The other side is tomotopy, a collapsed Gibbs sampler in C++ as MALLET's is one in Java, with pycisTopic's
priors and its default of 150 sweeps: MALLET itself is not run. Both are scored after some sweeps, and scoring costs
neither seconds. `sooner` is the seconds of the sampler after all of its sweeps, over those of the first fit of
`run_cgs_models_mallet` that scores as well. Both use --threads threads. With --alone only topmix is run, once, with
--sweeps sweeps, and the peak of its memory is printed: 400 million entries over 900,000 regions are
`--alone --cells 55000 --regions 900000 --K 50`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Results
from benchmarks.single_cells import planted
from topmix.metrics import completion_score
from topmix.sc import run_cgs_models_mallet

SWEEPS = (10, 25, 50, 100, 150)
OURS = (0, 5, 10, 25, 50, 150)
ALPHA, ETA = 50.0, 0.1  # of pycisTopic


@dataclass
class Cells:
    binary_matrix: sp.csr_matrix  # [regions, cells]
    region_names: list[str]
    cell_names: list[str]


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few cells and regions")
    p.add_argument("--cells", type=int, default=4000)
    p.add_argument("--regions", type=int, default=50_000)
    p.add_argument("--K", type=int, default=20)
    p.add_argument("--alone", action="store_true", help="one fit of topmix, and its memory")
    p.add_argument("--sweeps", type=int, default=150, help="of that fit")
    a = p.parse_args(argv)
    if a.quick:
        a.cells, a.regions, a.K = 150, 400, 4
    counts = drawn(a.cells, a.regions, a.K)
    n_train = a.cells * 4 // 5
    seen = np.flatnonzero(np.bincount(counts[:n_train].indices, minlength=a.regions))
    counts = counts[:, seen]
    train, test = counts[:n_train], counts[n_train:]
    print(f"{n_train:,} cells x {a.regions:,} regions, {train.nnz:,} entries, K = {a.K}", flush=True)
    out, settings = Results(a.out, "cistopic"), {"cells": a.cells, "regions": a.regions, "K": a.K, "threads": a.threads}
    if a.alone:
        row = one(train, test[:100], a.K, a.threads, a.sweeps)
        print(*(f"{name} {value}" for name, value in row.items()), sep=", ")
        out.add(row, settings)
        return 0
    theirs = sampled(train, test, a.K, a.threads)
    aim = theirs[-1]["score"]
    ours = []
    for sweeps in OURS:
        ours.append(one(train, test, a.K, a.threads, sweeps))
        if ours[-1]["score"] >= aim and sweeps:
            break
    for row in (*theirs, *ours):
        print(f"{row['method']:9} {row['sweeps']:4} sweeps {row['seconds']:8.2f} s, held-out {row['score']:.4f}")
    good = [row["seconds"] for row in ours if row["score"] >= aim]
    sooner = theirs[-1]["seconds"] / min(good) if good else None
    print(f"as good as {SWEEPS[-1]} sweeps: {'never' if sooner is None else f'{sooner:.1f} times sooner'}")
    out.add({"tomotopy": theirs, "topmix": ours, "sooner": sooner}, settings)
    return 0


def drawn(cells: int, regions: int, K: int) -> sp.csr_matrix:
    """[cells, regions] zeros and ones."""
    rng = np.random.default_rng(0)
    cumulative = planted(regions, K).cumsum(axis=1)
    mix, rows = rng.dirichlet(np.full(K, 0.1), cells), []
    for cell in range(cells):
        n = rng.multinomial(max(rng.poisson(0.011 * regions * rng.gamma(4.0, 0.25)), 20), mix[cell])
        found = [np.searchsorted(cumulative[k], rng.random(n[k]) * cumulative[k, -1]) for k in np.flatnonzero(n)]
        rows.append(np.unique(np.concatenate(found)))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    index = np.minimum(np.concatenate(rows), regions - 1)
    return sp.csr_matrix((np.ones(len(index)), index, indptr), shape=(cells, regions))


def one(train: sp.csr_matrix, test: sp.csr_matrix, K: int, threads: int, sweeps: int) -> dict[str, Any]:
    names = [f"chr1:{500 * v}-{500 * v + 500}" for v in range(train.shape[1])]
    given = Cells(sp.csr_matrix(train.T), names, [str(n) for n in range(train.shape[0])])
    with PeakMemory() as peak:
        begin = time.perf_counter()
        [model] = run_cgs_models_mallet(given, [K], threads, sweeps, alpha=ALPHA, eta=ETA)
        seconds = time.perf_counter() - begin
    found = completion_score(model.lda.topic_word_, test)
    return {"method": "topmix", "sweeps": sweeps, "seconds": seconds, "score": found, "resident_mb": peak.resident}


def sampled(train: sp.csr_matrix, test: sp.csr_matrix, K: int, threads: int) -> list[dict[str, Any]]:
    import tomotopy

    rows, seconds, done = [], 0.0, 0
    begin = time.perf_counter()
    model = tomotopy.LDAModel(k=K, alpha=ALPHA / K, eta=ETA, seed=555, rm_top=0, min_cf=0)
    for first, last in zip(train.indptr[:-1], train.indptr[1:]):
        model.add_doc([str(v) for v in train.indices[first:last]])
    model.optim_interval = 0  # MALLET's is 0 here: the priors stay
    for sweeps in SWEEPS:
        model.train(sweeps - done, workers=threads)
        done = sweeps
        seconds += time.perf_counter() - begin
        topics = np.zeros((K, train.shape[1]))
        for k in range(K):
            topics[k, [int(word) for word in model.used_vocabs]] = model.get_topic_word_dist(k)
        found = completion_score(topics, test)
        rows.append({"method": "tomotopy", "sweeps": sweeps, "seconds": seconds, "score": found})
        begin = time.perf_counter()
    return rows


if __name__ == "__main__":
    arguments.command(main)
