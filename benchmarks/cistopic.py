"""How much sooner is pycisTopic's MALLET step done by `topmix.LDA`, at the same held-out score?

    python -m benchmarks.cistopic --cells 4000 --regions 50000 --K 20
    python -m benchmarks.cistopic --mallet mallet-2.0.7
    python -m benchmarks.cistopic --quick

Cells with planted topics of regions, 1% accessible; a fifth of the cells is held out, and scored by document
completion. The other side is tomotopy, a collapsed Gibbs sampler in C++ as MALLET's is one in Java, with pycisTopic's
priors and its default of 150 sweeps; or with --mallet MALLET itself, in the folder that it was unpacked in, by the two
commands that pycisTopic runs, import-file and train-topics, without what pycisTopic does before and after them. (PyPI
has MALLET 2.0.7: `pip download --no-deps --no-binary :all: tethne==0.8`, in tethne/bin.) Both are scored after some
sweeps or passes, and scoring costs neither seconds. `sooner` is the seconds of the sampler after all of its sweeps,
over those of the first fit of topmix that scores as well; beside it are the processor seconds, for
machines that others use. Both use --threads threads. With --alone only topmix is run, once, with --passes passes, and
the peak of its memory is printed: 400 million entries over 900,000 regions are
`--alone --cells 55000 --regions 900000 --K 50`.
"""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import arguments
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Results
from benchmarks.single_cells import planted
from topmix import LDA
from topmix.inference import Collapsed
from topmix.learners import Stochastic
from topmix.metrics import completion_score

SWEEPS = (10, 25, 50, 100, 150)
OURS = (1, 2, 4, 150)  # passes, at most
ALPHA, ETA = 50.0, 0.1  # of pycisTopic
DENSE = 32  # topics; with more, a region in a cell keeps the 16 that explain it best
STOCHASTIC, BATCHES = 2, 32  # passes at most, and updates in each of them
TOL = 0.003


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few cells and regions")
    p.add_argument("--cells", type=int, default=4000)
    p.add_argument("--regions", type=int, default=50_000)
    p.add_argument("--K", type=int, default=20)
    p.add_argument("--mallet", type=Path, metavar="FOLDER", help="MALLET itself, in this folder")
    p.add_argument("--alone", action="store_true", help="one fit of topmix, and its memory")
    p.add_argument("--passes", type=int, default=150, help="of that fit, at most")
    a = p.parse_args(argv)
    if a.quick:
        a.cells, a.regions, a.K = 150, 400, 4
    counts = drawn(a.cells, a.regions, a.K)
    n_train = a.cells * 4 // 5
    seen = np.flatnonzero(np.bincount(counts[:n_train].indices, minlength=a.regions))
    counts = counts[:, seen]
    train, test = counts[:n_train], counts[n_train:]
    del counts
    print(f"{n_train:,} cells x {a.regions:,} regions, {train.nnz:,} entries, K = {a.K}", flush=True)
    out, settings = Results(a.out, "cistopic"), {"cells": a.cells, "regions": a.regions, "K": a.K, "threads": a.threads}
    if a.alone:
        row = one(train, test[:100], a.K, a.threads, a.passes)
        print(*(f"{name} {value}" for name, value in row.items()), sep=", ")
        out.add(row, settings)
        return 0
    theirs = (
        sampled(train, test, a.K, a.threads) if a.mallet is None else run_mallet(a.mallet, train, test, a.K, a.threads)
    )
    aim = theirs[-1]["score"]
    ours = []
    for passes in OURS:
        ours.append(one(train, test, a.K, a.threads, passes))
    for row in (*theirs, *ours):
        n = f"{row['passes']:4} passes" if "passes" in row else f"{row['sweeps']:4} sweeps"
        print(
            f"{row['method']:9} {n} {row['seconds']:8.2f} s, "
            f"{row['processor_s']:8.2f} of a processor, held-out {row['score']:.4f}"
        )
    good = [row for row in ours if row["score"] >= aim]
    found = {
        name: theirs[-1][of] / min(row[of] for row in good) if good else None
        for name, of in (("sooner", "seconds"), ("sooner_by_processor", "processor_s"))
    }
    said = ", ".join("never" if times is None else f"{times:.1f} times" for times in found.values())
    print(f"as good as {SWEEPS[-1]} sweeps, sooner by seconds and by processor seconds: {said}")
    out.add({theirs[0]["method"]: theirs, "topmix": ours, **found}, settings)
    return 0


def drawn(cells: int, regions: int, K: int) -> sp.csr_matrix:
    """[cells, regions] zeros and ones."""
    rng = np.random.default_rng(0)
    cumulative = planted(regions, K).cumsum(axis=1)
    mix, rows = rng.dirichlet(np.full(K, 0.1), cells), []
    for cell in range(cells):
        n = rng.multinomial(max(rng.poisson(0.011 * regions * rng.gamma(4.0, 0.25)), 20), mix[cell])
        found = [np.searchsorted(cumulative[k], rng.random(n[k]) * cumulative[k, -1]) for k in np.flatnonzero(n)]
        rows.append(np.unique(np.minimum(np.concatenate(found), regions - 1)).astype(np.int32))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    index = np.concatenate(rows)
    if len(index) < 1 << 31:  # else SciPy makes both 64 bits wide
        indptr = indptr.astype(np.int32)
    return sp.csr_matrix((np.ones(len(index), np.uint8), index, indptr), shape=(cells, regions))


