"""Seed words at construction: a prior that steers every kind of learning, and that files keep."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import topmix
from topmix import HDP, LDA, GibbsLDA, Seeds
from topmix.data import Vectorizer, sample_lda
from topmix.inference import Collapsed
from topmix.metrics import completion_score, completion_scorer

SEA = ["boat", "sail", "sea", "harbour", "wind", "ship", "mast"]
CHESS = ["chess", "rook", "queen", "king", "board", "pawn", "mate"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice((CHESS, SEA)[i % 2], 12)) for i in range(60)]
SEEDS = [["boat", "sail"], ["chess", "rook"]]

MAKERS = {
    "collapsed": lambda **how: LDA(2, max_iter=8, **how),
    "variational": lambda **how: LDA(2, max_iter=8, inference="variational", **how),
    "batch": lambda **how: LDA(2, max_iter=8, learner="batch", **how),
    "stochastic": lambda **how: LDA(2, max_iter=8, learner="stochastic", **how),
    "documents": lambda **how: LDA(2, max_iter=8, init="documents", **how),
    "asynchronous": lambda **how: LDA(2, max_iter=8, inference="variational", learner="asynchronous", n_jobs=1, **how),
    "hdp": lambda **how: HDP(2, max_iter=8, search=None, **how),
    "gibbs": lambda **how: GibbsLDA(2, max_iter=20, **how),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seeds", [SEEDS, SEEDS[::-1]])
def test_topics_follow_their_seeds(kind, seeds):
    for seed in range(3):
        model = MAKERS[kind](seeds=seeds, random_state=seed).fit(TEXTS)
        for words, wanted in zip(model.top_words(5), seeds):
            theme = set(SEA) if wanted[0] in SEA else set(CHESS)
            assert set(words) <= theme, (kind, seed)


def test_seeds_steer_a_stream():
    model = LDA(2, seeds=SEEDS, random_state=0).partial_fit(TEXTS[:30]).partial_fit(TEXTS[30:])
    assert set(model.top_words(3)[0]) <= set(SEA)
    assert model.seed_counts_.shape == (2, 14)


def test_seeds_are_a_prior_in_tokens():
    corpus = topmix.data.from_texts(TEXTS)
    seeds = [None, ["boat", "sail"]]
    model = LDA(3, seeds=Seeds(seeds, strength=0.5), random_state=0, max_iter=3).fit(corpus)
    tokens = np.asarray(corpus.to_scipy().sum(axis=0)).ravel()
    wanted = np.zeros((3, 14))
    for word in seeds[1]:
        v = list(corpus.vocabulary).index(word)
        wanted[1, v] = 0.5 * tokens[v]
    np.testing.assert_allclose(model.seed_counts_.toarray(), wanted)
    assert model.topic_info()["size"].sum() == pytest.approx(corpus.n_tokens, rel=1e-4)  # seeds are no tokens


def test_seeds_are_saved_and_part_of_a_checkpoint(tmp_path):
    model = LDA(2, seeds=[None, ["boat"]], random_state=0, max_iter=3).fit(TEXTS, checkpoint=tmp_path / "part")
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded.seeds == [None, ["boat"]]
    np.testing.assert_array_equal(loaded.components_, model.components_)
    with pytest.raises(ValueError, match="seeds was"):
        LDA(2, seeds=SEEDS, random_state=0, max_iter=3).fit(TEXTS, checkpoint=tmp_path / "part")


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"seeds": "boat"}, "list of words for each"),
        ({"seeds": ["boat"]}, "a list of words for each topic"),
        ({"seeds": [["zebra"]]}, "none of the seed words of topic 0"),
        ({"seeds": [["boat"]] * 3}, "3 seeds need as many topics"),
        ({"seeds": [[]]}, "at least one word"),
        ({"seeds": [None]}, "no words"),
    ],
)
def test_bad_seeds_are_refused(how, match):
    with pytest.raises(ValueError, match=match):
        LDA(2, max_iter=1, **how).fit(TEXTS)


def test_the_strength_of_seeds_is_positive_and_reached_by_name():
    with pytest.raises(ValueError, match="strength"):
        Seeds(SEEDS, strength=0)
    model = LDA(2, seeds=SEEDS).set_params(seeds__strength=0.7)
    assert model.seeds == Seeds(SEEDS, strength=0.7)
    assert model.get_params()["seeds__strength"] == 0.7


def test_a_word_that_the_data_does_not_have_is_a_warning():
    with pytest.warns(UserWarning, match="'zebra'"):
        LDA(2, max_iter=1, seeds=[["boat", "zebra"]]).fit(TEXTS)


def test_the_search_for_topics_takes_no_seeds():
    with pytest.raises(ValueError, match="search=None"):
        HDP(3, seeds=SEEDS, max_iter=3).fit(TEXTS)


def test_the_scorer_is_the_completion_score():
    data = sample_lda(150, 60, 4, doc_length=60, random_state=0).corpus
    model = LDA(4, random_state=0, max_iter=5).fit(data[:100])
    assert completion_scorer(model, data[100:]) == completion_score(model.topic_word_, data[100:])
    search = GridSearchCV(LDA(random_state=0, max_iter=5), {"n_components": [1, 4]}, scoring=completion_scorer, cv=2)
    assert search.fit(data).best_params_ == {"n_components": 4}  # the bound of one topic is near


def test_the_scorer_takes_texts_and_pipelines():
    pipeline = make_pipeline(Vectorizer(), LDA(2, random_state=0, max_iter=3)).fit(TEXTS)
    model = LDA(2, random_state=0, max_iter=3).fit(TEXTS, vectorizer=Vectorizer())
    assert completion_scorer(pipeline, TEXTS) == completion_scorer(model, TEXTS)
    with pytest.raises(ValueError, match="has no topics"):
        completion_scorer(Vectorizer(), TEXTS)


RULES = Seeds(ban={0: ["boat"], 1: ["chess"]}, pin={1: ["sail", "rook"]})


def check_rules(model):
    word = list(model.feature_names_in_).index
    phi = model.topic_word_
    for topic, banned in ((0, "boat"), (1, "chess"), (0, "sail"), (0, "rook")):
        assert phi[topic, word(banned)] < 1e-9 < phi[1 - topic, word(banned)]
    np.testing.assert_allclose(phi.sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "asynchronous"])
def test_rules_hold_in_every_kind_of_learning_and_in_files(kind, tmp_path):
    model = MAKERS[kind](seeds=RULES, random_state=0).fit(TEXTS)
    check_rules(model)
    model.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    assert loaded.seeds == RULES
    np.testing.assert_array_equal(loaded.topic_word_, model.topic_word_)
    np.testing.assert_array_equal(loaded.transform(TEXTS[:5]), model.transform(TEXTS[:5]))
    check_rules(loaded.set_params(warm_start=True).fit(TEXTS))


def test_rules_hold_while_tokens_are_sampled_and_in_a_stream():
    seen = []
    corpus = topmix.data.from_texts(TEXTS * 3)
    few = {"inference": Collapsed(sweeps=10), "random_state": 0}
    model = LDA(2, seeds=RULES, callbacks=[lambda record, view: seen.append(view.fitted())], **few)
    model.fit(corpus)
    assert "sampling" in {record.phase for record in model.history_}
    for one in (*seen[::4], model):
        check_rules(one)
    stream = LDA(2, seeds=RULES, random_state=0).partial_fit(TEXTS[:30])
    stream.partial_fit([*TEXTS[30:50], *(text + " keel" for text in TEXTS[50:])])  # a new word
    check_rules(stream)
    assert stream.banned_.shape == (2, 15)
    assert not stream.banned_[:, [14]].nnz


def test_a_rule_is_no_matter_of_strength():
    """All documents want the word in topic 1, and topic 0 still has it: a prior could not do that."""
    seeds = Seeds(pin={0: SEA[:6], 1: CHESS[:6]}, ban={0: ["mast"]})
    model = LDA(2, seeds=seeds, max_iter=10, random_state=0).fit(TEXTS)
    word = list(model.feature_names_in_).index
    assert {*model.top_words(6)[0]} == {*SEA[:6]}
    assert model.topic_word_[0, word("mast")] < 1e-9
    assert "mast" in model.top_words(8)[1]
    predictor = model.predictor()
    assert predictor(TEXTS[1])[0].topic == 0
    mask = topmix.edits.delete(LDA(3, seeds=RULES, max_iter=2, random_state=0).fit(TEXTS), 1)
    assert not mask.banned_[:, [word("sail")]].nnz  # its only topic is gone


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ({"ban": [["zebra"]]}, "not among the 14 words of the data, in ban: 'zebra'"),
        ({"ban": {2: ["boat"]}}, "ban has words of topic 2"),
        ({"ban": {0: ["boat"], 1: ["boat"]}}, "no topic for the word 'boat'"),
        ({"ban": {0: ["boat"]}, "pin": {0: ["boat"]}}, "both bans"),
        ({"pin": {0: ["boat"]}, "ban": {1: ["sail"]}}, "bans a seed word"),
    ],
)
def test_rules_that_cannot_hold_are_refused(rules, match):
    for make in (LDA, GibbsLDA):
        with pytest.raises(ValueError, match=match):
            make(2, max_iter=1, seeds=Seeds([None, ["sail"]], **rules)).fit(TEXTS)
    with pytest.raises(ValueError, match="search=None"):
        HDP(3, seeds=RULES, max_iter=3).fit(TEXTS)
    with pytest.raises(ValueError, match="asynchronous"):
        MAKERS["asynchronous"](seeds=RULES).fit(TEXTS)
