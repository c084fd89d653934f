"""How much memory and time does it take to fit single cells from an .h5ad file that is not read as a whole?

    python -m benchmarks.single_cells --passes 20
    python -m benchmarks.single_cells --passes 20 --mapped
    python -m benchmarks.single_cells --quick

The file has the size of a large set for pycisTopic: cells x regions, 1% of them not zero, from 50 planted topics. It is
generated in blocks and kept in --folder for the next call. Each fit runs in its own process: `fit("cells.h5ad")`, or
with --mapped from a corpus that is built in a file and mapped. Printed are minutes, the peak of resident and of
anonymous memory, and how well the planted topics were found. Needs anndata and h5py.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import arguments
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.own_process import measure_apart
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch

BLOCK = 2000  # cells generated at a time


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="300 cells and 500 regions")
    p.add_argument("--cells", type=int, default=100_000)
    p.add_argument("--regions", type=int, default=200_000)
    p.add_argument("--topics", type=int, default=50)
    p.add_argument("--passes", type=int, default=20)
    p.add_argument(
        "--sweeps", type=int, default=None, help="of sampling between the passes; the default of LDA if not given"
    )
    p.add_argument("--mapped", action="store_true", help="build the corpus in a file, and map it")
    p.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "topmix-single-cells")
    a = p.parse_args(argv)
    if a.quick:
        a.cells, a.regions, a.topics, a.passes, a.sweeps = 300, 500, 5, 3, 0
    a.folder.mkdir(parents=True, exist_ok=True)
    path = a.folder / f"{a.cells}x{a.regions}x{a.topics}.h5ad"
    if not path.exists():
        watch = Stopwatch()
        generate(path, a.cells, a.regions, a.topics)
        print(f"generated {path.stat().st_size / 1e9:.2f} GB in {watch.seconds:.0f} s", flush=True)
    settings = {"topics": a.topics, "passes": a.passes, "sweeps": a.sweeps, "mapped": a.mapped, "threads": a.threads}
    one = {"path": str(path), **settings}
    m = measure(**one) if a.quick else measure_apart("single_cells", one)
    print(
        f"{a.cells:,} cells x {a.regions:,} regions, {m['entries'] / 1e6:,.1f} million entries, K = {a.topics}, "
        f"{m['passes']} passes: {m['seconds'] / 60:.1f} min ({m['cpu_seconds'] / 60:.1f} of processor time), of which "
        f"reading {m['reading_seconds'] / 60:.1f}; peak {m['resident_mb']:,.0f} MB resident, "
        f"{m['anonymous_mb']:,.0f} MB anonymous; planted topics found: {m['found']:.0%}"
    )
    Results(a.out, "single_cells").add(m, {"cells": a.cells, "regions": a.regions, **settings})
    return 0


def measure(path: str, topics: int, passes: int, sweeps: int | None, mapped: bool, threads: int) -> dict[str, float]:
    """One fit in this process."""
    import anndata

    from benchmarks.harness.methods import ours
    from topmix import LDA
    from topmix.data import from_anndata
    from topmix.inference import Collapsed
    from topmix.io.documents import read

    inference = Collapsed() if sweeps is None else Collapsed(sweeps=sweeps)
    lda = LDA(topics, inference=inference, max_iter=ours.with_sweeps(passes, sweeps), n_jobs=threads, random_state=0)
    with PeakMemory() as peak:
        watch, cpu = Stopwatch(), time.process_time()
        if mapped:
            adata = anndata.read_h5ad(path, backed="r")
            with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
                corpus = from_anndata(adata, out=Path(folder) / "cells.topmix")
                reading = watch.seconds
                lda.fit(corpus)
        else:
            corpus = read(path)[0]  # as `fit(path)` does
            reading = watch.seconds
            lda.fit(corpus)
        seconds, cpu = watch.seconds, time.process_time() - cpu
    entries, regions = corpus.nnz, corpus.n_words
    return {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "reading_seconds": reading,
        "passes": sum(record.phase != "sampling" for record in lda.history_),
        "entries": entries,
        "resident_mb": peak.resident,
        "anonymous_mb": peak.anonymous,
        "found": found(lda.topic_word_, planted(regions, topics)),
    }


def found(learned: NDArray[Any], true: NDArray[Any]) -> float:
    """The share of planted topics that have a learned one with a cosine above 0.8."""
    a = learned / np.linalg.norm(learned, axis=1, keepdims=True)
    b = true / np.linalg.norm(true, axis=1, keepdims=True)
    return float(((b @ a.T).max(1) > 0.8).mean())


def planted(regions: int, topics: int) -> NDArray[np.float64]:
    """[topics, regions] probabilities: all regions have some accessibility, and a tenth of them are a topic's own."""
    rng = np.random.default_rng(1)
    weight = np.tile(rng.gamma(1.0, size=regions), (topics, 1))
    own = rng.random((topics, regions)) < 0.1
    weight[own] *= 20.0
    return weight / weight.sum(1, keepdims=True)


def generate(path: Path, cells: int, regions: int, topics: int, density: float = 0.01) -> None:
    """An .h5ad file of counts, written a block of cells at a time."""
    import h5py

    rng = np.random.default_rng(0)
    cumulative = planted(regions, topics).cumsum(1)
    length = density * regions
    unfinished = path.with_suffix(".part")
    with h5py.File(unfinished, "w") as f:
        f.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        X = f.create_group("X")
        X.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [cells, regions]})
        for name, dtype in (("data", "f4"), ("indices", "i4")):
            X.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(1 << 20,))
        indptr = np.zeros(cells + 1, np.int64)
        for begin in range(0, cells, BLOCK):
            n = min(BLOCK, cells - begin)
            tokens = rng.poisson(1.06 * length * rng.gamma(4.0, 0.25, n))  # a few regions are drawn twice
            mix = rng.dirichlet(np.full(topics, 0.1), n)
            per_topic = rng.multinomial(tokens, mix)  # [cells, topics]
            cell = np.concatenate([np.repeat(np.arange(n), per_topic[:, k]) for k in range(topics)])
            region = np.concatenate(
                [np.searchsorted(cumulative[k], rng.random(per_topic[:, k].sum())) for k in range(topics)]
            )
            key, count = np.unique(cell * np.int64(regions) + np.minimum(region, regions - 1), return_counts=True)
            indptr[begin + 1 : begin + n + 1] = indptr[begin] + np.bincount(key // regions, minlength=n).cumsum()
            for name, values in (("data", count), ("indices", key % regions)):
                X[name].resize((indptr[begin + n],))
                X[name][indptr[begin] :] = values
        X.create_dataset("indptr", data=indptr)
        for axis, size in (("obs", cells), ("var", regions)):
            group = f.create_group(axis)
            group.attrs.update(
                {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index", "column-order": []}
            )
            names = group.create_dataset("_index", data=[f"{axis}{i}" for i in range(size)], dtype=h5py.string_dtype())
            names.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
    unfinished.rename(path)


if __name__ == "__main__":
    arguments.command(main)
