"""A fit that was interrupted and goes on is the fit that was not: the same bits."""

from __future__ import annotations

import itertools
import json
import zlib

import numpy as np
import pytest

import topmix
from topmix import LDA
from topmix.data import Corpus, sample_lda
from topmix.data.layout import metadata_crc
from topmix.files.reader import ModelFileError
from topmix.fitting.checkpoint import CheckpointError

N_PASSES = 6
KINDS = {
    "memoized, cold": {"cold_visits": None},
    "memoized, warm": {"cold_visits": 2},
    "memoized, one batch": {"batch_size": 1000},
    "batch": {"learner": "batch", "local_step": "fixed_point"},
    "batch, cold": {"learner": "batch", "local_step": "fixed_point", "cold_visits": None},
    "stochastic fixed point": {"learner": "stochastic", "local_step": "fixed_point", "batch_size": 20},
    "stochastic": {"learner": "stochastic", "batch_size": 20},
    "variational": {"posterior": "variational", "restarts": 1},
    "priors learned": {"doc_topic_prior": "auto", "topic_word_prior": "auto"},
    "priors learned in a stream": {"learner": "stochastic", "batch_size": 20, "doc_topic_prior": "auto"},
    "topics that start again": {"n_components": 30},
    "priors given": {"doc_topic_prior": np.linspace(0.1, 0.3, 4), "topic_word_prior": np.linspace(0.01, 0.1, 40)},
}


class Crash(Exception):
    pass


def crash_after(n_passes):
    def crash(record, model):
        if record.n_pass > n_passes:
            raise Crash

    return crash


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(120, 40, 4, doc_length=50, random_state=1).corpus


def lda(**parameters):
    return LDA(**{"n_components": 4, "max_iter": N_PASSES, "tol": -np.inf, "random_state": 0} | parameters)


def same(a, b):
    """All that was learned, and the history but for the seconds."""
    for x, y in zip(a._to_arrays()[0].values(), b._to_arrays()[0].values(), strict=True):
        np.testing.assert_array_equal(x, y)
    assert a._to_arrays()[1] == b._to_arrays()[1]
    for x, y in zip(a.history_, b.history_, strict=True):
        assert (x.n_pass, x.objective, x.terms, x.effort) == (y.n_pass, y.objective, y.terms, y.effort)
    assert (a.n_iter_, a.n_batch_iter_, a.converged_, a.elbo_) == (b.n_iter_, b.n_batch_iter_, b.converged_, b.elbo_)


@pytest.fixture(scope="module", params=KINDS)
def kind(request, corpus):
    """Parameters, and the fit that was never interrupted."""
    return KINDS[request.param], lda(**KINDS[request.param]).fit(corpus)


@pytest.mark.parametrize("n_passes", range(N_PASSES))
def test_interrupted_after_each_pass(kind, corpus, n_passes, tmp_path):
    parameters, whole = kind
    path = tmp_path / "checkpoint"
    with pytest.raises(Crash):
        lda(**parameters, callbacks=[crash_after(n_passes)]).fit(corpus, checkpoint=path)
    assert path.exists() == (n_passes > 0)
    resumed = lda(**parameters, n_jobs=1, engine="serial").fit(corpus, checkpoint=path)
    same(resumed, whole)
    assert np.all(np.diff([r.seconds for r in resumed.history_]) > 0)


def test_interrupted_at_every_pass(kind, corpus, tmp_path):
    parameters, whole = kind
    for n_passes in itertools.count(1):
        try:
            last = lda(**parameters, callbacks=[crash_after(n_passes)]).fit(corpus, checkpoint=tmp_path / "file")
            break
        except Crash:
            pass
    assert n_passes == N_PASSES
    same(last, whole)


def test_a_checkpoint_changes_nothing(kind, corpus, tmp_path):
    parameters, whole = kind
    same(lda(**parameters).fit(corpus, checkpoint=tmp_path / "file", checkpoint_every=4), whole)


