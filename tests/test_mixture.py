"""The multinomial mixture: its kernel against the twin, its bound against enumeration, its clusters against a plant."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma, gammaln, logsumexp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tests.twins import mixture as reference
from topmix import LDA, MultinomialMixture
from topmix.corpus.shard import Shard
from topmix.data import Corpus, sample_lda
from topmix.models.categorical import WordStart
from topmix.models.mixture import FiniteDirichlet, Mixture
from topmix.models.topics import PSEUDO_TOKENS
from topmix.models.words import WordStats


@pytest.fixture(scope="module")
def docs():
    """600 short documents from 4 clusters with favourite words."""
    rng = np.random.default_rng(0)
    z = rng.integers(4, size=600)
    phi = np.full((4, 40), 0.2 / 40) + np.kron(np.eye(4), np.full(10, 0.08))
    return np.array([rng.multinomial(30, phi[k] / phi[k].sum()) for k in z]), z


def rows(rng, n=83, V=50):
    X = rng.poisson(0.4, (n, V)).astype(np.float32)
    X[5] = 0
    X[6] *= 500  # a long row: its scores are far apart
    return X


def assign(core, shard, Elogphi, Elogpi, L, threads=1):
    offset = Elogphi.max(axis=1)
    table = (Elogphi - offset[:, None]).astype(np.float32)
    return core.assign_categorical(
        shard.indptr, shard.index, shard.value, table, offset, Elogpi.astype(np.float32), L, threads
    )


@pytest.mark.parametrize("L", [1, 2, 5, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_equals_its_twin(core, L, weighted):
    rng = np.random.default_rng(1)
    X, K = rows(rng), 9
    shard = Shard.of(Corpus.from_scipy(X))
    X = X[:, shard.cols]
    Elogphi, Elogpi = np.log(rng.dirichlet(np.full(X.shape[1], 0.5), K)).T, np.log(rng.dirichlet(np.ones(K)))
    want = reference.assign(X, Elogphi, Elogpi, L)
    cluster, r, H, likelihood = assign(core, shard, Elogphi, Elogpi, L)
    np.testing.assert_array_equal(cluster, want.cluster)
    np.testing.assert_allclose(r, want.r, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(H, want.entropy, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(likelihood, want.likelihood, rtol=1e-6, atol=1e-6)

    weight = rng.gamma(1.0, 1.0, len(X)) if weighted else None
    S, N, _ = reference.statistics(X, want, K, weight)
    words = WordStats(np.arange(X.shape[1], dtype=np.int32), *core.sum_rows_by_word(
        shard.starts, shard.order, shard.row_of, shard.value, cluster, r, weight, K, 2))  # fmt: skip
    np.testing.assert_allclose(words.to_dense(X.shape[1]), S, rtol=1e-3, atol=1e-3)
    assert N.sum() == pytest.approx(len(X) if weight is None else weight.sum())


def test_same_bits_for_any_number_of_threads(core):
    rng = np.random.default_rng(2)
    shard = Shard.of(Corpus.from_scipy(rows(rng, n=1003, V=301)))
    Elogphi, Elogpi = rng.normal(size=(len(shard.cols), 17)), rng.normal(size=17)
    one, *others = (assign(core, shard, Elogphi, Elogpi, 3, t) for t in (1, 2, 7))
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    args = (shard.starts, shard.order, shard.row_of, shard.value, *one[:2], None, 17)
    one, *others = (core.sum_rows_by_word(*args, t) for t in (1, 2, 7))
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_empty_rows_have_the_weights_of_clusters(core):
    shard = Shard.of(Corpus.from_scipy(np.zeros((3, 4), np.float32)))
    none, log_pi = np.zeros((0, 2), np.float32), np.log([0.25, 0.75]).astype(np.float32)
    cluster, r, _, likelihood = core.assign_categorical(
        shard.indptr, shard.index, shard.value, none, np.zeros(0), log_pi, 2, 1
    )
    np.testing.assert_allclose(r, [[0.25, 0.75]] * 3, rtol=1e-6)
    np.testing.assert_allclose(likelihood, 0, atol=1e-6)
    assert cluster.shape == (3, 2)


def log_evidence(X, K, alpha, eta):
    """log p(X), word by word, by summing over all assignments of rows to clusters."""
    values = []
    for z in itertools.product(range(K), repeat=len(X)):
        R = np.eye(K)[list(z)]
        N, S = R.sum(axis=0), X.T @ R
        values.append(dirichlet_multinomial(N[:, None], alpha) + dirichlet_multinomial(S, eta))
    return logsumexp(values)


def dirichlet_multinomial(counts, prior):
    """log p of sequences with these counts, column by column, each column's proportions integrated out."""
    n, total = counts.shape[0], counts.sum(axis=0)
    each = (gammaln(prior + counts) - gammaln(prior)).sum(axis=0)
    return np.sum(gammaln(n * prior) - gammaln(n * prior + total) + each)


