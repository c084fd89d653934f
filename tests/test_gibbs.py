"""Gibbs sampling: kernels against their twins, exactness by enumeration, and the estimator around them."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln

from tests.twins import gibbs as reference
from topmix import LDA, GibbsLDA
from topmix.chains import Parallel
from topmix.data import Corpus, sample_lda
from topmix.learn.chains import Chain
from topmix.metrics import nmi, topic_recovery_error
from topmix.models.document_prior import DocumentPrior
from topmix.models.topic_words import TopicWords
from topmix.models.words import WordTotal


def make_corpus(D=23, V=19, seed=0, mean=0.6):
    X = np.random.default_rng(seed).poisson(mean, (D, V))
    X[3] = 0
    return Corpus.from_scipy(X.astype(np.float32))


def expand(corpus):
    """(word and document of every token, first token of every document)."""
    copies = corpus.value.astype(np.int64)
    doc = np.repeat(np.repeat(np.arange(corpus.n_docs), np.diff(corpus.indptr)), copies)
    first = np.searchsorted(doc, np.arange(corpus.n_docs + 1))
    return np.repeat(corpus.index.astype(np.int64), copies), doc, first


def make_chain(corpus, alpha, eta, sampler, seed=5, **how):
    V, K = corpus.n_words, len(alpha)
    words = TopicWords(eta, WordTotal.zeros(V, K), "collapsed")
    chain = Chain(corpus, DocumentPrior(alpha, "collapsed"), words, sampler=sampler, seed=seed, **{"threads": 1} | how)
    chain.start(np.random.default_rng(seed).integers(K, size=chain.n_tokens))
    return chain


def priors(K, V, kind):
    alpha = np.linspace(0.1, 0.5, K)
    shape = {"one": (1, 1), "words": (V, 1), "topics": (1, K), "both": (V, K)}[kind]
    return alpha, np.random.default_rng(1).uniform(0.05, 0.4, shape)


@pytest.mark.parametrize("kind", ["one", "words", "topics", "both"])
@pytest.mark.parametrize(("sampler", "K"), [("sequential", 3), ("sequential", 37), ("parallel", 3), ("parallel", 150)])
def test_every_draw_is_the_twins(core, monkeypatch, sampler, K, kind):
    monkeypatch.setattr("topmix.learn.chains._core", core)
    corpus = make_corpus()
    alpha, eta = priors(K, corpus.n_words, kind)
    chain = make_chain(corpus, alpha, eta, sampler, batch_size=9)
    words, doc, first = expand(corpus)
    z, full = chain.z.astype(np.int64), np.broadcast_to(eta, (corpus.n_words, K))
    for sweep in (1, 2, 3):
        chain.sweep()
        if sampler == "sequential":
            reference.sequential_sweep(words, first, z, alpha, full, 5, sweep)
        else:
            for docs in (range(9), range(9, 18), range(18, 23)):
                reference.sample_block(words, first, docs, z, alpha, full, 5, sweep)
        np.testing.assert_array_equal(chain.z, z)
    counts = reference.count(words, z, corpus.n_words, K)
    np.testing.assert_array_equal(chain.word, counts.word)
    np.testing.assert_array_equal(chain.total, counts.total)
    want = reference.log_joint(words, doc, z, alpha, full)
    assert sum(chain.bound().values()) == pytest.approx(want, rel=1e-5)


def test_documents_with_more_topics_than_a_vector_has_lanes_draw_as_the_twin_does(core, monkeypatch):
    monkeypatch.setattr("topmix.learn.chains._core", core)
    corpus, K = make_corpus(D=5, mean=4), 150
    alpha, eta = priors(K, corpus.n_words, "one")
    chain = make_chain(corpus, alpha, eta, "parallel")
    words, _, first = expand(corpus)
    z, full = chain.z.astype(np.int64), np.broadcast_to(eta, (corpus.n_words, K))
    assert max(len(set(z[a:b])) for a, b in itertools.pairwise(first)) > 48
    for sweep in (1, 2, 3, 4):
        chain.sweep()
        reference.sample_block(words, first, range(5), z, alpha, full, 5, sweep)
        np.testing.assert_array_equal(chain.z, z)


def test_documents_of_more_tokens_than_16_bits_count():
    X = np.array([[70_000, 3, 0, 2], [1, 0, 4, 0]], np.float32)
    chain = make_chain(Corpus.from_scipy(X), np.full(3, 0.2), np.full((1, 1), 0.1), "parallel", threads=2)
    words, doc, _ = expand(Corpus.from_scipy(X))
    for _ in range(3):
        chain.sweep()
        counts = reference.count(words, chain.z.astype(np.int64), 4, 3)
        np.testing.assert_array_equal(chain.word, counts.word)
    n = np.zeros((2, 3))
    np.add.at(n, (doc, chain.z), 1)
    want = np.sum(gammaln(n + 0.2) - gammaln(0.2)) + np.sum(gammaln(0.6) - gammaln(n.sum(axis=1) + 0.6))
    assert chain.bound()["documents"] == pytest.approx(want)


def test_the_joint_probability_sums_to_one_over_all_words_and_topics():
    alpha, eta = np.array([0.3, 0.7]), np.array([[0.2, 0.5], [0.4, 0.1]])
    doc = np.array([0, 0, 1])
    total = 0.0
    for words in itertools.product(range(2), repeat=3):
        for z in itertools.product(range(2), repeat=3):
            total += np.exp(reference.log_joint(np.array(words), doc, np.array(z), alpha, eta))
    assert total == pytest.approx(1)


def frequencies(corpus, alpha, eta, sampler, n, **how):
    """How often each assignment of topics to all tokens was visited."""
    K = len(alpha)
    chain = make_chain(corpus, alpha, np.full((1, 1), eta), sampler, **how)
    base = K ** np.arange(chain.n_tokens)
    visits = np.zeros(K**chain.n_tokens)
    for _ in range(n):
        chain.sweep()
        visits[int(chain.z @ base)] += 1
    return visits / n


def posterior(corpus, alpha, eta):
    """p(z | w) by enumeration."""
    words, doc, _ = expand(corpus)
    K, full = len(alpha), np.full((corpus.n_words, len(alpha)), eta)
    states = [np.array(z[::-1]) for z in itertools.product(range(K), repeat=len(words))]  # token 0 moves fastest
    logs = np.array([reference.log_joint(words, doc, z, alpha, full) for z in states])
    p = np.exp(logs - logs.max())
    return p / p.sum()


def test_the_sequential_sampler_visits_every_state_as_often_as_the_posterior_says():
    corpus = Corpus.from_scipy(np.array([[2, 1, 0], [0, 1, 2]], np.float32))
    alpha = np.array([0.4, 0.9])
    n = 20_000
    p, seen = posterior(corpus, alpha, 0.3), frequencies(corpus, alpha, 0.3, "sequential", n)
    effective = n / 20  # sweeps are correlated
    assert np.all(np.abs(seen - p) < 4.5 * np.sqrt(p * (1 - p) / effective) + 1e-4)
    assert 0.5 * np.abs(seen - p).sum() < 0.03


def test_the_sequential_sampler_has_the_moments_of_the_textbook_over_many_chains():
    """Kernels agree with their twin draw by draw; here chains of the two have nothing in common but the law."""
    corpus = Corpus.from_scipy(np.random.default_rng(3).poisson(0.8, (6, 5)).astype(np.float32))
    alpha, eta = np.array([0.3, 0.5, 0.8]), np.full((5, 3), 0.2)
    words, _, first = expand(corpus)
    ours, theirs = [], []
    for seed in range(300):
        chain = make_chain(corpus, alpha, np.full((1, 1), 0.2), "sequential", seed=seed)
        z = np.random.default_rng(10_000 + seed).integers(3, size=len(words))
        for sweep in range(1, 6):
            chain.sweep()
            reference.sequential_sweep(words, first, z, alpha, eta, 10_000 + seed, sweep)
        ours.append(summary(chain.z, words))
        theirs.append(summary(z, words))
    a, b = np.array(ours), np.array(theirs)
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a)) + 1e-9
    assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error)


def summary(z, words):
    """Sizes of topics, in order, and how often two tokens of one word agree."""
    sizes = np.sort(np.bincount(z, minlength=3))
    same = (z[:, None] == z) & (words[:, None] == words)
    return np.array([*sizes, *sizes**2, same.sum(), (z[:-1] == z[1:]).sum()], float)


def test_the_parallel_sampler_is_exact_where_a_block_is_one_token():
    corpus = Corpus.from_scipy(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]], np.float32))
    alpha = np.array([0.4, 0.9])
    seen = frequencies(corpus, alpha, 0.3, "parallel", 10_000, batch_size=1)
    assert 0.5 * np.abs(seen - posterior(corpus, alpha, 0.3)).sum() < 0.03
    delayed = frequencies(corpus, alpha, 0.3, "parallel", 10_000)  # all at once: another chain
    assert 0.5 * np.abs(delayed - posterior(corpus, alpha, 0.3)).sum() > 0.05


def test_counts_that_are_not_whole_are_refused():
    X = np.array([[1, 2], [0, 1.5]])
    with pytest.raises(ValueError, match=r"whole numbers; row 1, column 1 has 1\.5"):
        GibbsLDA(2).fit(X)


@pytest.fixture(scope="module")
def planted():
    return sample_lda(500, 200, 6, doc_length=60, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=1)


@pytest.mark.parametrize("sampler", ["parallel", "sequential"])
def test_planted_topics_are_found(planted, sampler):
    how = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05, "max_iter": 150, "random_state": 0}
    model = GibbsLDA(6, sampler=sampler, **how).fit(planted.corpus)
    assert topic_recovery_error(model.topic_word_, planted.topic_word) < 0.1
    assert nmi(planted.assignments, model.token_topics_) > 0.8
    objective = [r.objective for r in model.history_]
    assert objective[-1] > objective[0]
    words, _, _ = expand(planted.corpus)
    one = GibbsLDA(6, sampler=sampler, **how | {"max_iter": 3, "burn_in": 9}).fit(planted.corpus)
    assert one.n_samples_ == 0  # then the last state stands for the samples
    counts = reference.count(words, one.token_topics_, 200, 6).word.T
    np.testing.assert_allclose(one.components_, counts + one.topic_word_prior_)


def test_priors_are_learned(planted):
    model = GibbsLDA(6, doc_topic_prior="auto", topic_word_prior="auto", max_iter=150, random_state=0)
    model.fit(planted.corpus)
    assert model.doc_topic_prior_.sum() == pytest.approx(0.6, rel=0.3)
    assert model.topic_word_prior_ == pytest.approx(0.05, rel=0.4)


def test_samples_are_averaged(planted):
    states = []
    watch = lambda record, view: states.append(view.counts().copy()) and None  # noqa: E731
    model = GibbsLDA(6, max_iter=10, burn_in=4, thin=3, random_state=0, callbacks=[watch]).fit(planted.corpus)
    assert model.n_samples_ == 2
    want = (states[6] + states[9]).T / 2 + model.topic_word_prior_
    np.testing.assert_allclose(model.components_, want)


def test_it_starts_where_it_is_told_to(planted):
    corpus, truth = planted.corpus, planted.assignments
    how = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05, "max_iter": 2, "random_state": 0}
    cold = GibbsLDA(6, **how).fit(corpus)
    lda = LDA(6, max_iter=10, random_state=0).fit(corpus)
    starts = {"array": truth, "token_topics_": GibbsLDA(6, **how, init=truth).fit(corpus), "topics": lda}
    for name, init in starts.items():
        model = GibbsLDA(6, **how, init=init).fit(corpus)
        assert model.history_[0].objective > cold.history_[0].objective + 1000, name
    assert nmi(GibbsLDA(6, **how, init=truth).fit(corpus).token_topics_, truth) > 0.8
    other = GibbsLDA(6, **how, init=starts["token_topics_"]).fit(corpus[slice(0, 400)])  # other tokens: from its topics
    assert nmi(other.token_topics_, truth[: len(other.token_topics_)]) > 0.7


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros(3, int), "one topic for each of the"), ("magic", "init='magic'"), (LDA(6), "fitted before"),
        (np.full(29_929, 6), "from 0 to 5"), (np.full(29_929, 0.5), "whole numbers"),
    ],
)  # fmt: skip
def test_a_start_that_does_not_fit_is_refused(planted, init, message):
    if isinstance(init, np.ndarray) and len(init) > 3:
        init = np.full(int(planted.corpus.n_tokens), init[0])
    with pytest.raises(ValueError, match=message):
        GibbsLDA(6, init=init).fit(planted.corpus)


def test_responsibilities_are_what_tokens_are_drawn_from():
    """One document, two topics, many tokens: shares of the draws are (N + alpha) phi, normalised."""
    corpus = Corpus.from_scipy(sp.csr_array(np.array([[40_000, 20_000]], np.float32)))
    alpha, phi = np.array([0.5, 1.5]), np.array([[0.7, 0.3], [0.2, 0.8]])
    chain = make_chain(corpus, alpha, np.full((1, 1), 0.1), "parallel")
    docs = type(chain.topics())(np.array([0, 1]), np.array([0]), np.array([2.0]))
    chain.draw(docs, alpha, phi)
    w = (np.array([2.0, 0.0]) + alpha)[:, None] * phi
    np.testing.assert_allclose(chain.word.T / corpus.value, w / w.sum(axis=0), atol=0.012)
    np.testing.assert_array_equal(chain.word.sum(axis=1), corpus.value)


def test_annealing_ends_where_it_should(planted):
    """alpha begins at a sum of CONCENTRATION and is itself after `annealing` sweeps: then the chain is plain."""
    alpha, eta = np.full(6, 0.1), np.full((1, 1), 0.05)
    plain = make_chain(planted.corpus, alpha, eta, "parallel")
    chain = make_chain(planted.corpus, alpha, eta, "parallel", annealing=4)
    sums = []
    for _ in range(6):
        sums.append(chain._annealed().sum())
        chain.sweep()
    np.testing.assert_allclose(sums, 0.6 * (20 / 0.6) ** np.array([1, 0.75, 0.5, 0.25, 0, 0]))
    plain.start(chain.z)
    plain.sweeps = chain.sweeps
    plain.sweep(), chain.sweep()
    np.testing.assert_array_equal(plain.z, chain.z)
    assert plain.bound() == chain.bound()


def test_samples_never_come_from_annealed_sweeps(planted):
    with pytest.raises(ValueError, match="annealing must be None or from 0 to the 4 sweeps of burn-in"):
        GibbsLDA(6, max_iter=10, burn_in=4, sampler=Parallel(annealing=5)).fit(planted.corpus)
    given = {"init": planted.assignments}
    for how, want in (({}, 3), ({"sampler": "sequential"}, 0), (given, 0), ({"sampler": Parallel(annealing=1)}, 1)):
        seen = []
        kept = [lambda _, view, seen=seen: seen.append(view._model.annealing)]
        GibbsLDA(6, max_iter=12, callbacks=kept, **how).fit(planted.corpus)
        assert seen[0] == want, how


def test_a_chain_goes_on(planted):
    model = GibbsLDA(6, max_iter=3, warm_start=True, random_state=0).fit(planted.corpus)
    once = model.history_[-1].objective
    for _ in range(5):
        model.fit(planted.corpus)
    assert model.chain_length_ == 18
    assert model.history_[-1].objective > once


def test_a_token_of_a_new_document_does_not_judge_itself():
    """A document of one token: only the prior says what its topic is."""
    corpus = make_corpus()
    model = GibbsLDA(3, max_iter=20, random_state=0).fit(corpus)
    token = np.zeros((1, corpus.n_words), np.float32)
    token[0, 4] = 1
    shares = model.components_[:, 4] / model.components_.sum(axis=1) * model.doc_topic_prior_
    alone = model.transform(token, normalize=False)[0] - model.doc_topic_prior_
    np.testing.assert_allclose(alone, shares / shares.sum(), rtol=1e-3)


def test_exchanges_lead_out_of_a_state_that_holds_one_topic_twice(monkeypatch):
    sample = sample_lda(1500, 500, 12, doc_length=40, random_state=2)

    def error():
        model = GibbsLDA(12, max_iter=60, random_state=0).fit(sample.corpus)
        return topic_recovery_error(model.topic_word_, sample.topic_word)

    assert error() < 0.2
    monkeypatch.setattr("topmix.learn.tokens.exchanged", lambda chain, rng: 0.0)
    assert error() > 0.4
