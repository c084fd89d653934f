"""Coherence against its definition, against gensim, and where the answer is known."""

import math

import numpy as np
import pytest

from topmix.data import Corpus
from topmix.metrics import cv_coherence, npmi_coherence, umass_coherence

WORDS = [f"w{i}" for i in range(30)]
TOPICS = [["w0", "w1", "w2", "w3"], ["w3", "w9", "w1", "w20"], ["w29", "w28", "w5", "w11"]]


@pytest.fixture(scope="module")
def texts():
    """150 texts of 0 to 60 tokens; frequent words repeat within a window."""
    rng = np.random.default_rng(0)
    p = 1 / np.arange(1, 31)
    return [[WORDS[i] for i in rng.choice(30, rng.integers(60), p=p / p.sum())] for _ in range(150)]


@pytest.fixture(scope="module")
def corpus(texts):
    X = np.array([[t.count(w) for w in WORDS] for t in texts])
    return Corpus.from_scipy(X, vocabulary=WORDS)


def slow_windows(texts, size):
    return [set(t[i : i + size]) for t in texts for i in range(max(1, len(t) - size + 1))]


def slow_npmi(topic, sets, eps=1e-12):
    def p(*words):
        return sum(all(w in s for w in words) for s in sets) / len(sets)

    values = [
        math.log((p(u, v) + eps) / (p(u) * p(v))) / -math.log(p(u, v) + eps) for u in topic for v in topic if u != v
    ]
    return sum(values) / len(values)


@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
def test_windows_are_all_runs_of_consecutive_tokens(texts, size):
    expected = [slow_npmi(t, slow_windows(texts, size)) for t in TOPICS]
    np.testing.assert_allclose(npmi_coherence(TOPICS, texts=texts, window_size=size, per_topic=True), expected)


def test_windows_counted_in_parts_are_the_same(texts, monkeypatch):
    whole = npmi_coherence(TOPICS, texts=texts, per_topic=True)
    monkeypatch.setattr("topmix.results.coherence._ENTRIES", 100)
    np.testing.assert_array_equal(npmi_coherence(TOPICS, texts=texts, per_topic=True), whole)


def test_documents_are_windows_as_long_as_the_text(texts, corpus):
    for measure in (npmi_coherence, cv_coherence):
        assert measure(TOPICS, corpus) == measure(TOPICS, texts=texts, window_size=None)
    assert umass_coherence(TOPICS, corpus) == umass_coherence(TOPICS, texts=texts)


def test_ids_words_and_matrices_name_the_same_topics(corpus):
    ids = [[WORDS.index(w) for w in t] for t in TOPICS]
    phi = np.full((3, 30), 0.001)
    for k, t in enumerate(ids):
        phi[k, t] = [0.4, 0.3, 0.2, 0.1]
    X = corpus.to_scipy()
    expected = umass_coherence(TOPICS, corpus, top_n=4, per_topic=True)
    for topics, kwargs in ((ids, {}), (np.array(ids), {}), (phi, {}), (TOPICS, {"vocabulary": WORDS})):
        np.testing.assert_array_equal(umass_coherence(topics, X, top_n=4, per_topic=True, **kwargs), expected)


def test_always_together_is_one_and_never_is_minus_one():
    X = np.array([[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 4]])
    assert npmi_coherence([[0, 1]], X) == pytest.approx(1)
    assert npmi_coherence([[0, 2]], X, eps=0) == -1
    # ε lifts that, as it does in gensim.
    assert npmi_coherence([[0, 2]], X) == pytest.approx(-1 + math.log(0.25) / math.log(1e-12))
    assert npmi_coherence([[0, 1]], X[:2]) == 1  # in every document
    assert umass_coherence([[0, 1]], X) == pytest.approx(0, abs=1e-9)


def test_independent_words_have_none():
    X = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    assert npmi_coherence([[0, 1]], X) == pytest.approx(0, abs=1e-9)


def test_a_word_in_no_document_is_never_together_with_another():
    X = np.array([[1, 0], [1, 0], [0, 0]])
    assert npmi_coherence([[0, 1]], X) == -1
    assert npmi_coherence([[0, 1]], X, eps=0) == -1
    assert umass_coherence([[0, 1]], X) == pytest.approx(math.log(1e-12 / (2 / 3)))
    assert umass_coherence([[1, 0]], X) == 0  # nothing to condition on


