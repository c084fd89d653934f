"""A stream whose topics change: with a half-life it follows, without one it keeps what it knows."""

from __future__ import annotations

import numpy as np
import pytest

from topmix import LDA
from topmix.data import sample_lda
from topmix.learners import Stochastic
from topmix.metrics import completion_score

WORDS, TOPICS, SIZE, BEFORE, AFTER = 300, 10, 200, 200, 50


@pytest.fixture(scope="module")
def change():
    """(batches before, held out before), (after, held out after): half of the topics are others after 200 batches."""
    rng, often = np.random.default_rng(0), 1.0 / np.arange(1, WORDS + 1)
    first = rng.dirichlet(60 * often / often.sum(), TOPICS)
    second = first.copy()
    second[: TOPICS // 2] = rng.dirichlet(60 * often / often.sum(), TOPICS // 2)

    def documents(topics, n, seed):
        drawn = sample_lda(
            n * SIZE, WORDS, TOPICS, doc_length=40, doc_topic_prior=0.05, topic_word=topics, random_state=seed
        )
        return drawn.corpus.to_scipy()

    return [
        (documents(p, n, i), p, documents(p, 2, i + 2)) for i, (p, n) in enumerate([(first, BEFORE), (second, AFTER)])
    ]


def followed(change, inference, half_life):
    """How far the scores are below those of the true topics: (old before the change, new at it, new and old after)."""
    model = LDA(
        TOPICS, inference=inference, learner=Stochastic(half_life=half_life), n_jobs=1, random_state=0
    )  # fmt: skip
    behind = [completion_score(topics, held_out) for _, topics, held_out in change]

    def now(part):
        return completion_score(model.topic_word_, change[part][2]) - behind[part]

    for b in range(BEFORE):
        model.partial_fit(change[0][0][b * SIZE : (b + 1) * SIZE])
    before, at = now(0), now(1)
    for b in range(AFTER):
        model.partial_fit(change[1][0][b * SIZE : (b + 1) * SIZE])
    return before, at, now(1), now(0)


@pytest.mark.parametrize("inference", [pytest.param("scvb0", marks=pytest.mark.slow), "collapsed"])  # one schedule
def test_with_a_half_life_the_score_is_back_within_fifty_batches(change, inference):
    before, at, after, old = followed(change, inference, half_life=3 * SIZE)
    assert before - at > 0.4  # the change hurts
    assert after - at > 0.85 * (before - at)
    assert old < before - 0.3  # the price: what is gone is forgotten


def test_without_a_half_life_old_topics_stay(change):
    before, at, after, old = followed(change, "scvb0", half_life=None)
    assert old > before - 0.1
    assert after - at < 0.6 * (before - at)
