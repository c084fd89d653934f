"""Entry points for fuzzers: bytes that somebody else made, given to whatever reads files and texts, and to the server;
documents that somebody else wrote, on pages.

    python -m tools.fuzz_files model --minutes 10      one of the TARGETS; without a name all, in turn
    python -m tools.fuzz_files --jobs 13 --out DIR     all at the same time, with a log of each and a summary
    python -m tools.fuzz_files uci --case FILE         one input again

Each target takes bytes. It may refuse them with the one error that is documented for it; anything else that is raised
is a bug, and so is a crash. With Atheris (`pip install atheris`) inputs are made by libFuzzer, which follows the
branches of the Python code; without it they are random changes of the seeds in tests/fuzz_seeds. Inputs that fail are
kept in build/fuzz. tools/fuzz.py is the other fuzzer: it knows the layout of saved corpora and sparse matrices, and
says whether what was let through is sound.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tools import fuzz_pages, fuzz_state
from tools.find_chromium import find_chromium

ROOT = Path(__file__).parents[1]
SEEDS = ROOT / "tests" / "fuzz_seeds"
MODELS = ROOT / "build" / "fuzz" / "models"
MOST = 1 << 16  # bytes of an input


def _model(data: bytes, folder: Path) -> None:
    import topmix
    from topmix.base.fields import ModelFileError

    path = folder / "model"
    path.write_bytes(data)
    try:
        topmix.load(path)
    except ModelFileError:
        return


def _corpus(name: str, kind: str) -> Callable[[bytes, Path], None]:
    def target(data: bytes, folder: Path) -> None:
        from topmix.data import CorpusError, read_corpus

        path = folder / name
        path.write_bytes(data)
        try:
            corpus = read_corpus(path, format=kind, vocabulary=False if kind in COUNTS else None)
            if corpus.n_words < 10_000:
                corpus.to_scipy().sum()
        except CorpusError:
            return
        except ValueError as error:
            if kind in COUNTS or not _is_empty(error):
                raise

    return target


def _is_empty(error: ValueError) -> bool:
    """Texts that are sound, and nothing in them to count."""
    return any(part in str(error) for part in ("there are no documents", "no words", "no term"))


def _tokenizer(data: bytes, folder: Path) -> None:
    """The first byte chooses the settings; texts are separated by the byte 0."""
    from topmix.data import Vectorizer

    choice, rest = (data[0] if data else 0), data[1:]
    texts = rest.decode(errors="replace").split("\0")
    settings = {"lowercase": bool(choice & 1), "ngram_range": (1, 1 + (choice >> 1) % 3), "min_df": 1}
    try:
        corpus = Vectorizer(**settings).fit_transform(texts)
    except ValueError as error:
        if not _is_empty(error):
            raise
        return
    assert corpus.shape[0] == len(texts)


COUNTS = ("topmix", "uci", "mtx", "npz")
TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "model": _model,
    "tokenizer": _tokenizer,
    "topmix": _corpus("a.topmix", "topmix"),
    "uci": _corpus("docword.a.txt", "uci"),
    "mtx": _corpus("a.mtx", "mtx"),
    "npz": _corpus("a.npz", "npz"),
    "parquet": _corpus("a.parquet", "parquet"),
    "jsonl": _corpus("a.jsonl", "jsonl"),
    "csv": _corpus("a.csv", "csv"),
    "tsv": _corpus("a.tsv", "tsv"),
    "lines": _corpus("a.txt", "lines"),
    **fuzz_state.TARGETS,
    **fuzz_pages.TARGETS,
}
MADE = fuzz_state.SEEDS | fuzz_pages.SEEDS


def seeds(name: str) -> list[Path]:
    if name in MADE:
        return written(name)
    return models() if name == "model" else sorted((SEEDS / name).glob("*"))


@cache
def written(name: str) -> list[Path]:
    """Seeds that are made now, as files."""
    folder = ROOT / "build" / "fuzz" / "seeds" / name
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, data in enumerate(made := MADE[name]()):
            (folder / f"seed-{n}").write_bytes(data)
    return [folder / f"seed-{n}" for n in range(len(made))]


@cache
def models() -> list[Path]:
    """Small models, saved now: a file of another version would be refused at its first bytes."""
    import topmix
    from topmix.data import sample_lda

    corpus, common = sample_lda(30, 20, 2, random_state=0).corpus, {"max_iter": 2, "random_state": 0, "n_jobs": 1}
    found = [topmix.LDA(2, **common), topmix.GibbsLDA(2, **common), topmix.MultinomialMixture(2, **common)]
    MODELS.mkdir(parents=True, exist_ok=True)
    for model in found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two passes are few
            model.fit(corpus).save(MODELS / f"{type(model).__name__}.topmix")
    return [MODELS / f"{type(model).__name__}.topmix" for model in found]


def changed(data: bytes, rng: random.Random) -> bytes:
    """One to four small changes of the kinds that parsers meet."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 8, 100))
        kind = rng.randrange(6)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[at : at + length]
        elif kind == 2:
            out[at:at] = rng.choice((rng.randbytes(length), out[:length], b"\n", b"\0", b"-1", b"9" * length, b"1e999"))
        elif kind == 3:
            out[at : at + 1] = rng.choice((b" ", b"\t", b'"', b",", b":", b"\r", b"\xff", b"nan", b"%", b"{", b"["))
        elif kind == 4:
            del out[at:]
        else:
            out += out[at : at + length]
    return bytes(out[:MOST])


