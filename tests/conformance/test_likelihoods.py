"""What every likelihood must do, run for each entry of the registry."""

import numpy as np
import pytest
from scipy.special import logsumexp

from topmix import _core
from topmix.steps.rows import MixtureStep

from .conftest import LIKELIHOODS, MIXTURES

names = pytest.mark.parametrize("name", MIXTURES)
K = 4


def stats_of(model, shard, step):
    return step(shard, model.tables(shard.cols), None, _core.TopicScratch()).stats


def total_of(model, shards, step):
    total = model.no_stats()
    for shard in shards:
        total += stats_of(model, shard, step)
    return total


@pytest.mark.parametrize("name", [name for name in MIXTURES if LIKELIHOODS[name.partition("-")[0]].rows == "counts"])
def test_tables_of_some_columns_are_rows_of_all(name, mixture):
    model, _ = mixture(name, K)
    everything = model.likelihood.tables(np.arange(model.n_features, dtype=np.int32))
    cols = np.arange(1, model.n_features, 2, dtype=np.int32)
    for some, every in zip(model.likelihood.tables(cols), everything, strict=True):
        rows = cols if len(every) == model.n_features else slice(None)  # some tables are not by column
        np.testing.assert_array_equal(some, every[rows])


@names
def test_the_local_bound_is_logsumexp_when_every_cluster_is_kept(name, mixture):
    model, shards = mixture(name, K)
    shard = shards(1)[0]
    tables = model.tables(shard.cols)
    alone = [np.where(np.arange(K) == k, 0.0, -np.inf) for k in range(K)]
    score = [model.likelihood.assign(shard, tables.likelihood, only, 1).likelihood for only in alone]
    want = logsumexp(np.transpose(score) + tables.log_weights, axis=1)
    a = model.likelihood.assign(shard, tables.likelihood, tables.log_weights, K)
    np.testing.assert_allclose(a.likelihood, want, rtol=1e-5, atol=1e-5)

    # The bound is linear in the statistics: what they add to the empty bound is the same sum.
    stats = total_of(model, [shard], MixtureStep(type(model.likelihood), K))
    added = sum(model.bound(stats).values()) - sum(model.bound(model.no_stats()).values())
    assert added == pytest.approx(want.sum(), rel=1e-6)


@names
@pytest.mark.parametrize("L", [1, 2, K])
def test_fewer_clusters_only_lower_the_local_bound(name, mixture, L):
    model, shards = mixture(name, K)
    shard = shards(1)[0]
    t = model.tables(shard.cols)
    few = model.likelihood.assign(shard, t.likelihood, t.log_weights, L)
    every = model.likelihood.assign(shard, t.likelihood, t.log_weights, K)
    assert np.all(few.likelihood <= every.likelihood + 1e-5)
    np.testing.assert_allclose(few.r.sum(axis=1), 1, rtol=1e-6)
    assert few.cluster.shape == (shard.n_rows, L)
    assert np.all(np.diff(few.cluster, axis=1) > 0)


@names
@pytest.mark.parametrize("L", [1, 2, K])
def test_statistics_add_up_over_any_sharding(name, mixture, flat, cut, L):
    model, shards = mixture(name, K)
    step = MixtureStep(type(model.likelihood), L)
    whole = total_of(model, shards(1), step)
    assert whole.n_rows == pytest.approx(whole.N.sum(), rel=1e-6)
    corpus = shards(1).corpus
    for cuts in ([0, 1, 103], [0, 50, 51, 90, 103], [*range(12), 103]):
        parts = total_of(model, cut(corpus, cuts), step)
        np.testing.assert_allclose(flat(parts), flat(whole), rtol=1e-6, atol=1e-5)


@names
def test_taking_away_what_was_added_leaves_nothing(name, mixture, flat):
    model, shards = mixture(name, K)
    step = MixtureStep(type(model.likelihood), 2)
    parts = [stats_of(model, s, step) for s in shards(7)]
    total = model.no_stats()
    for part in parts:
        total += part
    assert np.abs(flat(total)).max() > 1
    for part in parts[::-1]:
        total -= part
    np.testing.assert_allclose(flat(total)[:-1], 0, atol=1e-9)


@names
def test_the_update_maximises_the_bound(name, mixture):
    model, shards = mixture(name, K)
    step = MixtureStep(type(model.likelihood), K)
    parts = [stats_of(model, s, step) for s in shards(5)]
    total = model.no_stats()
    for part in parts:
        total += part
    best = sum(model.update(total).bound(total).values())
    assert best > sum(model.bound(total).values())
    rng = np.random.default_rng(0)
    for size in (0.02, 0.3):
        other = model.no_stats()
        for part, w in zip(parts, 1 + size * rng.uniform(-1, 1, len(parts))):
            other.add(part, w)
        assert sum(model.update(other).bound(total).values()) < best


@names
def test_weights_of_rows_are_repeats(name, mixture, flat, cut):
    model, shards = mixture(name, K)
    corpus = shards(1).corpus
    repeats = np.random.default_rng(1).integers(0, 4, corpus.shape[0])
    step = MixtureStep(type(model.likelihood), 2)
    weighted = total_of(model, cut(corpus, [0, 40, 103], repeats.astype(np.float64)), step)
    repeated = corpus[np.repeat(np.arange(len(repeats)), repeats)]
    plain = total_of(model, cut(repeated, 1), step)
    np.testing.assert_allclose(flat(weighted), flat(plain), rtol=1e-5, atol=1e-5)
