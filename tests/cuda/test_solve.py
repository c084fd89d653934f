"""The CUDA kernels of the local step against its twin, in a host build of the same source."""

from functools import cache

import numpy as np
import pytest

from tests.twins.topics import LastVisit, Options, merged_entropy, topics_step
from topmix.corpus.shard import Shard
from topmix.cuda import solve as solving
from topmix.cuda.shard import DeviceDocs, DeviceShard
from topmix.cuda.solve import solve
from topmix.cuda.topics import unit_of
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.topic_words import WordTables
from topmix.models.topics import TopicTables

from ..pairs import pairs
from ..topic_data import POSTERIORS, dense_docs, document_options, make_corpus
from .emulated import EmulatedDevice

K, L, UNIT = 40, 3, 2.0**20
pytestmark = pytest.mark.xdist_group("solve")  # one process has what the twin makes of each problem

# Topics and floats that a document may have in each tier: who solves it.
ROOMS = {
    "warps": {},
    "blocks": {"SHORT": (4, 60), "MIDDLE": (12, 160)},
    "slots": {"SHORT": (4, 44), "MIDDLE": (4, 44), "LONG": (K, 200)},  # of global memory, and back when topics leave
    "global": {},  # no tier has any room
}


@pytest.fixture(params=ROOMS)
def room(request, monkeypatch):
    """Who solves the documents."""
    for name, (most, floats) in ROOMS[request.param].items():
        monkeypatch.setattr(solving, name, getattr(solving, name)._replace(most=most, room=floats))
    if request.param == "global":
        monkeypatch.setattr(solving.Tier, "fitted", lambda self, device, K: None)
    return request.param


@cache
def problem(posterior, eps, discount=0.0, warm=False, mean_change=False, n_docs=12, **extra):
    """A shard, tables for it, its last visit and what the twin makes of it: documents whose path is not in doubt."""
    rng = np.random.default_rng(1)
    corpus = make_corpus(rng, n_docs)
    extra = {"exclude": False} | extra
    opt = Options(
        posterior, mean_change=mean_change, L=L, eps=eps, max_iter=25, tol=0.01, own_discount=discount, **extra
    )
    alpha = rng.uniform(0.01, 0.3, K)
    all_words = np.exp(rng.normal(0, 1.7, (corpus.shape[1], K)))
    all_words = (all_words / all_words.max(axis=1, keepdims=True)).astype(np.float32)
    scale, norm = rng.uniform(0.05, 0.5, corpus.shape[1]), rng.uniform(20, 200, K)
    docs = rng.gamma(0.3, 3.0, (len(corpus), K)) * (rng.random((len(corpus), K)) < 0.3)
    for _ in range(2):
        shard = Shard.of(corpus)
        table = all_words[shard.cols]
        last = LastVisit(docs, scale[shard.cols], norm, 0.01) if discount else None
        want = topics_step(shard.indptr, shard.index, shard.value, table, alpha, opt, docs if warm else None, last)
        sure = np.flatnonzero(want.margin > 2e-5)
        assert len(sure) > 0.6 * len(corpus)
        corpus, docs = corpus[sure], docs[sure]
    words = WordTables(table, np.log(scale[shard.cols]), norm, 0.01)
    tables = TopicTables(words, DocumentPrior(alpha, posterior, True), posterior, document_options(opt), None)
    return shard, tables, docs, want


def solved(shard, tables, *, order=0, start=None, last=None, **wanted):
    device = EmulatedDevice(order)
    there = DeviceShard.of(shard, device)
    before = None
    if start is not None or last is not None:  # with places for all topics, because these counts are not from a visit
        there._places = {(K, L, tables.document_options.eps): wide_places(there)}
        before = on_wide(device, there, start if last is None else last)
    return solve(
        device, there, tables, UNIT, start=before if start is not None else None,
        last=before if last is not None else None, **wanted,
    )  # fmt: skip


def wide_places(there):
    host = np.arange(there.n_rows + 1, dtype=np.int64) * K
    return host, there.device.array(host)