def test_a_finished_fit_is_read_back_and_may_go_on(kind, corpus, tmp_path):
    parameters, whole = kind
    short = lda(**parameters | {"max_iter": 3}).fit(corpus, checkpoint=tmp_path / "file")

    def never(record, model):
        raise AssertionError

    same(lda(**parameters, callbacks=[never]).set_params(max_iter=3).fit(corpus, checkpoint=tmp_path / "file"), short)
    same(lda(**parameters).fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_it_is_written_every_so_often_and_at_the_end(corpus, tmp_path):
    path, seen = tmp_path / "file", []
    watch = [lambda record, model: seen.append(path.exists() and path.stat().st_mtime_ns)]
    lda(callbacks=watch, max_iter=5).fit(corpus, checkpoint=path, checkpoint_every=3)
    assert seen[:3] == [False] * 3
    assert seen[3] == seen[4] < path.stat().st_mtime_ns
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ValueError, match="checkpoint_every"):
        lda().fit(corpus, checkpoint=path, checkpoint_every=0)


def test_convergence_and_callbacks_end_it_alike(corpus, tmp_path):
    whole = lda(max_iter=100, tol=1e-2).fit(corpus)
    assert whole.converged_
    stop = [lambda record, model: record.n_pass == 2]
    stopped = lda(max_iter=100, tol=1e-2, callbacks=stop).fit(corpus, checkpoint=tmp_path / "file")
    assert not stopped.converged_
    for _ in range(2):  # the second time there is nothing left to do
        same(lda(max_iter=100, tol=1e-2).fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_without_a_seed_the_deal_is_in_the_file(corpus, tmp_path):
    """What was drawn when the fit began is what goes on, whatever would be drawn now."""
    path = tmp_path / "file"
    whole = lda(random_state=None, max_iter=2).fit(corpus, checkpoint=path)
    copy = path.read_bytes()
    on = [lda(random_state=None).fit(corpus, checkpoint=path)]
    path.write_bytes(copy)
    on.append(lda(random_state=None).fit(corpus, checkpoint=path))
    same(*on)
    assert on[0].history_[:2] == whole.history_


def test_from_a_mapped_corpus_and_edited_topics(corpus, tmp_path):
    corpus.save(tmp_path / "corpus")
    first = lda(warm_start=True).fit(tmp_path / "corpus").drop_topics([1])
    first.save(tmp_path / "model")
    whole = topmix.load(tmp_path / "model").fit(tmp_path / "corpus")
    with pytest.raises(Crash):
        first.set_params(callbacks=[crash_after(3)]).fit(tmp_path / "corpus", checkpoint=tmp_path / "file")
    same(topmix.load(tmp_path / "model").fit(tmp_path / "corpus", checkpoint=tmp_path / "file"), whole)
    with pytest.raises(CheckpointError, match="the start was"):
        topmix.load(tmp_path / "model").drop_topics([0]).set_params(n_components=2).fit(
            corpus, checkpoint=tmp_path / "file"
        )


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_components", 5), ("learner", "stochastic"), ("posterior", "variational"), ("batch_size", 30),
        ("doc_topic_prior", 0.3), ("topic_word_prior", np.full(40, 0.1)), ("random_state", 1), ("n_active", 2),
    ],
)  # fmt: skip
def test_another_fit_is_refused(corpus, parameter, value, tmp_path):
    lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    with pytest.raises(CheckpointError, match=f"file: the checkpoint of another fit: {parameter} was .* and is"):
        lda(**{parameter: value}).fit(corpus, checkpoint=tmp_path / "file")
    with pytest.raises(ValueError, match="n_init=1"):
        lda(n_init=2).fit(corpus, checkpoint=tmp_path / "other")


def test_other_data_is_refused(corpus, tmp_path):
    lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    X = corpus.to_scipy().copy()
    X.data[7] += 1
    for other in (corpus[:100], corpus[::-1], Corpus.from_scipy(X, vocabulary=corpus.vocabulary)):
        with pytest.raises(CheckpointError, match="the data was"):
            lda().fit(other, checkpoint=tmp_path / "file")
    with pytest.raises(CheckpointError, match="the vocabulary was"):
        lda().fit(corpus.to_scipy(), checkpoint=tmp_path / "file")


