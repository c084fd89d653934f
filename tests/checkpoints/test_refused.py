"""Checkpoints of other fits and forged ones are refused, and say why."""

from __future__ import annotations

import numpy as np
import pytest

import topmix
from topmix import LDA
from topmix.base.fields import ModelFileError
from topmix.data import Corpus, sample_lda
from topmix.inference import Collapsed
from topmix.learn.checkpoint import CheckpointError
from topmix.learners import Memoized

from .conftest import forge, lda


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_components", 5), ("learner", "stochastic"), ("learner", Memoized(batch_size=30)),
        ("learner", Memoized(batches_per_update=2)), ("inference", "variational"),
        ("inference", Collapsed(doc_tol=0.2)),
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
    with pytest.raises(ModelFileError, match="continue the fit that wrote it"):
        topmix.load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        lda().fit(corpus, checkpoint=tmp_path / "model")


def _put(name, place, value):
    def edit(about, arrays):
        arrays[name][place] = value

    return edit


HOSTILE = {
    "a topic too many": (_put("memo.0.S.topic", 3, 4), "not from 0 to 3"),
    "a document's topic too many": (_put("kept.1.docs.topic", 0, 65535), "not from 0 to 3"),
    "a word too many": (_put("memo.2.S.cols", -1, 40), "not from 0 to 39"),
    "a negative word": (_put("memo.2.S.cols", 0, -1), "not from 0 to 39"),
    "words out of order": (_put("memo.2.S.cols", 0, 39), "do not ascend"),
    "rows that run away": (_put("memo.0.S.indptr", -1, 2**40), "expected U16 of"),
    "rows that go back": (_put("kept.0.docs.indptr", 1, 2**40), "where rows begin"),
    "not a number": (_put("memo.0.S.value", 0, np.nan), "not numbers"),
    "no prior": (_put("model.prior.alpha", 0, -1.0), "not numbers"),
    "a shard too few": (lambda about, arrays: about.update(n_kept=9), "statistics of|has arrays"),
    "a shard too many": (
        lambda about, arrays: about.update(n_kept=11, n_memo=0),
        "does not say 'kept.10|has arrays",
    ),
    "no numbers": (lambda about, arrays: about["extra"].pop("memo.0.H"), "does not say 'memo.0.H'"),
    "more statistics than shards": (lambda about, arrays: about.update(n_memo=11), "statistics of 11 of 10 shards"),
    "a number that is none": (lambda about, arrays: about["extra"].update({"total.D": "x"}), "expected a number"),
    "another posterior": (lambda about, arrays: about["extra"].update({"model.words.posterior": "x"}), "posterior"),
    "visits that make no sense": (lambda about, arrays: about["extra"].update({"kept.0.times": -1}), "kept.0.times"),
    "no history": (lambda about, arrays: about.update(history=[]), "no history"),
    "no generator": (lambda about, arrays: about.update(random={"state": 3}), "random generator"),
    "no values": (lambda about, arrays: about.update(extra=3), "does not say"),
    "shards that are no number": (lambda about, arrays: about.update(n_kept="x"), "expected an integer"),
    "another number of topics": (lambda about, arrays: about["extra"].update(n_components=3), "3 topics, expected"),
    "another number of words": (lambda about, arrays: about.update(n_features=41), "41 words"),
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
    with pytest.raises(ValueError, match="does not hold the responsibilities of CVB0"):
        LDA(3, inference="cvb0").fit(corpus, checkpoint=tmp_path / "fit.checkpoint")
    assert not list(tmp_path.iterdir())
