"""Estimators among the rest of a person's Python: pipelines, searches, data frames, joblib."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import topmix
from topmix import LDA
from topmix.data import sample_lda
from topmix.estimators import ESTIMATORS

TEXTS = [6 * text for text in ("wind sail boat ", "sail boat harbour ", "pawn rook bishop ", "rook bishop queen ")] * 15
LABELS = [0, 0, 1, 1] * 15
COUNTS = {name: cls for name, cls in ESTIMATORS.items() if cls().__sklearn_tags__().input_tags.positive_only}


def test_a_pipeline_from_texts_to_labels():
    pipe = make_pipeline(CountVectorizer(), LDA(4, max_iter=10, random_state=0), LogisticRegression())
    assert pipe.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0
    again = clone(pipe).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(pipe.predict_proba(TEXTS), again.predict_proba(TEXTS))


def test_a_search_over_topics_with_several_processes():
    X = CountVectorizer().fit_transform(TEXTS)
    search = GridSearchCV(
        LDA(max_iter=3, random_state=0), {"n_components": [2, 3], "inference": ["variational"]}, n_jobs=2, cv=2
    )
    search.fit(X)
    assert search.best_params_["n_components"] in (2, 3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_as_a_data_frame(library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame({"wind": [3.0, 0.0, 2.0], "pawn": [0.0, 4.0, 0.0]})
    model = LDA(2, max_iter=3, random_state=0).set_output(transform=library)
    theta = model.fit(X).transform(X)
    assert isinstance(theta, frames.DataFrame)
    assert list(theta.columns) == ["lda0", "lda1"]
    np.testing.assert_allclose(theta.to_numpy().sum(axis=1), 1)
    assert model.feature_names_in_.tolist() == ["wind", "pawn"]
    assert model.top_words(1)


@pytest.mark.parametrize("name", COUNTS)
def test_joblib_and_pickle_keep_the_bits(name, tmp_path):
    X = sample_lda(40, 12, 2, doc_length=20, random_state=0).corpus.to_scipy()
    model = COUNTS[name](n_components=2, max_iter=10, random_state=0).fit(X)
    joblib.dump(model, tmp_path / "m.joblib")
    for again in (joblib.load(tmp_path / "m.joblib"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.components_, model.components_)
    both = joblib.Parallel(n_jobs=2)(joblib.delayed(_fit)(name, X) for _ in range(2))
    np.testing.assert_array_equal(both[0], model.components_)
    np.testing.assert_array_equal(both[1], model.components_)


def _fit(name, X):
    return COUNTS[name](n_components=2, max_iter=10, random_state=0).fit(X).components_


def test_the_library_does_not_print(capfd):
    """Nothing calls print, and a fit says nothing unless it is asked."""
    for path in Path(topmix.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"), f"{path}:{node.lineno}"
    LDA(2, max_iter=2, random_state=0).fit(np.ones((5, 3)))
    assert capfd.readouterr() == ("", "")
