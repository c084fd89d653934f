"""Topics merged, dropped and seeded by hand, and learned on from there."""

from __future__ import annotations

import copy
import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import topmix
from topmix import HDP, LDA
from topmix.base.fields import Writer
from topmix.data import Corpus, sample_lda
from topmix.learners import Asynchronous
from topmix.metrics import topic_recovery_error


@pytest.fixture(scope="module")
def sample():
    return sample_lda(200, 60, 5, doc_length=60, random_state=4)


def fitted(corpus, **parameters):
    return LDA(**{"n_components": 6, "max_iter": 5, "random_state": 0, "warm_start": True} | parameters).fit(corpus)


def counts(model):
    return model.model_.words.total.counts().T


def test_a_merged_topic_has_the_words_of_both(sample):
    model = fitted(sample.corpus)
    before, alpha = counts(model), model.model_.prior.alpha
    assert model.merge_topics([(4, 1)]) is model
    assert model.n_components == model.get_params()["n_components"] == len(model.components_) == 5
    np.testing.assert_allclose(counts(model)[1], before[1] + before[4])
    np.testing.assert_allclose(np.delete(counts(model), 1, axis=0), before[[0, 2, 3, 5]])
    np.testing.assert_allclose(model.doc_topic_prior_, [alpha[0], 2 * alpha[0], *alpha[:3]])
    assert model.transform(sample.corpus).shape == (200, 5)


@pytest.mark.parametrize("groups", [[(0, 1), (1, 2), (4, 5)], [(0, 1, 2), (5, 4)], [(0, 1), (5, 4), (2, 0), (2, 2, 1)]])
def test_pairs_that_share_a_topic_join(sample, groups):
    model = fitted(sample.corpus)
    before = counts(model)
    model.merge_topics(groups)
    np.testing.assert_allclose(counts(model), [before[:3].sum(axis=0), before[3], before[4:].sum(axis=0)])


def test_dropped_topics_leave_the_others_as_they_were(sample):
    model = fitted(sample.corpus)
    before = model.components_
    model.drop_topics([5, 0, 0])
    np.testing.assert_allclose(model.components_, before[1:5])
    assert model.n_components == 4
    with pytest.raises(ValueError, match="all 4 topics"):
        model.drop_topics(range(4))


@pytest.mark.parametrize("learner", ["memoized", "batch", "stochastic"])
@pytest.mark.parametrize("edit", ["merge", "drop", "seed", "seed one"])
def test_learning_goes_on_from_the_edited_topics(sample, learner, edit):
    model = fitted(sample.corpus, learner=learner)
    if edit == "merge":
        model.merge_topics([(0, 3)])
    elif edit == "drop":
        model.drop_topics([2])
    elif edit == "seed":
        model.seed_topics([["word03", "word07"], ["word10"]])
    else:
        model.seed_topics([["word03"]], topics=[2])
    K = {"merge": 5, "drop": 5, "seed": 8, "seed one": 6}[edit]
    model.fit(sample.corpus)
    assert model.n_components == len(model.components_) == K
    assert np.isfinite(model.elbo_)
    assert clone(model).fit(sample.corpus).transform(sample.corpus).shape == (200, K)


def test_two_halves_of_a_topic_merge_into_what_they_were(sample):
    """A model with a topic twice, merged, is as good as one that has it once."""
    phi = sample.topic_word
    start = 1000 * np.vstack([phi, phi[:1]])
    model = LDA(6, init=start, max_iter=10, random_state=0, warm_start=True).fit(sample.corpus)
    whole = LDA(5, init=1000 * phi, max_iter=10, random_state=0).fit(sample.corpus)
    model.merge_topics([(0, 5)]).fit(sample.corpus)
    assert model.elbo_ == pytest.approx(whole.elbo_, rel=0.01)
    assert topic_recovery_error(model.topic_word_, phi) < 0.2