def inputs(name: str, rng: random.Random) -> Iterator[bytes]:
    """The seeds, then changes of them without end."""
    all_seeds = [path.read_bytes() for path in seeds(name)]
    yield from all_seeds
    while True:
        as_json = name in fuzz_state.TABLES and rng.random() < 0.8  # most changed bytes of it are no JSON any more
        yield (fuzz_state.changed_table if as_json else changed)(rng.choice(all_seeds), rng)


def run_plainly(name: str, seconds: float, seed: int = 0, most: int | None = None) -> int:
    """How many inputs were tried. Raises at the first that fails."""
    ends, n = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, data in enumerate(inputs(name, random.Random(seed))):
            if time.monotonic() > ends or n == most:
                return n
            kept = ROOT / "build" / "fuzz" / f"last-{name}"  # written first: a crash leaves it behind
            if most is None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
            TARGETS[name](data, Path(folder))
    return n


def run_with_atheris(name: str, seconds: float) -> None:
    import atheris

    with atheris.instrument_imports(include=["topmix"]):
        pass

    found = ROOT / "build" / "fuzz" / name
    found.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="topmix-fuzz-"))
    warnings.simplefilter("ignore")
    known = sorted({str(seed.parent) for seed in seeds(name)})
    given = [f"-max_total_time={int(seconds)}", f"-max_len={MOST}", "-timeout=30", "-rss_limit_mb=4096"]
    given += [f"-artifact_prefix={found}/failed-", "-print_final_stats=1", "-verbosity=0", str(found)]
    atheris.Setup([sys.argv[0], *given, *known], lambda data: TARGETS[name](data, folder))
    atheris.Fuzz()  # ends the process


def run_all(minutes: float, plain: bool, jobs: int, out: Path) -> int:
    """All targets, `jobs` at a time, each in a process of its own. A line for each, and 1 if any of them failed."""
    out.mkdir(parents=True, exist_ok=True)

    def run(name: str) -> tuple[str, int]:
        command = [sys.executable, "-m", "tools.fuzz_files", "--minutes", str(minutes), name]
        with (out / f"{name}.log").open("w") as log:
            command += ["--plain"] if plain else []
            return name, subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False).returncode

    failed, chosen = False, [name for name in TARGETS if name not in fuzz_pages.TARGETS or find_chromium()]
    if len(chosen) < len(TARGETS):
        print("pages: left out, because there is no Chromium here", flush=True)
    with ThreadPoolExecutor(jobs) as pool, (out / "summary.txt").open("w") as summary:
        for name, status in pool.map(run, chosen):
            log = (out / f"{name}.log").read_text(errors="replace").splitlines()
            told = [line for line in log if "number_of_executed_units" in line or "nothing found" in line] or log[-1:]
            line = f"{name}: exit status {status}: {' '.join(told)}"
            print(line, flush=True)
            print(line, file=summary, flush=True)
            failed |= status != 0
    return int(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--case", type=Path, help="one input, instead of many")
    parser.add_argument("--plain", action="store_true", help="without Atheris")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time, when none is named")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz" / "logs", help="where logs go")
    given = parser.parse_args()
    if given.target is None:
        return run_all(given.minutes, given.plain, given.jobs, given.out)
    if given.case:
        with tempfile.TemporaryDirectory() as folder:
            TARGETS[given.target](given.case.read_bytes(), Path(folder))
        return 0
    try:
        import atheris  # noqa: F401
    except ImportError:
        given.plain = True
    given.plain |= given.target in fuzz_pages.TARGETS  # whose code runs in the browser
    if given.plain:
        print(f"{given.target}: {run_plainly(given.target, 60 * given.minutes)} inputs, nothing found")
    else:
        run_with_atheris(given.target, 60 * given.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