def one(train: sp.csr_matrix, test: sp.csr_matrix, K: int, threads: int, passes: int) -> dict[str, Any]:
    """Topics of regions, and proportions of cells. One or two passes are stochastic, more are memoized."""
    quick = passes <= STOCHASTIC
    with PeakMemory() as peak:
        begin, spent = time.perf_counter(), time.process_time()
        model = LDA(
            K, n_active=None if K <= DENSE else 16, doc_topic_prior=ALPHA / K, topic_word_prior=ETA,
            inference=Collapsed(sweeps=0),
            learner=Stochastic(batch_size=max(train.shape[0] // BATCHES, 1), offset=1.0) if quick else "memoized",
            max_iter=passes, tol=-1.0 if quick else TOL, random_state=555, n_jobs=threads,
        ).fit(train.astype(np.float32))  # fmt: skip
        model.transform(train)
        seconds, spent = time.perf_counter() - begin, time.process_time() - spent
    found = completion_score(model.topic_word_, test)
    of_fit = {"method": "topmix", "passes": len(model.history_), "seconds": seconds, "processor_s": spent}
    return of_fit | {"score": found, "resident_mb": peak.resident}


def sampled(train: sp.csr_matrix, test: sp.csr_matrix, K: int, threads: int) -> list[dict[str, Any]]:
    import tomotopy

    rows, seconds, spent, done = [], 0.0, 0.0, 0
    begin, begun = time.perf_counter(), time.process_time()
    model = tomotopy.LDAModel(k=K, alpha=ALPHA / K, eta=ETA, seed=555, rm_top=0, min_cf=0)
    for first, last in zip(train.indptr[:-1], train.indptr[1:]):
        model.add_doc([str(v) for v in train.indices[first:last]])
    model.optim_interval = 0  # MALLET's is 0 here: the priors stay
    for sweeps in SWEEPS:
        model.train(sweeps - done, workers=threads)
        done = sweeps
        seconds, spent = seconds + time.perf_counter() - begin, spent + time.process_time() - begun
        topics = np.zeros((K, train.shape[1]))
        for k in range(K):
            topics[k, [int(word) for word in model.used_vocabs]] = model.get_topic_word_dist(k)
        found = completion_score(topics, test)
        row = {"method": "tomotopy", "sweeps": sweeps, "seconds": seconds, "processor_s": spent, "score": found}
        rows.append(row)
        begin, begun = time.perf_counter(), time.process_time()
    return rows


def run_mallet(home: Path, train: sp.csr_matrix, test: sp.csr_matrix, K: int, threads: int) -> list[dict[str, Any]]:
    """A run of its own for each number of sweeps, because MALLET shows its topics at the end; each with the import."""
    classes = os.pathsep.join(str(home / of) for of in ("class", "lib/mallet-deps.jar"))
    java = ["java", "-Xmx8g", "-Djava.awt.headless=true", "-classpath", classes]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(tool: str, *options: Any) -> tuple[float, float]:
            """Seconds, and processor seconds of all its threads."""
            begin, spent = time.perf_counter(), sum(os.times()[2:4])
            subprocess.run([*java, f"cc.mallet.{tool}", *map(str, options)], check=True, capture_output=True)
            return time.perf_counter() - begin, sum(os.times()[2:4]) - spent

        with open(folder / "cells.txt", "w") as file:
            for cell, (first, last) in enumerate(zip(train.indptr[:-1], train.indptr[1:])):
                regions = (f"chr1:{500 * v}-{500 * v + 500}" for v in train.indices[first:last].tolist())
                file.write(f"{cell} 0 {' '.join(regions)}\n")
        read = run(
            "classify.tui.Csv2Vectors", "--preserve-case", "--keep-sequence", "--token-regex", r"\S+",
            "--input", folder / "cells.txt", "--output", folder / "cells.mallet",
        )  # fmt: skip
        for sweeps in SWEEPS:
            seconds, spent = run(
                "topics.tui.Vectors2Topics", "--input", folder / "cells.mallet", "--num-topics", K, "--alpha", ALPHA,
                "--beta", ETA, "--optimize-interval", 0, "--num-threads", threads, "--num-iterations", sweeps,
                "--output-state", folder / "state.gz", "--output-doc-topics", folder / "cells.tsv",
                "--random-seed", 555, "--topic-word-weights-file", folder / "regions.tsv",
            )  # fmt: skip
            topics = np.zeros((K, train.shape[1]))
            with open(folder / "regions.tsv", newline="") as file:
                for k, region, weight in csv.reader(file, delimiter="\t"):
                    topics[int(k), int(region.split(":")[1].split("-")[0]) // 500] = float(weight)
            found = completion_score(topics / topics.sum(axis=1, keepdims=True), test)
            row = {"method": "mallet", "sweeps": sweeps, "seconds": read[0] + seconds, "processor_s": read[1] + spent}
            rows.append(row | {"score": found})
    return rows


if __name__ == "__main__":
    arguments.command(main)
