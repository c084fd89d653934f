"""The objective of topics against enumeration and its definition: the bound rises, and is below the evidence."""

import itertools
from itertools import islice

import numpy as np
import pytest
from scipy.special import digamma, gammaln, logsumexp, xlogy

from tests.twins.topics import Options
from topmix.data import Corpus
from topmix.engines.local import Serial
from topmix.learners import Batch, Memoized, State
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.topics import TopicModel
from topmix.models.words import WordTotal
from topmix.steps.documents import TopicStep

from .topic_data import POSTERIORS, dense_docs, document_options, make_corpus


def start_model(posterior, corpus, K, rng, documents, alpha=0.3, eta=0.2):
    words = TopicWords(np.full((1, 1), eta), WordTotal.of(rng.gamma(1.0, 1.0, (corpus.shape[1], K))), posterior)
    return TopicModel(DocumentPrior(np.full(K, alpha), posterior), words, documents)


def learn(learner, posterior, shards, K, opt, seed=0):
    """(model, objective, documents) pass by pass; a document starts where it was left."""
    workers = Serial().open(shards, TopicStep(cold_visits=1), 1)
    start = start_model(posterior, shards.corpus, K, np.random.default_rng(seed), document_options(opt))
    for model, total, _ in learner.passes(start, workers, State()):
        memory = workers.recall()
        docs = [memory[b].docs for b in range(len(shards))]
        N = [dense_docs((x.indptr, x.topic, x.count), len(x.indptr) - 1, K) for x in docs]
        yield model, sum(model.bound(total).values()), np.concatenate(N)


def rises(objectives):
    objectives = np.array(objectives)
    slack = 2e-6 * np.abs(objectives[0])  # float32 responsibilities
    np.testing.assert_array_less(-np.diff(objectives), slack)


def dirichlet_multinomial(counts, prior):
    """log p of sequences with these counts, row by row, each row's proportions integrated out."""
    n, total = counts.shape[1], counts.sum(axis=1)
    rows = gammaln(n * prior) - gammaln(n * prior + total) + (gammaln(prior + counts) - gammaln(prior)).sum(axis=1)
    return rows.sum()


def log_evidence(X, K, alpha, eta):
    """log p(X) of LDA, token by token, by summing over all assignments with Dirichlet-multinomial closed forms."""
    X = X.astype(int)
    tokens = [(d, v) for d, row in enumerate(X) for v, c in enumerate(row) for _ in range(c)]
    D, V = X.shape
    values = []
    for z in itertools.product(range(K), repeat=len(tokens)):
        N, S = np.zeros((D, K)), np.zeros((V, K))
        for (d, v), k in zip(tokens, z):
            N[d, k] += 1
            S[v, k] += 1
        values.append(dirichlet_multinomial(N, alpha) + dirichlet_multinomial(S.T, eta))
    return logsumexp(values)


@pytest.mark.parametrize("seed", range(3))
def test_the_variational_bound_is_below_the_evidence_and_close(seed, cut):
    rng = np.random.default_rng(seed)
    X = rng.multinomial(4, [0.5, 0.3, 0.2], size=2 + seed % 2).astype(np.float32)
    corpus = Corpus.from_scipy(X)
    evidence = log_evidence(X, 2, 0.3, 0.2)
    bounds = []
    for L, s in itertools.product((1, 2), range(4)):
        opt = Options("variational", False, True, L=L, tol=1e-5, max_iter=200)
        *_, (_, bound, _) = islice(learn(Batch(), "variational", cut(corpus, 1), 2, opt, seed=s), 30)
        bounds.append(bound)
        assert bound < evidence
    assert evidence - max(bounds) < 0.5 * abs(evidence)