def test_models_and_checkpoints_are_not_confused(corpus, tmp_path):
    model = lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="goes on from it"):
        topmix.load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        lda().fit(corpus, checkpoint=tmp_path / "model")


def forge(data, edit):
    """The file with its JSON and arrays changed by edit(about, arrays), and checksums that are right again."""
    length = int.from_bytes(data[:8], "little")
    table, blob = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    metadata = table["__metadata__"]
    metadata.pop("metadata_crc32")
    about = json.loads(metadata["model"])
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U16": "<u2"}
    arrays = {
        name: np.frombuffer(blob, kinds[e["dtype"]], (e["data_offsets"][1] - e["data_offsets"][0])
                            // np.dtype(kinds[e["dtype"]]).itemsize, e["data_offsets"][0])
        for name, e in table.items() if name != "__metadata__"
    }  # fmt: skip
    edit(about, arrays)
    metadata["model"] = json.dumps(about)
    metadata["crc32"] = json.dumps({name: f"{zlib.crc32(a.data):08x}" for name, a in arrays.items()})
    metadata["metadata_crc32"] = metadata_crc(metadata)
    del arrays
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + bytes(blob)


def _put(name, place, value):
    def edit(about, arrays):
        arrays[name][place] = value

    return edit


HOSTILE = {
    "a topic too many": (_put("memo.0.topic", 3, 4), "topics that are not from 0 to 3"),
    "a document's topic too many": (_put("docs.1.topic", 0, 65535), "topics that are not from 0 to 3"),
    "a word too many": (_put("memo.2.cols", -1, 40), "words that are not from 0 to 39"),
    "a negative word": (_put("memo.2.cols", 0, -1), "words that are not"),
    "words out of order": (_put("memo.2.cols", 0, 39), "words that are not"),
    "rows that run away": (_put("memo.0.indptr", -1, 2**40), "where rows begin"),
    "rows that go back": (_put("docs.0.indptr", 1, 2**40), "where rows begin"),
    "not a number": (_put("memo.0.value", 0, np.nan), "not numbers"),
    "no prior": (_put("model.alpha", 0, -1.0), "not numbers"),
    "a shard too few": (lambda about, arrays: about["visits"].popitem(), "statistics of|has arrays"),
    "a shard of another name": (lambda about, arrays: about["memo"].update(x={}), "all shards"),
    "no numbers": (lambda about, arrays: about["memo"]["0"].pop("H"), "lacks a number"),
    "visits that make no sense": (lambda about, arrays: about["visits"].update({"0": -1}), "visited"),
    "no history": (lambda about, arrays: about.update(history=[]), "no history"),
    "no generator": (lambda about, arrays: about.update(random={"state": 3}), "random generator"),
    "no total": (lambda about, arrays: about.update(total=3), "not a table"),
}


@pytest.mark.parametrize(("edit", "message"), HOSTILE.values(), ids=HOSTILE)
def test_forged_checkpoints_are_refused(corpus, edit, message, tmp_path):
    path = tmp_path / "file"
    lda(max_iter=3).fit(corpus, checkpoint=path)
    data = path.read_bytes()
    path.write_bytes(forge(data, lambda about, arrays: None))
    lda(max_iter=4).fit(corpus, checkpoint=path)
    path.write_bytes(forge(data, edit))
    with pytest.raises(CheckpointError, match=message):
        lda(max_iter=4).fit(corpus, checkpoint=path)
    for cut in (0, 7, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(CheckpointError, match="file"):
            lda(max_iter=4).fit(corpus, checkpoint=path)


def test_cvb0_is_refused_because_its_responsibilities_are_not_kept(tmp_path):
    corpus = sample_lda(30, 20, 3, random_state=0).corpus
    with pytest.raises(ValueError, match="local_step='fixed_point'"):
        LDA(3, learner="batch").fit(corpus, checkpoint=tmp_path / "fit.checkpoint")
    assert not list(tmp_path.iterdir())
