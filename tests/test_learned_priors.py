"""alpha and eta learned from the data: the truth comes back, and the bound rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from topmix import LDA, load
from topmix.base import dirichlet
from topmix.data import sample_lda
from topmix.inference import Collapsed, Variational
from topmix.learners import Memoized, Stochastic
from topmix.models.document_prior import DocumentPrior
from topmix.models.statistics import TopicStats

K = 6
SIZES = 1 / (1 + np.arange(K))
INFERENCES = {"collapsed": Collapsed, "variational": Variational}


def dense(posterior="collapsed", **settings):
    """All topics of a document are kept."""
    return {"n_active": None, "inference": INFERENCES[posterior](min_topic_mass=0.0, **settings)}


@pytest.fixture(scope="module", params=[0.6, 3.0])
def sample(request):
    """(documents, true alpha): few topics a document, then many."""
    alpha = request.param * SIZES / SIZES.sum()
    return sample_lda(800, 300, K, doc_length=120, doc_topic_prior=alpha, random_state=0), alpha


def lda(sample, **parameters):
    """Starts at the true topics, so that topic k is topic k."""
    start = {"init": 1000 * sample.topic_word, "doc_topic_prior": "auto", "random_state": 0}
    return LDA(K, **start | parameters)


@pytest.mark.parametrize("posterior", ["variational", "collapsed"])
@pytest.mark.parametrize("learner", [Memoized(batch_size=200), "batch", Stochastic(batch_size=200)], ids=str)
def test_asymmetric_alpha_comes_back(sample, posterior, learner):
    sample, true = sample
    model = lda(sample, learner=learner, max_iter=40, tol=1e-5, **dense(posterior))
    alpha = model.fit(sample.corpus).doc_topic_prior_
    assert np.corrcoef(np.log(alpha), np.log(true))[0, 1] > 0.95
    assert list(np.argsort(-alpha)[:3]) == [0, 1, 2]
    assert true.sum() / 2.5 < alpha.sum() < true.sum() * 2.5


@pytest.mark.parametrize("posterior", ["variational", "collapsed"])
def test_with_the_default_settings_too(sample, posterior):
    """Pruning takes small topics out of documents, so the scale is smaller; the sizes are still in order."""
    sample, true = sample
    alpha = lda(sample, inference=posterior).fit(sample.corpus).doc_topic_prior_
    assert list(np.argsort(-alpha)[:3]) == [0, 1, 2]
    assert true.sum() / 4 < alpha.sum() < true.sum() * 1.5


def test_a_fit_does_not_end_because_the_prior_moved(sample):
    """The collapsed objective is a density at a point: it falls when alpha grows. That is not convergence."""
    sample, _ = sample
    model = lda(sample, max_iter=60, tol=1e-4, **dense()).fit(sample.corpus)
    assert model.converged_
    assert abs(np.diff([r.objective for r in model.history_])[-1]) < 1e-4 * sample.corpus.n_tokens
    further = lda(sample, max_iter=60, tol=-np.inf, **dense()).fit(sample.corpus)
    np.testing.assert_allclose(model.doc_topic_prior_, further.doc_topic_prior_, rtol=0.15)


def test_the_bound_rises_at_every_pass_and_with_every_alpha(sample):
    """Variational, warm: between passes alpha is the best for q as it is."""
    sample, _ = sample
    seen, relearn = [], DocumentPrior.relearn

    class Watched(DocumentPrior):
        def relearn(self, total, lengths, population=None):
            new = relearn(self, total, lengths)
            seen.append((self.bound(total), new.bound(total)))
            return Watched(new.alpha, new.posterior, True)

    class WatchedLDA(LDA):
        def _empty_model(self, V, design=None):
            model = super()._empty_model(V, design)
            return replace(model, prior=Watched(model.prior.alpha, model.prior.posterior, True))

    model = WatchedLDA(
        K, doc_topic_prior="auto", init=1000 * sample.topic_word, max_iter=15, tol=-np.inf, random_state=0,
        **dense("variational", cold_visits=1, doc_tol=1e-3, max_doc_update_iter=500),
    ).fit(sample.corpus)  # fmt: skip
    assert len(seen) == 15
    assert all(after >= before for before, after in seen)
    assert seen[0][1] > seen[0][0] + 1
    objective = np.array([r.objective for r in model.history_])
    assert np.all(np.diff(objective) > -1e-7 * np.abs(objective[0]))
    fixed = lda(sample, doc_topic_prior=None, max_iter=15, **dense("variational")).fit(sample.corpus)
    assert model.elbo_ > fixed.elbo_


def documents(alpha, counts):
    """The Dirichlet-multinomial log likelihood of counts [D, K]."""
    n, a = counts.sum(axis=1), alpha.sum()
    return np.sum(gammaln(a) - gammaln(n + a)) + np.sum(gammaln(counts + alpha) - gammaln(alpha))


@pytest.mark.parametrize("scale", [0.03, 1.0, 30.0])
def test_collapsed_steps_climb_the_likelihood_of_counts(scale):
    """From anywhere, and to its top: there the gradient vanishes."""
    rng = np.random.default_rng(0)
    true = np.array([0.8, 0.4, 0.2, 0.1])
    counts = np.array([rng.multinomial(80, p) for p in rng.dirichlet(true, 2000)]).astype(np.float64)
    lengths = counts.sum(axis=1)
    d, k = np.nonzero(counts)
    prior = DocumentPrior(np.full(4, scale), "collapsed", True)
    values = [documents(prior.alpha, counts)]
    for _ in range(60):
        a = prior.alpha[k]
        M = np.bincount(k, a * (digamma(counts[d, k] + a) - digamma(a)), minlength=4)
        prior = prior.relearn(TopicStats(None, 2000.0, 0.0, 0.0, 0.0, np.zeros(4), M), lengths)
        values.append(documents(prior.alpha, counts))
    assert np.all(np.diff(values) > -1e-7 * abs(values[0]))
    np.testing.assert_allclose(prior.alpha, true, rtol=0.15)


def test_the_most_likely_dirichlet_is_a_stationary_point():
    rng = np.random.default_rng(1)
    for true in ([0.05, 0.2, 3.0], [50.0, 20.0], [0.01, 0.01, 0.01, 0.5]):
        mean_log = dirichlet.expected_log(np.array(true))  # what infinitely much data would say
        for start in (rng.uniform(0.01, 0.1, len(true)), np.full(len(true), 20.0)):
            np.testing.assert_allclose(dirichlet.most_likely(mean_log, start), true, rtol=1e-3)


@pytest.mark.parametrize("posterior", ["variational", "collapsed"])
@pytest.mark.parametrize("true", [0.02, 0.3])
def test_eta_comes_back(posterior, true):
    sample = sample_lda(600, 300, K, doc_length=150, topic_word_prior=true, random_state=2)
    model = lda(sample, inference=posterior, doc_topic_prior=0.1, topic_word_prior="auto", max_iter=30, tol=1e-6)
    assert true / 2.5 < model.fit(sample.corpus).topic_word_prior_ < true * 4  # shares of a token look like rare words


def test_nothing_is_learned_from_nothing():
    model = LDA(3, doc_topic_prior="auto", topic_word_prior="auto", max_iter=3, tol=-np.inf).fit(np.zeros((4, 5)))
    np.testing.assert_allclose(model.doc_topic_prior_, 0.5 / 3)
    assert model.topic_word_prior_ == pytest.approx(0.03)


def smoothed(lda, by):
    counts = lda.components_ - lda.topic_word_prior_ + by
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("K", "firm"), [(4, 0.08), (400, 0.04)])
def test_topics_are_learned_under_a_firm_prior_and_reported_under_a_faint_one(K, firm, tmp_path):
    X = sample_lda(60, 50, 4, random_state=0).corpus
    lda = LDA(K, max_iter=2, random_state=0).fit(X)
    assert lda.topic_word_prior_ == pytest.approx(firm)
    np.testing.assert_allclose(lda.topic_word_, smoothed(lda, 0.03), rtol=1e-9)
    lda.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").topic_word_, lda.topic_word_)


@pytest.mark.parametrize("given", [{"topic_word_prior": 0.2}, {"inference": "variational"}])
def test_a_prior_that_was_asked_for_is_the_one_that_topics_have(given):
    lda = LDA(4, max_iter=2, random_state=0, **given).fit(sample_lda(60, 50, 4, random_state=0).corpus)
    np.testing.assert_allclose(lda.topic_word_, smoothed(lda, lda.topic_word_prior_), rtol=1e-12)
    lda.set_params(inference__smoothing=0.01).fit(sample_lda(60, 50, 4, random_state=0).corpus)
    np.testing.assert_allclose(lda.topic_word_, smoothed(lda, 0.01), rtol=1e-9)


def test_smoothing_may_change_between_two_fits():
    X = sample_lda(60, 50, 4, random_state=0).corpus
    lda = LDA(4, max_iter=2, random_state=0, warm_start=True).fit(X)
    lda.set_params(inference__smoothing=0.01).fit(X)
    np.testing.assert_allclose(lda.topic_word_, smoothed(lda, 0.01), rtol=1e-9)
    lda.set_params(inference__smoothing=0.02).partial_fit(X)
    np.testing.assert_allclose(lda.topic_word_, smoothed(lda, 0.02), rtol=1e-9)


def test_smoothing_has_to_be_a_positive_number():
    with pytest.raises(ValueError, match="smoothing must be a number over 0"):
        Collapsed(smoothing=0.0)
