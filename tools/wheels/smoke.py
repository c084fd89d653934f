"""A few fits on small planted data, as JSON: to compare a wheel on another processor with one on this.

    python smoke.py >here.json            python smoke.py --compare here.json

Data and seeds are the same. Bits are promised on one instruction set alone; across processors the scores must agree
to a few digits, since sums are made in another order and long fits can take another turn.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import topmix
from topmix import _core
from topmix.data import from_texts, sample_lda


def results() -> dict[str, float]:
    warnings.simplefilter("ignore")  # fits end early
    X = sample_lda(120, 80, 4, doc_length=60, random_state=3).corpus
    out: dict[str, float] = {}
    common = {"random_state": 0, "n_jobs": 2}
    lda = topmix.LDA(4, max_iter=6, **common).fit(X)
    out["LDA"] = lda.perplexity(X)
    out["GibbsLDA"] = topmix.GibbsLDA(4, max_iter=20, **common).fit(X).perplexity(X)
    out["MultinomialMixture"] = topmix.MultinomialMixture(4, max_iter=5, **common).fit(X).score(X)
    rng = np.random.default_rng(1)
    points = rng.normal(size=(300, 3)) + 6 * rng.integers(0, 3, (300, 1))
    out["GaussianMixture"] = topmix.GaussianMixture(3, max_iter=10, **common).fit(points).score(points)

    with tempfile.TemporaryDirectory() as folder:
        lda.save(Path(folder) / "model")
        same = topmix.load(Path(folder) / "model").transform(X)
    np.testing.assert_array_equal(same, lda.transform(X))

    texts = ["wind and sails, wind", "bread and salt", "salt wind été"]
    out["words"] = float(from_texts(texts, min_df=1).n_words)
    try:  # an exception of ours, through nanobind's module
        found = np.zeros((2, 0), np.float32)
        _core.top_l_rows(np.ones((2, 3), np.float32), 0, found.astype(np.int32), found, False, np.zeros(2))
    except ValueError as error:
        out["exceptions"] = float("need L >= 1" in str(error))
    try:  # thrown by a number that cannot be read, in a worker of C++
        topmix.data.read_corpus(_damaged())
    except topmix.data.CorpusError:
        out["errors of files"] = 1.0
    return out


def _damaged() -> Path:
    path = Path(tempfile.mkdtemp()) / "docword.a.txt"
    path.write_text("2\n3\n2\n1 1 2\n2 x 1\n")
    return path


def main() -> int:
    found = results()
    about = {"machine": platform.machine(), "python": platform.python_version(), "isa": _core.isa}
    if sys.argv[1:2] == ["--compare"]:
        wanted = json.loads(Path(sys.argv[2]).read_text())["results"]
        for name, number in wanted.items():
            print(f"{name:20} {number:14.6f} {found[name]:14.6f}")
            assert abs(found[name] - number) <= 1e-3 * abs(number), name
        print("they agree:", about)
    else:
        print(json.dumps({**about, "results": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
