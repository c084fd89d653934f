"""The native counter against its twin, and the patterns that it claims against `re`."""

import json
import re
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import topmix
from tests.twins.tokenize import TermCounter
from topmix import LDA, _core
from topmix.corpus.tokens import DEFAULT_PATTERN, Tokenization, find_pairs, native_rule
from topmix.data import Vectorizer
from topmix.report import write_report

NATIVE = [
    DEFAULT_PATTERN, r"\b\w\w+\b", r"\w+", r"\w{3,}", r"\w\w\w+", r"[a-z]{3,}", r"\b[a-z]{2,}\b", r"\b[a-zA-Z]+\b",
    r"[^\W\d_]+", r"[a-z_-]{2,}", r"[a-z0-9]{1,}", r"(?u)\b\w+\b", r"\b\w{2,}", r"[\w'.]+",
]  # fmt: skip
FOREIGN = [
    r"\S+",
    r"[a-z]{2,4}",
    r"\b[\w-]+\b",
    r"\b[a-z]{2,}",
    r"(\w+)",
    r"[^,]+",
    r"\w{0,}",
    r"\w[\w-]+",
    r"(?i)[a-z]+",
]
ascii_text = st.text(st.characters(max_codepoint=127), max_size=60) | st.text("aAbZz09_-'. ", max_size=60)


@pytest.mark.parametrize("pattern", NATIVE)
@given(text=ascii_text)
@example("a1bc _x_ ab- -cd e.f 'tis A_B AB\0CD abc1")
def test_native_patterns_cut_as_re_does(pattern, text):
    rule = native_rule(pattern)
    for lowercase in (True, False):
        counter = _core.TermCounter(*rule, lowercase, [], 1, 1)
        _, index, value = counter.count([text])
        words = re.findall(pattern, text.lower() if lowercase else text)
        assert counter.terms(index) == list(dict.fromkeys(words))
        assert value.sum() == len(words)


@pytest.mark.parametrize("pattern", FOREIGN)
def test_other_patterns_are_left_to_re(pattern):
    assert native_rule(pattern) is None


word = st.sampled_from(["a", "bb", "ccc", "new", "new york", "york", "", "ß", "日本", "\ud800", "x\0y"])
document = ascii_text | st.lists(word, max_size=12)


@given(
    blocks=st.lists(st.lists(document, max_size=6), max_size=4),
    pattern=st.sampled_from(NATIVE),
    stop_words=st.lists(word, max_size=3),
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 4)]),
    vocabulary=st.none() | st.lists(word, unique=True, max_size=8),
)
@settings(max_examples=300)
def test_native_equals_twin(blocks, pattern, stop_words, ngrams, vocabulary):
    made = (*native_rule(pattern), True, stop_words, *ngrams, vocabulary)
    native, twin = _core.TermCounter(*made), TermCounter(*made)
    for n, block in enumerate(blocks):
        for a, b in zip(native.count(block, 1 + n % 3), twin.count(block), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    assert (native.n_terms, native.n_rows, native.n_unknown) == (twin.n_terms, twin.n_rows, twin.n_unknown)
    np.testing.assert_array_equal(native.document_frequency(), twin.document_frequency())
    np.testing.assert_array_equal(native.term_frequency(), twin.term_frequency())
    ids = np.arange(native.n_terms, dtype=np.int32)
    np.testing.assert_array_equal(native.sort(ids, 2), twin.sort(ids))
    assert native.terms(ids) == twin.terms(ids)
    for a, b in zip(native.packed(ids), twin.packed(ids), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_large_vocabulary_survives_growth():
    words = [f"w{i}" for i in range(50_000)]
    counter = _core.TermCounter(*native_rule(r"\w+"), True, [], 1, 1)
    first = counter.count([" ".join(words)])[1]
    again = counter.count([" ".join(reversed(words))])[1]
    np.testing.assert_array_equal(first, np.arange(50_000))
    np.testing.assert_array_equal(again, first[::-1])
    assert counter.terms(first) == words
    assert set(counter.document_frequency()) == {2}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"chars": b"x"}, "one byte for each"), ({"min_length": 0}, "at least one"), ({"min_n": 0}, "min_n"),
        ({"max_n": 0}, "min_n"), ({"chars": b"\1" * 128}, "NUL"), ({"vocabulary": ["a", "a"]}, "twice"),
    ],
)  # fmt: skip
def test_settings_are_checked(change, match):
    good = {"chars": bytes(128), "min_length": 1, "whole_words": False, "lowercase": True, "stop_words": []}
    good |= {"min_n": 1, "max_n": 1}
    with pytest.raises(ValueError, match=match):
        _core.TermCounter(**good | change)


def test_documents_are_checked():
    counter = _core.TermCounter(bytes(128), 1, False, True, [], 1, 1)
    with pytest.raises(TypeError, match="token is not a string"):
        counter.count([["a", 3]])
    with pytest.raises(TypeError):
        counter.count([3])
    with pytest.raises(ValueError, match="names no term"):
        counter.terms(np.array([0], np.int32))


@pytest.mark.parametrize(("text", "tokens"), [
    ("国际象棋", ["国际", "际象", "象棋"]),
    ("iPhone手机很好 a 12", ["iphone", "手机", "机很", "很好", "12"]),
    ("カタカナ・テスト", ["カタ", "タカ", "カナ", "テス", "スト"]),
    ("我 love 你", ["love"]),  # one character is no word, as one letter is none
    ("한국어 Straße über_x", ["한국어", "straße", "über_x"]),  # these have spaces
])  # fmt: skip
def test_scripts_without_spaces_are_pairs_of_characters(text, tokens):
    assert Tokenization("auto", True, None, None).tokens(text) == tokens


@given(st.text("abé_1 -.'Жω한ß\n", max_size=30))
def test_elsewhere_auto_is_the_default_pattern(text):
    assert find_pairs(text) == re.findall(DEFAULT_PATTERN, text)
    assert Tokenization("auto", False, None, None).rule == native_rule(DEFAULT_PATTERN)


def test_a_pattern_of_words_warns_where_there_are_no_spaces(tmp_path):
    texts = ["我们今天去海边坐船航行", "国王和王后在下国际象棋比赛", "钢琴和小提琴音乐会旋律优美"] * 7
    with pytest.warns(UserWarning, match=r'token_pattern="auto".*jieba'):
        Vectorizer().fit(texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Vectorizer(token_pattern="auto").fit(texts)
        Vectorizer(tokenizer=list).fit(texts)
        Vectorizer().fit(["the game of 国际象棋 is old and has many players"])
        model = LDA(3, max_iter=3, random_state=0).fit(texts)
    assert {"国际", "象棋", "钢琴"} <= set(model.feature_names_in_)
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(texts[:3]), model.transform(texts[:3]))
    write_report(model, tmp_path / "report.html", texts)
    data = re.search(r'id="data">(.*?)</script>', (tmp_path / "report.html").read_text(encoding="utf-8"))[1]
    pieces = json.loads(data)["documents"][0]["pieces"]
    assert "".join(piece[0] for piece in pieces) in texts  # no character twice
    assert any(piece[1] >= 0 for piece in pieces)


@pytest.mark.parametrize("pattern", ["(?:" * 5000 + "a" + ")" * 5000, r"\w{99999999999999999999}", "["])
def test_patterns_that_cannot_be_compiled(pattern):
    with pytest.raises((re.error, OverflowError, RecursionError)):
        re.compile(pattern)
    with pytest.raises(ValueError, match="is not a regular expression"):
        Vectorizer(token_pattern=pattern).fit_transform(["a b"])
