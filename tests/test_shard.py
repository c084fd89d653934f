"""Shards speak a vocabulary of their own and lose nothing."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.corpus.shard import Shard, Shards, at_random, in_order
from topmix.data import Corpus


@pytest.fixture
def corpus() -> Corpus:
    """211 rows, some empty, over 300 words of which many are unused."""
    rng = np.random.default_rng(0)
    X = sp.random_array((211, 300), density=0.02, rng=rng, format="csr", dtype=np.float32)
    X.data = rng.integers(1, 9, X.nnz).astype(np.float32)
    return Corpus.from_scipy(X)


def back(shard: Shard, n_words: int) -> np.ndarray:
    """The shard as dense rows in global ids."""
    X = np.zeros((shard.n_rows, n_words), np.float32)
    X[shard.row_of, shard.cols[shard.index]] = shard.value
    return X


def test_localise_is_unique_and_a_stable_argsort(core):
    rng = np.random.default_rng(1)
    for n, V in [(0, 5), (1, 1), (1_000, 7), (1_000, 5_000)]:
        index = rng.integers(V, size=n).astype(np.int32)
        cols, local, starts, order = core.localise(index, V)
        want, inverse = np.unique(index, return_inverse=True)
        np.testing.assert_array_equal(cols, want)
        np.testing.assert_array_equal(local, inverse)
        np.testing.assert_array_equal(order, np.argsort(local, kind="stable"))
        np.testing.assert_array_equal(starts, np.concatenate([[0], np.cumsum(np.bincount(local, minlength=len(cols)))]))


@pytest.mark.parametrize("bad", [-1, 5])
def test_ids_outside_the_vocabulary_are_refused(core, bad):
    with pytest.raises(ValueError, match="outside the vocabulary"):
        core.localise(np.array([0, bad], np.int32), 5)


def test_a_shard_holds_its_rows_in_its_own_words(corpus):
    X = corpus.to_scipy().toarray()
    for rows in (slice(0, 211), slice(7, 8), slice(50, 50), np.array([3, 100, 101, 210])):
        shard = Shard.of(corpus[rows])
        np.testing.assert_array_equal(back(shard, 300), X[rows])
        np.testing.assert_array_equal(shard.cols, np.flatnonzero(X[rows].sum(axis=0)))
        np.testing.assert_array_equal(shard.lengths, X[rows].sum(axis=1))


def test_a_shard_survives_a_pickle(corpus):
    shard = Shard.of(corpus[5:60], np.arange(55.0))
    np.testing.assert_array_equal(shard.lengths, shard.lengths)  # cached, and then sent along or not: no matter
    again = pickle.loads(pickle.dumps(shard))
    for name in ("cols", "indptr", "index", "value", "starts", "order", "weight", "row_of", "lengths"):
        np.testing.assert_array_equal(getattr(again, name), getattr(shard, name))


@pytest.mark.parametrize("entries", [1, 50, 10**9])
def test_rows_in_order_are_all_there_once(corpus, entries):
    rows = in_order(corpus, entries)
    np.testing.assert_array_equal(np.concatenate([np.arange(211)[r] for r in rows]), np.arange(211))
    sizes = [corpus[r].nnz for r in rows]
    longest = int(np.diff(corpus.indptr).max())
    assert max(sizes) < entries + longest
    assert len(rows) == 1 if entries == 10**9 else len(rows) > 1


@pytest.mark.parametrize("n_shards", [1, 2, 10, 211, 1_000])
def test_rows_at_random_are_all_there_once(corpus, n_shards):
    rows = at_random(corpus, n_shards, np.random.default_rng(2))
    assert len(rows) == min(n_shards, 211)
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(211))
    sizes = [len(r) for r in rows]
    assert min(sizes) > 0
    assert max(sizes) - min(sizes) <= 16


def test_shards_of_a_mapped_corpus_are_not_kept(corpus, tmp_path):
    corpus.save(tmp_path / "c.topmix")
    mapped = Corpus.open(tmp_path / "c.topmix")
    here, there = (Shards(c, in_order(c, 100), np.ones(211)) for c in (corpus, mapped))
    assert here[0] is here[0]
    assert there[0] is not there[0]
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(back(a, 300), back(b, 300))
        np.testing.assert_array_equal(a.weight, b.weight)