def on_wide(device, there, N):
    host, places = wide_places(there)
    topic, count, n = np.zeros(N.size, np.uint16), np.zeros(N.size, np.float32), np.zeros(len(N), np.int32)
    for d, row in enumerate(N):
        used = np.flatnonzero(row)
        topic[host[d] : host[d] + len(used)], count[host[d] : host[d] + len(used)] = used, row[used]
        n[d] = len(used)
    return DeviceDocs(device, host, places, n, topic, count)


def dense_words(words, n_words):
    S = np.zeros((n_words, K))
    for slot, (topic, share) in enumerate(zip(words.topic(), words.share())):
        used = slot < words.n()
        np.add.at(S, (words.shard.index()[used], topic[used]), share[used] / UNIT)
    return S


def agree(got, shard, want):
    docs = got.docs.on_host()
    assert np.all((np.diff(docs.topic.astype(int)) > 0) | np.isin(np.arange(1, len(docs.topic)), docs.indptr))
    np.testing.assert_allclose(
        dense_docs((docs.indptr, docs.topic, docs.count), shard.n_rows, K), want.docs, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(dense_words(got.words, len(shard.cols)), want.S, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(got.words.totals, want.S.sum(axis=0), rtol=1e-3, atol=1e-3)
    assert got.words.totals.sum() == shard.value.sum()  # not a token is lost
    assert pytest.approx(want.entropy.sum(), rel=1e-4) == got.entropy
    assert (got.iterations, got.restarts, got.accepted) == want.effort


@pytest.mark.parametrize(
    ("posterior", "eps", "room"), pairs(POSTERIORS, [0.45, 0.0, 1.7], list(ROOMS)), indirect=["room"]
)
def test_documents_equal_their_twin(posterior, eps, room):
    shard, tables, _, want = problem(posterior, eps)
    agree(solved(shard, tables), shard, want)


def test_a_start_from_counts_equals_its_twin(room):
    shard, tables, docs, want = problem("collapsed", 0.5, warm=True)
    agree(solved(shard, tables, start=docs), shard, want)


@pytest.mark.parametrize("warm", [False, True])
def test_own_tokens_are_discounted_as_in_the_twin(warm, room):
    shard, tables, docs, want = problem("collapsed", 0.45, discount=0.5, warm=warm)
    agree(solved(shard, tables, start=docs if warm else None, last=docs), shard, want)


def test_the_mean_change_equals_its_twin():
    shard, tables, _, want = problem("collapsed", 0.0, mean_change=True)
    agree(solved(shard, tables), shard, want)


EXTRA = {
    "exclude": ("collapsed", {"exclude": True}),
    "often": ("collapsed", {"select_often": True}),
    "often, variational": ("variational", {"select_often": True}),
    "restarts": ("collapsed", {"restarts": 6}),
    "restarts, variational": ("variational", {"restarts": 3}),
    "all": ("collapsed", {"exclude": True, "select_often": True, "restarts": 2}),
}


slow = pytest.mark.slow  # seconds each, in each of the rooms; the others have all of the code in them


# Without any eps, restarts of topics with next to nothing are in doubt.
@pytest.mark.parametrize("eps", [pytest.param(0.1, marks=slow), 0.45])
@pytest.mark.parametrize(
    "extra", ["all", "restarts, variational", *(pytest.param(x, marks=slow) for x in list(EXTRA)[:4])]
)
def test_what_few_fits_ask_for_equals_its_twin(extra, eps, room):
    posterior, options = EXTRA[extra]
    shard, tables, _, want = problem(posterior, eps, **options)
    if "restarts" in options:
        assert 0 < want.effort[2] < want.effort[1]
    agree(solved(shard, tables), shard, want)


def test_own_tokens_are_discounted_beside_all_that(room):
    options = {"exclude": True, "select_often": True, "restarts": 2}
    shard, tables, docs, want = problem("collapsed", 0.45, discount=0.5, warm=True, **options)
    agree(solved(shard, tables, start=docs, last=docs), shard, want)


OFTEN = {"restarts": 2, "select_often": True}


@pytest.mark.parametrize(
    ("posterior", "extra"),
    [
        ("variational", {}),
        ("collapsed", OFTEN),
        pytest.param("collapsed", {}, marks=slow),
        pytest.param("variational", OFTEN, marks=slow),
    ],
    ids=str,
)
def test_any_order_of_the_lanes_gives_the_same_bits(posterior, extra, room):
    """What a missing barrier would change."""
    shard, tables, _, _ = problem(posterior, 0.45, **extra)
    first, *others = [solved(shard, tables, order=order) for order in (0, 7)]
    for other in others:
        for a, b in zip(first.docs.on_host().__dict__.values(), other.docs.on_host().__dict__.values()):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(first.words.n(), other.words.n())
        np.testing.assert_array_equal(dense_words(first.words, 60), dense_words(other.words, 60))
        assert first.entropy == other.entropy
        for a, b in zip(first.sums, other.sums):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_sums_over_documents_are_those_of_the_prior(posterior):
    shard, tables, _, _ = problem(posterior, 0.45)
    got, prior = solved(shard, tables), tables.prior
    want = prior.summarise(None, got.docs.on_host(), shard.lengths, got.entropy)
    found = prior.stats(None, got.sums, got.entropy)
    for name in ("D", "H", "G", "A", "T", "M"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e-6, atol=1e-5)


def test_counts_of_any_size_fit():
    assert unit_of(40.0) == 2**20
    for largest in (4096.0, 5000.0, 1e6):
        assert unit_of(largest) * largest < 2**32 <= unit_of(largest) * 2 * (largest + 1)


def test_statistics_on_the_host_are_those_of_the_device():
    shard, tables, _, want = problem("collapsed", 0.45)
    words = solved(shard, tables).words
    host = words.on_host(UNIT)
    assert host.topic.dtype == np.uint16
    got = np.zeros((len(shard.cols), K))
    got[np.repeat(np.arange(len(shard.cols)), np.diff(host.indptr)), host.topic] = host.value
    np.testing.assert_allclose(got, dense_words(words, len(shard.cols)), rtol=1e-6)
    np.testing.assert_allclose(host.totals, want.S.sum(axis=0), rtol=1e-3, atol=1e-3)


def test_the_entropy_that_mergers_lose_equals_its_twin():
    shard, tables, _, _ = problem("collapsed", 0.45, n_docs=20)
    words = solved(shard, tables).words
    shares = np.zeros((shard.n_rows, len(shard.index), K))
    row = np.repeat(np.arange(shard.n_rows), np.diff(shard.indptr))
    for slot, (topic, share) in enumerate(zip(words.topic(), words.share())):
        used = np.flatnonzero(slot < words.n())
        shares[row[used], used, topic[used]] = share[used] / UNIT
    partner = np.roll(np.arange(K, dtype=np.int32).reshape(-1, 2), 1, axis=1).ravel()  # (0, 1), (2, 3), ...
    partner[[4, 5]] = -1
    want = merged_entropy(list(shares), partner)
    assert np.count_nonzero(want) > 4
    np.testing.assert_allclose(words.merged_entropy(partner, UNIT), want, rtol=1e-4, atol=1e-6)


def test_documents_may_come_with_more_topics_than_they_can_keep(room):
    """As after a split: each of them has less than `eps` tokens."""
    shard, tables, docs, _ = problem("collapsed", 1.7, warm=True)
    many = np.full_like(docs, 0.3)
    device = EmulatedDevice()
    there = DeviceShard.of(shard, device)
    n, all_topics = len(many), np.tile(np.arange(K, dtype=np.uint16), len(many))
    given = DeviceDocs.of(device, DocTopics(np.arange(n + 1) * K, all_topics, np.full(n * K, 0.3, np.float32)))
    found = solve(device, there, tables, UNIT, start=given)
    opt = Options("collapsed", False, L=L, eps=1.7, max_iter=25, tol=0.01)
    want = topics_step(shard.indptr, shard.index, shard.value, tables.words.table, tables.prior.alpha, opt, many, None)
    sure = np.flatnonzero(want.margin > 2e-5)
    host = found.docs.on_host()
    got = dense_docs((host.indptr, host.topic, host.count), shard.n_rows, K)
    np.testing.assert_allclose(got[sure], want.docs[sure], rtol=1e-3, atol=1e-3)
