"""A file says what was learned, and reaches nothing outside: no address, folder or program that it names is used."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
from contextlib import suppress

import numpy as np
import pytest

import topmix
from tests.hostile import forged, reach
from topmix.apps.report import write_report
from topmix.data import Corpus
from topmix.engines.cuda import Cuda
from topmix.engines.local import Serial, Threads
from topmix.engines.ray_engine import Ray

TEXTS = ["apples and pears and plums", "pears and plums", "ships and sails and masts", "sails and masts"] * 6
ROWS = np.random.default_rng(0).normal(size=(40, 3))
NOWHERE = "203.0.113.9:6379"  # an address that is for documentation
HOSTILE = [NOWHERE, f"https://{NOWHERE}/x", "../../outside", "os.system"]
COMMON = {"max_iter": 2, "random_state": 0}


def estimators():
    return {
        "LDA": (topmix.LDA(2, **COMMON), TEXTS),
        "HDP": (topmix.HDP(3, search=None, **COMMON), TEXTS),
        "GibbsLDA": (topmix.GibbsLDA(2, **COMMON), TEXTS),
        "CombinatorialLDA": (topmix.CombinatorialLDA(2, **COMMON), TEXTS),
        "MultinomialMixture": (topmix.MultinomialMixture(2, **COMMON), TEXTS),
        "GaussianMixture": (topmix.GaussianMixture(2, **COMMON), ROWS),
        "VonMisesFisherMixture": (topmix.VonMisesFisherMixture(2, **COMMON), ROWS),
    }


NAMES = list(estimators())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """name -> (bytes of a model file, its data)."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for name, (model, X) in estimators().items():
        model.fit(X).save(folder / name)
        found[name] = (folder / name).read_bytes(), X
    return found


def use(path, X) -> None:
    """What people do with a model file. A ValueError will do: some parameters are checked when they are used."""
    model = topmix.load(path)
    for ask in ("transform", "predict", "predict_proba", "score", "partial_fit", "fit", "top_words", "topic_info"):
        if hasattr(model, ask):
            with suppress(ValueError):
                getattr(model, ask)(*([] if ask.startswith("top") else [X]))
    if hasattr(model, "predictor"):
        topmix.load_predictor(path)("pears and plums")


def test_the_hook_sees_what_reaches_out(tmp_path):
    with reach() as seen:
        (tmp_path / "file").write_text("x")
        subprocess.run(["true"], check=True)
        with socket.socket() as probe:
            probe.connect_ex(("127.0.0.1", 9))
    assert any("writes" in event for event in seen)
    assert any("subprocess" in event or "spawn" in event or "fork" in event for event in seen)
    assert any("socket.connect" in event for event in seen)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_file_does_not_choose_where_to_compute(name, saved, tmp_path):
    """As a file of somebody who wrote an engine into it, with and without its settings."""
    data, X = saved[name]
    path = tmp_path / "model"
    for engine in (
        "ray",
        {"component": "Ray", "address": NOWHERE},
        "cuda",
        {"component": "Cuda"},
    ):
        path.write_bytes(forged(data, lambda about, engine=engine: about["parameters"].update(engine=engine)))
        if name == "CombinatorialLDA":
            with pytest.raises(topmix.base.fields.ModelFileError, match="has no parameter 'engine'"):
                topmix.load(path)
            continue
        use(path, X)  # what is imported is there before somebody looks
        with reach() as seen:
            use(path, X)
        assert seen == []
        assert topmix.load(path).engine == "threads"


@pytest.mark.parametrize("name", NAMES)
def test_no_string_in_a_model_file_reaches_out(name, saved, tmp_path):
    """Every value of the table in turn is an address, a URL, a path and the name of a function."""
    data, X = saved[name]
    path, n_loaded = tmp_path / "model", 0
    path.write_bytes(data)
    use(path, X)
    about = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["model"])
    for n, place in enumerate(leaves(about)):
        path.write_bytes(forged(data, lambda about, place=place, n=n: put(about, place, HOSTILE[n % len(HOSTILE)])))
        with reach() as seen, suppress(ValueError):
            topmix.load(path)
            n_loaded += 1
            use(path, X[:8])
        assert seen == [], place
    assert n_loaded >= 1


