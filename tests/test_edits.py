"""Edits that can be replayed: the log gives the same model file, byte for byte."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import topmix
from topmix import LDA, MultinomialMixture, edits
from topmix.data import sample_lda


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(300, 120, 6, doc_length=40, random_state=3).corpus


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(6, max_iter=8, random_state=0).fit(corpus)


@pytest.fixture
def lda(model):
    return model


@pytest.fixture(scope="module")
def hdp(corpus):
    return topmix.HDP(6, max_iter=20, search="auto", random_state=0).fit(corpus)


TEN = [
    {"do": "rename", "topic": 2, "name": 'two "2" \\ </script>'},
    {"do": "merge", "topics": [1, 4]},
    {"do": "learn", "passes": 2, "seed": 0},
    {"do": "split", "topic": 0, "seed": 1},
    {"do": "delete", "topic": 3},
    {"do": "seed", "words": ["word001", "word005"], "topic": None, "strength": 0.3},
    {"do": "learn", "passes": 3, "seed": 7},
    {"do": "seed", "words": ["word009"], "topic": 2, "strength": 0.5},
    {"do": "ban", "topic": 0, "words": ["word003", "word004"]},
    {"do": "learn", "passes": 1, "seed": 0},
]
HELD = [
    {"do": "pin", "topic": 1, "words": ["word003", "word007"]},
    {"do": "freeze", "topic": 2},
    {"do": "move", "document": 5, "topic": 4},
    {"do": "learn", "passes": 2, "seed": 0},
    {"do": "merge", "topics": [0, 3]},
    {"do": "ban", "topic": 0, "words": ["word004"]},
    {"do": "split", "topic": 0, "seed": 1},
    {"do": "learn", "passes": 2, "seed": 0},
    {"do": "unfreeze", "topic": 2},
    {"do": "learn", "passes": 1, "seed": 0},
]


def without_times(path):
    """The bytes of a model file with the seconds of its passes and the checksum of the header blanked."""
    text = path.read_bytes()
    text = re.sub(rb'\\"seconds\\":[-0-9.e]+', b'\\"seconds\\":0', text)
    text = re.sub(rb'metadata_crc32":"[0-9a-f]+"', b"", text)
    return text[8:].lstrip().replace(b" ", b"")  # the length of the header, and its padding


# Another process takes seconds, and edits do not look at the kind of model.
@pytest.mark.parametrize(
    "case", ["LDA, held", *(pytest.param(x, marks=pytest.mark.slow) for x in ("LDA", "HDP", "HDP, held"))]
)
def test_ten_edits_replay_to_the_same_file_in_another_process(case, request, corpus, tmp_path):
    model, log = request.getfixturevalue(case[:3].lower()), HELD if "held" in case else TEN
    model.save(tmp_path / "model")
    corpus.save(tmp_path / "docs.topmix")
    edited = edits.replay(model, log, corpus)
    assert edited.edits_ == log
    edited.save(tmp_path / "here")
    (tmp_path / "edits.py").write_text(edits.script(edited.edits_), encoding="utf-8")
    arguments = ["edits.py", "model", "docs.topmix", "there"]
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert without_times(tmp_path / "there") == without_times(tmp_path / "here")
    loaded = topmix.load(tmp_path / "there")
    assert loaded.edits_ == log
    np.testing.assert_array_equal(loaded.components_, edited.components_)
    assert loaded.get_params()["max_iter"] == model.max_iter
    assert not hasattr(model, "edits_")  # what was given is as it was


def test_an_edit_changes_a_copy(model, corpus):
    before = model.components_.copy()
    for edit in TEN[:4]:
        edits.apply(model, edit, corpus)
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_components == 6
    assert model.topic_names_[2] != TEN[0]["name"]


def test_a_fit_from_the_beginning_forgets_the_edits(model, corpus):
    edited = edits.merge(model, [0, 1])
    assert edited.edits_
    assert not hasattr(edited.set_params(max_iter=1).fit(corpus.to_scipy()), "edits_")


def test_learning_stopped_early_is_remembered_with_the_passes_that_were_made(model, corpus):
    stopped = edits.learn(model, corpus, passes=9, callbacks=[lambda record, view: record.n_pass == 2])
    assert stopped.edits_ == [{"do": "learn", "passes": 2, "seed": 0}]
    assert len(stopped.history_) == len(model.history_) + 2
    assert stopped.callbacks is None
    again = edits.replay(model, stopped.edits_, corpus)
    np.testing.assert_array_equal(again.components_, stopped.components_)


def test_a_split_keeps_the_tokens_and_its_halves_differ(model, corpus):
    two = edits.split(edits.merge(model, [0, 1]), corpus, 0)
    assert two.n_components == 6
    merged = edits.merge(model, [0, 1])
    counts, before = two.model_.words.total.counts(), merged.model_.words.total.counts()
    np.testing.assert_allclose(counts[:, 0] + counts[:, 5], before[:, 0], rtol=1e-9)
    np.testing.assert_allclose(counts[:, 1:5], before[:, 1:], rtol=1e-12)
    np.testing.assert_allclose(two.model_.prior.alpha.sum(), merged.model_.prior.alpha.sum())
    # The cut finds the two topics that had been merged.
    halves, whole = two.topic_word_[[0, 5]], model.topic_word_[[0, 1]]
    overlap = np.sqrt(halves) @ np.sqrt(whole).T
    assert max(overlap[0, 0] + overlap[1, 1], overlap[0, 1] + overlap[1, 0]) > 1.8
    with pytest.raises(ValueError, match="cannot be split: too few documents"):
        model.split_topic(corpus[:3], 0)


def test_a_banned_word_leaves_its_topic_and_stays_out(model, corpus):
    word = model.top_words(1)[0][0]
    v = list(model.feature_names_in_).index(word)
    banned = edits.ban(model, 0, [word])
    before, after = model.model_.words.total.counts(), banned.model_.words.total.counts()
    assert after[v, 0] == 0
    np.testing.assert_allclose(after.sum(axis=1), before.sum(axis=1), rtol=1e-6)  # its tokens are in other topics
    learned = edits.learn(banned, corpus, passes=5)
    assert learned.model_.words.total.counts()[v, 0] < 1e-3 * before[v, 0]
    assert word not in learned.top_words(20)[0]
    with pytest.raises(ValueError, match="another topic to go to"):
        edits.ban(model, 0, list(model.feature_names_in_))


def test_a_pinned_word_is_in_its_topic_alone(model, corpus):
    word = model.top_words(1)[0][0]
    v = list(model.feature_names_in_).index(word)
    pinned = edits.pin(model, 3, [word])
    before, after = model.model_.words.total.counts(), pinned.model_.words.total.counts()
    np.testing.assert_allclose(after[v], np.eye(6)[3] * before[v].sum(), rtol=1e-9)
    for one in (pinned, edits.learn(pinned, corpus, passes=3)):
        others = np.delete(np.arange(6), 3)
        assert one.topic_word_[others, v].max() < 1e-9 < one.topic_word_[3, v]
    assert edits.pin(pinned, 1, [word]).topic_word_[:, v].argmax() == 1  # the last word counts
    with pytest.raises(ValueError, match="a topic that it may belong to"):
        edits.ban(pinned, 3, [word])


def test_a_frozen_topic_keeps_its_words_to_the_bit(model, corpus, tmp_path):
    frozen = edits.freeze(edits.freeze(model, 2), 4)
    np.testing.assert_allclose(frozen.topic_word_[[2, 4]], model.topic_word_[[2, 4]], rtol=1e-12)
    np.testing.assert_array_equal(
        frozen.transform(corpus[:20]).argmax(axis=1), model.transform(corpus[:20]).argmax(axis=1)
    )
    np.testing.assert_allclose(frozen.score(corpus), model.score(corpus), rtol=1e-5)  # nothing has changed yet
    learned = edits.learn(edits.merge(frozen, [0, 1]), corpus, passes=4)
    assert learned.frozen_ == [1, 3]  # the same topics, one further up
    np.testing.assert_array_equal(learned.topic_word_[[1, 3]], frozen.topic_word_[[2, 4]])
    assert np.abs(learned.topic_word_[2] - model.topic_word_[3]).max() > 1e-4  # others go on
    assert np.isfinite([r.objective for r in learned.history_]).all()
    learned.save(tmp_path / "m")
    np.testing.assert_array_equal(topmix.load(tmp_path / "m").topic_word_, learned.topic_word_)
    free = edits.learn(edits.unfreeze(learned, 1), corpus, passes=2)
    assert free.frozen_ == [3]
    assert np.abs(free.topic_word_[1] - model.topic_word_[2]).max() > 1e-4
    for edit in ({"do": "seed", "words": ["word001"], "topic": 3}, {"do": "pin", "topic": 3, "words": ["word001"]}):
        with pytest.raises(ValueError, match="topic 3 is frozen"):
            edits.apply(learned, edit, corpus)
    assert edits.merge(learned, [1, 3]).frozen_ == []


def test_the_objective_of_frozen_topics_is_that_of_topics_at_their_place(corpus):
    """Frozen where they are at the optimum, topics have the objective of free ones; elsewhere a lower one."""
    for inference in ("collapsed", "variational"):
        lda = LDA(4, inference=inference, max_iter=5, random_state=0).fit(corpus)
        model = lda.model_
        for moved in (0.0, 50.0):
            held = edits.freeze(edits.freeze(lda, 1), 2).model_.words
            held.held.counts[:, :5] += moved
            held.held.sizes[:] = held.held.counts.sum(axis=1)
            if moved:
                assert held.bound() < model.words.bound() - 1.0
            else:
                np.testing.assert_allclose(held.bound(), model.words.bound(), rtol=1e-9)


def test_a_moved_document_is_where_it_was_moved_to(model, corpus):
    of = int(model.transform(corpus[5:6])[0].argmin())
    moved = edits.move(model, corpus, 5, of)
    change = moved.model_.words.total.counts() - model.model_.words.total.counts()
    np.testing.assert_allclose(change.sum(axis=1), 0.0, atol=1e-6)  # no token is lost
    assert (change[:, of] >= 0).all()
    assert (np.delete(change, of, axis=1) <= 0).all()
    assert change[:, of].sum() == pytest.approx(corpus[5:6].n_tokens, rel=0.2)
    before, after = (corpus[5:6].to_scipy() @ np.log(m.topic_word_[of]) for m in (model, moved))
    assert after[0] > before[0] + 1  # its words are now those of the topic
    with pytest.raises(ValueError, match="300 is not a document"):
        edits.move(model, corpus, 300, 0)
    with pytest.raises(ValueError, match="needs the documents"):
        edits.apply(model, {"do": "move", "document": 0, "topic": 0})


def test_effects_say_what_an_edit_costs(model, corpus):
    same = edits.effect_of(model, edits.rename(model, 0, "x"), corpus)
    assert same.objective_before == same.objective_after
    assert same.completion_before == same.completion_after
    bad = edits.effect_of(model, edits.merge(model, [0, 1, 2]), corpus, corpus[:50])
    assert bad.objective_after < bad.objective_before
    assert bad.completion_after < bad.completion_before


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("merge", "an edit is one of"),
        ({"do": "explode"}, "an edit is one of"),
        ({"do": "rename", "topic": 0}, "needs name"),
        ({"do": "rename", "topic": 0, "name": " "}, "name of a topic"),
        ({"do": "rename", "topic": -1, "name": "x"}, "topic must be"),
        ({"do": "rename", "topic": True, "name": "x"}, "topic must be"),
        ({"do": "merge", "topics": [1, 1]}, "two or more different"),
        ({"do": "merge", "topics": [1, 99]}, "99 is not a topic"),
        ({"do": "delete", "topic": 0, "eval": "x"}, "no argument eval"),
        ({"do": "seed", "words": []}, "list of words"),
        ({"do": "seed", "words": ["nonsense"]}, "not among"),
        ({"do": "seed", "words": ["word001"], "strength": -1}, "strength"),
        ({"do": "learn", "passes": 0}, "passes"),
    ],
)
def test_wrong_edits_are_refused(model, corpus, edit, message):
    with pytest.raises(ValueError, match=message):
        edits.apply(model, edit, corpus)


def test_other_models_can_be_renamed_only(corpus):
    mixture = MultinomialMixture(3, max_iter=3, random_state=0).fit(corpus)
    assert not edits.can_edit(mixture)
    with pytest.raises(ValueError, match="can be renamed"):
        edits.apply(mixture, {"do": "delete", "topic": 0}, corpus)


def test_a_file_with_edits_that_are_no_list_is_refused(model, tmp_path):
    edited = edits.rename(model, 0, "x")
    edited._fitted = replace(edited._fitted, edits=("x",))
    with pytest.raises(ValueError, match="edits"):
        edited.save(tmp_path / "m")
