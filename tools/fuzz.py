"""Damaged corpora and matrices by the thousand: each is refused, or is sound and gives what it says.

    python -m tools.fuzz corpora 20000      saved corpora: one bit, or one field with corrected checksums
    python -m tools.fuzz matrices 5000      of every sparse format of SciPy, with bad indices
    python -m tools.fuzz doors 20000        calls of the native module, with wrong arguments and in any order
    python -m tools.fuzz doors --minutes 10
    python -m tools.fuzz estimators --minutes 60 --seed 7    fits and calls of all: tools/fuzz_estimators.py

Cases run in a child process, a batch at a time: a case that crashes it or takes too long is reported with the command
that makes it again, `python -m tools.fuzz corpora --case NUMBER`. tests/data/test_fuzz_rows.py runs some of them.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import itertools
import json
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tools import doors
from tools.fuzz_laws import estimator_case
from tools.saved_corpora import parts, sealed
from topmix import LDA, CombinatorialLDA, GibbsLDA, MultinomialMixture
from topmix.corpus.shard import Shards, at_random
from topmix.data import Corpus, read_corpus
from topmix.metrics import completion_score

D, V = 12, 9
NUMBERS = [-1, 0, 1, V, V + 1, D, 2**15, 2**31 - 1, 2**31, 2**32, 2**62, -(2**31), -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, -1.0, 1e-45, 2.0, 0.5, 3.4e38, np.inf, -np.inf, np.nan]
SECONDS_PER_CASE = 60
BATCH = 200
SEED = 10**6  # numbers of cases from one seed to the next
MOST_SAID = 2500  # letters of an error


def counts(rng: np.random.Generator) -> np.ndarray:
    X = rng.poisson(1.0, (D, V)).astype(np.float32)
    X[0] = np.maximum(X[0], 1)
    return X


# ---------------------------------------------------------------------------------------------------------- corpora


def damage(data: bytes, rng: np.random.Generator) -> tuple[bytes, bool]:
    """(a file with one thing changed, whether its checksums are correct)."""
    table, metadata, blob = parts(data)
    kind = rng.integers(5)
    if kind == 0:  # a bit anywhere
        at = int(rng.integers(len(data)))
        return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :], False
    name = rng.choice(["indptr", "index", "value", "value", *table])
    begin, end = table[name]["data_offsets"]
    size = {"I64": 8, "I32": 4, "F32": 4, "U8": 1}[table[name]["dtype"]]
    if kind == 4:  # a number of the header
        key = rng.choice(["n_docs", "n_words", "nnz", "n_tokens"])
        metadata[key] = str(rng.choice([*NUMBERS, int(float(metadata[key])) + 1, int(float(metadata[key])) - 1]))
    elif end > begin:
        at = begin + size * int(rng.integers((end - begin) // size))
        if kind == 1:  # a bit of an array
            blob[at + int(rng.integers(size))] ^= 1 << int(rng.integers(8))
        elif table[name]["dtype"] == "F32":
            blob[at : at + 4] = np.float32(rng.choice(FLOATS)).tobytes()
        else:
            other = begin + size * int(rng.integers((end - begin) // size))
            there = int.from_bytes(blob[other : other + size], "little")
            number = there if rng.random() < 0.3 else int(NUMBERS[rng.integers(len(NUMBERS))])
            blob[at : at + size] = (number % 256**size).to_bytes(size, "little")
    return sealed(table, metadata, blob), True


def is_sound(data: bytes, strings: tuple[str, ...], total: bool) -> bool:
    """The rows of a file, looked at one by one; some of its strings; the sum of its counts in the header."""
    table, metadata, blob = parts(data)
    types = {"I64": "<i8", "I32": "<i4", "F32": "<f4", "U8": "u1"}
    a = {n: np.frombuffer(blob[slice(*e["data_offsets"])], types[e["dtype"]]) for n, e in table.items()}
    indptr, index, value = a["indptr"].tolist(), a["index"].tolist(), a["value"].tolist()
    if indptr[0] != 0 or indptr[-1] != len(index) or len(index) != len(value):
        return False
    for begin, end in itertools.pairwise(indptr):
        if not 0 <= begin <= end <= len(index):
            return False
        row = [-1, *index[begin:end], int(metadata["n_words"])]
        if any(x >= y for x, y in itertools.pairwise(row)) or not all(0 < x < np.inf for x in value[begin:end]):
            return False
    for name in strings:
        if name in a and (np.any(np.diff(a[f"{name}_offsets"]) < 0) or not _is_text(a[name], a[f"{name}_offsets"])):
            return False
    return not total or bool(np.isclose(float(metadata["n_tokens"]), np.sum(value, dtype=np.float64), rtol=1e-6))


def _is_text(text: np.ndarray, offsets: np.ndarray) -> bool:
    try:
        for begin, end in itertools.pairwise(offsets):
            text[begin:end].tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _shards(corpus: Corpus) -> None:
    """As another process reads them."""
    shards = Shards(corpus, at_random(corpus, 3, np.random.default_rng(0)))
    for b in range(len(shards)):
        pickle.loads(pickle.dumps(shards.message(b))).read()


BOTH, WORDS, NEITHER = ("vocabulary", "names"), ("vocabulary",), ()
Use = tuple[Callable[[Corpus], Any], tuple[str, ...], bool]  # a use of rows, the strings that it reads, and n_tokens?


class Uses:
    """Whatever reads rows. Each reads all of them."""

    def __init__(self) -> None:
        X = counts(np.random.default_rng(7))
        words = [f"w{v}" for v in range(V)]
        self.lda = LDA(2, max_iter=1, random_state=0, n_jobs=1).fit(Corpus.from_scipy(X, vocabulary=words))
        self.sort = {"max_iter": 1, "random_state": 0, "n_jobs": 1}

    def all(self) -> list[Use]:
        sort = self.sort
        return [
            (lambda c: [c.to_scipy(), list(c.vocabulary or ()), list(c.names or ())], BOTH, True),
            (lambda c: [list(row.index) for row in c], NEITHER, False),
            (lambda c: c[np.arange(c.n_docs)[::-1]], NEITHER, False),
            (_shards, NEITHER, False),
            (self.lda.transform, WORDS, False),
            (self.lda.perplexity, WORDS, True),
            (lambda c: LDA(2, **sort).fit(c), WORDS, True),
            (lambda c: c.keep_words(np.arange(c.n_words) % 2 == 0), WORDS, True),
            (lambda c: LDA(2, engine="serial", **sort).fit(c), WORDS, True),
            (lambda c: LDA(2, inference="cvb0", learner="batch", **sort).fit(c), WORDS, True),
            (lambda c: LDA(2, random_state=0, n_jobs=1).partial_fit(c), WORDS, True),
            (lambda c: LDA(2, inference="scvb0", learner="stochastic", **sort).fit(c), WORDS, True),
            (lambda c: GibbsLDA(2, **sort).fit(c), WORDS, True),
            (lambda c: LDA(2, inference="variational", learner="asynchronous", **sort).fit(c), WORDS, True),
            (lambda c: CombinatorialLDA(2, **sort).fit(c), WORDS, True),
            (lambda c: MultinomialMixture(2, **sort).fit(c), WORDS, True),
            (lambda c: completion_score(np.ones((2, c.n_words)), c), NEITHER, True),
            (lambda c: c.verify(), BOTH, True),
        ]


def corpus_case(n: int, folder: Path, uses: Uses) -> str:
    """What became of it. Raises AssertionError where something wrong went through."""
    rng = np.random.default_rng([n, 1])
    path = folder / "case.topmix"
    whole = Corpus.from_scipy(
        counts(rng),
        vocabulary=[f"w{v}" for v in range(V)] if rng.random() < 0.7 else None,
        names=[f"n{d}" for d in range(D)] if rng.random() < 0.5 else None,
    )
    whole.save(path)
    data, forged = damage(path.read_bytes(), rng)
    path.write_bytes(data)
    verify = bool(rng.random() < 0.5)
    use, strings, total = uses.all()[n % len(uses.all())]
    try:
        corpus = Corpus.open(path, verify=verify)
        if corpus.n_words > 10_000:
            return "large"  # a valid header, and no machine for such topics
        use(corpus)
        if n % 7 == 0:
            corpus.save(folder / "copy.topmix")
    except ValueError:
        return "refused"
    if verify and not forged:
        assert Corpus.open(path).equals(whole), "a flipped bit went through"
    if not forged and n % 7 == 0:
        assert Corpus.open(folder / "copy.topmix").equals(whole), "save wrote a checksum over damage"
    if verify or forged:
        assert is_sound(data, strings, total), "unsound rows went through"
    return "sound"


# --------------------------------------------------------------------------------------------------------- matrices

FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")


def bad_number(rng: np.random.Generator, dtype: Any) -> Any:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return dtype.type(np.clip(NUMBERS[rng.integers(len(NUMBERS))], low, high))


def damaged_matrix(rng: np.random.Generator, form: str) -> Any:
    dense = counts(rng)[:, :8].astype(rng.choice([np.float32, np.float64, np.int64]))
    X = sp.coo_array(dense)
    X = X.tobsr((2, 2)) if form == "bsr" else X.asformat(form)
    if rng.random() < 0.2 and form in ("csr", "csc", "bsr"):
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    kind = rng.random()
    if form in ("csr", "csc", "bsr"):
        name = "indices" if kind < 0.5 else "indptr"
        a = getattr(X, name).copy()
        if kind > 0.9:
            a = a[: rng.integers(len(a))] if rng.random() < 0.5 else np.append(a, a[-1])
        else:
            a[rng.integers(len(a))] = bad_number(rng, a.dtype)
        setattr(X, name, a)
        if rng.random() < 0.1:
            X.data = X.data[: rng.integers(len(X.data))]
    elif form == "coo":
        row, col = (a.copy() for a in X.coords)
        a = row if kind < 0.5 else col
        a[rng.integers(len(a))] = bad_number(rng, a.dtype)
        X.coords = (row, col)
        if rng.random() < 0.1:
            X.data = X.data[: rng.integers(len(X.data))]
    elif form == "lil":
        d = rng.choice([d for d in range(X.shape[0]) if X.rows[d]])
        if kind < 0.7:
            X.rows[d][rng.integers(len(X.rows[d]))] = int(NUMBERS[rng.integers(len(NUMBERS))])
        else:
            (X.rows if kind < 0.85 else X.data)[d].append(3)
    elif form == "dok":
        key = int(NUMBERS[rng.integers(len(NUMBERS))]), int(rng.integers(8))
        X._dict[key if kind < 0.5 else key[::-1]] = 1.0
    elif kind < 0.5:
        X.offsets = X.offsets.copy()
        X.offsets[rng.integers(len(X.offsets))] = bad_number(rng, X.offsets.dtype)
    else:
        X.data = X.data[: rng.integers(len(X.data))] if kind < 0.75 else X.data[:, : rng.integers(X.data.shape[1])]
    return X


def dense_of(X: Any) -> np.ndarray | None:
    """The matrix that the arrays describe, entry by entry; None where they describe none."""
    n, m = X.shape
    out = np.zeros((n, m))
    entries: list[tuple[int, int, float]] = []
    if X.format in ("csr", "csc", "bsr"):
        R, C = X.data.shape[1:] if X.format == "bsr" else (1, 1)
        major, minor = (m, n) if X.format == "csc" else (n // R, m // C)
        indptr, indices = X.indptr.tolist(), X.indices.tolist()
        if len(indptr) != major + 1 or indptr[0] != 0 or any(a > b for a, b in itertools.pairwise(indptr)):
            return None
        if indptr[-1] > min(len(indices), len(X.data)) or not all(0 <= i < minor for i in indices):
            return None
        for a in range(major):
            for i in range(indptr[a], indptr[a + 1]):
                if X.format == "bsr":
                    entries += [(a * R + r, indices[i] * C + c, X.data[i, r, c]) for r in range(R) for c in range(C)]
                else:
                    entries.append((indices[i], a, X.data[i]) if X.format == "csc" else (a, indices[i], X.data[i]))
    elif X.format == "coo":
        if not len(X.row) == len(X.col) == len(X.data):
            return None
        entries = list(zip(X.row.tolist(), X.col.tolist(), X.data.tolist()))
    elif X.format == "lil":
        if any(len(a) != len(b) for a, b in zip(X.rows, X.data)):
            return None
        entries = [(d, v, x) for d in range(n) for v, x in zip(X.rows[d], X.data[d])]
    elif X.format == "dok":
        entries = [(*key, x) for key, x in X._dict.items()]
    else:
        offsets = X.offsets.tolist()
        if len(set(offsets)) != len(offsets) or len(offsets) != len(X.data):
            return None
        for k, numbers in zip(offsets, X.data.tolist()):
            entries += [(v - k, v, x) for v, x in enumerate(numbers) if v < m and 0 <= v - k < n]
    for d, v, x in entries:
        if not (0 <= d < n and 0 <= v < m):
            return None
        out[d, v] += x
    return out


def as_npz(X: Any) -> bytes:
    """As scipy.sparse.save_npz writes it, without its checks."""
    arrays = {"format": X.format.encode(), "shape": X.shape, "data": X.data}
    if X.format in ("csr", "csc", "bsr"):
        arrays |= {"indices": X.indices, "indptr": X.indptr}
    else:
        arrays |= {"offsets": X.offsets} if X.format == "dia" else {"row": X.row, "col": X.col}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def matrix_case(n: int, folder: Path, uses: Uses) -> str:
    rng = np.random.default_rng([n, 2])
    form = FORMATS[n % len(FORMATS)]
    X = damaged_matrix(rng, form)
    want = dense_of(X)
    found = None
    try:
        use = n // len(FORMATS) % 4
        if use == 0:
            found = Corpus.from_scipy(X)
        elif use == 1:
            LDA(2, **uses.sort).fit(X)
        elif use == 2:
            completion_score(np.ones((2, 8)), X)
        elif form in ("lil", "dok"):
            MultinomialMixture(2, **uses.sort).fit(X)
        else:
            path = folder / "case.npz"
            path.write_bytes(as_npz(X))
            found = read_corpus(path)
    except (ValueError, TypeError):
        return "refused"
    assert want is not None, "indices that lie outside went through"
    if found is not None:
        np.testing.assert_array_equal(found.to_scipy().toarray(), want)
    return "sound"


# ------------------------------------------------------------------------------------------------------------- doors

CALLS = 20  # of a case
MOST_MEMORY = 8 << 30  # bytes that a process may address: more is a MemoryError


def door_case(n: int, folder: Path, uses: Uses) -> str:
    """Functions, or methods of one object, with some wrong arguments. tools/doors.py says what must hold."""
    rng = np.random.default_rng([n, 3])
    kind = str(rng.choice(doors.CLASSES)) if n % 2 else ""
    names = doors.methods(kind) if kind else [name for name in doors.DOORS if "." not in name]
    on = doors.made(kind) if kind else None
    answers = 0
    for _ in range(CALLS):
        name = str(rng.choice(names))
        given = doors.DOORS[name].given
        wrong = rng.permutation(list(given))[: rng.integers(3)] if given else []
        answers += doors.attempt(name, {key: doors.random_hostile(given[key], key, rng) for key in wrong}, on)
    return "answered" if answers else "refused"


# ------------------------------------------------------------------------------------------------------------ running

CASES: dict[str, Callable[[int, Path, Uses], str]] = {
    "corpora": corpus_case,
    "matrices": matrix_case,
    "doors": door_case,
    "estimators": estimator_case,
}


def run_here(kind: str, numbers: range) -> dict[str, int]:
    """Runs cases in this process, and says of each that it begins, and what is wrong; how many ended in which way."""
    uses, ends = Uses(), dict[str, int]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counts of 3e38 overflow somewhere, and fits of one pass do not converge
        for n in numbers:
            print(n, flush=True)
            faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True)  # also where the interpreter waits
            try:
                end = CASES[kind](n, Path(folder), uses)
            except Exception:
                end = "wrong"
                print(json.dumps({"case": n, "said": traceback.format_exc()[-MOST_SAID:]}), flush=True)
            faulthandler.cancel_dump_traceback_later()
            ends[end] = ends.get(end, 0) + 1
    return ends


def run_apart(
    kind: str, numbers: range, seconds: float = np.inf, tell: Callable[[str], object] = lambda line: None
) -> tuple[dict[str, int], list[str]]:
    """Runs cases in child processes, until they or the seconds are over. What became of them, and what is wrong."""
    total, wrong = dict[str, int](), list[str]()
    at, ends = numbers.start, time.monotonic() + seconds

    def found(case: int, said: str) -> None:
        wrong.append(f"case {case} of {kind}: {said}\n    python -m tools.fuzz {kind} --case {case}")
        tell(wrong[-1])

    while at < numbers.stop and time.monotonic() < ends:
        stop = min(at + BATCH, numbers.stop)
        command = [sys.executable, "-m", "tools.fuzz", kind, str(stop - at), "--first", str(at), "--child"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, error = child.communicate(timeout=SECONDS_PER_CASE * 10)
        except subprocess.TimeoutExpired:
            child.kill()
            out, error = child.communicate()
            error += "the batch timed out"
        lines = out.splitlines()
        started = [int(line) for line in lines if line.isdecimal()]
        for line in lines:
            if line.startswith('{"case"'):
                found(**json.loads(line))
        if child.returncode == 0:
            for end, n in json.loads(lines[-1]).items():
                total[end] = total.get(end, 0) + n
            at = stop
        elif not started:
            raise RuntimeError(f"no case could be started: {error.strip()[-MOST_SAID:]}")
        else:
            found(started[-1], f"exit status {child.returncode}: {error.strip()[-MOST_SAID:]}")
            at = started[-1] + 1
    return total, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("n", type=int, nargs="?", default=sys.maxsize)
    parser.add_argument("--minutes", type=float, default=np.inf, help="no more cases after that")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0, help=f"first cases are numbers from {SEED:,} times this")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    first, n = (given.first + SEED * given.seed, given.n) if given.case is None else (given.case, 1)
    numbers = range(first, first + n)
    if given.child:
        if given.kind in ("doors", "estimators"):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        print(json.dumps(run_here(given.kind, numbers)))
        return 0
    began = time.perf_counter()
    ends, wrong = run_apart(given.kind, numbers, 60 * given.minutes, lambda line: print(line, flush=True))
    print(f"{given.kind}: {sum(ends.values())} cases, {ends}, {len(wrong)} wrong, {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