def test_a_seed_pulls_its_words_together(sample):
    """Words of a topic that the model lost come back when some of them are given."""
    phi = sample.topic_word
    model = LDA(4, init=1000 * phi[:4], max_iter=5, random_state=0, warm_start=True).fit(sample.corpus)
    names = np.asarray(sample.corpus.vocabulary)
    best = np.argsort(-phi[4])
    model.seed_topics([names[best[:3]].tolist()]).fit(sample.corpus)
    assert np.abs(model.topic_word_[4] - phi[4]).sum() < 0.3
    assert model.topic_word_prior is None
    assert model.topic_word_prior_ == pytest.approx(0.08)
    assert model.seed_counts_.shape == (5, 60)
    assert [len(row) for row in model.seed_counts_.tolil().rows] == [0, 0, 0, 0, 3]
    assert set(model.seed_counts_.indices) == set(best[:3])


def test_seeds_by_name_and_by_number(sample):
    a, b, c = (fitted(sample.corpus) for _ in range(3))
    a.seed_topics([["word03", "word07"]], topics=[1])
    b.seed_topics([["word03", 7]], topics=[1])
    c.seed_topics([[np.int64(3)], ["word07"]], topics=[1, 2])
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.components_[1, 7] == c.components_[1, 7] + c.components_[2, 7] - fitted(sample.corpus).components_[2, 7]
    words = np.asarray(sample.corpus.to_scipy().sum(axis=0)).ravel()
    grown = a.components_[1] - fitted(sample.corpus).components_[1]
    np.testing.assert_allclose(grown[[3, 7]], np.maximum(0.3 * words[[3, 7]], 1), rtol=1e-5)
    assert np.count_nonzero(grown) == 2
    np.testing.assert_allclose(a.seed_counts_.toarray()[1], grown, atol=1e-9)
    assert a.seed_counts_.nnz == 2
    assert fitted(sample.corpus).seed_counts_ is None
    a.seed_topics([["word07"]], topics=[1])  # seeds add up
    np.testing.assert_allclose(a.seed_counts_.toarray()[1, [3, 7]], grown[[3, 7]] * [1, 2])


def test_what_is_not_there_is_named(sample):
    model = fitted(sample.corpus)
    before = model.components_
    for edit, message in [
        (lambda: model.merge_topics([(0, 6)]), r"6 is not a topic: they are numbered from 0 to 5"),
        (lambda: model.merge_topics([(0, -1)]), r"-1 is not a topic"),
        (lambda: model.merge_topics([(0,)]), r"\(0,\) is not two topics"),
        (lambda: model.merge_topics([(1, 1)]), r"not two topics"),
        (lambda: model.drop_topics([1.0]), r"1.0 is not a topic"),
        (lambda: model.drop_topics([True]), r"True is not a topic"),
        (lambda: model.seed_topics([["word03", "wordy"]]), r"not among the 60 words of this model: 'wordy'"),
        (lambda: model.seed_topics([[60]]), r"not among the 60 words of this model: 60"),
        (lambda: model.seed_topics([[f"w{i}" for i in range(9)]]), r"'w4' and others"),
        (lambda: model.seed_topics(["word03"]), r"a list of words"),
        (lambda: model.seed_topics([]), r"no seeds"),
        (lambda: model.seed_topics([[]]), r"at least one word"),
        (lambda: model.seed_topics([{"word03": 1}]), r"a list of words"),
        (lambda: model.seed_topics([["word03"]], strength=0), r"strength"),
        (lambda: model.seed_topics([["word03"]] * 2, topics=[1, 1]), r"2 seeds need as many different topics"),
    ]:
        with pytest.raises(ValueError, match=message):
            edit()
    np.testing.assert_array_equal(model.components_, before)  # an edit is made or it is not
    nameless = fitted(Corpus.from_scipy(sample.corpus.to_scipy()))
    with pytest.raises(ValueError, match="no names of words"):
        nameless.seed_topics([["word03"]])
    with pytest.raises(NotFittedError):
        LDA().drop_topics([0])


