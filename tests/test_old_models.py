"""Model files of older versions load, and say what they said."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import topmix
from topmix.estimators import ESTIMATORS
from topmix.files.store import FORMAT_VERSION

from .model_files.conftest import learned

FORMATS = Path(__file__).parent / "formats"


@pytest.mark.parametrize("path", sorted(FORMATS.glob("*.topmix")), ids=lambda p: p.stem)
def test_old_files_load(path):
    spec = importlib.util.spec_from_file_location("make_formats", FORMATS / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    said = json.loads(path.with_suffix(".json").read_text())
    model = topmix.load(path)
    assert model.feature_names_in_[3] == "wörd3"
    was_shares = path.stem == "MultinomialMixture-1"  # its components_ were probabilities
    np.testing.assert_allclose(model.topic_word_ if was_shares else learned(model), said["components"], atol=1e-5)
    # Inference may improve a little over the years.
    np.testing.assert_allclose(make.answer(model, make.documents()[:5]), said["answer"], atol=0.02)


def test_every_estimator_has_an_old_file():
    assert {path.stem.split("-")[0] for path in FORMATS.glob("*.topmix")} == set(ESTIMATORS)
    assert {path.stem.split("-")[0] for path in FORMATS.glob(f"*-{FORMAT_VERSION}.topmix")} == set(ESTIMATORS)
    assert all(path.stat().st_size < 20_000 for path in FORMATS.glob("*.topmix"))
