"""Rows with one cluster each: the sampler against its twin, and what a start makes of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import normalized_mutual_info_score

from tests.twins import row_clusters as reference
from topmix import MultinomialMixture
from topmix.corpus.shard import Shard
from topmix.data import Corpus
from topmix.models import categorical

K = 5


def counts(rng, n=61, V=40):
    X = rng.poisson(0.3, (n, V)).astype(np.float64)
    X[:, 0] = 1  # so that no word is missing
    X[:, 1:] = np.where(np.arange(V)[1:] == np.arange(n)[:, None] % (V - 1) + 1, 1, X[:, 1:])
    X[3], X[4, 7], X[5, 9], X[6] = 0, 30, 2.5, X[6] * 9  # no words, a common word, no whole number, a long row
    X[3, 0] = 1
    return X


def chains(X, weight, z):
    """What rows with clusters z [chains, rows] add up to."""
    R = [weight[:, None] * np.eye(K)[c] for c in z]
    S = np.stack([X.T @ r for r in R])
    return np.ascontiguousarray(S), S.sum(axis=1), np.stack([r.sum(axis=0) for r in R])


@pytest.mark.parametrize("power", [1.0, 0.3, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_equals_its_twin(core, power, weighted):
    rng = np.random.default_rng(0)
    X = counts(rng)
    n, V = X.shape
    eta, more = rng.gamma(1.0, 0.2, V) + 0.01, 3.0
    shard = Shard.of(Corpus.from_scipy(X))
    weight = rng.gamma(1.0, 1.0, n) if weighted else np.ones(n)
    z = rng.integers(K, size=(3, n), dtype=np.int32)
    want = z.astype(np.int64)
    S, total, N = chains(X, weight, z)
    for sweep in range(2):
        core.sample_row_clusters(
            shard.indptr, shard.index, shard.value, weight if weighted else None, eta, eta.sum() + more, 0.5, power, 17,
            sweep, 2, S, total, N, z,
        )  # fmt: skip
        for c, clusters in enumerate(want):
            reference.sweep(X, weight, clusters, K, eta, eta.sum() + more, 0.5, power, 17 + c, sweep)
    np.testing.assert_array_equal(z, want)
    for got, sums in zip((S, total, N), chains(X, weight, z), strict=True):
        np.testing.assert_allclose(got, sums, atol=1e-9)


def test_chains_have_the_same_bits_for_any_number_of_threads(core):
    rng = np.random.default_rng(1)
    X = counts(rng)
    shard, z = Shard.of(Corpus.from_scipy(X)), rng.integers(K, size=(4, len(X)), dtype=np.int32)
    ends = []
    for threads in (1, 2, 7):
        end = [z.copy(), *chains(X, np.ones(len(X)), z)]
        eta = np.full(X.shape[1], 0.1)
        core.sample_row_clusters(
            shard.indptr, shard.index, shard.value, None, eta, 4.0, 0.5, 1.0, 3, 0, threads, *end[1:], end[0]
        )
        ends.append(end)
    for end in ends[1:]:
        for a, b in zip(ends[0], end, strict=True):
            np.testing.assert_array_equal(a, b)
    assert len({tuple(c) for c in ends[0][0]}) == 4  # each has random numbers of its own


def test_samples_follow_the_posterior(core):
    """Of three rows in two clusters, against all eight labellings."""
    X, eta, a = np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 0]]), np.full(3, 0.4), 0.7
    shard, labellings = Shard.of(Corpus.from_scipy(X)), list(itertools.product(range(2), repeat=3))

    def log_joint(z):
        S, N = X.T @ np.eye(2)[list(z)], np.bincount(z, minlength=2)
        return categorical.log_probability(S, N, (eta[0], eta.sum(), a))

    want, found = softmax([log_joint(z) for z in labellings]), np.zeros(8)
    z = np.zeros((1, 3), np.int32)
    S, total, N = (x[..., :2].copy() for x in chains(X, np.ones(3), z))
    for sweep in range(20_000):
        core.sample_row_clusters(
            shard.indptr, shard.index, shard.value, None, eta, eta.sum(), a, 1.0, 5, sweep, 1, S, total, N, z
        )
        found[labellings.index(tuple(z[0].tolist()))] += 1 / 20_000
    np.testing.assert_allclose(found, want, atol=0.015)


# Starts


def texts(n=700, V=400, clusters=6, length=60.0, seed=0):
    """Rows as texts are: common words that say nothing, rare ones, words that come in bursts, clusters of all sizes and
    rows of all lengths."""
    rng = np.random.default_rng(seed)
    zipf, sizes = 1.0 / (5.0 + rng.permutation(V)), 1.0 / (2.0 + np.arange(clusters))
    common = zipf / zipf.sum()
    phi = 0.5 * rng.dirichlet(0.1 * V * common, clusters) + 0.5 * common
    z = rng.choice(clusters, n, p=sizes / sizes.sum())
    own = rng.gamma(V * phi[z]) + 1e-12  # a row has its favourites among the words of its cluster
    lengths = 2 + rng.negative_binomial(4, 4 / (4 + length), n)
    return np.array([rng.multinomial(s, p / p.sum()) for s, p in zip(lengths, own, strict=True)]), z


KINDS = {"articles": texts(), "titles": texts(n=2000, V=250, clusters=4, length=8.0)}


def worst(kind, **settings):
    """NMI of the worst of five seeds, and of the same clusters when they start from the truth."""
    X, z = KINDS[kind]
    K = 1 + int(z.max())

    def nmi(seed, **more):
        model = MultinomialMixture(K, random_state=seed, n_jobs=1, **settings | more)
        return normalized_mutual_info_score(z, model.fit_predict(X))

    return min(nmi(seed) for seed in range(5)), nmi(0, init=z)


@pytest.mark.parametrize("kind", KINDS)
def test_every_seed_finds_the_clusters(kind):
    found, from_the_truth = worst(kind)
    assert found > from_the_truth - 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_poor_starts_would_be_noticed(kind):
    """The test above is one that a start without sampling fails."""
    found, from_the_truth = worst(kind, init="documents")
    assert found < from_the_truth - 0.1
