"""The kernels of CVB0 and SCVB0 against their twins, in a host build of the same source."""

from functools import cache

import numpy as np
import pytest

from tests.twins.cvb0 import cvb0_step
from tests.twins.scvb0 import scvb0_step
from topmix.corpus.shard import Shard
from topmix.cuda.shard import DeviceShard
from topmix.cuda.topics import CudaCVB0Step, CudaSCVB0Step
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.topic_words import WordTables
from topmix.models.topics import DocumentOptions, TopicTables
from topmix.steps.documents import CVB0Step, SCVB0Step

from ..topic_data import make_corpus
from .emulated import EmulatedDevice

K, L, UNIT = 40, 3, 2.0**20


@cache
def problem(order=0):
    """A shard, tables on a device, and the same as arrays."""
    rng, device = np.random.default_rng(1), EmulatedDevice(order)
    shard = Shard.of(make_corpus(rng, n_docs=12, length=30))
    alpha, norm = rng.uniform(0.01, 0.3, K), rng.uniform(20, 200, K)
    phi = np.exp(rng.normal(0, 1.7, (len(shard.cols), K)))
    phi *= 5 / phi.sum()
    scale = phi.max(axis=1)
    table = (phi / scale[:, None]).astype(np.float32)
    words = WordTables(device.array(table), device.array(np.log(scale)), norm, 0.01)
    prior = DocumentPrior(alpha, "collapsed", True)
    tables = TopicTables(words, prior, "collapsed", DocumentOptions(n_active=L), None)
    return device, shard, DeviceShard.of(shard, device), tables, table, scale


def dense_words(words):
    """[entries, K] tokens of each."""
    found = np.zeros((words.n_entries, K))
    for slot, (topic, share) in enumerate(zip(words.topic(), words.share())):
        used = np.flatnonzero(slot < words.n())
        found[used, topic[used]] += share[used] / UNIT
    return found


def agrees(stats, want, shard, gamma):
    got = dense_words(stats.S)
    np.testing.assert_allclose(got, shard.value[:, None] * gamma, rtol=1e-3, atol=1e-3)
    assert stats.S.totals.sum() == shard.value.sum()  # not a token is lost
    assert pytest.approx(want.entropy, rel=1e-4) == stats.H


def cvb0_twin(last):
    _, shard, _, tables, table, scale = problem()
    counts = table.astype(np.float64) * scale[:, None] * tables.words.norm
    return cvb0_step(
        shard.indptr, shard.index, shard.value, counts, tables.words.norm, tables.prior.alpha,
        least=0.01, L=L, burn_in=1, last=last,
    )  # fmt: skip


def cvb0(order=0, *, visits=2):
    device, _, there, tables, _, _ = problem(order)
    step, memory, found = CudaCVB0Step(CVB0Step(1), device, UNIT), None, []
    for _ in range(visits):
        found.append(step(there, tables, memory))
        memory = found[-1].memory
    return found


def test_cvb0_equals_its_twin_at_the_first_visit_and_the_second():
    shard = problem()[1]
    first, second = cvb0()
    want = cvb0_twin(None)
    assert want.margin > 1e-5
    agrees(first.stats, want, shard, want.gamma)
    assert first.info["iterations"] == want.sweeps
    then = cvb0_twin(dense_words(first.memory) / shard.value[:, None])
    assert then.margin > 1e-5
    assert np.abs(then.gamma - want.gamma).max() > 0.1
    agrees(second.stats, then, shard, then.gamma)
    assert second.info["iterations"] == then.sweeps


def scvb0(order=0):
    device, _, there, tables, _, _ = problem(order)
    step = CudaSCVB0Step(SCVB0Step(1, 1.0, 10.0, 0.6, 5), device, UNIT)
    first = step(there, tables, None)
    return first, step(there, tables, first.memory)


def test_scvb0_equals_its_twin_and_reads_words_in_its_order():
    _, shard, _, tables, table, _ = problem()
    for visit, found in enumerate(scvb0()):
        want = scvb0_step(
            shard.indptr, shard.index, shard.value, table, tables.prior.alpha,
            scale=1.0, offset=10.0, decay=0.6, burn_in=1, L=L, seed=5, pass_=visit,
        )  # fmt: skip
        assert want.margin > 1e-5
        S = np.zeros(table.shape)
        np.add.at(S, shard.index, dense_words(found.stats.S))
        np.testing.assert_allclose(S, want.S, rtol=1e-3, atol=1e-3)
        assert found.stats.S.totals.sum() == shard.value.sum()
        assert pytest.approx(want.entropy, rel=1e-4) == found.stats.H
        assert found.info["updates"] == 2 * len(shard.index)
        terms = summary(want.docs, tables.prior, shard)
        for name in ("G", "A", "T", "M"):
            np.testing.assert_allclose(getattr(found.stats, name), getattr(terms, name), rtol=1e-4, atol=1e-3)


def summary(docs, prior, shard):
    used = docs > 0
    indptr = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    listed = DocTopics(indptr, np.nonzero(used)[1].astype(np.uint16), docs[used])
    return prior.summarise(None, listed, shard.lengths, 0.0)


@pytest.mark.parametrize("steps", [cvb0, scvb0], ids=["cvb0", "scvb0"])
@pytest.mark.parametrize("order", [1, 5])
def test_any_order_of_the_lanes_gives_the_same_bits(steps, order):
    for a, b in zip(steps(), steps(order)):
        np.testing.assert_array_equal(dense_words(a.stats.S), dense_words(b.stats.S))
        assert a.stats.H == b.stats.H
        np.testing.assert_array_equal(a.stats.A, b.stats.A)


def test_more_topics_than_fit_are_refused():
    _, _, there, tables, _, _ = problem()
    small = EmulatedDevice(shared_per_block=256)
    with pytest.raises(ValueError, match=r"about .* topics at most"):
        CudaCVB0Step(CVB0Step(1), small, UNIT)(there, tables, None)
