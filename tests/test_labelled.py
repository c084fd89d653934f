"""Labelled LDA: documents have the topics of their labels, and new ones are told their labels."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import topmix
from topmix import LabelledLDA
from topmix.corpus.design import DesignRows
from topmix.corpus.shard import Shard
from topmix.data import Corpus
from topmix.estimators import SUPERVISED
from topmix.models.covariate_prior import LabelPrior
from topmix.models.document_prior import DocTopics, OwnPriors
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordTotal
from topmix.results.labels import Labels, best_threshold, labels_of
from topmix.steps.documents import solve

L, V = 5, 100


def planted(seed, D=400, free=1.0):
    """Counts, labels [D, L] and topics: of each label, and one that all documents share."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.05), L + 1)
    Y = (rng.random((D, L)) < 0.3).astype(int)
    Y[np.arange(D), rng.integers(L, size=D)] = 1
    alpha = np.column_stack([Y * 2.0, np.full(D, free)])
    theta = np.array([rng.dirichlet(np.where(a > 0, a, 1e-9)) for a in alpha])
    X = np.array([rng.multinomial(50, t @ phi) for t in theta], np.float32)
    return sp.csr_array(X), Y, phi


X, Y, PHI = planted(0)
TRAIN, TEST = slice(0, 300), slice(300, None)
NAMES = np.array(["ash", "beech", "cedar", "elm", "fir"])


@pytest.fixture(scope="module")
def fitted():
    return LabelledLDA(n_free=1, random_state=0, n_jobs=1).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("seed", range(5))
def test_topics_of_labels_and_labels_of_new_documents_are_found(seed):
    X, Y, phi = planted(seed)
    model = LabelledLDA(n_free=1, random_state=seed, n_jobs=1).fit(X[TRAIN], Y[TRAIN])
    cosine = (
        phi @ model.topic_word_.T / np.outer(np.linalg.norm(phi, axis=1), np.linalg.norm(model.topic_word_, axis=1))
    )
    assert np.diag(cosine).min() > 0.9  # without a permutation: a topic is that of its label
    assert f1_score(Y[TEST], model.predict(X[TEST]), average="micro") > 0.85
    assert f1_score(Y[TEST], model.predict(X[TEST]), average="macro") > 0.85


def test_several_topics_per_label_are_of_that_label():
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(V, 0.05), 4)
    y = rng.integers(2, size=400)
    topic = 2 * y + rng.integers(2, size=400)
    X = sp.csr_array(np.array([rng.multinomial(40, phi[k]) for k in topic], np.float32))
    model = LabelledLDA(2, random_state=0, n_jobs=1).fit(X, y)
    assert model.n_components == 4
    assert model.topic_labels_.tolist() == [0, 0, 1, 1]
    found = linear_sum_assignment(-phi @ model.topic_word_.T)[1]
    assert set(found[:2]) == {0, 1}
    assert model.score(X, y) > 0.99


def test_documents_without_labels_help():
    few = Y[TRAIN].copy()
    few[40:] = 0
    model = LabelledLDA(n_free=1, random_state=0, n_jobs=1).fit(X[TRAIN], few)
    assert f1_score(Y[TEST], model.predict(X[TEST]), average="micro") > 0.75
    lists = [NAMES[row > 0].tolist() or None for row in few]
    same = LabelledLDA(n_free=1, random_state=0, n_jobs=1).fit(X[TRAIN], lists)
    np.testing.assert_array_equal(same.components_, model.components_)


def test_ways_to_write_labels_give_the_same_topics(fitted):
    lists = [NAMES[row > 0].tolist() for row in Y[TRAIN]]
    for y in (sp.csr_matrix(Y[TRAIN]), Y[TRAIN].tolist(), Y[TRAIN] > 0, pd.DataFrame(Y[TRAIN]), lists):
        np.testing.assert_array_equal(clone(fitted).fit(X[TRAIN], y).components_, fitted.components_)
    named = clone(fitted).fit(X[TRAIN], lists)
    assert named.classes_.tolist() == NAMES.tolist()
    assert fitted.classes_.tolist() == list(range(L))
    assert named.score(X[TEST], [NAMES[row > 0].tolist() for row in Y[TEST]]) == fitted.score(X[TEST], Y[TEST]) > 0.4


def test_one_label_per_document():
    main = NAMES[Y.argmax(axis=1)]
    model = LabelledLDA(random_state=0, n_jobs=1).fit(X[TRAIN], main[TRAIN])
    proba = model.predict_proba(X[TEST])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X[TEST]), model.classes_[proba.argmax(axis=1)])
    assert model.score(X[TEST], main[TEST]) == pytest.approx(np.mean(model.predict(X[TEST]) == main[TEST]))
    with pytest.raises(ValueError, match="min_weight"):
        model.predict(X[TEST], min_weight=0.1)