def test_per_topic_averages_to_the_whole_and_follows_order(texts):
    each = cv_coherence(TOPICS, texts=texts, per_topic=True)
    assert cv_coherence(TOPICS, texts=texts) == pytest.approx(each.mean())
    np.testing.assert_array_equal(cv_coherence(TOPICS[::-1], texts=texts, per_topic=True), each[::-1])


class TestGensim:
    """The same numbers as gensim's CoherenceModel."""

    @pytest.fixture
    def model(self, texts):
        models = pytest.importorskip("gensim.models", reason="gensim is not installed")
        from gensim.corpora import Dictionary

        dictionary = Dictionary([WORDS])

        def per_topic(coherence, texts=texts, **kwargs):
            return models.CoherenceModel(
                topics=TOPICS, texts=texts, dictionary=dictionary, coherence=coherence, processes=1, topn=4, **kwargs
            ).get_coherence_per_topic()

        return per_topic

    @pytest.fixture
    def windows_keep_repeated_words(self, monkeypatch):
        # gensim drops a word from the window when its first copy leaves, though another is still in it.
        text_analysis = pytest.importorskip("gensim.topic_coherence.text_analysis", reason="gensim is not installed")

        def slide(self, window, doc_num):
            self._uniq_words[:] = False
            self._uniq_words[np.unique(window)] = True

        monkeypatch.setattr(text_analysis.WordOccurrenceAccumulator, "_slide_window", slide)

    def test_umass(self, model, texts, corpus):
        np.testing.assert_allclose(umass_coherence(TOPICS, corpus, per_topic=True), model("u_mass"), rtol=1e-12)

    @pytest.mark.parametrize(("name", "measure"), [("c_npmi", npmi_coherence), ("c_v", cv_coherence)])
    @pytest.mark.parametrize("size", [3, 10, 110])
    @pytest.mark.usefixtures("windows_keep_repeated_words")
    def test_windows(self, model, texts, name, measure, size):
        ours = measure(TOPICS, texts=texts, window_size=size, per_topic=True)
        np.testing.assert_allclose(ours, model(name, window_size=size), rtol=1e-10)

    @pytest.mark.parametrize(("name", "measure"), [("c_npmi", npmi_coherence), ("c_v", cv_coherence)])
    def test_default_windows_without_repeats_need_no_patch(self, model, name, measure):
        rng = np.random.default_rng(1)
        texts = [[WORDS[i] for i in rng.permutation(30)[: rng.integers(31)]] for _ in range(200)]
        np.testing.assert_allclose(measure(TOPICS, texts=texts, per_topic=True), model(name, texts=texts), rtol=1e-10)

    @pytest.mark.parametrize(("name", "measure"), [("c_npmi", npmi_coherence), ("c_v", cv_coherence)])
    def test_documents(self, model, corpus, name, measure):
        # A window longer than any text is the text.
        np.testing.assert_allclose(measure(TOPICS, corpus, per_topic=True), model(name, window_size=1000), rtol=1e-10)


@pytest.mark.parametrize(
    ("args", "kwargs", "match"),
    [
        ((TOPICS,), {}, "either X"),
        ((TOPICS, np.ones((2, 30))), {}, "pass vocabulary="),
        (([[0, 1]],), {"texts": [["w0"]]}, "pass vocabulary="),
        (([["x", "w0"]], np.ones((2, 30))), {"vocabulary": WORDS}, "'x' is not in"),
        (([[0, 30]], np.ones((2, 30))), {}, "not among the 30 words"),
        (([[0]], np.ones((2, 30))), {}, "two top words"),
        (([[0, 1]], np.ones((2, 30))), {"top_n": 1}, "at least 2"),
        (([[0, 1]], np.ones((0, 30))), {}, "no documents"),
        ((TOPICS,), {"texts": [["w0"]], "window_size": 0}, "at least 1"),
    ],
)
def test_bad_arguments_are_refused(args, kwargs, match):
    with pytest.raises(ValueError, match=match):
        npmi_coherence(*args, **kwargs)
