"""The local step by sampling: its draws are the twin's, and its statistics are what the draws add up to."""

from dataclasses import replace

import numpy as np
import pytest

from tests.twins import gibbs as reference
from topmix.base.threads import use_threads
from topmix.corpus.shard import Shard
from topmix.data import Corpus
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.topics import Sampling, TopicModel
from topmix.models.words import WordTotal
from topmix.steps.documents import sample

SAMPLING = Sampling(concentration=2.0, sweep=3, seed=11)
NUMBER = 5


def problem(K, D=23, V=19, extra=0):
    """A shard of a larger corpus, topics of its tokens, and a model whose counts hold them."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (D, V)).astype(np.float32)
    X[3] = 0
    shard = Shard.of(Corpus.from_scipy(X), number=NUMBER)
    words, doc = expanded(shard)
    z = rng.integers(K, size=len(words))
    counts = reference.count(words, z, V, K).word + rng.integers(extra + 1, size=(V, K))
    topics = TopicWords(np.full((1, 1), 0.05), WordTotal.of(counts), "collapsed")
    return shard, TopicModel(DocumentPrior(np.linspace(0.1, 0.3, K), "collapsed"), topics), words, doc, z


def expanded(shard):
    """The word, among all, and the document of every token."""
    copies = shard.value.astype(np.int64)
    return np.repeat(shard.cols[shard.index].astype(np.int64), copies), np.repeat(shard.row_of, copies)


def weights(model):
    counts = model.words.total.counts() + model.words.eta
    return counts / counts.sum(axis=0), counts.sum(axis=0)


@pytest.mark.parametrize("extra", [0, 4])
@pytest.mark.parametrize("K", [2, 37, 150])
def test_every_draw_is_the_twins(core, monkeypatch, K, extra):
    monkeypatch.setattr("topmix.steps.documents._core", core)
    monkeypatch.setattr("topmix.corpus.shard._core", core)
    shard, model, words, doc, z = problem(K, extra=extra)
    e, norm = weights(model)
    alpha = model.prior.alpha * (SAMPLING.concentration / model.prior.alpha.sum())
    first = np.searchsorted(doc, np.arange(shard.n_rows + 1))
    drawn = sample(shard, model.tables(shard.cols), SAMPLING, z.astype(np.uint16), None)
    before, twin = z.copy(), z.copy()
    reference.sample_documents(
        words, first, range(shard.n_rows), twin, alpha, e, norm, SAMPLING.seed, SAMPLING.sweep, NUMBER << 32
    )
    np.testing.assert_array_equal(drawn.memory.z, twin)
    assert drawn.info["moved"] == np.sum(twin != before) > 0


@pytest.mark.parametrize("K", [3, 150])
def test_first_draws_follow_the_documents_topics(core, monkeypatch, K):
    monkeypatch.setattr("topmix.steps.documents._core", core)
    monkeypatch.setattr("topmix.corpus.shard._core", core)
    shard, model, words, doc, _ = problem(K, extra=2)
    rng = np.random.default_rng(2)
    given = [{int(k): float(rng.uniform(1, 5)) for k in np.sort(rng.choice(K, 2, replace=False))} for _ in range(23)]
    given[7] = {}  # a document whose topics nobody knows: the prior's
    docs = DocTopics(
        np.cumsum([0, *map(len, given)]).astype(np.int64),
        np.array([k for d in given for k in d], np.uint16),
        np.array([n for d in given for n in d.values()], np.float32),
    )
    alpha = model.prior.alpha * (SAMPLING.concentration / model.prior.alpha.sum())
    first = np.searchsorted(doc, np.arange(shard.n_rows + 1))
    drawn = sample(shard, model.tables(shard.cols), SAMPLING, None, docs)
    twin = reference.draw_given(words, first, given, alpha, weights(model)[0], SAMPLING.seed, 3, NUMBER << 32)
    np.testing.assert_array_equal(drawn.memory.z, twin)


@pytest.mark.parametrize("threads", [1, 3])
def test_statistics_are_what_the_draws_add_up_to(threads):
    K = 37
    shard, model, words, doc, z = problem(K, D=300)
    with use_threads(threads):
        drawn = sample(shard, model.tables(shard.cols), SAMPLING, z.astype(np.uint16), None)
    dense = drawn.stats.S.to_dense(model.words.shape[0])
    np.testing.assert_array_equal(dense, reference.count(words, drawn.memory.z.astype(np.int64), *dense.shape).word)
    np.testing.assert_array_equal(drawn.stats.S.totals, dense.sum(axis=0))
    N = np.zeros((shard.n_rows, K))
    np.add.at(N, (doc, drawn.memory.z), 1)
    rows = np.repeat(np.arange(shard.n_rows), np.diff(drawn.memory.docs.indptr))
    found = np.zeros_like(N)
    found[rows, drawn.memory.docs.topic] = drawn.memory.docs.count
    np.testing.assert_array_equal(found, N)
    ascending = np.diff(drawn.memory.docs.topic.astype(int))[np.diff(rows) == 0]
    assert np.all(ascending > 0)


def test_the_same_bits_for_any_number_of_threads_and_another_draw_for_another_shard():
    shard, model, _, _, z = problem(37, D=300)
    z = z.astype(np.uint16)
    draws = []
    for threads in (1, 2, 7):
        with use_threads(threads):
            draws.append(sample(shard, model.tables(shard.cols), SAMPLING, z, None))
    for other in draws[1:]:
        np.testing.assert_array_equal(draws[0].memory.z, other.memory.z)
        np.testing.assert_array_equal(draws[0].stats.S.value, other.stats.S.value)
    elsewhere = replace(shard, number=NUMBER + 1)
    assert np.any(sample(elsewhere, model.tables(shard.cols), SAMPLING, z, None).memory.z != draws[0].memory.z)


def test_input_of_the_kernel_is_checked():
    shard, model, _, _, z = problem(3)
    tables = model.tables(shard.cols)
    with pytest.raises(ValueError, match="one topic for each token"):
        sample(shard, tables, SAMPLING, z[:-1].astype(np.uint16), None)
    with pytest.raises(ValueError, match="not below K"):
        sample(shard, tables, SAMPLING, np.full(len(z), 3, np.uint16), None)