@pytest.mark.parametrize("learner", ["batch", "memoized"])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_the_evidence_and_close(learner, seed):
    rng = np.random.default_rng(seed)
    X = rng.multinomial(5, rng.dirichlet(np.ones(3)), size=5).astype(np.float64)
    evidence = log_evidence(X, 2, 0.5, 0.3)
    bounds = []
    for n_active, start in itertools.product((1, 2), range(5)):
        model = MultinomialMixture(2, n_active=n_active, learner=learner, weight_concentration_prior=0.5,
                                   topic_word_prior=0.3, tol=1e-9, random_state=start, n_jobs=1)  # fmt: skip
        history = model.fit(X).history_
        assert all(h.objective < evidence for h in history)
        bounds.append(model.elbo_)
    # Mean field sees one labelling of two: log 2, and a little more, is what it may miss.
    assert max(bounds) > evidence - np.log(2) - 2.5


def test_the_bound_is_exact_with_one_cluster():
    X = np.random.default_rng(5).poisson(2.0, (6, 4))
    model = MultinomialMixture(1, topic_word_prior=0.3, n_jobs=1).fit(X)
    assert model.elbo_ == pytest.approx(dirichlet_multinomial(X.sum(axis=0)[:, None], 0.3), rel=1e-9)


def test_weights_are_at_the_maximum_of_their_bound():
    N = np.array([3.0, 0.0, 7.5, 1.2])
    start = FiniteDirichlet.uniform(0.25, 4)
    best = start.update(N)
    # At the optimum it is the evidence of N draws, each kind of them N_k times.
    assert best.bound(N) == pytest.approx(dirichlet_multinomial(N[:, None], 0.25), rel=1e-9)
    np.testing.assert_allclose(best.weights(), (N + 0.25) / (N.sum() + 1))
    for k, by in itertools.product(range(4), (-0.1, 0.1)):
        assert start.update(N + by * np.eye(4)[k]).bound(N) < best.bound(N)


@pytest.mark.parametrize("learner", ["batch", "memoized"])
@pytest.mark.parametrize("n_active", [1, 2, None])
def test_finds_planted_clusters(docs, learner, n_active):
    X, z = docs
    model = MultinomialMixture(4, n_active=n_active, learner=learner, n_init=3, random_state=0, n_jobs=2).fit(X)
    table = np.zeros((4, 4))
    np.add.at(table, (z, model.predict(X)), 1)
    assert table.max(axis=1).sum() / len(z) > 0.95
    assert len(set(table.argmax(axis=1))) == 4


def test_integer_weights_are_repeated_rows(docs):
    """Of statistics, and so of an update; a whole fit also draws its start from the rows."""
    X = docs[0][:50]
    repeats = np.random.default_rng(6).integers(0, 3, 50)
    start = MultinomialMixture(4, learner="batch", max_iter=1, random_state=0, n_jobs=1).fit(X)
    fits = []
    for data, weight in ((X, repeats), (np.repeat(X, repeats, axis=0), None)):
        model = MultinomialMixture(4, learner="batch", max_iter=3, tol=-np.inf, warm_start=True, n_jobs=1)
        model._fitted = replace(start._fitted, objective=None)
        fits.append(model.fit(data, sample_weight=weight))
    np.testing.assert_allclose(fits[0].components_, fits[1].components_, rtol=1e-5)
    np.testing.assert_allclose(fits[0].weights_, fits[1].weights_, rtol=1e-5)
    assert fits[0].elbo_ == pytest.approx(fits[1].elbo_, rel=1e-7)


def test_probabilities_keep_n_active_and_agree_with_predict(docs):
    X = docs[0][:100]
    model = MultinomialMixture(6, n_active=2, random_state=0, n_jobs=1).fit(X)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.count_nonzero(P, axis=1).max() <= 2
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X, sparse_output=True).toarray(), P)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


