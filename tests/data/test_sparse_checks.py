"""Indices of sparse matrices are checked before SciPy converts them, which writes where they say."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from tools.fuzz import as_npz
from topmix import LDA, GibbsLDA, MultinomialMixture
from topmix.corpus.counts import check_sparse
from topmix.data import Corpus, CorpusError, read_corpus
from topmix.io import rows as inputs
from topmix.metrics import completion_score

DENSE = np.random.default_rng(0).poisson(1.0, (12, 8)) + np.eye(12, 8, dtype=int)
MODEL = LDA(2, max_iter=1, random_state=0).fit(DENSE)


def matrix(form, name=None, at=0, number=0):
    X = sp.coo_array(DENSE).tobsr((2, 2)) if form == "bsr" else sp.coo_array(DENSE).asformat(form)
    if name is not None:
        array = getattr(X, name).copy()
        array[at] = number
        setattr(X, name, array)
    return X


def coo(row=0, col=0):
    X = sp.coo_array(DENSE)
    a, b = (x.copy() for x in X.coords)
    a[5] = row or a[5]
    b[5] = col or b[5]
    X.coords = (a, b)
    return X


def lil(d, column):
    X = sp.lil_array(DENSE)
    X.rows[d][0] = column
    return X


def dok(key):
    X = sp.dok_array(DENSE)
    X._dict[key] = 1.0
    return X


def short(form):
    X = matrix(form)
    X.data = X.data[:-3]
    return X


BAD = {
    "csc far": (lambda: matrix("csc", "indices", 5, 2**30), "row 1073741824 at entry 5"),
    "csc rows": (lambda: matrix("csc", "indices", 5, 12), "row 12 at entry 5.* from 0 to 11"),
    "csc -1": (lambda: matrix("csc", "indices", 5, -1), "row -1 at entry 5"),
    "csc indptr": (lambda: matrix("csc", "indptr", 3, 2**20), "does not rise"),
    "csc falls": (lambda: matrix("csc", "indptr", 3, -1), "does not rise"),
    "csr far": (lambda: matrix("csr", "indices", 5, 8), "column 8 at entry 5"),
    "csr indptr": (lambda: matrix("csr", "indptr", 3, 2**20), "does not rise"),
    "csr end": (lambda: matrix("csr", "indptr", -1, 2**20), "does not rise"),
    "bsr far": (lambda: matrix("bsr", "indices", 2, 4), "column of blocks 4 at entry 2"),
    "bsr indptr": (lambda: matrix("bsr", "indptr", 2, 99), "does not rise"),
    "csc short": (lambda: short("csc"), "numbers for"),
    "bsr short": (lambda: short("bsr"), "numbers for"),
    "coo row": (lambda: coo(row=12), "row 12 at entry 5"),
    "coo col": (lambda: coo(col=-9), "column -9 at entry 5"),
    "lil": (lambda: lil(3, 8), "columns .* in row 3"),
    "lil -1": (lambda: lil(3, -1), "columns .* in row 3"),
    "dok": (lambda: dok((12, 0)), "entry at"),
    "dia": (lambda: matrix("dia", "offsets", 0, 3), "one offset for each"),
}

USES = {
    "from_scipy": Corpus.from_scipy,
    "fit": LDA(2, max_iter=1).fit,
    "partial_fit": lambda X: LDA(2).partial_fit(X),
    "transform": MODEL.transform,
    "score": MODEL.score,
    "mixture": MultinomialMixture(2, max_iter=1).fit,
    "gibbs": GibbsLDA(2, max_iter=1).fit,
    "metric": lambda X: completion_score(MODEL.components_, X),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("bad", BAD)
def test_bad_indices_are_refused(bad, use):
    make, message = BAD[bad]
    with pytest.raises(ValueError if use == "metric" else CorpusError, match=message):
        USES[use](make())


@pytest.mark.parametrize("bad", [name for name in BAD if name[:3] in ("csc", "bsr", "coo", "dia")])
def test_bad_indices_in_a_file_are_refused(tmp_path, bad):
    make, _ = BAD[bad]
    (tmp_path / "x.npz").write_bytes(as_npz(make()))
    with pytest.raises(CorpusError, match=r"x\.npz"):
        read_corpus(tmp_path / "x.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_good_matrices_pass(form, dtype):
    X = matrix(form).astype(dtype)
    check_sparse(X)
    np.testing.assert_array_equal(Corpus.from_scipy(X).to_scipy().toarray(), DENSE)


def test_unusual_arrays_are_looked_at_too():
    """Other integers than SciPy makes, and spare room at the end of the arrays."""
    X = matrix("csr")
    X.indices = X.indices.astype(">i4")
    check_sparse(X)
    X.indices[0] = 8
    with pytest.raises(CorpusError, match="column 8"):
        check_sparse(X)
    Y = matrix("csc")
    Y.indices, Y.data = np.append(Y.indices, 3), np.append(Y.data, 7)
    check_sparse(Y)


@pytest.mark.parametrize("estimator", [LDA(2, max_iter=3), GibbsLDA(2, max_iter=3)])
def test_a_fit_shares_no_memory_with_the_matrix(estimator):
    """Somebody who changes it meanwhile changes nothing in the fit."""
    X = sp.csr_array(np.tile(DENSE, (400, 1)), dtype=np.float32)
    X.indptr = X.indptr.astype(np.int64)
    want = estimator.set_params(random_state=0).fit(X.copy()).components_
    stop = threading.Event()
    began = threading.Event()

    def write():
        began.wait(60)
        while not stop.is_set():
            X.indices[:] = 2**30
            X.indptr[1:-1] = 2**40
            X.data[:] = 1e9

    thread = threading.Thread(target=write)
    thread.start()
    try:
        found = estimator.set_params(callbacks=[lambda *_: began.set() or thread.join(0.01)]).fit(X).components_
    finally:
        stop.set()
        began.set()
        thread.join()
        estimator.set_params(callbacks=None)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_a_matrix_is_copied_unless_it_is_large(monkeypatch, most):
    monkeypatch.setattr(inputs, "MOST_COPIED", most)
    X = sp.csr_array(np.random.default_rng(0).poisson(0.5, (30, 20)).astype(np.float32))
    corpus, _ = inputs.read_matrix(X, "LDA", None, None)
    assert np.shares_memory(corpus.value, X.data) == (most == 0)
