"""Rows of a file travel as the path of the file and their numbers."""

import pickle
import shutil

import numpy as np
import pytest

from topmix.base.remote_file import local_copy
from topmix.corpus.shard import MappedArray, SavedShard, Shards, at_random, forget_mapped_files
from topmix.data import Corpus, CorpusError, Rows, sample_lda


@pytest.fixture
def saved(tmp_path):
    sample_lda(300, 50, 4, doc_length=60, random_state=0).corpus.save(tmp_path / "corpus")
    return Corpus.open(tmp_path / "corpus")


def same(a, b):
    for name in ("cols", "indptr", "index", "value", "starts", "order", "weight", "lengths", "row_of"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 300)])
def test_a_shard_of_a_saved_corpus_pickles_as_path_and_rows(saved, weight):
    for rows in ([slice(7, 203)], at_random(saved, 3, np.random.default_rng(0))):
        shards = Shards(saved, rows, weight)
        message = pickle.dumps(shards[0])
        own = 0 if weight is None else 8 * shards[0].n_rows
        numbers = 0 if isinstance(rows[0], slice) else rows[0].nbytes
        assert len(message) < 1000 + own + numbers < shards[0].index.nbytes + shards[0].value.nbytes + own
        same(pickle.loads(message), shards[0])
        assert pickle.dumps(pickle.loads(message)) == message  # it may travel on


def test_a_message_of_a_saved_corpus_reads_nothing(saved, monkeypatch):
    shards = Shards(saved, at_random(saved, 3, np.random.default_rng(0)))
    want = shards[1]
    monkeypatch.setattr(Corpus, "__getitem__", lambda *_: pytest.fail("rows were read"))
    message = shards.message(1)
    monkeypatch.undo()
    assert isinstance(message, SavedShard)
    same(pickle.loads(pickle.dumps(message)).read(), want)


def test_a_shard_in_memory_pickles_as_its_rows():
    corpus = sample_lda(30, 50, 4, doc_length=60, random_state=0).corpus
    shards = Shards(corpus, [slice(0, 20)])
    assert shards.message(0) is shards[0]
    same(pickle.loads(pickle.dumps(shards[0])), shards[0])


def test_a_file_that_is_gone_or_another_is_refused(saved):
    message = pickle.dumps(Shards(saved, [slice(0, 20)])[0])
    sample_lda(299, 50, 4, doc_length=60, random_state=0).corpus.save(saved.path)
    with pytest.raises(CorpusError, match=r"299 documents .* expected 300"):
        pickle.loads(message)
    saved.path.unlink()
    with pytest.raises(CorpusError, match="storage that all of them see"):
        pickle.loads(message)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_mapped_table_pickle_as_path_and_rows(tmp_path, dtype):
    X = np.random.default_rng(0).normal(size=(500, 40)).astype(dtype)
    Rows(X).save(tmp_path / "rows.npy")
    table = Rows.open(tmp_path / "rows.npy")
    part = np.load(tmp_path / "rows.npy", mmap_mode="r")[100:300]  # a user's own map of some of the rows
    for shards, want in (
        (Shards(table, [slice(3, 400)]), X[3:400]),
        (Shards(table, [np.array([499, 0, 7])]), X[[499, 0, 7]]),
        (Shards(Rows(part), [slice(10, 150)]), X[110:250]),
    ):
        message = pickle.dumps(shards[0])
        assert len(message) < 1000
        shard = pickle.loads(message)
        np.testing.assert_array_equal(shard.rows_as(dtype), want)
        np.testing.assert_array_equal(next(shard.pieces(2)).rows_as(dtype), want[:2])


def test_arrays_that_are_not_laid_out_as_a_file_travel_themselves(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4))
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert MappedArray.of(X) is None
    assert MappedArray.of(mapped.T) is None
    assert MappedArray.of(mapped[:, :2]) is None
    shard = pickle.loads(pickle.dumps(Shards(Rows(mapped[:, :2]), [slice(5, 9)])[0]))
    np.testing.assert_array_equal(shard.rows_as(np.float64), X[5:9, :2])


def test_a_table_that_became_shorter_is_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((500, 40)))
    message = pickle.dumps(Shards(Rows.open(tmp_path / "rows.npy"), [slice(0, 9)])[0])
    np.save(tmp_path / "rows.npy", np.zeros((50, 40)))
    with pytest.raises(CorpusError, match="too few"):
        pickle.loads(message)


def test_a_corpus_behind_a_url_is_fetched_once_and_again_when_it_changed(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path / "cache"))
    url = f"file://{saved.path}"
    corpus = Corpus.open(url)
    assert corpus.equals(saved)
    assert str(corpus.path) == corpus.url == url
    assert local_copy(url).is_relative_to(tmp_path / "cache")
    assert local_copy(url).read_bytes() == saved.path.read_bytes()
    [copy] = (tmp_path / "cache" / "parts").glob("*/corpus")
    assert copy.read_bytes() == saved.path.read_bytes()  # `equals` has asked for all of it
    shard = Shards(corpus, [slice(5, 90)])[0]
    message = pickle.dumps(shard)
    assert url.encode() in message
    same(pickle.loads(message), shard)
    shutil.rmtree(tmp_path / "cache")  # another machine, whose cache is empty
    forget_mapped_files()
    same(pickle.loads(message), shard)
    sample_lda(299, 50, 4, doc_length=60, random_state=0).corpus.save(saved.path)
    assert Corpus.open(url).n_docs == 299


def test_a_url_that_cannot_be_read_says_so():
    for url in ("file:///no/such/corpus", "nonsense://a/b"):
        with pytest.raises(CorpusError, match="cannot be fetched"):
            Corpus.open(url)
