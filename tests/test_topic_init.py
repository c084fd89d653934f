"""Where topics start, and which of them start again."""

from __future__ import annotations

import numpy as np
import pytest

from topmix import LDA
from topmix.data import sample_lda
from topmix.inference import Collapsed
from topmix.learners import Memoized
from topmix.metrics import empty_topics, topic_recovery_error
from topmix.models.topics import OWN_AGAIN, PSEUDO_TOKENS, STARTS, blended, restarted


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(300, 200, 10, doc_length=60, random_state=2).corpus


def test_only_small_topics_start_again_as_large_as_the_mean_and_mostly_one_document(corpus):
    sizes = np.array([1000.0, 0.0, 900.0, 30.0, 1100.0])
    seeds = restarted(corpus, sizes, np.random.default_rng(0))
    assert seeds is not None
    seeds = seeds.counts()
    assert list(np.flatnonzero(seeds.sum(axis=0))) == [1, 3]
    np.testing.assert_allclose(seeds.sum(axis=0)[[1, 3]], sizes.mean())
    X = corpus.to_scipy().toarray()
    in_a_document = max(seeds[row > 0, 1].sum() for row in X) / sizes.mean()
    assert in_a_document > 0.95 * OWN_AGAIN
    assert restarted(corpus, np.full(5, 10.0), np.random.default_rng(0)) is None


def test_a_blended_start_has_no_two_topics_alike(corpus):
    seeds = blended(corpus, 20, np.random.default_rng(0)).counts()
    np.testing.assert_allclose(seeds.sum(axis=0), min(PSEUDO_TOKENS, corpus.n_tokens / 20))
    assert len(np.unique(seeds.T, axis=0)) == 20


def test_pseudo_counts_fade_beside_the_counts_as_it_does_among_them(corpus, monkeypatch):
    how = {"random_state": 0, "max_iter": 1, "learner": Memoized(batch_size=50)}
    apart = LDA(20, **how).fit(corpus)
    monkeypatch.setitem(STARTS, "auto", lambda *start: blended(*start).counts())
    among = LDA(20, **how).fit(corpus)
    np.testing.assert_allclose(apart.topic_word_, among.topic_word_, rtol=1e-3, atol=1e-6)
    assert apart.model_.words.total.pseudo is None


def test_a_second_start_saves_topics_that_the_first_pass_left_empty(corpus, monkeypatch):
    def empty():
        lda = LDA(60, random_state=0, max_iter=3, tol=-np.inf).fit(corpus)
        return len(empty_topics(lda.model_.words.total.totals))

    with_second_start = empty()
    monkeypatch.setattr("topmix.estimators.variational.RESTARTED", ())
    assert with_second_start < empty()


def test_what_starts_again_leaves_no_tokens_behind(corpus):
    lda = LDA(60, random_state=0, max_iter=2, tol=-np.inf).fit(corpus)
    assert lda.model_.words.total.totals.sum() == pytest.approx(corpus.n_tokens)


def test_given_topics_do_not_start_again(corpus, monkeypatch):
    def second_starts(monkeypatch, **how):
        """How often topics are looked at after the first pass."""
        seen = []
        monkeypatch.setattr("topmix.learn.schedules.restarted", lambda corpus, sizes, rng: seen.append(len(sizes)))
        LDA(3, max_iter=3, tol=-np.inf, random_state=0, **how).fit(corpus)
        return seen

    assert second_starts(monkeypatch) == [3]
    assert second_starts(monkeypatch, inference="variational") == [3]
    for given in (
        {"init": np.ones((3, 200))},
        {"init": "random"},
        {"learner": "batch"},  # nothing fades there
        {"inference": Collapsed(cold_visits=1)},  # warm documents would not see them
    ):
        assert second_starts(monkeypatch, **given) == []


def test_a_dozen_words_are_not_all_taken_for_common_ones():
    for seed in range(5):
        made = sample_lda(40, 12, 2, doc_length=20, random_state=seed)
        lda = LDA(2, max_iter=20, random_state=seed).fit(made.corpus)
        assert topic_recovery_error(lda.topic_word_, made.topic_word) < 0.3
