"""A predictor says what the model says, one text at a time, to any number of threads, for ever."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import topmix
from topmix import HDP, LDA, GibbsLDA
from topmix.data import Vectorizer, from_texts
from topmix.inference import Variational
from topmix.models.sparse_counts import SparseCounts
from topmix.results import predictor as predictors

SUBJECTS = ["cat dog bone leash paw vet", "star planet orbit moon comet telescope", "bread flour yeast oven salt dough"]
K = 12


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    words = [subject.split() for subject in SUBJECTS]
    rare = [f"rare{i}" for i in range(300)]
    return [
        " ".join([*rng.choice(words[d % 3], 8), *rng.choice(words[rng.integers(3)], 2), *rng.choice(rare, 3), "the"])
        for d in range(n)
    ]


TRAINING = texts(240)
ODD = ["", "nothing known here", "Cat cat CAT", "стар planète café star", "cat " * 500, ["cat", "moon", "unknown"]]
MODELS = {
    "LDA": lambda: LDA(K, max_iter=3, random_state=0),
    "variational": lambda: LDA(K, inference=Variational(), max_iter=3, random_state=0),
    "learned prior": lambda: LDA(K, doc_topic_prior="auto", max_iter=3, random_state=0),
    "seeds": lambda: LDA(K, seeds=[["cat", "dog"], None, ["star"]], max_iter=3, random_state=0),
    "stochastic": lambda: LDA(K, learner="stochastic", max_iter=3, random_state=0),
    "HDP": lambda: HDP(K, search=None, max_iter=3, random_state=0),
    "GibbsLDA": lambda: GibbsLDA(K, max_iter=6, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]().fit(TRAINING)


@pytest.fixture(scope="module")
def lda():
    return MODELS["LDA"]().fit(TRAINING)


@pytest.mark.parametrize("kept", [1 << 25, 40 * 4 * K, 0])
def test_a_predictor_has_the_bits_of_transform(model, kept, tmp_path, monkeypatch):
    """Whether the weights of all, some or no words are kept."""
    monkeypatch.setattr(predictors, "KEPT_BYTES", kept)
    asked = [*texts(40, seed=1), *ODD]
    want = model.transform(asked)
    model.save(tmp_path / "model")
    made = model.predictor()
    for found in (made, pickle.loads(pickle.dumps(made)), topmix.load_predictor(tmp_path / "model")):
        np.testing.assert_array_equal(found.transform(asked), want)
        np.testing.assert_array_equal(found.transform(asked), want)  # now that weights were kept
        assert found.topic_names == model.topic_names_
        if getattr(model, "learner", None) != "stochastic":  # which never forgets a start quite
            assert isinstance(found._model.words.total.held, SparseCounts)


def test_the_largest_topics_come_first(lda):
    predictor, names = lda.predictor(), lda.topic_names_
    for text in texts(20, seed=2):
        row = lda.transform([text])[0]
        used = lda.transform([text], sparse_output=True).indices
        shares = predictor(text, top=3)
        assert [share.topic for share in shares] == sorted(used, key=lambda k: -row[k])[:3]
        assert [share.weight for share in shares] == [row[share.topic] for share in shares]
        assert [share.name for share in shares] == [names[share.topic] for share in shares]
        assert predictor.topics(text, top=10**6) == predictor.topics(text, top=K)


def test_a_text_without_known_words_has_no_topics(lda):
    predictor = lda.predictor()
    assert predictor("") == predictor("qwerty") == predictor([]) == []
    assert predictor.transform([]).shape == (0, K)


def test_names_that_were_given(lda):
    named = pickle.loads(pickle.dumps(lda)).name_topics({3: "animals"})
    assert named.predictor().topic_names == named.topic_names_
    assert named.predictor().topic_names[3] == "animals"
    assert named.name_topics([f"t{k}" for k in range(K)]).predictor().topic_names == [f"t{k}" for k in range(K)]


def test_later_learning_does_not_change_a_predictor():
    model = MODELS["LDA"]().fit(TRAINING)
    predictor, asked = model.predictor(), texts(10, seed=3)
    before = predictor.transform(asked)
    model.partial_fit(texts(50, seed=4))
    model.fit(texts(100, seed=5))
    np.testing.assert_array_equal(predictor.transform(asked), before)


def test_threads_get_the_same_answers(lda):
    asked = texts(300, seed=6)
    want = [lda.predictor()(text) for text in asked]
    predictor = lda.predictor()  # threads meet every word for the first time
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(predictor, asked)) == want


def test_memory_does_not_grow_with_calls(lda):
    """Nor with words that nobody has seen before."""
    predictor = lda.predictor()

    def ask(n):
        for i in range(n):
            predictor(f"cat dog unseen{i} star unknown{i * 7}")
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = min(ask(1500), ask(500))
    assert ask(6000) - before < 3e6


def test_the_process_that_opens_a_file_maps_it(lda, tmp_path):
    lda.save(tmp_path / "model")
    predictor = topmix.load_predictor(tmp_path / "model")
    with open("/proc/self/maps") as file:
        assert str(tmp_path / "model") in file.read()
    value = predictor._model.words.total.held.double.value
    assert not value.flags.writeable
    assert not value.flags.owndata
    lda.save(tmp_path / "model")  # which replaces the file, and leaves what is mapped
    assert predictor(TRAINING[0]) == lda.predictor()(TRAINING[0])


def test_what_cannot_be_asked(lda, tmp_path):
    predictor = lda.predictor()
    for wrong in (3, None, b"cat", {"text": "cat"}):
        with pytest.raises(TypeError, match="a text is a string"):
            predictor(wrong)
    with pytest.raises(TypeError, match="not a string"):
        predictor(["cat", 3])
    with pytest.raises(ValueError, match="top must be"):
        predictor("cat", top=0)
    with pytest.raises(ValueError, match="single string"):
        predictor.transform("cat")
    with pytest.raises(NotFittedError):
        LDA(3).predictor()
    counts = from_texts(TRAINING).to_scipy()
    nameless = LDA(3, max_iter=1, random_state=0).fit(counts).predictor()
    assert nameless.n_topics == 3
    with pytest.raises(ValueError, match="without a vocabulary"):
        nameless("cat")
    topmix.MultinomialMixture(3, random_state=0).fit(counts).save(tmp_path / "mixture")
    with pytest.raises(ValueError, match="MultinomialMixture, which has no predictor"):
        topmix.load_predictor(tmp_path / "mixture")


def test_phrases_and_patterns_are_those_of_the_fit():
    how = Vectorizer(ngram_range=(1, 2), token_pattern=r"[a-zé]{3,}", stop_words=["the"], strip_accents="unicode")
    model = LDA(4, max_iter=2, random_state=0).fit(TRAINING, vectorizer=how)
    asked = [*texts(10, seed=7), "the cât dog", "Café star planet"]
    np.testing.assert_array_equal(model.predictor().transform(asked), model.transform(asked))


def test_a_vectorizer_keeps_its_counter_until_its_words_or_settings_change(lda):
    vectorizer = Vectorizer.of(lda)
    first = vectorizer.transform(["cat dog unheard"])
    assert vectorizer.n_unknown_ == 1
    counter = vectorizer._known[-1]
    again = vectorizer.transform(["cat dog unheard"])
    np.testing.assert_array_equal(again.to_scipy().toarray(), first.to_scipy().toarray())
    assert vectorizer.n_unknown_ == 1
    assert vectorizer._known[-1] is counter
    vectorizer.set_params(stop_words=["cat"])
    vectorizer.stop_words_ = ["cat"]
    assert vectorizer.transform(["cat dog"]).n_tokens == 1
    vectorizer.vocabulary_ = ["dog", "cow"]
    assert vectorizer.transform(["cat dog cow"]).to_scipy().toarray().tolist() == [[1.0, 1.0]]
    again = pickle.loads(pickle.dumps(vectorizer))
    assert again.transform(["cow"]).to_scipy().toarray().tolist() == [[0.0, 1.0]]


def test_vectorizers_of_a_model_share_what_was_made_and_nothing_else(lda):
    one, two = (lda._fitted.reading.counter() for _ in range(2))
    assert one is not two
    assert one._known is two._known
    one.transform(["unheard"])
    assert (one.n_unknown_, two.n_unknown_) == (1, 0)
    one.vocabulary_ = ["cow"]
    one.set_params(lowercase=False)
    assert two.transform(["Cat cow"]).n_tokens == Vectorizer.of(lda).transform(["Cat cow"]).n_tokens == 1
    odd = SimpleNamespace(feature_names_in_=np.array(["cat", "cow"], object))
    assert Vectorizer.of(odd).transform(["cow"]).n_tokens == 1
    mine = Vectorizer.of(lda, tokenizer=str.split)
    assert mine._known_vocabulary() == list(lda.feature_names_in_)
    assert mine.transform(["cat. dog"]).n_tokens == 1


def test_a_model_whose_words_change_reads_texts_in_the_new_ones():
    model = LDA(3, max_iter=1, random_state=0).fit(TRAINING)
    before = model.counts(["cat novel"]).n_tokens
    model.partial_fit(["novel novel cat", "dog bone"] * 10 + ["star", "moon"] * 10)
    assert model.counts(["cat novel"]).n_tokens == before + 1
