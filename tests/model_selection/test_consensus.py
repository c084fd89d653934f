"""A consensus is an ordinary model, knows which of its topics other fits have too, and does not depend on threads."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import topmix
from topmix import (
    HDP,
    LDA,
    CombinatorialLDA,
    GaussianAdmixture,
    GaussianMixture,
    GibbsLDA,
    LabelledLDA,
    MultinomialMixture,
    VonMisesFisherAdmixture,
)
from topmix.base.fields import ModelFileError
from topmix.cuda import device
from topmix.data import sample_lda
from topmix.engines.cuda import Cuda
from topmix.inference import Collapsed
from topmix.report import write_report
from topmix.results.measures import align, centred, compare, match_topics, mean_shares
from topmix.results.view import Reproducibility
from topmix.selection.consensus import CALIBRATION, halves, interval

QUICK = LDA(6, inference=Collapsed(sweeps=15))


@pytest.fixture(scope="module")
def sample():
    return sample_lda(240, 90, 4, doc_length=50, topic_word_prior=0.1, random_state=3)


@pytest.fixture(scope="module")
def result(sample):
    return topmix.consensus(sample.corpus, estimator=QUICK, fits=6, verbose=0)


def to_planted(result, sample):
    """[topics] of each topic, the cosine with the planted topic that it is most like."""
    p, q = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (result.model.topic_word_, sample.topic_word))
    return (p @ q.T).max(axis=1)


def test_planted_topics_are_real_and_others_are_not(result, sample):
    assert result.is_real.sum() == 4  # of the six that were asked for
    assert np.all(to_planted(result, sample)[result.is_real] > 0.95)
    assert result.n_fits == 6
    r = result.reproducibility
    assert np.all(r.found[result.is_real] == 1.0)
    assert np.all((r.low <= r.found) & (r.found <= r.high))
    assert r.similarity[result.is_real].min() > r.similarity[~result.is_real].max()


def test_the_table_has_the_reliable_topics_first(result):
    table = result.table
    assert table["real"].tolist() == [True] * 4 + [False] * 2
    assert sorted(table["topic"]) == list(range(6))
    first = table.iloc[0]
    top = result.model.top_words(20, relevance=1.0)[first["topic"]]
    assert {*first["always"], *first["sometimes"]} <= set(top)
    assert first["always"][:3] == top[:3]
    assert "4 of 6 topics are called real" in str(result)
    assert len(result.to_dict()["topics"]) == 6


def test_words_of_reproducible_topics_come_and_go_less(result):
    r = result.reproducibility
    steady = [len(r.always(k)) for k in range(6)]
    assert min(np.array(steady)[result.is_real]) > max(np.array(steady)[~result.is_real])


def test_the_bits_do_not_depend_on_threads(result, sample):
    other = topmix.consensus(sample.corpus, estimator=QUICK.__class__(**{**QUICK.get_params(deep=False), "n_jobs": 3}),
                             fits=6, verbose=0)  # fmt: skip
    np.testing.assert_array_equal(other.model.topic_word_, result.model.topic_word_)
    np.testing.assert_array_equal(other.similarity, result.similarity)
    assert other.reproducibility.words == result.reproducibility.words


def test_the_model_is_like_any_other(result, sample, tmp_path):
    model = result.model
    assert model.transform(sample.corpus).shape == (240, 6)
    assert model.get_params()["init"] == "auto"  # and not what the consensus began with
    info = model.topic_info()
    assert info.set_index("topic")["reproducibility"].loc[range(6)].tolist() == result.reproducibility.found.tolist()
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded._found().reproducibility.to_dict() == result.reproducibility.to_dict()
    np.testing.assert_array_equal(loaded.topic_word_, model.topic_word_)
    assert loaded._found().reproducibility.words == result.reproducibility.words


def test_edits_keep_what_they_do_not_change(result, sample, tmp_path):
    result.model.save(tmp_path / "model")
    before = result.reproducibility
    dropped = topmix.load(tmp_path / "model").drop_topics([1])
    np.testing.assert_array_equal(dropped._found().reproducibility.found, np.delete(before.found, 1))
    merged = topmix.load(tmp_path / "model").merge_topics([(0, 2)])
    found = merged._found().reproducibility.found
    assert np.isnan(found[0])
    np.testing.assert_array_equal(found[1:], before.found[[1, 3, 4, 5]])
    merged.save(tmp_path / "merged")
    assert np.isnan(topmix.load(tmp_path / "merged").topic_info().set_index("topic")["reliability"][0])
    named = topmix.load(tmp_path / "model").name_topics({0: "a name"})
    assert named._found().reproducibility.to_dict() == before.to_dict()
    fitted_again = topmix.load(tmp_path / "model").set_params(max_iter=2).fit(sample.corpus)
    assert "reproducibility" not in fitted_again.topic_info()


def test_a_forged_file_is_refused(result):
    K, V = 6, 90
    good = result.reproducibility.to_dict()
    assert Reproducibility.from_dict(good, K, V).to_dict() == good
    for bad in (
        {"found": good["found"][1:]},
        {"n_fits": 0},
        {"words": [[[V, 0.5]]] * K},
        {"low": ["x"] * K},
        {"reliability": [7.0] * K},
    ):
        with pytest.raises(ModelFileError, match="makes no sense"):
            Reproducibility.from_dict(good | bad, K, V)
    with pytest.raises(ModelFileError):
        Reproducibility.from_dict({}, K, V)


@pytest.mark.parametrize(
    "estimator",
    [
        GibbsLDA(4, max_iter=20),
        HDP(4, search=None, max_iter=6),
        CombinatorialLDA(4, max_iter=5),
        MultinomialMixture(4),
    ],
    ids=lambda e: type(e).__name__,
)
def test_other_models_of_counts(sample, estimator, tmp_path):
    found = topmix.consensus(sample.corpus, estimator=estimator, fits=4, verbose=0)
    assert type(found.model) is type(estimator)
    assert found.similarity.shape == (4, 4)
    assert np.all(found.reproducibility.found >= 0)
    assert found.doc_topic.shape == (240, 4)
    found.model.save(tmp_path / "model")
    assert topmix.load(tmp_path / "model")._found().reproducibility.n_fits == 4


def test_edits_of_clusters_keep_what_they_do_not_change(sample, tmp_path):
    model = topmix.consensus(sample.corpus, estimator=MultinomialMixture(4), fits=4, verbose=0).model
    before = model._found().reproducibility.found
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        topmix.load(tmp_path / "model").drop_topics([1])._found().reproducibility.found, np.delete(before, 1)
    )
    merged = topmix.load(tmp_path / "model").merge_topics([(0, 2)])
    found = merged._found().reproducibility.found
    assert np.isnan(found[0])
    np.testing.assert_array_equal(found[1:], before[[1, 3]])
    merged.save(tmp_path / "merged")
    assert topmix.load(tmp_path / "merged")._found().reproducibility.n_fits == 4


def test_mixtures_of_rows_are_matched_by_their_rows():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    X = rng.normal(size=(300, 2)) + 8 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    found = topmix.consensus(X, estimator=GaussianMixture(3), fits=4, verbose=0)
    assert found.is_real.all()
    assert topmix.metrics.adjusted_rand(truth, found.labels()) > 0.95
    assert topmix.metrics.adjusted_rand(truth, found.model.predict(X)) > 0.95
    assert found.table["always"].tolist() == [[]] * 3


@pytest.mark.parametrize(
    "Estimator", [GaussianAdmixture, pytest.param(VonMisesFisherAdmixture, marks=pytest.mark.slow)]
)
def test_clusters_of_groups_are_matched_by_their_rows(Estimator):
    rng = np.random.default_rng(0)
    theta, names = rng.dirichlet(np.full(3, 0.4), 24), np.array([f"g{d:02}" for d in range(24)])
    group = rng.integers(24, size=480)
    truth = np.array([rng.choice(3, p=theta[d]) for d in group])
    X = rng.normal(size=(480, 3)) + 8 * np.eye(3)[truth]
    found = topmix.consensus(X, estimator=Estimator(3), groups=names[group], fits=4, verbose=0)
    assert found.is_real.all()
    labels = found.model.predict(X, names[group])
    assert topmix.metrics.adjusted_rand(truth, labels) > 0.95
    assert found.doc_topic.shape == (24, 3)
    shares = np.array([np.bincount(labels[group == d], minlength=3) / (group == d).sum() for d in range(24)])
    np.testing.assert_allclose(found.doc_topic.toarray(), shares, atol=0.05)
    again = topmix.consensus(X, estimator=Estimator(3, n_jobs=1), groups=names[group], fits=4, verbose=0)
    np.testing.assert_array_equal(found.model.means_, again.model.means_)
    runs = [Estimator(3, random_state=s).fit(X, names[group]) for s in range(2)]
    assert topmix.consensus(X, estimator=Estimator(3), groups=names[group], fits=runs, verbose=0).is_real.all()
    with pytest.raises(ValueError, match="24 documents, and each fit has half"):
        topmix.consensus(X, 250, estimator=Estimator(3), groups=names[group], fits=4, verbose=0)
    with pytest.raises(ValueError, match="by itself under a Dirichlet process"):
        topmix.consensus(X, estimator=Estimator(weight_concentration_prior_type="dirichlet_process"), groups=group)
    with pytest.raises(ValueError, match="knows no groups"):
        topmix.consensus(X, estimator=GaussianMixture(3), groups=group)


def test_models_that_were_fitted_before(sample):
    corpus, n = sample.corpus, sample.corpus.n_tokens / 4
    runs = [LDA(4, random_state=s, inference=Collapsed(sweeps=15)).fit(corpus) for s in range(3)]
    models = topmix.consensus(corpus, fits=runs, verbose=0)
    arrays = [LDA(4, init=m.topic_word_ * n, max_iter=0).fit(corpus) for m in runs]  # topics of any library
    of_arrays = topmix.consensus(corpus, fits=arrays, verbose=0)
    assert models.is_real.all()
    assert of_arrays.is_real.all()
    assert np.all(to_planted(of_arrays, sample) > 0.95)
    assert match_topics(of_arrays.model.topic_word_, models.model.topic_word_).distance.max() < 0.1
    with pytest.raises(ValueError, match="same vocabulary"):
        topmix.consensus(corpus, fits=[LDA(2, max_iter=1).fit(np.eye(7))] * 2, verbose=0)
    with pytest.raises(ValueError, match="topic models, got ndarray"):
        topmix.consensus(corpus, fits=[m.topic_word_ for m in runs], verbose=0)
    with pytest.raises(ValueError, match="two or more"):
        topmix.consensus(sample.corpus, fits=runs[:1], verbose=0)


def test_texts_are_read_once_and_the_model_reads_more():
    texts = ["apples and pears are fruit", "pears and plums are ripe fruit", "ships with sails", "sails and masts"] * 12
    found = topmix.consensus(texts, 2, fits=4, verbose=0)
    assert found.model.transform(["ripe plums", "a mast with sails"]).shape == (2, 2)
    shown = {word for words in (*found.table["always"], *found.table["sometimes"]) for word in words}
    assert shown <= {str(word) for word in found.model.feature_names_in_}


def test_what_cannot_be_done_is_said(sample):
    with pytest.raises(ValueError, match="needs labels"):
        topmix.consensus(sample.corpus, estimator=LabelledLDA())
    with pytest.raises(ValueError, match="too few for 200 topics"):
        topmix.consensus(sample.corpus, 200)
    with pytest.raises(ValueError, match="fits"):
        topmix.consensus(sample.corpus, 4, fits=1)
    with pytest.raises(ValueError, match="topic model"):
        topmix.consensus(sample.corpus, estimator=object())


def test_halves_of_a_pair_share_no_row():
    first, second = halves(101, 4, 7), halves(101, 5, 7)
    assert sorted([*first, *second]) == list(range(101))
    assert not np.array_equal(first, halves(101, 2, 7))
    np.testing.assert_array_equal(first, halves(101, 4, 7))


def test_fits_in_any_order_of_topics_are_aligned():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(50, 0.1), 5)
    orders = [rng.permutation(5) for _ in range(4)]
    frequency = topics.mean(axis=0)
    fits = [centred(topics[order], frequency) for order in orders]
    partners = align(fits)
    reference = orders[0][partners[0]]
    assert sorted(reference) == list(range(5))
    for order, partner in zip(orders, partners):
        np.testing.assert_array_equal(order[partner], reference)
    shares = [sp.csr_array(np.eye(5)[:, order]) for order in orders]
    np.testing.assert_allclose(mean_shares(shares, partners).toarray(), np.eye(5)[:, reference])


def test_a_fit_without_a_topic_has_no_partner_for_it():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(50, 0.1), 5)
    frequency = topics.mean(axis=0)
    whole, part = centred(topics, frequency), centred(topics[:4], frequency)
    found = compare(whole, [whole, part])
    assert found.partner[1].tolist() == [0, 1, 2, 3, -1]
    assert found.similarity[1, 4] == 0.0
    np.testing.assert_allclose(found.similarity[0], 1.0, atol=1e-6)
    assert align([whole, part, whole])[1].tolist().count(-1) == 1


def test_topics_are_compared_without_what_all_of_them_have():
    common = np.array([0.6, 0.3, 0.1, 0, 0])
    a, b = 0.9 * common + 0.1 * np.eye(5)[3], 0.9 * common + 0.1 * np.eye(5)[4]
    frequency = (a + b) / 2
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.95
    rows = centred(np.array([a, b, frequency]), frequency)
    assert rows[0] @ rows[1] < 0
    assert not rows[2].any()


def test_intervals_are_those_of_wilson():
    low, high = interval(np.array([0.0, 0.5, 1.0]), 20)
    np.testing.assert_allclose(low, [0.0, 0.2993, 0.8389], atol=1e-4)
    np.testing.assert_allclose(high, [0.1611, 0.7007, 1.0], atol=1e-4)


def test_reliability_rises_with_similarity():
    at = np.interp(np.linspace(0, 1, 50), *zip(*CALIBRATION))
    assert np.all(np.diff(at) >= 0)
    assert at[0] == 0.0
    assert at[-1] > 0.95


def test_ctrl_c_leaves_a_consensus_of_what_was_fitted(sample):
    calls = []

    def interrupt(record, view):
        calls.append(record)
        if len(calls) > 40:
            raise KeyboardInterrupt

    estimator = LDA(4, inference=Collapsed(sweeps=5), n_jobs=1, callbacks=[interrupt])
    with pytest.warns(UserWarning, match="interrupted"):
        found = topmix.consensus(sample.corpus, estimator=estimator, fits=20, verbose=0)
    assert found.interrupted
    assert 2 <= found.n_fits < 20
    calls.clear()
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        topmix.consensus(
            sample.corpus, estimator=estimator.set_params(inference=Collapsed(sweeps=60)), fits=2, verbose=0
        )


def test_the_report_draws_how_many_fits_have_a_topic(result, sample, tmp_path):
    write_report(result.model, tmp_path / "report.html", sample.corpus)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["n_fits"] == 6
    r = result.reproducibility
    assert [found[0] for found in data["reproducibility"]] == pytest.approx(r.found, abs=1e-3)
    assert data["unsteady"][0] == [result.model._found().words[v] for v in r.sometimes(0)]
    said = [why is not None and ("not to be relied on" in why or why == "empty") for why in data["quality"]]
    np.testing.assert_array_equal(said, ~result.is_real)  # listed apart, with the reason
    assert "onTopic.push" in page


def test_fits_at_once_on_a_device_have_one_of_their_own(monkeypatch):
    streams = []

    class Stream:
        def __init__(self, *, non_blocking=False):
            streams.append(non_blocking)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    class Opened:
        def __init__(self, number, memory):
            self.capacity = 1000

    fake = SimpleNamespace(cuda=SimpleNamespace(Device=lambda number: nullcontext(), Stream=Stream))
    monkeypatch.setattr(device, "_import_cupy", lambda: fake)
    monkeypatch.setattr(device, "Device", Opened)
    monkeypatch.setattr(device, "_device_of", cache(device._device_of.__wrapped__))
    monkeypatch.setattr(device, "_stream_of", cache(device._stream_of.__wrapped__))
    engine = Cuda()

    def opened(number):
        with engine.own_stream(number, 4):
            return engine.opened()

    with ThreadPoolExecutor(4) as pool:
        lanes = list(pool.map(opened, range(4)))
    assert len({id(each) for each in lanes}) == 4
    assert all(each.capacity == 250 for each in lanes)
    assert opened(2) is lanes[2]  # programs are loaded once
    assert engine.opened().capacity == 1000
    assert streams == [True] * 4
    with engine.own_stream(0, 1):
        assert engine.opened().capacity == 1000
    assert len(streams) == 4