def test_probabilities_over_a_half_are_the_labels(fitted):
    proba, found = fitted.predict_proba(X[TEST]), fitted.predict(X[TEST])
    assert proba.shape == found.shape == (100, L)
    several = found.sum(axis=1) > 1
    np.testing.assert_array_equal(found[several], proba[several] > 0.5)
    assert np.all(found.sum(axis=1) >= 1)
    assert np.all(fitted.predict(X[TEST], min_weight=1.0).sum(axis=1) <= found.sum(axis=1))


def test_a_model_in_a_file_predicts_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m.topmix")
    loaded = topmix.load(tmp_path / "m.topmix")
    np.testing.assert_array_equal(loaded.predict_proba(X[TEST]), fitted.predict_proba(X[TEST]))
    assert loaded.threshold_ == fitted.threshold_
    assert loaded.n_components == L + 1
    assert set(SUPERVISED) == {"LabelledLDA", "SupervisedLDA"}


def test_a_resumed_fit_equals_an_uninterrupted_one(fitted, tmp_path):
    path = tmp_path / "checkpoint"
    clone(fitted).set_params(max_iter=2).fit(X[TRAIN], Y[TRAIN], checkpoint=path)
    again = clone(fitted).fit(X[TRAIN], Y[TRAIN], checkpoint=path)
    np.testing.assert_array_equal(again.components_, fitted.components_)
    with pytest.raises(ValueError, match="covariates"):
        clone(fitted).fit(X[TRAIN], Y[TRAIN][::-1], checkpoint=path)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_jobs": 3},
        {"engine": "serial"},
        {"inference": "variational"},
        {"learner": "stochastic"},
        {"inference": "scvb0", "learner": "stochastic"},
    ],
    ids=str,
)
def test_engines_and_inferences(fitted, settings):
    model = clone(fitted).set_params(**settings).fit(X[TRAIN], Y[TRAIN])
    if "n_jobs" in settings or "engine" in settings:
        np.testing.assert_array_equal(model.components_, fitted.components_)
    assert f1_score(Y[TEST], model.predict(X[TEST]), average="micro") > 0.8


@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_a_document_has_the_topics_that_it_can_have(core, monkeypatch, posterior):
    """And those are solved as if there were no others."""
    for room in ("steps.documents", "corpus.shard", "models.document_prior"):
        monkeypatch.setattr(f"topmix.{room}._core", core)
    rng = np.random.default_rng(0)
    K, D = 40, 17
    corpus = Corpus.from_scipy(sp.csr_array(rng.poisson(0.4, (D, 30)).astype(np.float32)))
    x = 0.3 * (rng.random((5, K)) < 0.15)
    x[:, 0] = 0.3
    x[4] = 0.1  # all of them
    design = DesignRows(x, (np.arange(D) % 5).astype(np.int32))
    total = rng.gamma(1.0, 20.0, (30, K))
    words = TopicWords(np.full((1, 1), 0.05), WordTotal.of(total), posterior)
    model = TopicModel(LabelPrior(np.full(K, 0.1), posterior), words, DocumentOptions(n_active=None, eps=0.01))
    shard = Shard.of(corpus.with_columns(design=design))
    docs = solve(shard, model.tables(shard.cols), core.TopicScratch()).docs
    for d in range(D - 1):
        g = design.row[d]
        k, n = docs.topic[docs.indptr[d] : docs.indptr[d + 1]], docs.count[docs.indptr[d] : docs.indptr[d + 1]]
        assert np.all(x[g, k] > 0)
        allowed = np.flatnonzero(x[g])
        if g == 4 or len(allowed) < 2:
            continue
        alone = Shard.of(corpus[[d]])
        table = model.tables(alone.cols)
        few = table._replace(
            words=table.words._replace(table=np.ascontiguousarray(table.words.table[:, allowed])),
            prior=LabelPrior(x[g, allowed], posterior),
        )
        same = solve(alone, few, core.TopicScratch()).docs
        np.testing.assert_array_equal(allowed[same.topic], k)
        np.testing.assert_allclose(same.count, n, rtol=1e-4)