def test_parameters_given_topic_by_topic_are_edited_too(sample, tmp_path):
    rng = np.random.default_rng(0)
    alpha, eta, start = rng.uniform(0.1, 0.2, 6), rng.uniform(0.01, 0.1, (6, 60)), rng.gamma(1, 1, (6, 60))
    model = fitted(sample.corpus, doc_topic_prior=alpha, topic_word_prior=eta, init=start)
    model.merge_topics([(1, 2)]).drop_topics([0])
    np.testing.assert_allclose(model.doc_topic_prior, [alpha[1] + alpha[2], *alpha[3:]])
    np.testing.assert_array_equal(model.topic_word_prior, [np.maximum(eta[1], eta[2]), *eta[3:]])
    assert model.init.shape == (4, 60)
    clone(model).fit(sample.corpus)
    model.fit(sample.corpus).save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded.n_components == 4
    np.testing.assert_array_equal(loaded.transform(sample.corpus), model.transform(sample.corpus))


def test_learned_priors_survive_an_edit(sample):
    model = fitted(sample.corpus, doc_topic_prior="auto", topic_word_prior="auto")
    model.merge_topics([(0, 1)]).fit(sample.corpus)
    assert model.doc_topic_prior_.shape == (5,)
    assert (model.doc_topic_prior, model.topic_word_prior) == ("auto", "auto")
    alpha, eta = model.doc_topic_prior_, model.topic_word_prior_
    model.seed_topics([["word03"]]).fit(sample.corpus)
    assert (model.doc_topic_prior, model.topic_word_prior) == ("auto", "auto")
    assert model.seed_counts_.shape == (6, 60)
    assert model.topic_word_prior_ == eta  # not learned any more
    assert np.all(model.doc_topic_prior_[:5] != alpha)


def test_edits_work_on_a_loaded_model_and_down_to_one_topic(sample, tmp_path):
    model = fitted(sample.corpus, topic_word_prior=np.linspace(0.01, 0.06, 6))
    model.save(tmp_path / "model")
    model = topmix.load(tmp_path / "model").drop_topics(range(1, 6)).fit(sample.corpus)
    assert model.n_components == 1
    np.testing.assert_allclose(model.transform(sample.corpus), 1)


SEEDS = [["word03", "word07"], ["word03", "word10"]]
KINDS = {
    "collapsed": (LDA, {"topic_word_prior": 0.05}),
    "variational": (LDA, {"inference": "variational"}),
    "by word": (LDA, {"topic_word_prior": np.linspace(0.01, 0.1, 60)}),
    "by topic": (LDA, {"topic_word_prior": np.linspace(0.01, 0.1, 6)}),
    "HDP": (HDP, {"search": None, "topic_word_prior": 0.05}),
    "variational HDP": (HDP, {"search": None, "inference": "variational"}),
}


def seeded(corpus, kind="collapsed", topics=(1, 4), **parameters):
    cls, given = KINDS[kind]
    model = cls(6, **{"max_iter": 4, "random_state": 0, "warm_start": True, "n_jobs": 1} | given | parameters)
    return model.fit(corpus).seed_topics(SEEDS, topics=topics)


def with_dense_prior(model):
    """The same topics, with eta [V, K] in the place of sparse seeds."""
    other, words = copy.deepcopy(model), model.model_.words
    dense = replace(model.model_, words=replace(words, eta=words.dense_prior(), extra=None))
    other._fitted = replace(model._fitted, model=dense)
    other.topic_word_prior = other.topic_word_prior_
    assert other.topic_word_prior.shape == (model.n_components, 60)
    assert other.seed_counts_ is None
    return other


@pytest.mark.parametrize("topics", [(1, 4), None])
@pytest.mark.parametrize("kind", KINDS)
def test_a_seeded_model_is_that_with_the_equal_dense_prior(sample, kind, topics):
    model = seeded(sample.corpus, kind, topics)
    other = with_dense_prior(model)
    a, b = model.model_.words, other.model_.words
    counts = np.broadcast_to(a.eta, a.shape) + model.seed_counts_.toarray().T
    np.testing.assert_array_equal(b.eta, counts)
    np.testing.assert_allclose(a.prior_totals(), b.prior_totals(), rtol=1e-13)
    assert a.bound() == pytest.approx(b.bound(), rel=1e-12)
    for cols in (np.arange(60, dtype=np.int32), np.array([3, 5, 10, 59], np.int32)):
        mine, dense = a.tables(cols), b.tables(cols)
        np.testing.assert_allclose(mine.table, dense.table, rtol=1e-6)
        np.testing.assert_allclose(mine.log_scale, dense.log_scale, rtol=1e-12)
        np.testing.assert_allclose(mine.norm, dense.norm, rtol=1e-13)
        assert mine.least == dense.least
    np.testing.assert_allclose(model.components_, other.components_, rtol=1e-13)
    np.testing.assert_allclose(model.topic_word_, other.topic_word_, rtol=1e-12)
    np.testing.assert_allclose(model.transform(sample.corpus), other.transform(sample.corpus), atol=1e-4)


