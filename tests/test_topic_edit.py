"""Topics merged, dropped and seeded by hand, and learned on from there."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import topmix
from topmix import LDA
from topmix.data import Corpus, sample_lda
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
        model.seed_topics([["word03", "word07"], {"word10": 2.0}])
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


def test_a_seed_pulls_its_words_together(sample, tmp_path):
    """Words of a topic that the model lost come back when some of them are given."""
    phi = sample.topic_word
    model = LDA(4, init=1000 * phi[:4], max_iter=5, random_state=0, warm_start=True).fit(sample.corpus)
    names = np.asarray(sample.corpus.vocabulary)
    best = np.argsort(-phi[4])
    model.seed_topics([names[best[:3]].tolist()]).fit(sample.corpus)
    assert np.abs(model.topic_word_[4] - phi[4]).sum() < 0.3
    assert model.topic_word_prior is None  # the seeds are beside it
    assert model.seed_counts_.shape == (5, 60)
    assert [set(row.indices) for row in model.seed_counts_] == [set()] * 4 + [set(best[:3].tolist())]
    counts = model.components_ - model.topic_word_prior_ - model.seed_counts_.toarray()
    assert counts.sum() == pytest.approx(sample.corpus.n_tokens)
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.seed_counts_.toarray(), model.seed_counts_.toarray())
    np.testing.assert_array_equal(loaded.fit(sample.corpus).components_, model.fit(sample.corpus).components_)


def test_seeds_by_name_by_number_and_with_weights(sample):
    a, b, c = (fitted(sample.corpus) for _ in range(3))
    a.seed_topics([["word03", "word07"]], topics=[1])
    b.seed_topics([{"word03": 1, 7: 1}], topics=[1])
    c.seed_topics([[np.int64(3)], ["word07"]], topics=[1, 2])
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.components_[1, 7] == c.components_[1, 7] + c.components_[2, 7] - fitted(sample.corpus).components_[2, 7]
    words = np.asarray(sample.corpus.to_scipy().sum(axis=0)).ravel()
    grown = a.components_[1] - fitted(sample.corpus).components_[1]
    np.testing.assert_allclose(grown[[3, 7]], np.maximum(0.1 * words[[3, 7]], 1), rtol=1e-5)
    assert np.count_nonzero(grown) == 2


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
        (lambda: model.seed_topics([{"word03": -1}]), r"positive weights"),
        (lambda: model.seed_topics([["word03"]], strength=0), r"strength"),
        (lambda: model.seed_topics([["word03"]] * 2, topics=[1, 1]), r"2 seeds need as many different topics"),
    ]:
        with pytest.raises(ValueError, match=message):
            edit()
    np.testing.assert_array_equal(model.components_, before)  # an edit is made or it is not
    nameless = fitted(Corpus.from_scipy(sample.corpus.to_scipy()))
    with pytest.raises(ValueError, match="without names"):
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
    learned = model.topic_word_prior_
    model.seed_topics([["word03"]]).fit(sample.corpus)
    assert model.doc_topic_prior == "auto"
    assert model.doc_topic_prior_.shape == (6,)
    assert model.topic_word_prior_ == learned  # not learned any more beside seeds
    assert model.seed_counts_.nnz == 1


def test_edits_work_on_a_loaded_model_and_down_to_one_topic(sample, tmp_path):
    model = fitted(sample.corpus, topic_word_prior=np.linspace(0.01, 0.06, 6))
    model.save(tmp_path / "model")
    model = topmix.load(tmp_path / "model").drop_topics(range(1, 6)).fit(sample.corpus)
    assert model.n_components == 1
    np.testing.assert_allclose(model.transform(sample.corpus), 1)