def test_the_bound_leaves_out_topics_that_documents_cannot_have():
    x = np.array([[0.5, 0.0, 0.2], [0.1, 0.3, 0.4]])
    N = np.array([[3.0, 0.0, 2.0], [1.0, 0.0, 4.0], [0.0, 2.0, 5.0]])
    design = DesignRows(x, np.array([0, 0, 1], np.int32))
    where = np.nonzero(N)
    docs = DocTopics(np.array([0, 2, 4, 6]), where[1].astype(np.uint16), N[where].astype(np.float32))
    stats = OwnPriors(x.mean(axis=0), "collapsed", design, x).summarise(None, docs, N.sum(axis=1), 0.0)
    without = OwnPriors(np.ones(2), "collapsed", DesignRows(x[:1, [0, 2]], np.zeros(2, np.int32)), x[:1, [0, 2]])
    part = replace(docs, indptr=np.array([0, 2, 4]), topic=docs.topic[:4] // 2, count=docs.count[:4])
    alone = OwnPriors(x.mean(axis=0), "collapsed", DesignRows(x[1:], np.zeros(1, np.int32)), x[1:])
    last = replace(docs, indptr=np.array([0, 2]), topic=docs.topic[4:], count=docs.count[4:])
    a = without.summarise(None, part, N[:2].sum(axis=1), 0.0)
    b = alone.summarise(None, last, N[2:].sum(axis=1), 0.0)
    assert stats.A + stats.T[0] == pytest.approx(a.A + a.T[0] + b.A + b.T[0])


@pytest.mark.parametrize(
    ("y", "error"),
    [
        (None, "requires y"),
        (Y[:7], "7 values for 300"),
        (np.full((300, 2), 3), "1 where a document has a label"),
        (np.linspace(0, 1, 300), "continuous"),
        ([None] * 300, "no document has a label"),
        ([["a"], [1]] * 150, "strings, or whole numbers"),
    ],
)
def test_labels_that_cannot_be_used_are_an_error(y, error):
    with pytest.raises(ValueError, match=error):
        LabelledLDA().fit(X[TRAIN], y)


def test_what_labels_have_not_is_said(fitted):
    with pytest.raises(ValueError, match="has not seen the label 'oak'"):
        clone(fitted).fit(X[TRAIN], [NAMES[row > 0].tolist() for row in Y[TRAIN]]).score(X[:1], [["oak"]])
    with pytest.raises(ValueError, match="one prior for all documents"):
        clone(fitted).set_params(inference="variational", learner="asynchronous").fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="cannot be merged"):
        fitted._with(fitted._fitted).merge_topics([(0, 1)])
    with pytest.raises(ValueError, match="cvb0"):
        clone(fitted).set_params(inference="cvb0").fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(TypeError, match="metadata"):
        clone(fitted).fit(X[TRAIN], Y[TRAIN], metadata=Y)
    assert not hasattr(fitted, "partial_fit")


def test_labels_and_their_threshold():
    labels, matrix = labels_of([["b"], ["a", "b"], []], 3, per_label=2, n_free=1)
    assert labels == Labels(("a", "b"), 2, 1, is_single=False)
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1], [1, 1], [0, 0]])
    np.testing.assert_array_equal(labels.candidates(matrix).toarray()[0], [0, 0, 1, 1, 1])
    mean, design = labels.priors(matrix, 0.1)
    np.testing.assert_allclose(design.x[design.row], [[0, 0, 0.1, 0.1, 0.1], [0.1] * 5, mean])
    np.testing.assert_allclose(mean, [0.05, 0.05, 0.1, 0.1, 0.1])
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    assert 0.2 < best_threshold(shares, sp.csr_array(np.array([[1, 0], [1, 1], [0, 1]]))) < 0.4


@parametrize_with_checks([LabelledLDA(max_iter=4, n_jobs=1, random_state=0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


TWO = ["apples pears", "ships sails"] * 6


@pytest.mark.parametrize(
    "y",
    ["abc", 5, 2.5, object(), {"a": 1}, (label for label in "ab" * 6), [["a"], 5] * 6, [("a", 1), ("b", 2)] * 6,
     [[["a"]], ["b"]] * 6, [{"a": 1}, {"b": 2}] * 6, [object(), object()] * 6, np.zeros((12, 2, 2)), [b"a", b"b"] * 6],
)  # fmt: skip
def test_what_are_no_labels_is_refused(y):
    with pytest.raises(ValueError, match=r"labels must be strings, or whole numbers|y must be a list with the label"):
        LabelledLDA(max_iter=1).fit(TWO, y)


def test_labels_may_be_missing_and_stand_alone_among_lists():
    y = pd.Series(["a", pd.NA, "b", "b"] * 3, dtype="string")
    assert LabelledLDA(max_iter=1).fit(TWO, y).classes_.tolist() == ["a", "b"]
    assert LabelledLDA(max_iter=1).fit(TWO, [["a"], "bc"] * 6).classes_.tolist() == ["a", "bc"]
    with pytest.raises(ValueError, match="label 0 cannot be written as UTF-8"):
        LabelledLDA(max_iter=1).fit(TWO, ["a\udc80", "b"] * 6)