def leaves(tree, at=()):
    """Places of all values of JSON; of a list the first and the last, which stand for the others."""
    if isinstance(tree, dict) and tree:
        return [place for key in tree for place in leaves(tree[key], (*at, key))]
    if isinstance(tree, list) and tree:
        return [place for n in {0, len(tree) - 1} for place in leaves(tree[n], (*at, n))]
    return [at]


def put(tree, place, value) -> None:
    for key in place[:-1]:
        tree = tree[key]
    tree[place[-1]] = value


def test_an_engine_is_what_the_loader_passes(tmp_path, caplog):
    model = topmix.LDA(2, engine=Serial(), **COMMON).fit(TEXTS)
    model.engine = Ray(address=NOWHERE)
    model.save(tmp_path / "model")
    assert NOWHERE.encode() not in (tmp_path / "model").read_bytes()
    with caplog.at_level(logging.WARNING, logger="topmix"):
        loaded = topmix.load(tmp_path / "model")
    assert loaded.engine == "threads"
    assert "the fit used engine='ray'" in caplog.text
    np.testing.assert_array_equal(loaded.transform(TEXTS), model.set_params(engine="threads").transform(TEXTS))
    caplog.clear()
    for engine in ("serial", Serial(), Threads(), Cuda(device=1), Ray(address="auto")):
        assert topmix.load(tmp_path / "model", engine=engine).engine == engine
    assert caplog.text == ""
    model.save(tmp_path / "model")
    topmix.load(tmp_path / "model")
    assert caplog.text == ""  # the default is nothing to speak of
    for wrong in ("fast", 3, Ray):
        with pytest.raises(ValueError, match="engine"):
            topmix.load(tmp_path / "model", engine=wrong)
    topmix.CombinatorialLDA(2, **COMMON).fit(TEXTS).save(tmp_path / "hard")
    with pytest.raises(ValueError, match="Invalid parameter 'engine'"):
        topmix.load(tmp_path / "hard", engine="threads")


def test_a_stream_does_not_choose_where_to_compute(saved, tmp_path):
    """It writes to its own folder and nowhere else."""

    def stream():
        return topmix.Stream(topmix.LDA(2, random_state=0), tmp_path / "stream", admit=1)

    stream().learn(TEXTS, id=1)
    model = tmp_path / "stream" / "model-1"
    hostile = {"component": "Ray", "address": NOWHERE}
    model.write_bytes(forged(model.read_bytes(), lambda about: about["parameters"].update(engine=hostile)))
    with reach() as seen:
        stream().learn(TEXTS, id=2)
    assert seen
    assert [event for event in seen if str(tmp_path / "stream") not in event] == []


@pytest.mark.parametrize("cls", [topmix.LDA, topmix.MultinomialMixture])
def test_a_checkpoint_reaches_its_own_file_alone(cls, tmp_path):
    def fit(passes):
        model = cls(2, max_iter=passes, tol=-1e300, random_state=0)
        return model.fit(TEXTS, checkpoint=tmp_path / "checkpoint")

    fit(2)
    with reach() as seen:
        fit(4)
    assert seen
    assert [event for event in seen if str(tmp_path) not in event] == []


def test_edits_and_reports_of_a_model_write_what_they_are_told_to(saved, tmp_path):
    data, _ = saved["LDA"]
    edits = [{"do": "rename", "topic": 0, "name": "../../outside"}, {"do": "freeze", "topic": 1}]
    (tmp_path / "model").write_bytes(forged(data, lambda about: about.update(edits=edits)))
    model = topmix.load(tmp_path / "model")
    write_report(model, tmp_path / "report.html", TEXTS)
    with reach() as seen:
        again = topmix.edits.replay(model, model.edits_, TEXTS)
        topmix.edits.script(again.edits_)
        write_report(again, tmp_path / "report.html", TEXTS)
    assert [event for event in seen if f"{tmp_path}/" not in event or "report.html" not in event] == []


def test_a_corpus_file_reaches_nothing(tmp_path):
    corpus = Corpus.from_scipy(np.arange(60).reshape(12, 5) % 4, vocabulary=list("abcde"))
    corpus.save(tmp_path / "corpus.topmix")
    topmix.LDA(2, **COMMON).fit(tmp_path / "corpus.topmix")
    with reach() as seen:
        topmix.LDA(2, **COMMON).fit(tmp_path / "corpus.topmix").transform(tmp_path / "corpus.topmix")
    assert seen == []