def test_the_variational_bound_is_its_definition(cut):
    """E_q[log p(x, z, theta, phi)] - E_q[log q], written out, at what one step returns with every topic kept."""
    rng = np.random.default_rng(20)
    corpus = make_corpus(rng, n_docs=6, V=12, K=3, length=15)
    K, alpha, eta = 3, 0.3, 0.2
    opt = Options("variational", False, L=K, max_iter=1, tol=0.0)
    model, bound, _ = next(learn(Batch(), "variational", cut(corpus, 1), K, opt))

    # The same step in NumPy: one iteration, then the final responsibilities.
    start = start_model("variational", corpus, K, np.random.default_rng(0), document_options(opt))
    table = start.tables(np.arange(12, dtype=np.int32)).words.table.astype(np.float64)
    X = corpus.to_scipy().toarray().astype(np.float64)
    lam = model.words.pseudo_counts().T
    Elogphi = digamma(lam) - digamma(lam.sum(axis=0))
    want = K * gammaln(12 * eta) - K * 12 * gammaln(eta) + (eta - 1) * Elogphi.sum()  # E log p(phi)
    want -= (gammaln(lam.sum(axis=0)) - gammaln(lam).sum(axis=0) + ((lam - 1) * Elogphi).sum(axis=0)).sum()
    for counts in X:
        r = table / table.sum(axis=1, keepdims=True)
        for _ in range(2):
            r = table * np.exp(digamma(counts @ r + alpha))
            r /= r.sum(axis=1, keepdims=True)
        gamma = alpha + counts @ r
        Elogpi = digamma(gamma) - digamma(gamma.sum())
        want += counts @ (r * (Elogpi + Elogphi - np.log(r))).sum(axis=1)
        want += gammaln(K * alpha) - K * gammaln(alpha) + (alpha - 1) * Elogpi.sum()
        want -= gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ Elogpi
    assert bound == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("L", [1, 2, 20])
@pytest.mark.parametrize(("learner", "n_shards"), [(Batch(), 1), (Memoized(), 3)])
def test_the_variational_bound_rises_with_warm_starts(learner, n_shards, L, cut):
    corpus = make_corpus(np.random.default_rng(21), n_docs=60, K=20)
    opt = Options("variational", False, True, L=L, max_iter=20, tol=1e-3)
    rises([bound for _, bound, _ in islice(learn(learner, "variational", cut(corpus, n_shards), 20, opt), 12)])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_statistics_of_documents_are_their_definition(posterior):
    """G, A, T and M over all topics, those that a document does not use included."""
    rng = np.random.default_rng(23)
    N = np.where(rng.random((9, 6)) < 0.5, 0, rng.gamma(1, 5, (9, 6))).astype(np.float32)
    N[4] = 0
    alpha, lengths = rng.uniform(0.1, 1, 6), N.sum(axis=1, dtype=np.float64)
    indptr = np.concatenate([[0], np.cumsum((N > 0).sum(axis=1))])
    docs = DocTopics(indptr, np.nonzero(N)[1].astype(np.uint16), N[N > 0])
    stats = DocumentPrior(alpha, posterior, learned=True).summarise(None, docs, lengths, 1.5)
    theta = N.astype(np.float64) + alpha
    total = theta.sum(axis=1, keepdims=True)
    if posterior == "variational":
        Elogpi = digamma(theta) - digamma(total)
        G, A = -(gammaln(total[:, 0]) - gammaln(theta).sum(axis=1)).sum(), ((N - theta) * Elogpi).sum()
    else:
        Elogpi = np.log(theta / total)
        G, A = 0.0, (N * Elogpi).sum()
    np.testing.assert_allclose([stats.D, stats.H, stats.G, stats.A], [9, 1.5, G, A], rtol=1e-6)
    np.testing.assert_allclose(stats.T, Elogpi.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stats.M, (alpha * (digamma(theta) - digamma(alpha))).sum(axis=0), rtol=1e-6)


def map_objective(model, X, N):
    """sum_dv x log sum_k theta phi + sum alpha log theta + sum eta log phi, at the documents' point estimates."""
    alpha, lam = model.prior.alpha, model.words.pseudo_counts().T
    theta = (N + alpha) / (N + alpha).sum(axis=1, keepdims=True)
    phi = lam / lam.sum(axis=0)
    prior = (np.log(theta) @ alpha).sum() + float(model.words.eta[0, 0]) * np.log(phi).sum()
    return xlogy(X, theta @ phi.T).sum() + prior


@pytest.mark.parametrize(("learner", "n_shards"), [(Batch(), 1), (Batch(), 3), (Memoized(), 1), (Memoized(), 3)])
def test_collapsed_without_exclusion_climbs_the_map_objective(learner, n_shards, cut):
    corpus = make_corpus(np.random.default_rng(22), n_docs=40, V=30, K=4)
    X, K = corpus.to_scipy().toarray().astype(np.float64), 4
    opt = Options("collapsed", False, L=K, max_iter=50, tol=1e-4)
    tracked, exact = [], []
    for model, objective, N in islice(learn(learner, "collapsed", cut(corpus, n_shards), K, opt), 40):
        tracked.append(objective)
        exact.append(map_objective(model, X, N))
    rises(tracked)
    rises(exact)
    tracked, exact = np.array(tracked), np.array(exact)
    assert np.all(tracked <= exact + 1e-6 * np.abs(exact))  # Jensen
    assert tracked[-1] == pytest.approx(exact[-1], rel=1e-5)  # and equal where EM stands still
