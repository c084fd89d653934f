"""A stream that does not change: more documents never make the topics worse."""

from __future__ import annotations

import numpy as np
import pytest

from topmix import LDA
from topmix.data import sample_lda
from topmix.estimators import variational as topic_stream
from topmix.inference import SCVB0, Collapsed
from topmix.learners import Stochastic
from topmix.metrics import completion_score

BATCHES, SIZE = 120, 100
NOISE = 0.015  # nats per token that one batch, or its place in the stream, may cost


@pytest.fixture(scope="module")
def stream():
    """Short documents over words as frequent as in a language, and held-out ones."""
    often = 1.0 / np.arange(1, 501)
    drawn = sample_lda(
        BATCHES * SIZE + 300, 500, 20, doc_length=20, doc_topic_prior=0.05,
        topic_word_prior=50 * often / often.sum(), random_state=0,
    )  # fmt: skip
    X = drawn.corpus.to_scipy()
    return X[: BATCHES * SIZE], X[BATCHES * SIZE :]


def largest_loss(stream, inference, learner="stochastic"):
    """The most that the held-out score ever fell below what it was before, after each tenth of the stream."""
    X, held_out = stream
    model, scores = LDA(20, inference=inference, learner=learner, n_jobs=1, random_state=0), []
    for b in range(BATCHES):
        model.partial_fit(X[b * SIZE : (b + 1) * SIZE])
        if (b + 1) % (BATCHES // 10) == 0:
            scores.append(completion_score(model.topic_word_, held_out))
    assert scores[-1] > scores[0]
    return float(np.max(np.maximum.accumulate(scores) - scores))


@pytest.mark.parametrize("inference", [SCVB0(), pytest.param(Collapsed(), marks=pytest.mark.slow)])
def test_a_stationary_stream_never_gets_worse(stream, inference):
    assert largest_loss(stream, inference) < NOISE


@pytest.mark.slow  # another stream of 120 calls
def test_a_stationary_stream_never_gets_worse_while_it_forgets(stream):
    assert largest_loss(stream, SCVB0(), Stochastic(half_life=5000)) < 2 * NOISE  # fewer documents: more noise


@pytest.mark.slow  # shows that the test above can fail
def test_documents_that_average_too_well_smear_the_topics(stream):
    """The paper's step in documents. This is what the default is for, and shows that the tests above can fail."""
    assert largest_loss(stream, SCVB0(doc_decay=0.9)) > 2 * NOISE


def test_the_start_of_a_stream_leaves_no_trace(monkeypatch):
    """So that its model is stored sparsely."""
    monkeypatch.setattr(topic_stream, "TRACES_EVERY", 20)
    X = sample_lda(1200, 300, 12, doc_length=20, random_state=0).corpus
    model = LDA(12, random_state=0, learner=Stochastic(half_life=60))
    for begin in range(0, 1200, 20):
        model.partial_fit(X[begin : begin + 20])
    counts = model.model_.words.total.counts()
    assert np.mean(counts > 0) < 0.8  # 1.0 with traces
    np.testing.assert_allclose(model.model_.words.total.totals, counts.sum(axis=0))