def test_score_samples_is_the_log_of_summed_weights(docs):
    X = docs[0][:20].astype(np.float64)
    model = MultinomialMixture(3, n_active=1, random_state=0, n_jobs=1).fit(X)
    lam = model.model_.likelihood.lam
    s = X @ (digamma(lam) - digamma(lam.sum(axis=0))) + model.model_.allocation.log_weights()
    np.testing.assert_allclose(model.score_samples(X), logsumexp(s, axis=1), rtol=1e-6)


def test_a_start_does_not_need_as_many_rows_as_clusters():
    corpus = Corpus.from_scipy(np.array([[1.0, 0, 2], [0, 0, 0]]))
    likelihood, _ = WordStart(corpus, None, 5, 0.1, "vb", 0.2, "documents").first(np.random.default_rng(0))
    model = Mixture(FiniteDirichlet.uniform(0.2, 5), likelihood, 3)
    assert np.all(np.isfinite(model.tables(np.arange(3, dtype=np.int32)).likelihood.Elogphi))
    np.testing.assert_allclose(likelihood.mean().sum(axis=1), 1)


def test_a_warm_start_keeps_its_clusters_under_every_learner():
    X = sample_lda(300, 60, 4, doc_topic_prior=0.02, random_state=0).corpus
    start = {"init": "documents", "topic_word_prior": 0.1, "max_iter": 30}
    for learner in ("batch", "memoized"):
        model = MultinomialMixture(6, learner=learner, warm_start=True, random_state=0, **start).fit(X)
        before = model.elbo_
        assert model.fit(X).history_[0].objective > before - 1e-6 * abs(before)


def test_a_fit_that_did_not_converge_says_so(docs):
    X = docs[0]
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = MultinomialMixture(6, max_iter=1, random_state=0).fit(X)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MultinomialMixture(6, random_state=0).fit(X).converged_
        MultinomialMixture(6, max_iter=2, tol=-np.inf, random_state=0).fit(X)  # all passes were asked for
        stop = [lambda record, view: record.n_pass == 2]
        assert MultinomialMixture(6, tol=0.0, callbacks=stop, random_state=0).fit(X).n_iter_ == 2
        LDA(3, max_iter=1, random_state=0).fit(X)  # topics are often enough after a few passes: no warning, as there


def test_no_passes_leave_the_start(docs):
    X = docs[0]
    start = MultinomialMixture(4, init="documents", max_iter=0, random_state=0).fit(X)
    assert (start.n_iter_, start.converged_, start.history_, start.lower_bounds_) == (0, False, [], [])
    assert start.lower_bound_ == -np.inf
    assert np.ptp(start.components_.sum(axis=1)) < 40  # one row each, and the mean row
    assert MultinomialMixture(4, max_iter=1, tol=-np.inf, random_state=0).fit(X).elbo_ > -np.inf
    topics = LDA(4, max_iter=0, random_state=0).fit(X).components_
    np.testing.assert_allclose(topics.sum(axis=1), PSEUDO_TOKENS + 40 * 0.08)


def test_a_warm_start_sees_that_it_has_converged(docs):
    X = docs[0]
    model = MultinomialMixture(4, warm_start=True, n_init=3, random_state=0).fit(X)
    assert model.fit(X).n_iter_ == 1  # n_init is for the first fit
    assert model.converged_
    assert model.fit(X[:300]).n_iter_ > 1  # other data: nothing to compare with
    model.set_params(max_iter=1, tol=1e-12)
    assert any(model.fit(X[:300]).converged_ for _ in range(50))


def test_bounds_of_all_passes_are_per_row_for_the_likelihood(docs):
    X = docs[0]
    for objective, per in (("vb", 1), ("ml", len(X))):
        model = MultinomialMixture(4, objective=objective, random_state=0).fit(X)
        np.testing.assert_allclose(model.lower_bounds_, [r.objective / per for r in model.history_])
        assert model.lower_bounds_[-1] == pytest.approx(model.lower_bound_)
        assert len(model.partial_fit(X).lower_bounds_) == model.n_iter_
    with pytest.raises(NotFittedError):
        MultinomialMixture(4).lower_bounds_  # noqa: B018
