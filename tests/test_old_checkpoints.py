"""Checkpoints of older versions are continued to what the uninterrupted fits of those versions gave."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from topmix import HDP, LDA
from topmix.fitting.checkpoint import CheckpointError
from topmix.inference import SCVB0, Collapsed, Variational
from topmix.learners import Batch, Memoized, Stochastic

FORMATS = Path(__file__).parent / "formats"
CHECKPOINTS = sorted(FORMATS.glob("*.checkpoint"))

# The fits of formats/make_first_checkpoints.py, in the words of this version.
FEW, PAIR = Memoized(batch_size=20), Memoized(batch_size=30)
LEARNED = {"doc_topic_prior": "auto", "topic_word_prior": "auto"}
PRIORS = {"doc_topic_prior": np.linspace(0.1, 0.3, 4), "topic_word_prior": np.linspace(0.01, 0.1, 30)}
COLLAPSED, VARIATIONAL = Collapsed(doc_tol=0.001), Variational(doc_tol=0.001)
FITS = {
    "LDA-collapsed": LDA(4, inference=COLLAPSED, learner=FEW),
    "LDA-collapsed-learned": LDA(4, inference=COLLAPSED, learner=FEW, **LEARNED),
    "LDA-collapsed-many": LDA(20, inference=COLLAPSED, learner=FEW),
    "LDA-variational": LDA(4, inference=VARIATIONAL, learner=FEW),
    "LDA-variational-learned": LDA(4, inference=VARIATIONAL, learner=FEW, **LEARNED),
    "LDA-given": LDA(4, inference=Collapsed(doc_tol=0.001, cold_visits=None, own_discount=0.0), learner=FEW, **PRIORS),
    "LDA-stochastic": LDA(4, inference=SCVB0(doc_decay=0.9), learner=Stochastic(batch_size=20)),
    "LDA-batch": LDA(4, inference=COLLAPSED, learner=Batch()),
    "HDP-fixed": HDP(4, inference=COLLAPSED, learner=FEW, search=None, doc_topic_prior="auto"),
    "HDP-search": HDP(4, inference=COLLAPSED, learner=PAIR),
    "HDP-search-variational": HDP(4, inference=VARIATIONAL, learner=PAIR, topic_word_prior="auto"),
}


def made():
    """formats/make.py"""
    spec = importlib.util.spec_from_file_location("make_formats", FORMATS / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    return make


@pytest.fixture(scope="module")
def corpus():
    return made().documents()


def estimator(path):
    name, _, _ = path.stem.partition("-after-")
    if not path.stem.endswith("-1"):
        return made().interrupted()[name][0]
    searches = name.startswith("HDP-search")
    how = {"max_iter": 60} if searches else {"max_iter": 7, "tol": -np.inf}
    return FITS[name].set_params(random_state=0, n_jobs=1, **how)


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda p: p.stem)
def test_an_old_checkpoint_is_continued_to_the_same_numbers(path, corpus, tmp_path):
    said, copy = json.loads(path.with_suffix(".json").read_text()), tmp_path / "copy"
    shutil.copy(path, copy)
    passes = []
    model = estimator(path).set_params(callbacks=[lambda record, view: passes.append(record.n_pass)])
    model.fit(corpus, checkpoint=copy)
    # Bits depend on the instruction set: numbers are compared.
    np.testing.assert_allclose([r.objective for r in model.history_], said["objectives"], rtol=1e-6)
    assert [sorted(r.moves) for r in model.history_] == said["moves"]
    np.testing.assert_allclose(model.components_, said["components"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.doc_topic_prior_, said["doc_topic_prior"], rtol=1e-6)
    assert model.converged_ == said["converged"]
    assert passes[0] > 1  # it was continued
    assert passes == list(range(passes[0], len(model.history_) + 1))


def test_there_is_a_checkpoint_of_every_fit():
    assert {path.stem.partition("-after-")[0] for path in CHECKPOINTS} == {*FITS, *made().interrupted()}
    assert all(path.stat().st_size < 30_000 for path in CHECKPOINTS)


def test_a_first_format_checkpoint_is_written_again_in_this_format(corpus, tmp_path):
    """After the first pass that is made, the file is one of this version, and nothing of the fit is lost."""
    path, copy = FORMATS / "LDA-collapsed-learned-after-3-1.checkpoint", tmp_path / "copy"
    shutil.copy(path, copy)
    estimator(path).set_params(max_iter=5, callbacks=None).fit(corpus, checkpoint=copy)
    assert b'"format_version":"3"' in copy.read_bytes().replace(b'": "', b'":"')
    resumed = estimator(path).set_params(callbacks=None).fit(corpus, checkpoint=copy)
    whole = estimator(path).fit(corpus)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


def test_another_fit_is_refused_in_the_first_format_too(corpus, tmp_path):
    path, copy = FORMATS / "LDA-collapsed-after-3-1.checkpoint", tmp_path / "copy"
    shutil.copy(path, copy)
    for change, said in (
        ({"n_components": 5}, "n_components was 4 and is 5"),
        ({"inference__own_discount": 0.25}, "inference was"),
        ({"learner": "batch"}, "learner was"),
        ({"topic_word_prior": 0.1}, "topic_word_prior was None and is 0.1"),
    ):
        other = LDA(4, inference=COLLAPSED, learner=FEW, random_state=0).set_params(**change)
        with pytest.raises(CheckpointError, match=f"the checkpoint of another fit: {said}"):
            other.fit(corpus, checkpoint=copy)
