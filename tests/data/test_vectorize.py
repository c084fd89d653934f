"""from_texts against scikit-learn's CountVectorizer: the same vocabulary and the same matrix, whatever the text."""

import itertools
import json
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from topmix.base.threads import use_threads
from topmix.corpus import documents
from topmix.data import Vectorizer, from_texts

TEXTS = [
    "The quick brown fox, the lazy dog; it's a_b and C3PO!",
    "",
    "THE END of the fox -- state-of-the-art x y zz",
    "Größe ΣΊΣΥΦΟΣ İstanbul straße naïve cafe\u0301 e\u0301te\u0301",
    "日本語 の テキスト emoji 🎉🎉 party 🎉x new york new york city",
    "tabs\tand\nnewlines\x00nul\x1fsep 1234 56.78 ___ _ a",
    "the the the the",
    "K (Kelvin) ﬁ ligature Ǆ ǅ ªº²½ ٣٤٥ \u200dzero\u200cwidth new york",
]


def check_equal(texts, **kwargs):
    """Either both fail or both agree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn muses about stop words that its pattern would cut
        theirs = CountVectorizer(**kwargs)
        try:
            X = theirs.fit_transform(texts)
        except ValueError:
            with pytest.raises(ValueError):
                from_texts(texts, **kwargs)
            return
    X.sort_indices()
    corpus = from_texts(iter(texts), **kwargs)
    assert list(corpus.vocabulary) == theirs.get_feature_names_out().tolist()
    assert corpus.shape == X.shape
    np.testing.assert_array_equal(corpus.indptr, X.indptr)
    np.testing.assert_array_equal(corpus.index, X.indices)
    np.testing.assert_array_equal(corpus.value, X.data)


GRID = {
    "lowercase": [True, False],
    "token_pattern": [r"(?u)\b\w\w+\b", r"[a-z]{3,}", r"\b[a-z]+\b", r"\S+", r"(\w)\w+", r"[^\W\d_]{2,}"],
    "stop_words": [None, "english", ["the", "new", "größe"]],
    "ngram_range": [(1, 1), (1, 3), (2, 2)],
}


@pytest.mark.parametrize("made", list(itertools.product(*GRID.values())))
def test_equals_countvectorizer(made):
    check_equal(TEXTS, **dict(zip(GRID, made)))


@pytest.mark.parametrize("min_df", [1, 2, 3, 0.0, 0.25, 0.3, 1.0])
@pytest.mark.parametrize("max_df", [1.0, 0.5, 0.26, 0.0, 1, 3])
@pytest.mark.parametrize("max_features", [None, 1, 5, 10_000])
def test_pruning_equals_countvectorizer(min_df, max_df, max_features):
    check_equal(TEXTS, min_df=min_df, max_df=max_df, max_features=max_features)


@pytest.mark.parametrize("strip_accents", ["ascii", "unicode"])
def test_accents_equal_countvectorizer(strip_accents):
    check_equal(TEXTS, strip_accents=strip_accents)


@pytest.mark.parametrize("tokenizer", [str.split, list, lambda s: s.split("e")])
def test_own_tokenizer_equals_countvectorizer(tokenizer):
    theirs = CountVectorizer(tokenizer=tokenizer, token_pattern=None, ngram_range=(1, 2))
    ours = from_texts(TEXTS, tokenizer=tokenizer, ngram_range=(1, 2))
    X = theirs.fit_transform(TEXTS)
    assert list(ours.vocabulary) == theirs.get_feature_names_out().tolist()
    assert (ours.to_scipy() != X).nnz == 0


letters = st.text("aAbB zZİßΣσ́日🎉_09-.\0", max_size=30) | st.text(max_size=30)


@given(texts=st.lists(letters, max_size=8), ngrams=st.sampled_from([(1, 1), (1, 2)]), lowercase=st.booleans())
@example(["\ud800ab cd", "ab"], (1, 2), True)
@settings(max_examples=200)
def test_any_text_equals_countvectorizer(texts, ngrams, lowercase):
    check_equal(texts, ngram_range=ngrams, lowercase=lowercase, token_pattern=r"(?u)\b\w+\b", stop_words=["a", "z"])


def test_ties_in_max_features_break_as_scikit_learn_breaks_them():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(3000, size=200)) for _ in range(100)]
    for limit in (7, 100, 1500):
        check_equal(texts, max_features=limit)


def varied_texts(n, seed=0):
    """Words of a heavy-tailed vocabulary in all shapes: accents, digits, underscores, apostrophes, very long ones."""
    rng = np.random.default_rng(seed)
    odd = ["naïve", "Größe", "don't", "a_b", "__x__", "x" * 20_000, "3.14", "C3PO", "日本語", "e\u0301te", "-", "_"]
    shapes = [str.upper, str.title, str.lower, lambda w: w + "'s", lambda w: f"({w})", lambda w: w + "_" + w]
    texts = []
    for d in range(n):
        ids = rng.zipf(1.3, rng.integers(0, 60) if d % 50 else 0) % 30_000
        words = [shapes[i % len(shapes)](f"w{i:x}y") for i in ids.tolist()]
        if d % 7 == 0:
            words.insert(len(words) // 2, odd[d % len(odd)])
        texts.append((" ", "\n", ", ")[d % 3].join(words))
    return texts


@pytest.mark.parametrize(
    "kwargs",
    [
        {}, {"min_df": 3, "max_df": 0.2, "stop_words": "english"}, {"ngram_range": (1, 2), "min_df": 2},
        {"token_pattern": "[a-z]{3,}", "max_features": 100, "strip_accents": "unicode"},
        {"lowercase": False, "stop_words": ["W1y", "w2y"]},
    ],
)  # fmt: skip
def test_any_number_of_threads_gives_the_matrix_of_countvectorizer(kwargs):
    texts = varied_texts(4000)  # enough for several rounds of several blocks of documents
    for n in (1, 2, 5):
        with use_threads(n):
            check_equal(texts, **kwargs)


def test_any_number_of_threads_gives_the_same_file(tmp_path):
    texts, files = varied_texts(3000), []
    for n in (1, 3):
        with use_threads(n):
            from_texts(texts, min_df=2, out=tmp_path / f"{n}.topmix", names=map(str, range(len(texts))))
            known = Vectorizer(vocabulary=["w1y", "w2y", "x" * 20_000])
            counted = known.transform(texts)
        files.append(((tmp_path / f"{n}.topmix").read_bytes(), counted.value.tobytes(), known.n_unknown_))
    assert files[0] == files[1]


INTERRUPTED = """
import signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
from topmix.data import from_texts
text = " ".join(f"w{i}" for i in range(2000))
ticks = []
def tick():
    while len(ticks) < 20:
        time.sleep(0.01)
        ticks.append(time.monotonic())
    print("counting", flush=True)