FITS = [
    *itertools.product(["collapsed", "variational", "HDP", "variational HDP"], ["memoized", "batch", "stochastic"]),
    ("variational", Asynchronous(workers=1)),
]


@pytest.mark.parametrize(("kind", "learner"), FITS, ids=str)
def test_seeds_are_learned_with_as_the_equal_dense_prior_is(sample, kind, learner):
    model = seeded(sample.corpus, kind, learner=learner)
    other = with_dense_prior(model)
    model.fit(sample.corpus)
    other.fit(sample.corpus)
    assert model.n_iter_ == other.n_iter_
    for mine, dense in zip(model.history_, other.history_):
        assert mine.objective == pytest.approx(dense.objective, rel=1e-5)
    np.testing.assert_allclose(model.components_, other.components_, rtol=1e-3, atol=0.5)
    np.testing.assert_allclose(model.topic_word_, other.topic_word_, atol=1e-4)


def test_smoothing_takes_the_place_of_eta_and_not_of_seeds(sample):
    model = fitted(sample.corpus).seed_topics(SEEDS, topics=[1, 4])
    reported = model.components_ - model.topic_word_prior_ + 0.03
    np.testing.assert_allclose(model.topic_word_, reported / reported.sum(axis=1, keepdims=True), rtol=1e-12)
    assert model.components_[1, 3] > model.seed_counts_.toarray()[1, 3] > 1


@pytest.mark.parametrize("topics", [(1, 4), None])
def test_nothing_of_size_words_times_topics_is_kept_for_seeds(sample, topics):
    """Neither in the model, nor in parameters and attributes, nor in a file."""
    model = seeded(sample.corpus, topics=topics).fit(sample.corpus)
    K = model.n_components
    words, nnz = model.model_.words, sum(map(len, SEEDS))
    assert words.eta.shape == (1, 1)
    extra = words.extra
    sizes = {name: getattr(extra, name).size for name in vars(extra)}
    assert sizes == {"common": 0, "share": K, "indptr": 61, "topic": nnz, "value": nnz, "totals": K}
    assert model.topic_word_prior == model.topic_word_prior_ == 0.05
    assert model.seed_counts_.nnz == nnz
    model._write(model._fitted, out := Writer())
    large = [name for name, array in out.arrays.items() if array.size >= 60 * K]
    counts = {f"words.total.held{part}" for part in ("", ".double.topic", ".double.value")}
    assert set(large) <= counts
    dense = [name for name, value in vars(model).items() if getattr(value, "size", 0) >= 60 * K]
    assert dense == []  # components_ and topic_word_ are made when asked for


