"""A corpus at the door: what it takes, what it refuses and how it says so."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from topmix.corpus.vocabulary import columns_of
from topmix.data import Corpus, CorpusError, from_gensim


def test_dense_sparse_and_frame_give_the_same_corpus():
    A = np.array([[0, 2, 0], [0, 0, 0], [1.5, 0, 3]])
    want = Corpus([0, 1, 1, 3], [1, 0, 2], [2, 1.5, 3], 3)
    for X in (A, A.tolist(), sp.csr_array(A), sp.csc_matrix(A), sp.coo_array(A), sp.lil_array(A), sp.dok_array(A)):
        assert Corpus.from_scipy(X).equals(want)
    named = Corpus.from_scipy(pd.DataFrame(A, columns=["a", "b", "c"], index=["x", "y", "z"]))
    assert named.vocabulary == ("a", "b", "c")
    assert named.names == ("x", "y", "z")
    assert pd.DataFrame(A).pipe(Corpus.from_scipy).vocabulary == ("0", "1", "2")
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(A), columns=list("abc"))
    assert Corpus.from_scipy(sparse).vocabulary == ("a", "b", "c")
    assert (Corpus.from_scipy(sparse).to_scipy() != want.to_scipy()).nnz == 0


def test_counts_add_up(small):
    assert (small.n_docs, small.n_words, small.nnz, small.n_tokens) == (5, 7, 6, 274)
    assert small.shape == (5, 7)
    assert len(small) == 5
    assert "5 documents × 7 words, 6 entries, 274 tokens" in repr(small)
    assert Corpus([0, 1], [0], [0.5], 1).n_tokens == 0.5


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 1], [0], [np.nan], 2), "row 0, column 0: the count is NaN"),
        (([0, 0, 1], [1], [np.inf], 2), "row 1, column 1: the count is infinite"),
        (([0, 0, 1], [1], [1e300], 2), "row 1, column 1: the count is infinite"),
        (([0, 1], [1], [-2], 2), "row 0, column 1: the count is negative"),
        (([0, 1], [2], [1], 2), "row 0, column 2: the column is outside the 2 words"),
        (([0, 1], [-1], [1], 2), "word ids must be from 0"),
        (([0, 2], [1, 0], [1, 1], 2), "row 0, column 0: the columns are not sorted"),
        (([0, 2], [1, 1], [1, 1], 2), "row 0, column 1: the column is there twice"),
        (([0, 1], [0, 1], [1, 1], 2), "indptr must start at 0 and end at 2"),
        (([1, 2], [0, 1], [1, 1], 2), "indptr must start at 0"),
        (([0, 2, 1, 2], [0, 1], [1, 1], 2), "row 1: indptr goes from 2 to 1"),
        (([0, 9, 2], [0, 1], [1, 1], 2), "row 0: indptr goes from 0 to 9"),
        (([0, 2], [0, 1], [1], 2), "index has 2 entries, but value has 1"),
        (([0, 1], [0.5], [1], 2), "index must be a one-dimensional array of integers"),
        (([0, 1], [0], ["a"], 2), "counts must be"),
        (([0, 1], [0], [1j], 2), "counts must be"),
        (([0], [], [], -1), "n_words is -1"),
        (([0], [], [], 2**31), "n_words is 2147483648"),
    ],
)
def test_bad_arrays_are_refused_by_row_and_column(arrays, message):
    with pytest.raises(CorpusError, match=message):
        Corpus(*arrays)


def test_wrong_lengths_are_refused():
    with pytest.raises(CorpusError, match="2 words, but the data has 3 columns"):
        Corpus.from_scipy(np.eye(3), ["a", "b"])
    with pytest.raises(CorpusError, match="1 names for 3 documents"):
        Corpus.from_scipy(np.eye(3), names=["a"])
    with pytest.raises(CorpusError, match="1 dimensions"):
        Corpus.from_scipy(np.ones(3))
    with pytest.raises(CorpusError, match="row 1, column 0: the count is negative"):
        Corpus.from_scipy(np.array([[0, 1], [-1, 0]]))
    with pytest.raises(CorpusError, match="row 1, column 1: the count is NaN"):
        Corpus.from_scipy(np.array([[0, 1], [0, np.nan]]))


def test_explicit_zeros_go_and_duplicates_add_up():
    assert Corpus([0, 3], [0, 1, 2], [1, 0, 2], 3).equals(Corpus([0, 2], [0, 2], [1, 2], 3))
    X = sp.csr_array((np.array([1.0, 2, 4]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert Corpus.from_scipy(X).equals(Corpus([0, 2], [0, 1], [2, 5], 2))


def test_it_cannot_be_changed(small):
    with pytest.raises(ValueError, match="read-only"):
        small.value[0] = 2
    with pytest.raises(AttributeError):
        small.n_words = 3


def test_to_scipy_shares_memory(small):
    X = small.to_scipy()
    assert np.shares_memory(X.data, small.value)
    assert np.shares_memory(X.indices, small.index)
    assert Corpus.from_scipy(X, small.vocabulary).equals(small)


def test_rows_can_be_chosen(medium):
    X = medium.to_scipy()
    assert np.shares_memory(medium[5:50].value, medium.value)
    for rows in (slice(5, 50), slice(None, None, -7), slice(50, 5), [3, 3, -1], np.arange(1003) % 5 == 0, [], 8, -1):
        part = medium[rows]
        chosen = np.arange(1003)[slice(0) if isinstance(rows, list) and not rows else rows]
        want = X[np.atleast_1d(chosen)]
        assert (part.to_scipy() != want).nnz == 0
        assert part.shape == want.shape
        part.verify()
    for rows in (1003, [1003], np.ones(3, bool), [0.5], np.zeros((2, 2), int)):
        with pytest.raises(IndexError):
            medium[rows]


def test_empty_corpora_are_corpora():
    for c in (Corpus([0], [], [], 0), Corpus([0], [], [], 4), Corpus([0, 0, 0], [], [], 4)):
        assert (c.nnz, c.n_tokens) == (0, 0)
        assert c.to_scipy().shape == c.shape
        assert c[:1].n_docs == min(1, c.n_docs)
    assert Corpus.from_rows([]).shape == (0, 0)


def test_rows_and_gensim_corpora():
    docs = [[(1, 2), (0, 1.0)], [], [(2, 3)]]
    c = from_gensim(docs, {0: "a", 1: "b", 2: "c", 3: "d"})
    assert c.shape == (3, 4)
    assert c.vocabulary == ["a", "b", "c", "d"]
    assert c.equals(from_gensim(iter(docs), ["a", "b", "c", "d"]))
    assert from_gensim(docs).shape == (3, 3)
    with pytest.raises(CorpusError, match="id2word has no word 1"):
        from_gensim(docs, {0: "a", 2: "c"})
    with pytest.raises(CorpusError, match="word id 2 occurs, but there are only 2 words"):
        from_gensim(docs, ["a", "b"])
    with pytest.raises(CorpusError, match="row 1: expected pairs"):
        Corpus.from_rows([{0: 1}, [("a", 1)]])
    with pytest.raises(CorpusError, match="row 1, column 0: the count is negative"):
        Corpus.from_rows([{0: 1}, [(0, -1)]])
    with pytest.raises(CorpusError, match="2 names for 1 documents"):
        Corpus.from_rows([{0: 1}], names=["a", "b"])


def test_pickle_keeps_everything(small, tmp_path):
    small.save(tmp_path / "a.topmix")
    for c in (small, Corpus.open(tmp_path / "a.topmix")):
        assert pickle.loads(pickle.dumps(c)).equals(small)


def in_words(corpus: Corpus, words: list[str], **how) -> tuple[list[list[float]], list[str], float]:
    found = corpus.in_words(words, **how)
    found.corpus.verify()
    return found.corpus.to_scipy().toarray().tolist(), list(found.corpus.vocabulary), found.n_dropped


def test_words_are_matched_by_name():
    corpus = Corpus([0, 2, 2, 5], [0, 2, 0, 1, 2], [1, 2, 3, 4, 5.5], 3, ["c", "a", "b"], ["x", "y", "z"], {"n": 1})
    assert in_words(corpus, ["a", "b", "d"]) == ([[0, 2, 0], [0, 0, 0], [4, 5.5, 0]], ["a", "b", "d"], 4)
    assert in_words(corpus, ["c", "d"]) == ([[1, 0], [0, 0], [3, 0]], ["c", "d"], 11.5)
    assert in_words(corpus, ["b", "d"], keep_new=True) == (
        [[2, 0, 1, 0], [0, 0, 0, 0], [5.5, 0, 3, 4]],
        ["b", "d", "c", "a"],
        0,
    )
    assert corpus.in_words(np.array(["c", "a", "b"], dtype=object)).corpus is corpus
    kept = corpus.in_words(["b", "a"]).corpus
    assert (kept.names, kept.meta) == (("x", "y", "z"), {"n": 1})
    assert corpus.in_words([]).corpus.shape == (3, 0)


def test_words_that_cannot_be_matched_are_refused():
    corpus = Corpus([0, 1], [0], [1], 2, ["a", "a"])
    with pytest.raises(ValueError, match="'a' is in the vocabulary twice"):
        corpus.in_words(["a", "b"])
    with pytest.raises(ValueError, match="'b' is in the vocabulary twice"):
        Corpus([0, 1], [0], [1], 2, ["a", "b"]).in_words(["b", "c", "b"])
    assert corpus.in_words(["a", "a"]).corpus is corpus  # the same columns need no names
    with pytest.raises(ValueError, match="no vocabulary"):
        Corpus([0, 1], [0], [1], 2).in_words(["a"])


def test_columns_of_words_by_name_or_number():
    assert columns_of(["b", "z", 2, np.int64(0), 3, -1], ["a", "b", "c"], 3) == [1, -1, 2, 0, -1, -1]
    assert columns_of(["b", 1], None, 3) == [-1, 1]
