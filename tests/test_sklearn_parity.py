"""With its settings, its topics and its random numbers, dense batch variational inference is scikit-learn's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from topmix import LDA
from topmix.base import dirichlet
from topmix.data import sample_lda
from topmix.inference import Collapsed, Variational
from topmix.steps import StepResult
from topmix.steps.documents import solve

SEED, K = 7, 8


class FromGamma(LDA):
    """Starts every document where scikit-learn does: gamma ~ Gamma(100, 0.01), anew in each pass."""

    def _problem(self, *args, **more):
        problem, alpha = super()._problem(*args, **more), self.doc_topic_prior

        def step(shard, tables, memory, scratch):
            prior, start = tables.prior.of(shard.design), self.draw(shard.n_rows) - alpha
            words, docs, H, _ = solve(shard, tables, scratch, start=start, prior=prior)
            return StepResult(prior.summarise(words, docs, shard.lengths, H))

        return replace(problem, step=step)


@pytest.fixture(scope="module")
def X():
    """300 documents of very different lengths; one is empty, one word is unused."""
    rng = np.random.default_rng(0)
    X = sample_lda(300, 200, K, doc_length=60, random_state=1).corpus.to_scipy().toarray()
    X = X * rng.integers(1, 4, size=(300, 1))
    X[17], X[:, 31] = 0, 0
    return X


def theirs(X, n_passes, alpha, eta, tol=1e-3, max_doc_iter=100):
    return LatentDirichletAllocation(
        K, doc_topic_prior=alpha, topic_word_prior=eta, learning_method="batch", max_iter=n_passes,
        mean_change_tol=tol, max_doc_update_iter=max_doc_iter, random_state=SEED,
    ).fit(X)  # fmt: skip


def ours(X, n_passes, alpha, eta, tol=1e-3, max_doc_iter=100):
    rng = np.random.RandomState(SEED)
    components = rng.gamma(100.0, 0.01, (K, X.shape[1]))  # what scikit-learn draws first
    inference = Variational(
        doc_tol=tol, stopping="mean", max_doc_update_iter=max_doc_iter, min_topic_mass=0.0, cold_visits=None
    )
    model = FromGamma(
        K, inference=inference, learner="batch", n_active=None, doc_topic_prior=alpha, topic_word_prior=eta,
        init=components - eta, max_iter=n_passes, tol=-np.inf,
    )  # fmt: skip
    model.draw = lambda n_docs: rng.gamma(100.0, 0.01, (n_docs, K))
    return model.fit(X)


def far(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize(("alpha", "eta"), [(1 / K, 1 / K), (0.5, 0.01)])
@pytest.mark.parametrize("n_passes", [1, 2, 5])
def test_batch_passes_are_those_of_scikit_learn(X, n_passes, alpha, eta):
    a, b = ours(X, n_passes, alpha, eta), theirs(X, n_passes, alpha, eta)
    assert far(a.components_, b.components_) < 1e-4
    assert far(a.exp_dirichlet_component_, b.exp_dirichlet_component_) < 1e-4


@pytest.mark.parametrize(("tol", "max_doc_iter"), [(0.1, 100), (1e-3, 3), (0.0, 20)])
def test_whatever_ends_a_document(X, tol, max_doc_iter):
    """By the mean change, by the number of iterations, and a document of no words by neither."""
    a, b = (fit(X, 3, 1 / K, 1 / K, tol, max_doc_iter) for fit in (ours, theirs))
    assert far(a.components_, b.components_) < 1e-4


def test_documents_get_the_topics_that_scikit_learn_gives_them(X):
    a, b = (fit(X, 5, 1 / K, 1 / K, 1e-6, 1000) for fit in (ours, theirs))
    for normalize in (True, False):
        mine, hers = a.transform(X, normalize=normalize), b.transform(X, normalize=normalize)
        assert np.median(np.linalg.norm(mine - hers, axis=1) / np.linalg.norm(hers, axis=1)) < 1e-4
    np.testing.assert_allclose(a.transform(X)[17], 1 / K)


def test_the_bound_is_the_one_that_scikit_learn_reports(X):
    a, b = (fit(X, 20, 1 / K, 1 / K) for fit in (ours, theirs))
    assert a.bound_ == pytest.approx(b.bound_, rel=2e-3)  # it solves the documents once more before it looks
    lam = a.components_.T
    topics = dirichlet.bound(np.zeros_like(lam), np.full_like(lam, 1 / K), lam)  # -KL(q(phi) || p(phi))
    assert a.score(X) + topics == pytest.approx(b.score(X), rel=2e-3)  # scikit-learn counts it in every score


def test_the_mean_rule_is_the_mean_over_all_topics(X):
    with pytest.raises(ValueError, match="stopping"):
        Collapsed(stopping="often")
    rules = (Collapsed(stopping=s, doc_tol=0.1) for s in ("mean", "max"))
    few, many = (LDA(3, inference=rule, random_state=0, max_iter=2).fit(X) for rule in rules)
    assert few.history_[0].effort["iterations"] < many.history_[0].effort["iterations"]