def test_seeds_stay(sample, tmp_path):
    """While learning goes on, in a stream, in files, and in copies; a new fit begins without them."""
    model = seeded(sample.corpus)
    want = model.seed_counts_.toarray()
    assert np.count_nonzero(want) == 4

    def has_seeds(model):
        assert model.topic_word_prior == 0.05
        assert model.topic_word_prior_ == 0.05
        np.testing.assert_array_equal(model.seed_counts_.toarray(), want)
        np.testing.assert_array_equal(model.model_.words.extra.counts(), want.T)
        assert np.all(model.components_ > 0.9 * want)

    model.fit(sample.corpus, checkpoint=tmp_path / "kept")
    has_seeds(model)
    model.save(tmp_path / "model")
    for again in (topmix.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        has_seeds(again)
        assert again.model_.words.bound() == model.model_.words.bound()
        np.testing.assert_array_equal(again.topic_word_, model.topic_word_)
        np.testing.assert_array_equal(again.transform(sample.corpus), model.transform(sample.corpus))
    loaded = topmix.load(tmp_path / "model")
    for each in (model, loaded):
        has_seeds(each.fit(sample.corpus))
        has_seeds(each.partial_fit(sample.corpus[:50]))
    np.testing.assert_array_equal(loaded.components_, model.components_)

    X = sample.corpus[:50].to_scipy().toarray()
    more = Corpus.from_scipy(np.hstack([X, X[:, :2]]), vocabulary=[*sample.corpus.vocabulary, "new", "newer"])
    want = np.hstack([want, np.zeros((6, 2))])
    model.partial_fit(more)
    assert model.n_features_in_ == 62
    has_seeds(model)
    model.seed_topics([["newer"]], topics=[0])
    want[0, 61] = model.seed_counts_.toarray()[0, 61]
    assert want[0, 61] >= 1
    has_seeds(model)
    has_seeds(model.partial_fit(more))
    assert loaded.set_params(warm_start=False).fit(sample.corpus).seed_counts_ is None
    assert clone(model).fit(sample.corpus).seed_counts_ is None


def test_a_fit_with_seeds_goes_on_from_its_checkpoint(sample, tmp_path):
    def continued(max_iter, **more):
        return seeded(sample.corpus, tol=-np.inf).set_params(max_iter=max_iter).fit(sample.corpus, **more)

    continued(3, checkpoint=tmp_path / "kept")
    resumed, whole = continued(6, checkpoint=tmp_path / "kept"), continued(6)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.seed_counts_.toarray(), whole.seed_counts_.toarray())
    assert [r.objective for r in resumed.history_] == [r.objective for r in whole.history_]


@pytest.mark.parametrize("kind", KINDS)
def test_edits_keep_seeds(sample, kind):
    """A merged topic has the larger of each word's, as of eta; dropped ones take theirs with them."""
    model = seeded(sample.corpus, kind)
    want = model.seed_counts_.toarray()
    model.merge_topics([(0, 1), (2, 4)])
    np.testing.assert_array_equal(model.seed_counts_.toarray(), want[[1, 4, 3, 5]])
    model.merge_topics([(0, 1)])
    want = np.stack([np.maximum(want[1], want[4]), *want[[3, 5]]])
    np.testing.assert_array_equal(model.seed_counts_.toarray(), want)
    model.drop_topics([1])
    np.testing.assert_array_equal(model.seed_counts_.toarray(), want[[0, 2]])
    model.fit(sample.corpus)
    np.testing.assert_array_equal(model.seed_counts_.toarray(), want[[0, 2]])
    assert model.drop_topics([0]).seed_counts_ is None
    assert model.model_.words.extra is None


def test_seeds_and_a_search_for_the_number_of_topics_exclude_each_other(sample):
    model = seeded(sample.corpus, "HDP").set_params(search="auto")
    with pytest.raises(ValueError, match="search=None"):
        model.fit(sample.corpus)


@pytest.mark.parametrize(
    "given", [{}, {"seeds": topmix.Seeds([[3, 7]])}, {"topic_word_prior": np.linspace(0.01, 0.1, 60)}]
)
def test_some_words_and_some_topics_are_parts_of_all(sample, given):
    words = LDA(5, max_iter=3, random_state=0, **given).fit(sample.corpus).model_.words
    whole, ids = words.mean(), np.array([3, 7, 50])
    np.testing.assert_allclose(words.mean_of(ids), whole[:, ids].T, rtol=1e-12)
    np.testing.assert_array_equal(words.table_of(ids), words.tables(ids.astype(np.int32)).table)
    np.testing.assert_array_equal(words.total.columns([4, 1]), words.total.counts()[:, [4, 1]])
    held = replace(words, total=replace(words.total, held=words.total.held * 2, factor=0.5))
    changed = held.total.with_columns(np.array([4, 1, 5]), {1: np.ones(60), 5: np.full(60, 2.0)})
    np.testing.assert_array_equal(changed.counts()[:, 0], words.total.counts()[:, 4])
    np.testing.assert_array_equal(changed.counts()[:, 1:], np.tile([1.0, 2.0], (60, 1)))
