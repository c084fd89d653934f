"""How much memory does each process take where texts are in object storage?

    python -m benchmarks.storage [--gb 0.25 1] [--K 50] [--passes 2] [--threads 2]

Parquet files of generated texts (8 row groups that are drawn, in another order in each file) behind s3://, served by
moto on this machine, which keeps them on its disk. Two workers of a Ray cluster count them, with the stop words and
cuts of `fit`, and fit LDA, memoized in rounds. Printed are the peaks (Linux) of what is a process's own memory, and of
all that is resident, with pages of mapped files and of the object store: of this process, which holds the model, and of
the largest worker, after counting and after the fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import arguments
from benchmarks.harness.results import Results
from benchmarks.texts import drawn, processor

FILE = 64e6  # bytes of a Parquet file, about
GROUP = 20_000  # documents of a row group
GROUPS = 8
BATCH = 25_000  # documents
PORT = 25611


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="a file of 10 MB")
    p.add_argument("--gb", type=float, nargs="+", default=[0.25, 1.0], help="of Parquet")
    p.add_argument("--K", type=int, default=50)
    p.add_argument("--passes", type=int, default=2)
    a = p.parse_args(argv)
    if a.quick:
        a.gb = [0.01]
    out, size = Results(a.out, "storage"), 0.0
    with tempfile.TemporaryDirectory(prefix="topmix-storage-") as folder:
        storage = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}", "AWS_ACCESS_KEY_ID": "nobody",
                   "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_DEFAULT_REGION": "us-east-1"}  # fmt: skip
        os.environ.update(storage, TOPMIX_CACHE=f"{folder}/cache")
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(PORT)],
            env={**os.environ, "MOTO_S3_DEFAULT_KEY_BUFFER_SIZE": "65536", "TMPDIR": folder},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            files = Files(Path(folder), 0.01e9 if a.quick else FILE, 500 if a.quick else GROUP)
            for gb in sorted(a.gb):
                while size < gb * 1e9:
                    size += files.add()
                one = ["--inside", str(size), folder, str(a.K), str(a.passes), str(a.threads)]
                command = [sys.executable, "-m", "benchmarks.storage", *one]
                made = subprocess.run(command, capture_output=True, text=True)
                if made.returncode:
                    raise RuntimeError(made.stderr[-3000:])
                found: dict[str, float] = json.loads(made.stdout.splitlines()[-1])
                print(*(f"{name} {value:,.0f}" for name, value in found.items()), sep=", ", flush=True)
                out.add(found, {"gb": gb, "K": a.K, "passes": a.passes, "threads": a.threads})
        finally:
            server.kill()
            server.wait()
    return 0


class Files:
    """Parquet files in the bucket."""

    def __init__(self, folder: Path, size: float, group: int):
        import fsspec
        import pyarrow as pa

        rng = np.random.default_rng(0)
        self.folder, self.size, self.n = folder, size, 0
        self.groups = [pa.table({"text": drawn(rng, group, 120)}) for _ in range(GROUPS)]
        self.there = fsspec.filesystem("s3")
        deadline = time.monotonic() + 60
        while True:
            try:
                self.there.mkdir("bucket")
                return
            except Exception:  # the server is not there yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def add(self) -> int:
        import pyarrow.parquet as pq

        path, rng = self.folder / "one.parquet", np.random.default_rng(self.n)
        with open(path, "wb") as file, pq.ParquetWriter(file, self.groups[0].schema) as writer:
            while file.tell() < self.size:
                writer.write_table(self.groups[rng.integers(GROUPS)])
        self.there.put_file(str(path), f"bucket/texts/{self.n:06d}.parquet")
        self.n += 1
        return path.stat().st_size


def inside(size: float, folder: str, K: int, passes: int, threads: int) -> None:
    from topmix import LDA
    from topmix.data import read_corpus
    from topmix.engines.ray_engine import Ray
    from topmix.io.documents import DEFAULTS
    from topmix.learners import Memoized

    engine = Ray(address="local", workers=threads)
    pids = [os.getpid(), *(peer.place.pid for peer in engine._pool().peers)]
    peaks = Peaks(pids)
    used, began = sum(map(processor, pids)), time.perf_counter()
    corpus = read_corpus("s3://bucket/texts/", format="parquet", out=Path(folder) / "corpus.topmix", **DEFAULTS)
    counted, counting = peaks("counted"), time.perf_counter() - began
    began = time.perf_counter()
    learner = Memoized(batch_size=min(BATCH, -(-corpus.n_docs // 4)), batches_per_update=threads)
    LDA(K, learner=learner, max_iter=passes, tol=-np.inf, random_state=0, engine=engine).fit(corpus)
    fitted, fitting = peaks("fitted"), time.perf_counter() - began
    assert corpus.path is not None
    found = {
        "parquet_mb": size / 1e6,
        "documents": corpus.n_docs,
        "corpus_mb": corpus.path.stat().st_size / 1e6,
        **counted,
        **fitted,
        "counting": counting,
        "fitting": fitting,
        "processor": sum(map(processor, pids)) - used,
    }
    print(json.dumps(found))


class Peaks(threading.Thread):
    """MB of each process so far: the most of its own (anonymous) and of all that is resident, which has pages of mapped
    files and of the object store too."""

    def __init__(self, pids: list[int]):
        super().__init__(daemon=True)
        self.pids, self.own = pids, [0.0] * len(pids)
        self.start()

    def run(self) -> None:
        while True:
            now = [memory(pid, "RssAnon") for pid in self.pids]
            self.own = [max(pair) for pair in zip(self.own, now, strict=True)]
            time.sleep(0.05)

    def __call__(self, what: str) -> dict[str, float]:
        resident = [memory(pid, "VmHWM") for pid in self.pids]
        return {
            f"{what}_own_mb": self.own[0],
            f"{what}_resident_mb": resident[0],
            f"worker_{what}_own_mb": max(self.own[1:]),
            f"worker_{what}_resident_mb": max(resident[1:]),
        }


def memory(pid: int, name: str) -> float:
    """MB of a line of /proc/pid/status; 0 when the process has ended."""
    try:
        _, found, after = Path(f"/proc/{pid}/status").read_text().partition(f"{name}:")
    except OSError:
        return 0.0
    return int(after.split()[0]) / 1e3 if found else 0.0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(float(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))  # type: ignore[call-arg]
    else:
        arguments.command(main)
