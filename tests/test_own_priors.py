"""Documents with priors of their own: every kernel solves a document as if all had its prior."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

from tests.twins import gibbs as reference, own_priors as twin
from topmix.base.threads import use_threads
from topmix.corpus.design import DesignRows
from topmix.corpus.shard import Shard
from topmix.data import Corpus
from topmix.models.covariate_prior import CovariatePrior, Population
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, Sampling, TopicModel
from topmix.models.words import WordTotal
from topmix.steps.documents import CVB0Step, SCVB0Step, TopicStep, sample

from .topic_data import make_corpus

K, P = 7, 3


def problem(core, posterior="collapsed", n_docs=41):
    rng = np.random.default_rng(0)
    corpus = make_corpus(rng, n_docs=n_docs, V=30, K=K)
    design = DesignRows.of(
        np.column_stack([np.ones(n_docs), rng.integers(3, size=n_docs), rng.integers(2, size=n_docs)])
    )
    prior = replace(
        CovariatePrior.flat(K, P, posterior, 2.0, 1.0), coefficients=rng.normal(-1.0, 0.7, (K, P)), is_curved=True
    )
    words = TopicWords(np.full((1, 1), 0.05), WordTotal.of(rng.gamma(1.0, 20.0, (30, K))), posterior)
    model = TopicModel(prior, words, DocumentOptions(n_active=4, eps=0.5))
    return Shard.of(corpus.with_columns(design=design)), model, design


@pytest.mark.parametrize("step", [TopicStep(), CVB0Step(), SCVB0Step()], ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_a_document_is_solved_as_if_all_had_its_prior(core, monkeypatch, step, posterior):
    for room in ("steps.documents", "corpus.shard", "models.document_prior"):
        monkeypatch.setattr(f"topmix.{room}._core", core)
    shard, model, design = problem(core, posterior)
    found = topics_of(step, shard, model, core, monkeypatch)
    alone = replace(shard, design=None)
    for g, alpha in enumerate(model.prior.rows(design.x)):
        same = topics_of(step, alone, replace(model, prior=DocumentPrior(alpha, posterior)), core, monkeypatch)
        for d in np.flatnonzero(design.row == g):
            for a, b in zip(found[d], same[d]):
                np.testing.assert_array_equal(a, b)


def topics_of(step, shard, model, core, monkeypatch):
    """Topics and counts of each document."""
    kept = []

    class Keeping(DocTopics):
        def __init__(self, *arrays):
            super().__init__(*arrays)
            kept.append(self)

    monkeypatch.setattr("topmix.steps.documents.DocTopics", Keeping)
    with use_threads(3):
        step(shard, model.tables(shard.cols), None, core.TopicScratch())
    docs = kept[0]
    return [(docs.topic[a:b], docs.count[a:b]) for a, b in itertools.pairwise(docs.indptr)]


def test_every_draw_is_the_twins(core, monkeypatch):
    for room in ("steps.documents", "corpus.shard", "models.document_prior"):
        monkeypatch.setattr(f"topmix.{room}._core", core)
    shard, model, design = problem(core)
    copies = shard.value.astype(np.int64)
    words, doc = np.repeat(shard.cols[shard.index].astype(np.int64), copies), np.repeat(shard.row_of, copies)
    z = np.random.default_rng(1).integers(K, size=len(words))
    counts = reference.count(words, z, 30, K).word + 3
    model = replace(model, words=replace(model.words, total=WordTotal.of(counts)))
    e, first = counts + 0.05, np.searchsorted(doc, np.arange(shard.n_rows + 1))
    twin, own = z.copy(), model.prior.rows(design.x)[design.row]
    reference.sample_documents(
        words, first, range(shard.n_rows), twin, model.prior.alpha, e / e.sum(axis=0), e.sum(axis=0), 11, 3, own=own
    )
    drawn = sample(shard, model.tables(shard.cols), Sampling(None, 3, 11), z.astype(np.uint16), None)
    np.testing.assert_array_equal(drawn.memory.z, twin)
    assert 0 < drawn.info["moved"] < len(z)


def test_draws_have_the_distribution_of_the_documents_own_prior(core, monkeypatch):
    """By enumeration of the topics of three tokens."""
    for room in ("steps.documents", "corpus.shard", "models.document_prior"):
        monkeypatch.setattr(f"topmix.{room}._core", core)
    rng, n = np.random.default_rng(0), 3
    own = np.array([[1.5, 0.2, 0.1], [0.1, 0.1, 2.0]])
    shard = Shard.of(Corpus.from_scipy(np.tile(np.array([[1, 1, 1]], np.float32), (400, 1))))
    e = rng.dirichlet(np.ones(3), n).T  # [V, K]
    prior = CovariatePrior(np.log(own.T), "collapsed", 0.0, 1.0, np.full(3, 0.5), np.zeros((0, 3, 2)))
    design = DesignRows(np.eye(2), np.tile(np.array([0, 1], np.int32), 200))
    tables = TopicModel(prior, TopicWords(np.full((1, 1), 1e-9), WordTotal.of(1e9 * e), "collapsed")).tables(shard.cols)
    shard = replace(shard, design=design)
    z, seen = np.zeros(1200, np.uint16), np.zeros((2, 27))
    for sweep in range(120):
        z = sample(shard, tables, Sampling(None, sweep, 5), z, None).memory.z
        if sweep >= 20:
            state = z.reshape(-1, 3) @ np.array([9, 3, 1])
            np.add.at(seen, (design.row, state), 1)
    for g in range(2):
        states = np.array(list(itertools.product(range(3), repeat=3)))
        N = np.stack([(states == k).sum(axis=1) for k in range(3)], axis=1)
        log_p = (gammaln(N + own[g]) - gammaln(own[g])).sum(axis=1) + np.log(e[np.arange(3), states]).sum(axis=1)
        p = np.exp(log_p) / np.exp(log_p).sum()
        np.testing.assert_allclose(seen[g] / seen[g].sum(), p, atol=0.012)


@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_the_documents_part_of_the_objective_is_their_log_probability(posterior):
    """Variational: of their counts. Collapsed: at the estimated proportions, with the density of these."""
    _, model, design = problem(None, posterior)
    rng = np.random.default_rng(3)
    N = rng.gamma(0.3, 5.0, (41, K)) * (rng.random((41, K)) < 0.5)
    lengths, prior = N.sum(axis=1), model.prior
    where = np.nonzero(N)
    indptr = np.concatenate([[0], np.cumsum((N > 0).sum(axis=1))])
    docs = DocTopics(indptr, where[1].astype(np.uint16), N[where].astype(np.float32))
    N[where] = docs.count
    stats = prior.of(design).summarise(None, docs, lengths, 0.0)
    a = prior.rows(design.x)[design.row]
    log_normaliser = gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)
    if posterior == "variational":
        expected = log_normaliser + gammaln(a + N).sum(axis=1) - gammaln(a.sum(axis=1) + lengths)
    else:
        log_theta = np.log((N + a) / (lengths + a.sum(axis=1))[:, None])
        expected = log_normaliser + ((N + a) * log_theta).sum(axis=1)
    away = prior.coefficients - np.array([prior.centre, 0, 0])
    penalty = 0.5 * (away**2 * np.array([1 / 9, 1, 1])).sum()
    assert prior.bound(stats) == pytest.approx(expected.sum() - penalty, rel=1e-6)


def likelihood(coefficients, design, N):
    """Of counts under the Dirichlet-multinomial, with the prior on coefficients."""
    a = np.exp(design.x @ coefficients.T)[design.row]
    away = coefficients - np.array([np.log(2.0 / K), 0, 0])
    total = gammaln(a.sum(axis=1)) - gammaln((a + N).sum(axis=1)) + (gammaln(a + N) - gammaln(a)).sum(axis=1)
    return total.sum() - 0.5 * (away**2 * np.array([1 / 9, 1, 1])).sum()


def counted(N):
    where = np.nonzero(N)
    indptr = np.concatenate([[0], np.cumsum((N > 0).sum(axis=1))])
    return DocTopics(indptr, where[1].astype(np.uint16), N[where].astype(np.float32))


def test_statistics_are_the_slope_and_the_curvature_of_the_likelihood():
    _, model, design = problem(None)
    rng = np.random.default_rng(3)
    N = np.round(rng.gamma(0.3, 9.0, (41, K)))
    prior, lengths = model.prior, N.sum(axis=1)
    population = Population.of(design, lengths)
    stats = prior.of(design).summarise(None, counted(N), lengths, 0.0)
    M, Q = prior._split(stats)
    slopes = prior._slopes(population)
    weight = slopes.alpha * slopes.first[:, None]
    gradient = M - weight.T @ population.x - prior.precision * prior.away
    h = 1e-5
    for k, p in ((0, 0), (2, 1), (5, 2)):
        step = np.zeros((K, P))
        step[k, p] = h
        rise = likelihood(prior.coefficients + step, design, N) - likelihood(prior.coefficients - step, design, N)
        assert gradient[k, p] == pytest.approx(rise / (2 * h), rel=1e-5, abs=1e-4)
        ends = []
        for end in (100 * step, -100 * step):  # alpha is in 32 bits
            moved = replace(prior, coefficients=prior.coefficients + end)
            ends.append(moved._split(moved.of(design).summarise(None, counted(N), lengths, 0.0))[0])
        np.testing.assert_allclose((ends[0] - ends[1])[k] / (200 * h), Q[k, p], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_rows", [5, 400], ids=["few rows", "many rows"])
@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_what_documents_say_is_the_twins_for_any_number_of_threads(core, posterior, n_rows):
    rng, D, K = np.random.default_rng(1), 2311, 37
    x, coefficients = rng.normal(size=(n_rows, 4)), rng.normal(-2.0, 2.0, (K, 4))
    alpha = np.empty((n_rows, K), np.float32)
    core.own_alpha(x, coefficients, -6.0, 3.0, 3, alpha)
    np.testing.assert_allclose(alpha, twin.own_alpha(x, coefficients, -6.0, 3.0), rtol=1e-6)
    assert alpha.min() == np.float32(np.exp(-6.0))
    alpha[rng.random(alpha.shape) < 0.1] = 0.0  # not for these documents
    row = rng.integers(n_rows, size=D).astype(np.int32)
    N = rng.gamma(0.3, 9.0, (D, K)) * (rng.random((D, K)) < 0.2) * (alpha[row] > 0)
    N[rng.random(D) < 0.05] = 0.0
    docs = counted(N)
    N[np.nonzero(N)] = docs.count
    given = (docs.indptr, docs.topic, docs.count), N.sum(axis=1), core.Priors(alpha, row)
    sums, M, Q = twin.own_stats(posterior, N, alpha[row].astype(np.float64), x[row])
    found = []
    for threads in (1, 4, 7):
        m, q = np.full((K, 4), np.nan), np.full((K * 4, 4), np.nan)
        found.append((core.own_stats(posterior == "collapsed", *given, threads, x, m, q), m, q))
        np.testing.assert_allclose(found[-1][0], sums, rtol=1e-9)
        np.testing.assert_allclose(m, M, rtol=1e-9, atol=1e-9 * np.abs(M).max())
        np.testing.assert_allclose(q.reshape(K, 4, 4), Q, rtol=1e-9, atol=1e-9 * np.abs(Q).max())
        for part, first in zip(found[-1], found[0]):
            np.testing.assert_array_equal(part, first)
        np.testing.assert_array_equal(core.own_stats(posterior == "collapsed", *given, threads), found[0][0])
        without = np.empty((K, 4))
        core.own_stats(posterior == "collapsed", *given, threads, x, without)
        np.testing.assert_array_equal(without, m)


def test_learning_climbs_to_the_top_of_the_likelihood():
    _, model, design = problem(None, n_docs=200)
    rng = np.random.default_rng(4)
    theta = [rng.dirichlet(a) for a in model.prior.rows(design.x)[design.row]]
    N = np.array([rng.multinomial(60, t) for t in theta], float)
    lengths, population = N.sum(axis=1), Population.of(design, N.sum(axis=1))
    prior, reached = CovariatePrior.flat(K, P, "collapsed", 2.0, 1.0), []
    for _ in range(30):
        reached.append(likelihood(prior.coefficients, design, N))
        prior = prior.relearn(prior.of(design).summarise(None, counted(N), lengths, 0.0), lengths, population)
    assert np.all(np.diff(reached) > -1e-6)
    assert reached[-1] - reached[5] < 0.5
    M = prior._split(prior.of(design).summarise(None, counted(N), lengths, 0.0))[0]
    slopes = prior._slopes(population)
    gradient = M - (slopes.alpha * slopes.first[:, None]).T @ population.x - prior.precision * prior.away
    assert np.abs(gradient).max() < 0.5
    assert np.abs(prior.coefficients - model.prior.coefficients).mean() < 0.2


def test_a_sample_of_many_documents_stands_for_all(monkeypatch):
    monkeypatch.setattr("topmix.models.document_prior.MOST_ROWS", 1024)
    rng = np.random.default_rng(0)
    design, lengths = DesignRows.of(rng.normal(size=(5000, 2))), rng.integers(0, 50, 5000).astype(float)
    population = Population.of(design, lengths)
    assert len(population.x) == 1024
    assert population.times.sum() == pytest.approx(np.sum(lengths > 0))
    assert population.n_docs == 5000
    assert population.times @ population.length == pytest.approx(lengths.sum(), rel=0.02)


def test_rows_of_a_design_are_those_of_the_documents():
    x = np.random.default_rng(0).integers(2, size=(30, 3)).astype(float)
    rows = DesignRows.of(x)
    assert len(rows.x) <= 8
    np.testing.assert_array_equal(rows.x[rows.row], x)
    for chosen in (slice(3, 11), np.array([7, 0, 7])):
        part = rows[chosen]
        np.testing.assert_array_equal(part.x[part.row], x[chosen])


@pytest.mark.parametrize("together", [True, False])
def test_draws_have_the_spread_of_the_posterior(monkeypatch, together):
    """Of coefficients, where the counts of documents are known: that of a Gaussian about the mode."""
    if not together:
        monkeypatch.setattr("topmix.models.covariate_prior.MOST_JOINT", 1)
    _, model, design = problem(None, n_docs=200)
    rng = np.random.default_rng(4)
    N = np.array([rng.multinomial(60, rng.dirichlet(a)) for a in model.prior.rows(design.x)[design.row]], float)
    lengths, population = N.sum(axis=1), Population.of(design, N.sum(axis=1))
    docs, prior = counted(N), CovariatePrior.flat(K, P, "collapsed", 2.0, 1.0)
    for _ in range(30):
        prior = prior.relearn(prior.of(design).summarise(None, docs, lengths, 0.0), lengths, population)
    mode, h, size = prior.coefficients, 1e-3, K * P
    steps = h * np.eye(size).reshape(size, K, P)

    def curvature(i, j):
        values = [a * b * likelihood(mode + a * steps[i] + b * steps[j], design, N) for a in (1, -1) for b in (1, -1)]
        return -sum(values) / (4 * h * h)

    J = np.array([[curvature(i, j) if i <= j else 0.0 for j in range(size)] for i in range(size)])
    J += np.triu(J, 1).T
    expected = np.sqrt(np.diag(np.linalg.inv(J))).reshape(K, P)
    prior = replace(prior, is_curved=True)
    drawn = []
    for _ in range(420):
        prior = prior.drawn(prior.of(design).summarise(None, docs, lengths, 0.0), population, rng)
        drawn.append(prior.coefficients)
    drawn = np.array(drawn[20:])
    np.testing.assert_allclose(drawn.std(axis=0), expected, rtol=0.25)
    assert np.mean(drawn.std(axis=0) / expected) == pytest.approx(1.0, abs=0.06)
    assert np.abs((drawn.mean(axis=0) - mode) / expected).max() < 0.6
    assert prior.n_drawn == 420
    assert prior.draws.shape == (400, K, P)
    settled = prior.settled(population)
    np.testing.assert_array_equal(settled.coefficients, prior.draws.mean(axis=0))
    assert not settled.is_curved
