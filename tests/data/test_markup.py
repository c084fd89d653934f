"""Mark-up, numbers, symbols and foreign function words: left out by default, said, and kept if asked."""

from __future__ import annotations

import re
import time

import pytest

import topmix
from topmix import LDA
from topmix.corpus.languages import FUNCTION_WORDS, other_stop_words
from topmix.corpus.tokens import is_number, is_symbol, without_markup
from topmix.data import Vectorizer
from topmix.io.documents import DEFAULTS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"the \emph{sea} in \mathbb{R}^n, $\alpha$ \cite[p. 3]{smith} \begin{equation} wind", "the sea in R n wind"),
        (r"Schr\"odinger, H{\"o}lder, Poincar\'e, fa\c{c}on, na\"{\i}ve", "Schrödinger Hölder Poincaré façon naïve"),
        (r"it\'s \"only\" a quotation", "it s only a quotation"),
        ('<p class="x">caf&eacute; <b>au</b> lait<br/></p><script>var x = "<b>";</script>', "café au lait"),
        ("if a <b and c> d", "if a b and c d"),
        ("see https://example.org/a?b=c, www.example.org and me@example.org now", "see and now"),
        ("Smith et al. found it", "Smith found it"),
    ],
)  # fmt: skip
def test_what_readers_see_stays_and_markup_goes(text, words):
    assert " ".join(re.findall(r"\w+", without_markup(text))) == words


@pytest.mark.parametrize(
    "text", ["<a ", "<a b=", "<script>", "a@", "a.b@", "\\cite[", '{\\"', "www.", "a://", "et ", "&", "x@a.", "<!"]
)
def test_hostile_texts_take_linear_time(text):
    def seconds(n):
        began = time.perf_counter()
        without_markup(text * n)
        return time.perf_counter() - began

    small = min(seconds(4_000) for _ in range(3))
    assert seconds(40_000) < 40 * small + 0.05  # a quadratic one takes a hundred times as long


def test_numbers_and_symbols():
    assert [token for token in ("10", "_2", "2_3", "3d", "co2", "x") if is_number(token)] == ["10", "_2", "2_3"]
    tokens = ("l_", "_g", "k_eff", "new_york", "max_iter", "word")
    assert [token for token in tokens if is_symbol(token)] == ["l_", "_g", "k_eff"]


TEXTS = [
    r"the \mathbb{Z}_2 waves of the sea, l_ and q_, are 10 or 20 meters high, and the wind was in the sails",
    "the rook and the king are on the board of chess, 10 or 20 times; see http://example.org/chess",
] * 10


def test_a_fit_of_texts_leaves_out_markup_and_says_what():
    lda = LDA(2, random_state=0, max_iter=2).fit(TEXTS)
    words = set(lda.feature_names_in_)
    assert {"sea", "sails", "rook", "chess"} <= words
    assert words.isdisjoint({"mathbb", "_2", "l_", "q_", "10", "20", "http", "example"})
    left_out = lda.vectorizer_.left_out_
    assert left_out["symbols"] == ["_2", "l_", "q_"]
    assert left_out["common"] == ["10", "20"]  # of all documents; numbers of fewer are in left_out["numbers"]


def test_a_setting_keeps_them():
    kept = Vectorizer(**DEFAULTS | {"clean": False, "max_df": 1.0})
    lda = LDA(2, random_state=0, max_iter=2).fit(TEXTS, vectorizer=kept)
    assert {"mathbb", "l_", "10", "http"} <= set(lda.feature_names_in_)


def test_the_setting_is_saved(tmp_path):
    lda = LDA(2, random_state=0, max_iter=2).fit(TEXTS)
    assert lda.tokenizer_["clean"] is True
    lda.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded.counts([r"\emph{sea} http://sea.example"]).n_tokens == 1  # the address is no sea


FRENCH = """nous donnons une autre méthode pour que les ondes dans la mer soit avec cette théorie des eaux qui est le
cas par elle, ainsi que aux leurs notre sont, ils mais comme donc ces, lorsque dont tous toutes"""
ENGLISH = [
    "the waves of the sea and the wind are in the sails of the boats that go over the water, with the current",
    "the rook and the king are on the board of chess, and the queen has taken the knight that was before them",
    "pour the milk into the tea and then add some sugar, so that it is as sweet as it was at home",
]


def test_words_of_a_language_that_is_in_the_texts_are_left_out():
    both = Vectorizer(**DEFAULTS).fit(ENGLISH * 20 + [FRENCH] * 10)
    words = set(both.vocabulary_)
    assert {"ondes", "mer", "waves"} <= words
    assert words.isdisjoint({"nous", "une", "les", "dans", "cette", "qui"})
    assert "nous" in both.left_out_["french"]
    assert "nous" in both.stop_words_
    assert "pour" in words  # an English word, and these texts are English
    alone = Vectorizer(**DEFAULTS).fit(ENGLISH * 20)
    assert alone.stop_words_ == "english"
    assert "french" not in alone.left_out_


def test_languages_are_told_apart():
    for language, words in FUNCTION_WORDS.items():
        assert len(words) == len(set(words)) >= 40, language
        assert language in other_stop_words(set(words), is_english=False)
    english = "data model paper using results show new based non son plus war man die par per come hat de la van von di"
    assert other_stop_words(set(english.split()), is_english=True) == {}


def test_n_grams_with_a_number_are_left_out():
    vectorizer = Vectorizer(clean=True, ngram_range=(1, 2)).fit(
        ["chapter 12 tells of the sea", "chapter 13 of the wind"]
    )
    assert "chapter" in vectorizer.vocabulary_
    assert not any("1" in word for word in vectorizer.vocabulary_)
