"""The phases of the search for a number of topics, with a fit in the place of the real one."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.base.fields import ModelFileError
from topmix.data import Corpus
from topmix.learn.fit import Moment
from topmix.learn.search import TRIAL
from topmix.learn.topic_moves import Documents, Posteriors
from topmix.learn.topic_search import FAILURES, FRESH, SearchedTopics
from topmix.learners import PassResult, State
from topmix.models.document_prior import DocTopics
from topmix.models.stick_prior import StickPrior, Sticks
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordStats, WordTotal
from topmix.steps.documents import Visit

# The phases, with a fit in the place of the real one: documents have one topic each, and bounds are as a test says.

V, D = 6, 12


def documents(K, bound):
    """Twelve documents, the d-th in topic d mod K alone; `bound` is what they are said to reach."""
    topic = np.arange(D, dtype=np.uint16) % K
    counts = np.zeros((V, K))
    np.add.at(counts, (np.arange(D) % V, topic), 2.0)
    docs = DocTopics(np.arange(D + 1, dtype=np.int64), topic, np.full(D, 2.0, np.float32))
    prior = StickPrior(Sticks.even(K, 5.0), 0.5, 5.0)
    words = TopicWords(np.full((1, 1), 0.1), WordTotal.of(counts), "variational", bounds_evidence=True)
    shard = sp.csr_array(counts)
    stats = WordStats(
        np.arange(V, dtype=np.int32), shard.indptr.astype(np.int64), shard.indices.astype(np.uint16),
        shard.data.astype(np.float32), counts.sum(axis=0),
    )  # fmt: skip
    lengths = [np.full(D, 2.0)]
    memo = prior.summarise(stats, docs, lengths[0], 0.0)
    model = TopicModel(prior, words)
    total = model.no_stats().add(memo)
    return Said(model, total, {0: memo}, {0: Visit(1, docs)}, lengths, bound)


@dataclass(frozen=True)
class Said(Documents):
    """Documents whose bound a test decides. They are in order, and nothing is to be merged."""

    said: float = 0.0

    @property
    def worth(self):
        return self.said

    def renamed(self, names, lost=0.0):
        return self

    def settled(self):
        return self


class FakeFit:
    """A fit of one shard; `bound_of` gives the bound of each pass, by the number of topics and the pass of these."""

    def __init__(self, bound_of, max_iter, n_passes):
        corpus = Corpus.from_scipy(np.eye(V)[np.arange(D) % V] * 2)
        self.problem = SimpleNamespace(
            data=corpus, corpus=corpus, max_iter=max_iter, least_gain=1.0, warm_up=0, keep=None
        )
        self.bound_of, self.K, self.age = bound_of, 4, 0
        self.history, self.state, self.batches = [None] * n_passes, State(), [slice(0, D)]
        self.forgot, self.workers = 0, self

    def forget(self):
        self.forgot += 1

    def restore(self, memory):
        pass

    def start_over(self, counts):
        self.age = 0

    def placed(self, model):
        return model

    def next_pass(self, following):
        """What a learner would find."""
        self.history.append(None)
        self.age += 1
        if following is not None:
            self.K = following.n_components
        here = documents(self.K, 0.0)
        words = (
            here.model.words if following is None else replace(here.model.words, posterior=following.words.posterior)
        )
        return PassResult(replace(here.model, words=words), here.total, {"merge_entropy": np.full(self.K, 1e9)})


class Search(SearchedTopics):
    def snapshot(self, result):
        self.current = documents(self.fit.K, float(self.fit.bound_of(self.fit.K, self.fit.age)))
        return self.current


def started(bound_of, *, max_iter=200, warm_up=0, polish=3, most=16, sizes=False, n_passes=0):
    posteriors = Posteriors("collapsed", DocumentOptions(), None, 0, False, None, True)
    settings = {"warm_up": warm_up, "polish": polish, "max_topics": most, "chooses_size": sizes}
    return Search(FakeFit(bound_of, max_iter, n_passes), np.random.default_rng(0), posteriors=posteriors, **settings)


def run(search, n, following=None):
    """n passes, or until the search is over: what each recorded, its number of topics, and their posterior."""
    seen, fit = [], search.fit
    for _ in range(n):
        posterior = None if following is None else following.words.posterior
        result = fit.next_pass(following)
        seen.append((search.made, fit.K, posterior))
        search.made = {}
        if search.has_converged():
            break
        following = search.after(result, False)
    return seen


def test_while_the_bound_rises_nothing_is_tried():
    search = started(lambda K, age: 10.0 * age)
    seen = run(search, 20)
    assert all(moves == {} for moves, *_ in seen)
    assert not search.is_ending
    assert search.safe.n_passes == 20


def test_when_it_is_quiet_each_kind_of_move_is_tried_and_what_is_not_better_is_undone():
    search = started(lambda K, age: -5.0 if age and K != 4 else -1.0)
    seen = run(search, 200)
    tried = [what for moves, *_ in seen for what in moves if what.startswith("try")]
    assert tried == ["try refresh", "try birth 4", "try delete 1"]  # a topic of six words is not split
    undone = [what for moves, *_ in seen for what in moves if what.endswith("undone")]
    assert len(undone) == len(tried)
    assert seen[-1][1] == 4
    assert search.is_ending
    assert search.has_converged()
    assert search.tried.failures["birth"] == FAILURES["birth"]


def test_what_is_better_is_kept_and_its_kind_is_tried_again_first():
    """More topics are better, up to 16: births follow each other."""
    search = started(lambda K, age: 100.0 * K)
    seen = run(search, 200)
    kept = [
        (what, gain)
        for moves, *_ in seen
        for what, gain in moves.items()
        if what.startswith("birth") and "," not in what
    ]
    assert kept == [("birth 4", 400.0), ("birth 8", 800.0)]
    assert seen[-1][1] == 16
    assert search.has_converged()


def test_a_trial_lasts_until_it_is_clear():
    search = started(lambda K, age: -5.0 if K != 4 else -1.0)
    ages = []
    following = None
    for _ in range(60):
        following = search.after(search.fit.next_pass(following), False)
        ages.append(search.trial.age if search.trial else 0)
    assert max(ages) == TRIAL - 1  # after the next pass it is judged
    assert search.trial is None


def test_the_search_ends_with_some_passes_to_polish():
    search = started(lambda K, age: -1.0, polish=3)
    seen = run(search, 200)
    begin = next(i for i, (moves, *_) in enumerate(seen) if "polish" in moves)
    assert len(seen) - begin in (3, 4)
    assert search.has_converged()
    assert seen[begin][2] == "collapsed"
    search = started(lambda K, age: 10.0 * age, max_iter=20, polish=5)
    seen = run(search, 20)
    assert [i for i, (moves, *_) in enumerate(seen) if "polish" in moves] == [15]
    assert search.fit.forgot == 1  # another posterior: documents start from their words
    assert not search.has_converged()  # passes ran out, which is not convergence


def test_without_polish_a_search_is_over_when_nothing_is_left_to_try():
    search = started(lambda K, age: -1.0, polish=0)
    seen = run(search, 200)
    assert search.has_converged()
    assert not any("polish" in moves for moves, *_ in seen)


def test_sizes_come_first_and_the_best_goes_on():
    """Each size is as old as the others when it is judged: warm-up, passes from the words."""
    search = started(lambda K, age: -abs(np.log2(K) - 3.0), warm_up=2, most=32, sizes=True, max_iter=400)
    seen = run(search, 150)
    assert not search.tried.chooses_size
    assert seen[-1][1] == 8
    began = [i for i, (moves, *_) in enumerate(seen) if any(what.startswith("try renew") for what in moves)]
    assert all(seen[i][2] == "collapsed" for i in began)
    assert set(np.diff(began)) <= {2 + FRESH, 2 + FRESH + 1}
    assert {seen[i][1] for i in began} >= {32, 16, 8}


def test_no_size_is_tried_for_which_there_are_too_few_passes():
    search = started(lambda K, age: -1.0, warm_up=2, most=32, sizes=True, max_iter=12)
    seen = run(search, 12)
    assert not any(what.startswith("try renew") for moves, *_ in seen for what in moves)


def bound(K, age):
    return -abs(np.log2(K) - 3.0) * 10


def resumed(safe, known):
    """A search that goes on from there, and the model of its next pass."""
    again, here = started(bound, sizes=True, warm_up=1, n_passes=safe.n_passes), safe.here
    again.fit.K = here.model.n_components
    return again, again.resume(Moment(here.model, None, State(here.total), here.memory, [], {}, known))


@pytest.mark.parametrize("n_passes", range(5, 60, 6))
def test_a_search_continues_from_its_safe_point(n_passes):
    """What is known goes through JSON; the moves that follow are the same."""
    whole = run(started(bound, sizes=True, warm_up=1), 90)
    search = started(bound, sizes=True, warm_up=1)
    run(search, n_passes)
    if search.safe is None:  # not before the first topics stand
        assert n_passes < 10
        return
    again, following = resumed(search.safe, json.loads(json.dumps(search.safe.known)))
    seen = run(again, 90 - search.safe.n_passes, following)
    assert [record[:2] for record in seen] == [record[:2] for record in whole[search.safe.n_passes :]]


@pytest.mark.parametrize(
    "change",
    [
        {"quiet": None}, {"gain": "x"}, {"ratio": 0.5}, {"random": []}, {"made": [[1]]}, {"tried.failures": []},
        {"tried.refused": [[1]]}, {"tried.refused": [[4, 1]]}, {"tried.bounds": [["x", 1]]}, {"tried.favourite": "x"},
    ],
)  # fmt: skip
def test_a_search_says_when_it_cannot_be_continued(change):
    search = started(lambda K, age: -1.0, sizes=True)
    run(search, 30)
    with pytest.raises(ModelFileError, match=r"how far the search was|random generator"):
        resumed(search.safe, search.safe.known | change)
