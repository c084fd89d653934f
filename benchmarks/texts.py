"""How much memory do texts and tables take on their way in and out?

    python -m benchmarks.texts csv --gb 1
    python -m benchmarks.texts table --rows 1000000
    python -m benchmarks.texts parquet --gb 1
    python -m benchmarks.texts csv --quick

`csv` counts the words of a generated CSV file, as `fit("big.csv")` does, in memory, and into a file. `parquet` counts a
generated Parquet file into a file. `table` has a DataFrame of short texts in memory: counting its words, topics of its
rows, and the tables and groups of them; the limit is what was resident before, and a fifth more. Each case runs in its
own process. Printed are the peak of resident and anonymous memory (Linux), seconds, and those of the processor.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.memory import PeakMemory, now
from benchmarks.harness.own_process import measure_apart
from benchmarks.harness.results import Results
from benchmarks.harness.stopwatch import Stopwatch

CASES = {
    "csv": ("as fit reads it", "in memory", "into a file"),
    "parquet": ("into a file",),
    "table": ("fit", "transform", "predict", "document_info", "topics_over_time", "topics_by"),
}
WORDS = 200_000


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a file of 1 MB, or 2,000 rows")
    p.add_argument("what", choices=CASES)
    p.add_argument("--gb", type=float, default=1.0)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "topmix-texts")
    a = p.parse_args(argv)
    if a.quick:
        a.gb, a.rows = 0.001, 2000
    a.folder.mkdir(parents=True, exist_ok=True)
    path = a.folder / f"{a.gb:g}.{a.what}"
    if a.what != "table" and not path.exists():
        (write_csv if a.what == "csv" else write_parquet)(path, a.gb * 1e9)
    size = {"rows": a.rows} if a.what == "table" else {"gb": a.gb}
    print(f"{'':<20}{'input':>10}{'before':>10}{'resident':>12}{'anonymous':>12}{'seconds':>9}{'processor':>11}")
    out = Results(a.out, "texts")
    for case in CASES[a.what]:
        one = {"what": a.what, "case": case, "path": str(path), "rows": a.rows, "threads": a.threads}
        m = measure(**one) if a.quick else measure_apart("texts", one)
        print(
            f"{case:<20}{m['input_mb']:>7,.0f} MB{m['before_mb']:>7,.0f} MB{m['resident_mb']:>9,.0f} MB"
            f"{m['anonymous_mb']:>9,.0f} MB{m['seconds']:>9.1f}{m['cpu_seconds']:>11.1f}",
            flush=True,
        )
        out.add(m, {"what": a.what, "case": case, "threads": a.threads, **size})
    return 0


def measure(what: str, case: str, path: str, rows: int, threads: int) -> dict[str, float]:
    from topmix import LDA
    from topmix.base.threads import use_threads
    from topmix.data import read_corpus
    from topmix.io.documents import DEFAULTS, read

    lda = LDA(20, learner="stochastic", max_iter=1, n_jobs=threads, random_state=0)
    if what == "csv":
        size = Path(path).stat().st_size / 1e6

        def work() -> Any:
            if case == "as fit reads it":
                with use_threads(threads):
                    return read(path)[0]
            with use_threads(threads), tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
                out = None if case == "in memory" else Path(folder) / "big.topmix"
                return read_corpus(path, out=out, **DEFAULTS).nnz
    elif what == "parquet":
        size = Path(path).stat().st_size / 1e6

        def work() -> Any:
            with use_threads(threads), tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
                return read_corpus(path, out=Path(folder) / "big.topmix", **DEFAULTS).nnz
    else:
        import pandas as pd

        frame = pd.DataFrame(
            {"text": texts_of(rows), "date": dates_of(rows), "group": ["ab"[i % 2] for i in range(rows)]}
        )
        size = float(frame.memory_usage(deep=True).sum()) / 1e6
        if case != "fit":
            lda.fit(frame.head(2000), text="text")

        def work() -> Any:
            if case == "fit":
                return lda.fit(frame, text="text")
            more = {"topics_over_time": ("date",), "topics_by": ("group",)}.get(case, ())
            return getattr(lda, case)(frame, *more)

    before, _ = now()
    with PeakMemory(children=True) as peak:
        watch, cpu = Stopwatch(), time.process_time()
        made = work()
        seconds, cpu = watch.seconds, time.process_time() - cpu
    del made
    return {
        "input_mb": size,
        "before_mb": before,
        "resident_mb": peak.resident,
        "anonymous_mb": peak.anonymous,
        "seconds": seconds,
        "cpu_seconds": cpu,
    }


def processor(pid: int) -> float:
    """Seconds of the processor that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drawn(rng: np.random.Generator, n: int, length: int) -> list[str]:
    """Texts of words whose frequencies follow Zipf's law: P(v) ~ 1 / (v + 1)."""
    ids = (np.exp(rng.random((n, length), np.float32) * np.float32(np.log(WORDS))) - 1).astype(np.int64)
    return [" ".join([f"w{v:x}ord" for v in row]) for row in ids.tolist()]


def texts_of(rows: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [text for begin in range(0, rows, 10_000) for text in drawn(rng, min(10_000, rows - begin), 20)]


def dates_of(rows: int) -> list[str]:
    return [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(rows)]


def write_csv(path: Path, n_bytes: float) -> None:
    """The first tenth is drawn, and then repeated."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as file:
        file.write("text\n")
        part: list[str] = []
        while sum(map(len, part)) < n_bytes / 10:
            part.append("".join(f"{text}\n" for text in drawn(rng, 2000, 120)))
        while file.tell() < n_bytes:
            file.writelines(part)


def write_parquet(path: Path, n_bytes: float) -> None:
    """The same texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, size = np.random.default_rng(0), 0
    part = list[list[str]]()
    while sum(len(text) for texts in part for text in texts) < n_bytes / 10:
        part.append(drawn(rng, 2000, 120))
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        while size < n_bytes:
            texts = [text for texts in part for text in texts]
            writer.write_table(pa.table({"text": texts}), row_group_size=20_000)
            size += sum(map(len, texts))


if __name__ == "__main__":
    arguments.command(main)
