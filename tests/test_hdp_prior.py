"""The sticks of the HDP and what documents say of them: true bounds, true gradients, and a bound that rises."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, logit
from scipy.stats import beta as beta_distribution

from topmix.base import dirichlet
from topmix.data import Corpus, sample_lda
from topmix.engines.local import Serial
from topmix.learners import Batch, Memoized, State
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.stick_prior import Evidence, StickPrior, Sticks
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordStats, WordTotal
from topmix.steps.documents import TopicStep


def random_sticks(rng, K):
    return Sticks(rng.uniform(0.02, 0.98, K), rng.gamma(2.0, 20.0, K))


def random_evidence(rng, K, alpha=0.7, D=40):
    log_pi = np.log(rng.dirichlet(np.full(K + 1, 0.8), D))
    return Evidence(float(D), alpha, log_pi.sum(axis=0))


def prior_of(sticks, alpha=0.5, gamma=5.0, **learned):
    return StickPrior(sticks, alpha, gamma, **learned)


@pytest.mark.parametrize("K", [1, 2, 7, 100])
def test_the_surrogate_is_a_lower_bound_for_all_alpha_and_beta(K):
    """Eq. (3.21), Fig. 2 of Hughes, Kim & Sudderth (2015); it touches as alpha goes to zero."""
    rng = np.random.default_rng(K)
    for alpha in np.logspace(-3, 3, 25):
        for concentration in (0.05, 1.0, 30.0):
            u = np.clip(rng.beta(1.0, concentration, (40, K)), 1e-12, 1 - 1e-12)
            left = np.cumprod(1 - u, axis=1)
            pieces = np.hstack([u * np.hstack([np.ones((40, 1)), left[:, :-1]]), left[:, -1:]])
            u, pieces = u[pieces.min(axis=1) > 1e-250], pieces[pieces.min(axis=1) > 1e-250]  # that doubles hold
            exact = dirichlet.log_normaliser(alpha * pieces, axis=1)
            surrogate = K * np.log(alpha) + np.log(u).sum(axis=1) + np.log1p(-u) @ np.arange(K, 0, -1)
            assert np.all(surrogate <= exact + 1e-9 * np.abs(exact) + 1e-9)
            if alpha < 2e-3:
                np.testing.assert_allclose(surrogate, exact, atol=2e-3, rtol=1e-9)


def test_expectations_are_those_of_draws():
    rng = np.random.default_rng(0)
    sticks = random_sticks(rng, 3)
    a, b = sticks.rho * sticks.omega, (1 - sticks.rho) * sticks.omega
    u = rng.beta(a, b, (200_000, 3))
    pieces = u * np.hstack([np.ones((len(u), 1)), np.cumprod(1 - u, axis=1)[:, :-1]])
    np.testing.assert_allclose(sticks.shares()[:-1], pieces.mean(axis=0), rtol=2e-2, atol=1e-3)
    assert sticks.shares().sum() == pytest.approx(1)
    surrogate = 3 * np.log(0.4) + np.log(u).sum(axis=1) + np.log1p(-u) @ [3, 2, 1]
    assert sticks.log_normaliser(0.4) == pytest.approx(surrogate.mean(), rel=5e-3)
    log_q = beta_distribution.logpdf(u, a, b).sum(axis=1)
    log_p = beta_distribution.logpdf(u, 1, 2.5).sum(axis=1)
    assert sticks.divergence(2.5) == pytest.approx((log_q - log_p).mean(), rel=2e-2)


@pytest.mark.parametrize("K", [1, 2, 9])
@pytest.mark.parametrize("D", [0.0, 40.0])
def test_the_gradient_is_that_of_the_bound(K, D):
    rng = np.random.default_rng(K)
    for alpha in (0.05, 0.7, 20.0):
        sticks, seen = random_sticks(rng, K), random_evidence(rng, K, alpha)._replace(D=D)
        here = np.concatenate([logit(sticks.rho), np.log(sticks.omega)])

        def at(x):
            return Sticks(expit(x[:K]), np.exp(x[K:]))

        error = check_grad(
            lambda x, seen=seen: at(x).bound(seen, 3.0), lambda x, seen=seen: at(x).gradient(seen, 3.0), here
        )
        assert error < 1e-5 * np.linalg.norm(sticks.gradient(seen, 3.0)) + 1e-4


def test_without_documents_the_sticks_go_to_their_prior():
    sticks = random_sticks(np.random.default_rng(3), 4).update(Evidence(0.0, 0.5, np.zeros(5)), 3.0, max_iter=500)
    np.testing.assert_allclose(sticks.rho, 1 / 4, rtol=1e-3)
    np.testing.assert_allclose(sticks.omega, 4, rtol=1e-2)
    assert sticks.divergence(3.0) == pytest.approx(0, abs=1e-5)


def test_an_update_climbs_to_where_nothing_moves():
    rng = np.random.default_rng(4)
    for K in (1, 3, 50):
        start, seen = Sticks.even(K, 5.0), random_evidence(rng, K)
        found = start.update(seen, 5.0, max_iter=5000)
        assert found.bound(seen, 5.0) > start.bound(seen, 5.0)
        scale = seen.alpha * np.abs(found.shares() * seen.T).sum()
        assert np.abs(found.gradient(seen, 5.0)).max() < 1e-3 * scale
        for other in (random_sticks(rng, K) for _ in range(20)):
            assert other.bound(seen, 5.0) <= found.bound(seen, 5.0) + 1e-6 * scale


def test_learned_concentrations_are_where_the_bound_is_largest():
    rng = np.random.default_rng(5)
    corpus, model, _ = small_problem()
    stats = model.prior.summarise(*documents_of(rng, corpus, 4))
    prior = prior_of(random_sticks(rng, 4), learns_concentration=True, learns_stick_prior=True).update(stats)
    assert prior.bound(stats) > prior_of(prior.sticks).bound(stats)
    for factor in (0.9, 1.1):
        assert replace(prior, concentration=factor * prior.concentration).bound(stats) < prior.bound(stats)
        assert replace(prior, stick_prior=factor * prior.stick_prior).bound(stats) < prior.bound(stats)


def documents_of(rng, corpus, K):
    """Made-up topics of documents: (words, docs, lengths, H)."""
    lengths = np.asarray(corpus.to_scipy().sum(axis=1)).ravel().astype(np.float64)
    counts = np.array([rng.multinomial(int(n), rng.dirichlet(np.full(K, 0.3))) for n in lengths])
    row, topic = np.nonzero(counts)
    docs = DocTopics(
        np.searchsorted(row, np.arange(len(lengths) + 1)).astype(np.int64),
        topic.astype(np.uint16),
        counts[row, topic].astype(np.float32),
    )
    empty = WordStats(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(0), np.zeros(K))
    return empty, docs, lengths, 0.0


def small_problem(K=4, **learned):
    sample = sample_lda(90, 60, 4, doc_length=25, random_state=0)
    raw = np.random.default_rng(1).gamma(1.0, 1.0, (60, K))
    words = TopicWords(np.full((1, 1), 0.1), WordTotal.of(raw), "variational")
    model = TopicModel(prior_of(Sticks.even(K, 5.0), **learned), words, DocumentOptions(max_iter=50, tol=0.001))
    return sample.corpus, model, TopicStep(cold_visits=1)


def passes(learner, model, workers, n, state=None):
    return itertools.islice(learner.passes(model, workers, state or State()), n)


def test_documents_are_those_of_lda_with_a_topic_that_nobody_uses():
    """With the exact normaliser in the place of the surrogate, it is LDA with K + 1 topics."""
    rng = np.random.default_rng(6)
    corpus, _, _ = small_problem()
    words, docs, lengths, H = documents_of(rng, corpus, 4)
    prior = prior_of(random_sticks(rng, 4))
    ours = prior.summarise(words, docs, lengths, H)
    lda = DocumentPrior(prior.shares, "variational")
    theirs = lda.summarise(replace(words, totals=np.zeros(5)), docs, lengths, H)
    np.testing.assert_allclose(ours.T, theirs.T)
    loose = ours.D * (prior.sticks.log_normaliser(0.5) - dirichlet.log_normaliser(prior.shares))
    assert prior.documents(ours) == pytest.approx(lda.bound(theirs) + loose)


def test_the_bound_lies_below_the_evidence():
    """One document, tokens with known topics: log p(z) = log E[prod Dirichlet-multinomial], by drawing sticks."""
    rng = np.random.default_rng(7)
    alpha, gamma, counts = 0.6, 2.0, np.array([3.0, 2.0, 0.0])  # two topics and what is left over
    empty = WordStats(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(0), np.zeros(2))
    docs = DocTopics(np.array([0, 2]), np.array([0, 1], np.uint16), counts[:2].astype(np.float32))
    prior = prior_of(Sticks.even(2, gamma), alpha, gamma)
    for _ in range(60):
        stats = prior.summarise(empty, docs, np.array([5.0]), 0.0)
        prior = prior.update(stats)
    u = rng.beta(1, gamma, (100_000, 2))
    left = np.cumprod(1 - u, axis=1)
    pieces = np.maximum(np.column_stack([u[:, 0], u[:, 1] * left[:, 0], left[:, 1]]), 1e-300) * alpha
    log_p = dirichlet.log_normaliser(pieces, axis=1) - dirichlet.log_normaliser(pieces + counts, axis=1)
    evidence = float(np.log(np.mean(np.exp(log_p))))
    bound = prior.bound(prior.summarise(empty, docs, np.array([5.0]), 0.0))
    assert evidence - 2.0 < bound < evidence


@pytest.mark.parametrize("learned", [{}, {"learns_concentration": True, "learns_stick_prior": True}])
@pytest.mark.parametrize("K", [1, 4, 9])
@pytest.mark.parametrize(
    ("learner", "n_shards"),
    [(Batch(), 1), (Batch(), 3), (Memoized(), 1), (Memoized(), 4), (Memoized(batches_per_update=2), 5)],
)
def test_the_surrogate_bound_rises_at_every_pass(learner, n_shards, K, learned, cut):
    corpus, model, step = small_problem(K, **learned)
    workers = Serial().open(cut(corpus, n_shards), step, 1)
    bound = [sum(m.bound(total).values()) for m, total, _ in passes(learner, model, workers, 10)]
    assert np.all(np.diff(bound) > -1e-6 * np.abs(bound[0]))  # float32 tables
    assert bound[-1] > bound[0] + 1


def test_the_memoized_bound_rises_at_every_shard(cut):
    """After the first pass, when every document is in the total once."""
    corpus, model, step = small_problem(5)
    workers, state, bounds = Serial().open(cut(corpus, 5), step, 1), State(), []
    learner, run = Memoized().passes(model, workers, state), workers.run

    def watched(tables, shards):
        bounds.append(sum(tables.__self__.bound(state.total).values()))  # the method of the model of the moment
        return run(tables, shards)

    next(learner)
    workers.run = watched
    for _ in range(3):
        next(learner)
    assert len(bounds) == 15
    assert np.all(np.diff(bounds) > -1e-6 * np.abs(bounds[0]))


def test_a_corpus_of_empty_documents_is_no_error(cut):
    corpus, model, step = small_problem(3)
    nothing = Corpus.from_scipy(0 * corpus.to_scipy())
    for m, total, _ in passes(Memoized(), model, Serial().open(cut(nothing, 2), step, 1), 3):
        assert np.isfinite(sum(m.bound(total).values()))
