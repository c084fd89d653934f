"""Measures on the device are those of the processor."""

import numpy as np
import pytest

from topmix import LDA, GibbsLDA
from topmix.data import sample_lda
from topmix.engines.local import Threads
from topmix.metrics import (
    completion_score,
    completion_scorer,
    completion_scores,
    cv_coherence,
    half_split_score,
    npmi_coherence,
    umass_coherence,
)

SAMPLE = sample_lda(60, 80, 6, doc_length=30, random_state=3)


@pytest.fixture(params=[6, pytest.param(150, marks=pytest.mark.slow)], ids=["few topics", "many topics"])
def topics(request):
    rng = np.random.default_rng(request.param)
    return rng.dirichlet(np.full(80, 0.1), request.param) + 1e-4


@pytest.mark.parametrize("alpha", [None, 0.5, 1e-3])
def test_completion_is_that_of_the_processor(engine, topics, alpha):
    """With 1e-3 the weights of most topics are zero after an iteration."""
    want = completion_scores(topics, SAMPLE.corpus, doc_topic_prior=alpha)
    got = completion_scores(topics, SAMPLE.corpus, doc_topic_prior=alpha, engine=engine)
    np.testing.assert_array_equal(got.n_tokens, want.n_tokens)
    np.testing.assert_allclose(got.log_likelihood, want.log_likelihood, rtol=1e-7)
    halves = [half_split_score(topics, SAMPLE.corpus, doc_topic_prior=alpha, engine=e) for e in (None, engine)]
    assert halves[1] == pytest.approx(halves[0], rel=1e-9)


def test_words_that_no_topic_has_and_documents_that_underflow(engine):
    """A word that only one topic has, where the others have all the tokens, needs logarithms: the processor's."""
    topics = np.zeros((3, 6))
    topics[0, :3], topics[1, 2:5] = 1.0, 1.0
    topics[2, 4] = 1.0
    X = np.array([[4, 4, 0, 1, 0, 0], [1, 2, 3, 0, 0, 0], [50, 50, 60, 1, 1, 0], [0, 0, 0, 0, 1, 1]])
    for alpha in (0.1, 1e-3):
        want = completion_scores(topics, X, doc_topic_prior=alpha, random_state=1)
        got = completion_scores(topics, X, doc_topic_prior=alpha, random_state=1, engine=engine)
        np.testing.assert_allclose(got.log_likelihood, want.log_likelihood, rtol=1e-9)


def test_the_same_bits_in_every_run(engine, topics):
    first, again = (completion_scores(topics, SAMPLE.corpus, engine=engine).log_likelihood for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("measure", [npmi_coherence, umass_coherence, cv_coherence])
def test_coherence_is_that_of_the_processor(engine, measure, topics, monkeypatch):
    monkeypatch.setattr("topmix.cuda.hosted.BITS", 400)  # several parts
    want = measure(topics, SAMPLE.corpus, top_n=7, per_topic=True)
    np.testing.assert_array_equal(measure(topics, SAMPLE.corpus, top_n=7, per_topic=True, engine=engine), want)
    lists = [[1, 5, 3], [2, 4]]
    assert measure(lists, SAMPLE.corpus, engine=engine) == measure(lists, SAMPLE.corpus)


def test_a_scorer_uses_the_engine_of_its_model(engine, monkeypatch):
    model = LDA(4, engine=engine, max_iter=2, n_active=3, random_state=0).fit(SAMPLE.corpus)
    want = completion_score(model.topic_word_, SAMPLE.corpus)
    calls = []
    held_out = type(engine).held_out
    monkeypatch.setattr(type(engine), "held_out", lambda *given: calls.append(1) or held_out(*given))
    assert completion_scorer(model, SAMPLE.corpus) == pytest.approx(want, rel=1e-9)
    assert calls == [1]
    assert completion_scorer(GibbsLDA(3, max_iter=2, random_state=0).fit(SAMPLE.corpus), SAMPLE.corpus) < 0


def test_engines_that_cannot_are_refused(engine):
    topics = np.ones((2, 80))
    for bad in ("cuda", Threads()):
        with pytest.raises(ValueError, match="engine must be None or one that computes measures"):
            completion_score(topics, SAMPLE.corpus, engine=bad)
        with pytest.raises(ValueError, match="engine must be None or one that computes measures"):
            npmi_coherence(topics, SAMPLE.corpus, engine=bad)
    with pytest.raises(ValueError, match="counts documents X"):
        npmi_coherence([["a", "b"]], texts=[["a", "b"]], engine=engine)
    with pytest.raises(ValueError, match="a top word is not among the 80 words"):
        npmi_coherence([[1, 99]], SAMPLE.corpus, engine=engine)
    with pytest.raises(ValueError, match="both need the same vocabulary"):
        completion_score(topics[:, :5], SAMPLE.corpus, engine=engine)
