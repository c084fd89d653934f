"""The phases of the search for a number of topics, with a fit in the place of the real one."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.stick_prior import StickPrior, Sticks
from topmix.learners import PassResult
from topmix.likelihoods.topic_words import TopicWords
from topmix.local.topics import Visit
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.search import FRESH, Limits, Search, Sources
from topmix.search.sizes import SizeSearch
from topmix.search.trial import TRIAL
from topmix.search.tried import FAILURES
from topmix.stats import WordStats, WordTotal

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
    return Said(model, total, [memo], [docs], lengths, bound)


@dataclass(frozen=True)
class Said(Documents):
    """Documents whose bound a test decides. They are in order, and nothing is to be merged."""

    said: float = 0.0

    def bound(self):
        return self.said

    def renamed(self, names, lost=0.0):
        return self

    def settled(self):
        return self


@dataclass
class FakeFit:
    """As Paused, on one shard; `bounds` gives the bound of each pass, by the number of topics."""

    bound_of: object  # K, pass of these topics -> bound
    memory: dict = field(default_factory=lambda: {0: Visit(1, None)})
    K: int = 4
    age: int = 0  # passes of these topics
    asked: list = field(default_factory=list)

    def forget(self):
        self.asked.append("forget")

    def restore(self, memory):
        self.asked.append("restore")

    def documents(self, result):
        return documents(self.K, float(self.bound_of(self.K, self.age)))

    def put(self, here):
        self.K = here.model.n_components
        return here.model

    def begin(self, model, docs, posterior):
        self.asked.append(f"begin {model.n_components} {posterior}")
        self.K, self.age = model.n_components, 0
        return self.solved_by(model, posterior)

    def under(self, posterior, model):
        self.forget()
        self.asked.append(posterior)
        return self.solved_by(model, posterior)

    def solved_by(self, model, posterior, searching=True):
        return replace(model, words=replace(model.words, posterior=posterior), partner=None)

    def next_pass(self, following):
        """What a learner would find."""
        self.age += 1
        here = self.documents(None)
        model = here.model if following is None else following
        K = here.model.n_components
        return PassResult(replace(here.model, words=replace(here.model.words, posterior=model.words.posterior)),
                          here.total, {"merge_entropy": np.full(K, 1e9)})  # fmt: skip


def started(fit, *, max_iter=200, quiet_gain=1.0, warm_up=0, polish=3, most=16, sizes=None, n_passes=0):
    def rows(docs):
        return sp.csr_array(np.ones((len(docs), V)))

    sources = Sources(lambda _, n: np.ones((V, n)), lambda n: np.ones((V, n)), rows, np.random.default_rng(0))
    polished = lambda model: replace(model, words=replace(model.words, posterior="collapsed"))  # noqa: E731
    return Search(fit, sources, Limits(max_iter, quiet_gain, warm_up, polish, polished, most), sizes, n_passes)


def run(fit, search, n):
    """n passes, or until the search is over: what each recorded, and its number of topics."""
    seen, following = [], None
    for _ in range(n):
        result = fit.next_pass(following)
        seen.append((search.take_moves(), fit.K))
        if search.is_done:
            break
        following = search.after(result)
    return seen


def test_while_the_bound_rises_nothing_is_tried():
    fit = FakeFit(lambda K, age: 10.0 * age)
    search = started(fit)
    seen = run(fit, search, 20)
    assert all(moves == {} for moves, _ in seen)
    assert search.phase == "search"
    assert search.safe_point.n_passes == 20


def test_when_it_is_quiet_each_kind_of_move_is_tried_and_what_is_not_better_is_undone():
    fit = FakeFit(lambda K, age: -5.0 if age and K != 4 else -1.0)
    search = started(fit)
    seen = run(fit, search, 200)
    tried = [what for moves, _ in seen for what in moves if what.startswith("try")]
    assert tried == ["try refresh", "try birth 4", "try delete 1"]  # a topic of six words is not split
    undone = [what for moves, _ in seen for what in moves if what.endswith("undone")]
    assert len(undone) == len(tried)
    assert seen[-1][1] == 4
    assert search.phase == "polish"
    assert search.is_done
    assert search.tried.failures["birth"] == FAILURES["birth"]


def test_what_is_better_is_kept_and_its_kind_is_tried_again_first():
    """More topics are better, up to 16: births follow each other."""
    fit = FakeFit(lambda K, age: 100.0 * K)
    search = started(fit)
    seen = run(fit, search, 200)
    kept = [
        (what, gain)
        for moves, _ in seen
        for what, gain in moves.items()
        if what.startswith("birth") and "," not in what
    ]
    assert kept == [("birth 4", 400.0), ("birth 8", 800.0)]
    assert seen[-1][1] == 16
    assert search.is_done


def test_a_trial_lasts_until_it_is_clear():
    fit = FakeFit(lambda K, age: -5.0 if K != 4 else -1.0)
    search = started(fit)
    ages = []
    following = None
    for _ in range(60):
        result = fit.next_pass(following)
        following = search.after(result)
        ages.append(search.trial.age if search.trial else 0)
    assert max(ages) == TRIAL - 1  # after the next pass it is judged
    assert search.trial is None


def test_the_search_ends_with_some_passes_to_polish():
    fit = FakeFit(lambda K, age: -1.0)
    search = started(fit, polish=3)
    seen = run(fit, search, 200)
    begin = next(i for i, (moves, _) in enumerate(seen) if "polish" in moves)
    assert len(seen) - begin in (3, 4)
    assert search.is_done
    assert fit.asked[-1] == "forget"  # another posterior: documents start from their words
    rising = FakeFit(lambda K, age: 10.0 * age)
    search = started(rising, max_iter=20, polish=5)
    seen = run(rising, search, 20)
    assert [i for i, (moves, _) in enumerate(seen) if "polish" in moves] == [15]
    assert not search.is_done  # passes ran out, which is not convergence


def test_without_polish_a_search_is_over_when_nothing_is_left_to_try():
    fit = FakeFit(lambda K, age: -1.0)
    search = started(fit, polish=0)
    seen = run(fit, search, 200)
    assert search.is_done
    assert not any("polish" in moves for moves, _ in seen)


def test_sizes_come_first_and_the_best_goes_on():
    """Each size is as old as the others when it is judged: warm-up, passes from the words."""
    fit = FakeFit(lambda K, age: -abs(np.log2(K) - 3.0))
    search = started(fit, warm_up=2, most=32, sizes=SizeSearch(32), max_iter=400)
    seen = run(fit, search, 150)
    assert search.phase != "size"
    assert seen[-1][1] == 8
    began = [told for told in fit.asked if told.startswith("begin")]
    assert all(told.endswith("collapsed") for told in began[:4])
    sizes = [i for i, (moves, _) in enumerate(seen) if any(what.startswith("try renew") for what in moves)]
    assert set(np.diff(sizes)) <= {2 + FRESH, 2 + FRESH + 1}
    assert {int(told.split()[1]) for told in began} >= {32, 16, 8}


def test_no_size_is_tried_for_which_there_are_too_few_passes():
    fit = FakeFit(lambda K, age: -1.0)
    search = started(fit, warm_up=2, most=32, sizes=SizeSearch(32), max_iter=12)
    seen = run(fit, search, 12)
    assert not any(what.startswith("try renew") for moves, _ in seen for what in moves)


@pytest.mark.parametrize("n_passes", range(5, 60, 6))
def test_a_search_continues_from_its_safe_point(n_passes):
    """What is known goes through JSON; the moves that follow are the same."""

    def bound(K, age):
        return -abs(np.log2(K) - 3.0) * 10

    fit = FakeFit(bound)
    search = started(fit, sizes=SizeSearch(16), warm_up=1)
    whole = run(fit, search, 90)

    first = FakeFit(bound)
    search = started(first, sizes=SizeSearch(16), warm_up=1)
    run(first, search, n_passes)
    safe = search.safe_point
    if safe is None:  # not before the first topics stand
        assert n_passes < 10
        return
    known, second = json.loads(json.dumps(safe.known)), FakeFit(bound)
    again = started(second, sizes=SizeSearch(16), warm_up=1, n_passes=safe.n_passes)
    following = again.resume(safe.here, known)
    second.K, second.age, seen = following.n_components if again.trial is None else second.K, 99, []
    for _ in range(90 - safe.n_passes):
        result = second.next_pass(following)
        seen.append((again.take_moves(), second.K))
        if again.is_done:
            break
        following = again.after(result)
    assert seen == whole[safe.n_passes :]


@pytest.mark.parametrize(
    "change",
    [
        {"quiet": None, "pace": "x"}, {"pace": [1, 2, 3]}, {"failures": {}}, {"refused": [[1]]}, {"random": {}},
        {"sizes": {"x": 1}}, {"moves": []},
    ],
)  # fmt: skip
def test_a_search_says_when_it_cannot_be_continued(change):
    fit = FakeFit(lambda K, age: -1.0)
    search = started(fit, sizes=SizeSearch(16))
    run(fit, search, 30)
    again = started(FakeFit(lambda K, age: -1.0), sizes=SizeSearch(16))
    with pytest.raises(ValueError, match="how far the search for topics was"):
        again.resume(search.safe_point.here, search.safe_point.known | change)