threading.Thread(target=tick, daemon=True).start()
try:
    from_texts((text for _ in range(10**7)), ngram_range=(1, 3))
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
"""


def test_other_threads_run_and_ctrl_c_is_answered():
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline().strip() == "counting"  # the counter runs without the GIL
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            word, when = child.stdout.readline().split()
        finally:
            child.kill()
    assert word == "interrupted"
    assert float(when) - sent < 3  # a tenth of a second where nobody else works; the machine may be busy


def test_small_blocks_change_nothing(monkeypatch):
    whole = from_texts(TEXTS, min_df=2)
    monkeypatch.setattr(documents, "BLOCK_TEXTS", 1)
    monkeypatch.setattr(documents, "RUN_TEXTS", 1)
    pieces = from_texts(TEXTS, min_df=2)
    assert list(whole.vocabulary) == list(pieces.vocabulary)
    assert (whole.to_scipy() != pieces.to_scipy()).nnz == 0


def test_a_given_vocabulary_says_the_columns():
    for vocabulary in (["york", "fox", "the"], {"fox": 1, "york": 0, "the": 2}):
        check_equal(TEXTS, vocabulary=vocabulary, stop_words=["the"])
    check_equal(TEXTS, vocabulary={"b", "fox", "the"})


def test_transform_drops_and_counts_unknown_words():
    v = Vectorizer(stop_words=["the"])
    v.fit_transform(["the red fox", "a blue fox"])
    corpus = v.transform(["the green fox fox", "Öl", "blue red"], names=["a", "b", "c"])
    np.testing.assert_array_equal(corpus.to_scipy().toarray(), [[0, 2, 0], [0, 0, 0], [1, 0, 1]])
    assert v.n_unknown_ == 2  # green, öl
    assert list(corpus.names) == ["a", "b", "c"]


def test_settings_travel_with_the_corpus():
    corpus = from_texts(TEXTS, ngram_range=(1, 2), stop_words=["the", "of"], lowercase=False, max_df=0.9)
    settings = json.loads(json.dumps(corpus.meta["tokenizer"]))
    again = Vectorizer.from_dict(settings, vocabulary=corpus.vocabulary)
    assert again.to_dict() == settings
    assert (again.transform(TEXTS).to_scipy() != corpus.to_scipy()).nnz == 0


def test_a_tokenizer_is_remembered_by_name_only():
    settings = Vectorizer(tokenizer=str.split).to_dict()
    with pytest.raises(ValueError, match="pass it as tokenizer="):
        Vectorizer.from_dict(settings)
    assert Vectorizer.from_dict(settings, tokenizer=str.split).tokenizer is str.split
    with pytest.raises(ValueError, match="not the settings"):
        Vectorizer.from_dict({"colour": "blue"})


@pytest.mark.parametrize(
    ("texts", "kwargs", "error", "match"),
    [
        ("one text", {}, ValueError, "single string"),
        (b"one text", {}, ValueError, "single string"),
        (["fine", None], {}, TypeError, "text 1 is not a string but NoneType"),
        (["fine", float("nan")], {}, TypeError, "text 1 .* float: nan"),
        ([b"raw"], {}, TypeError, "text 0 is bytes: decode"),
        ([], {}, ValueError, "no documents"),
        (["", "!"], {}, ValueError, "2 documents hold no words"),
        (["the"], {"stop_words": "english"}, ValueError, "stop words"),
        (["aa bb", "cc aa"], {"min_df": 2, "max_df": 0.9}, ValueError, "max_df=0.9 is 1.8"),
        (
            ["aa bb", "cc aa"] * 2,
            {"min_df": 3, "max_df": 3},
            ValueError,
            r"left of 3 .* removed 2 and max_df=3 removed 1",
        ),
        (["aa"], {"names": []}, ValueError, "names ended after 0"),
        (["aa"], {"names": ["x", "y"]}, ValueError, "texts ended after 1"),
        (["aa"], {"min_df": 0}, ValueError, "at least 1"),
        (["aa"], {"max_df": 1.5}, ValueError, "share"),
        (["aa"], {"max_df": True}, TypeError, "max_df=True"),
        (["aa"], {"max_features": 0}, ValueError, "max_features=0"),
        (["aa"], {"ngram_range": (2, 1)}, ValueError, "shortest <= longest"),
        (["aa"], {"stop_words": "klingon"}, ValueError, "pass a list of words"),
        (["aa"], {"stop_words": [1]}, TypeError, "holds 1"),
        (["aa"], {"token_pattern": "("}, ValueError, "not a regular expression"),
        (["aa"], {"token_pattern": "(a)(b)"}, ValueError, "capturing group"),
        (["aa"], {"vocabulary": []}, ValueError, "empty"),
        (["aa"], {"vocabulary": "aa"}, ValueError, "single string"),
        (["aa"], {"vocabulary": ["aa", "aa"]}, ValueError, "'aa' twice"),
        (["aa"], {"vocabulary": {"aa": 1}}, ValueError, "columns"),
        (["aa"], {"strip_accents": "both"}, ValueError, "strip_accents"),
        (["aa"], {"tokenizer": lambda s: [1]}, TypeError, "token is not a string"),
    ],
)
def test_errors_say_what_to_do(texts, kwargs, error, match):
    with pytest.raises(error, match=match):
        from_texts(texts, **kwargs)


def test_transform_needs_a_vocabulary():
    with pytest.raises(ValueError, match="fit_transform first"):
        Vectorizer().transform(["aa"])
