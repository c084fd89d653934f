"""A saved model is the model."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import topmix
from topmix import Seeds
from topmix.base.fields import ModelFileError
from topmix.data import from_texts
from topmix.engines.local import Serial
from topmix.estimators import ESTIMATORS
from topmix.inference import CVB0, SCVB0, Collapsed, Variational
from topmix.learners import Asynchronous, Batch, Memoized, Stochastic
from topmix.search import TopicSearch

from .conftest import learned


def ask(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict_proba(X)


def rows_for(name, corpus):
    """Data that an estimator takes, with names."""
    counts = get_tags(ESTIMATORS[name]()).input_tags.positive_only
    return corpus if counts else pd.DataFrame(corpus.to_scipy().toarray(), columns=list(corpus.vocabulary))


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request, corpus):
    return ESTIMATORS[request.param](n_components=5, max_iter=4, random_state=0).fit(rows_for(request.param, corpus))


@pytest.fixture
def rows(fitted, corpus):
    return rows_for(type(fitted).__name__, corpus)


def test_a_loaded_model_says_the_same(fitted, rows, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(ask(loaded, rows), ask(fitted, rows))
    np.testing.assert_array_equal(learned(loaded), learned(fitted))
    np.testing.assert_array_equal(loaded.feature_names_in_, fitted.feature_names_in_)
    for name in ("history_", "n_iter_", "converged_", "elbo_", "n_features_in_"):
        assert getattr(loaded, name, None) == getattr(fitted, name, None)
    of_rows = (
        {"labels_"} if isinstance(fitted, topmix.VonMisesFisherMixture) else set()
    )  # a file is of any size of data
    assert vars(loaded).keys() == vars(fitted).keys() - of_rows


def test_a_loaded_model_can_go_on_learning(fitted, rows, tmp_path):
    fitted.save(tmp_path / "model")
    ways = [topmix.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))]
    for model in ways:
        model.set_params(warm_start=True, max_iter=2).fit(rows)
    np.testing.assert_array_equal(learned(ways[0]), learned(ways[1]))


def test_a_second_save_is_the_same_file(fitted, tmp_path):
    fitted.save(tmp_path / "one")
    topmix.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_any_safetensors_library_reads_the_arrays(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    arrays = load_file(tmp_path / "model")
    K = len(learned(fitted))
    shapes = {
        "words": (40, K),  # whole numbers
        "words.single.indptr": (41,),
        "words.total.held": (40, K),
        "words.total.held.single.indptr": (41,),  # where counts are sparse
        "clusters.total.held": (40, K),
        "clusters.total.held.single.indptr": (41,),
        "clusters.total.first": (K, 40),
        "clusters.total.resultant": (K, 40),
    }
    assert [arrays[name].shape == shape for name, shape in shapes.items() if name in arrays] == [True]


def public(model):
    return {name for name in vars(model) if not name.startswith("_")}


def test_models_without_names_and_streams_too(corpus, tmp_path):
    model = topmix.LDA(4, random_state=0)
    X = corpus.to_scipy()
    for rows in (slice(0, 60), slice(60, 120)):
        model.partial_fit(X[rows])
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert public(loaded) == public(model)
    np.testing.assert_array_equal(loaded.partial_fit(X[:60]).components_, model.partial_fit(X[:60]).components_)


def test_parameters_of_all_kinds(corpus, tmp_path):
    eta = np.linspace(0.01, 0.1, 40)
    model = topmix.LDA(
        np.int64(4), max_iter=2, tol=-np.inf, doc_topic_prior="auto", topic_word_prior=eta, random_state=3
    ).fit(corpus)
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded.tol == -np.inf
    assert loaded.n_components == 4
    assert loaded.model_.prior.learned
    np.testing.assert_array_equal(loaded.topic_word_prior, eta)
    np.testing.assert_array_equal(clone(loaded).fit(corpus).components_, model.components_)


def test_components_come_back_as_the_objects_that_were_passed(corpus, tmp_path):
    """And strings as strings."""
    components = {
        "inference": Collapsed(min_topic_mass=1.0, cold_visits=None, stopping="mean"),
        "learner": Memoized(batch_size=30, batches_per_update=2),
    }
    model = topmix.LDA(3, max_iter=2, random_state=0, **components).fit(corpus)
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert {name: getattr(loaded, name) for name in components} == components
    np.testing.assert_array_equal(clone(loaded).fit(corpus).components_, model.components_)
    stream = Stochastic(batch_size=20, decay=0.9, total_samples=1e6)
    for more in (
        {"learner": stream, "inference": SCVB0(doc_burn_in=2)},
        {"learner": stream, "inference": Variational(restarts=1)},
        {"learner": Batch(), "inference": CVB0(2)},
        {"learner": Asynchronous(workers=1, tail="mean", warm_up=3), "inference": "variational"},
    ):
        model = topmix.LDA(3, max_iter=2, random_state=0, **more).fit(corpus)
        model.save(tmp_path / "model")
        loaded = topmix.load(tmp_path / "model")
        assert {name: getattr(loaded, name) for name in more} == more
        assert type(loaded.inference) is type(more["inference"])
    for search in (None, "auto", TopicSearch(max_topics=20)):
        model = topmix.HDP(3, search=search, max_iter=8, random_state=0).fit(corpus)
        model.save(tmp_path / "model")
        assert topmix.load(tmp_path / "model").search == search


def test_seeds_in_every_documented_form_come_back(corpus, tmp_path, caplog):
    """Words by name or by column, with or without weights, as a list or as a table of topics."""
    forms = [
        [["word1", "word2"]],
        [["word1"]],
        [None, [3, 4]],
        [(np.int64(3), 4)],
        [[0, 1], None],
    ]
    forms += [Seeds({1: [0]}), Seeds(ban={0: [3]}, pin={1: ["word5"]}), Seeds([[2]], strength=0.7)]
    for given in forms:
        model = topmix.LDA(3, max_iter=1, random_state=0, seeds=given).fit(corpus)
        model.save(tmp_path / "model")
        loaded = topmix.load(tmp_path / "model")
        assert Seeds.of(loaded.seeds) == Seeds.of(given)
        np.testing.assert_array_equal(clone(loaded).fit(corpus).components_, model.components_)
    assert caplog.text == ""


def test_an_engine_of_ones_own_is_left_out_with_a_note(corpus, tmp_path, caplog):
    class Mine(Serial):
        pass

    model = topmix.LDA(3, max_iter=1, engine=Mine()).fit(corpus)
    with caplog.at_level(logging.WARNING, logger="topmix"):
        model.save(tmp_path / "model")
    assert "engine was a Mine" in caplog.text
    loaded = topmix.load(tmp_path / "model")
    assert loaded.engine == "threads"
    np.testing.assert_array_equal(loaded.transform(corpus), model.transform(corpus))


def test_what_a_file_cannot_hold_is_noted(corpus, tmp_path, caplog):
    rng = np.random.RandomState(0)
    model = topmix.LDA(3, max_iter=1, random_state=rng, callbacks=[lambda record, view: None]).fit(corpus)
    with caplog.at_level(logging.WARNING, logger="topmix"):
        model.save(tmp_path / "model")
    assert "random_state was a RandomState" in caplog.text
    loaded = topmix.load(tmp_path / "model")
    assert loaded.random_state is None
    assert loaded.callbacks is None


def test_the_tokenizer_travels_with_the_model(tmp_path):
    texts = ["Apples and pears", "pears and plums", "engines and wheels"] * 5
    model = topmix.LDA(2, max_iter=2, random_state=0).fit(from_texts(texts, stop_words="english"))
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded.tokenizer_["stop_words"] == "english"
    new = topmix.data.Vectorizer.from_dict(loaded.tokenizer_, vocabulary=loaded.feature_names_in_).transform(["plums"])
    assert loaded.transform(new).shape == (1, 2)


def test_only_fitted_estimators_of_ours_are_saved(corpus, tmp_path):
    with pytest.raises(NotFittedError):
        topmix.LDA().save(tmp_path / "model")

    class Mine(topmix.LDA):
        pass

    with pytest.raises(ModelFileError, match="pickle"):
        Mine(3, max_iter=1).fit(corpus).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"precious")
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        fitted.save(path)
    assert path.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
