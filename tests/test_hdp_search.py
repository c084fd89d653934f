"""How the HDP looks for its number of topics: sizes to start with, what to try next, and the phases of a search."""

import json
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.allocations.doc_topics import DocTopics
from topmix.allocations.stick_prior import StickPrior
from topmix.allocations.topic_sticks import Sticks
from topmix.learners import PassResult
from topmix.likelihoods.topic_words import TopicWords
from topmix.local.topics import Visit
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.search import FRESH, Limits, Search, Sources
from topmix.search.sizes import SizeSearch, largest_size, size
from topmix.search.trial import TRIAL, Pace, Trial
from topmix.search.tried import DELETED, FAILURES, ORDER, Tried
from topmix.stats import WordStats, WordTotal


def at(bound):
    """Documents, of which a trial asks nothing else."""
    return SimpleNamespace(bound=lambda: bound)


@pytest.mark.parametrize("most", [1, 2, 7, 100, 10_000])
@pytest.mark.parametrize("peak", [0.0, 1.0, 3.3, 6.6, 8.9, 12.4])
def test_a_search_of_sizes_finds_the_peak_of_any_bound_with_one(most, peak):
    """Peak is log2 of the best number; the best of the sizes in reach is found, and few others are looked at."""
    sizes, seen = SizeSearch(most), []
    while (i := sizes.following()) is not None:
        assert size(i) <= most
        seen.append(size(i))
        sizes.bounds[i] = -abs(np.log2(size(i)) - peak)
    assert len(set(seen)) == len(seen) <= 12
    best = max(seen, key=lambda n: -abs(np.log2(n) - peak))
    in_reach = [size(i) for i in range(28) if size(i) <= most]
    assert abs(np.log2(best) - peak) == pytest.approx(min(abs(np.log2(n) - peak) for n in in_reach))


def test_sizes_are_powers_of_the_root_of_two():
    assert [size(i) for i in range(13)] == [1, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]
    assert [largest_size(most) for most in (1, 2, 5, 63, 64, 65, 10_000)] == [1, 2, 4, 45, 64, 64, 8192]
    assert size(SizeSearch(10_000).following()) == 64  # the middle first
    assert size(SizeSearch(20).following()) == 16


def test_a_geometric_series_promises_its_limit():
    pace = Pace()
    for i in range(6):
        pace = pace.after(4.0 * 0.8**i)
    later = [4.0 * 0.8**i for i in range(6, 200)]
    assert pace.promise() == pytest.approx(sum(later))
    assert pace.promise(3) == pytest.approx(sum(later[:3]))
    assert Pace().promise() == pace.after(-1.0).promise() == 0.0
    assert pace.after(100.0).promise() == pytest.approx(900.0)  # not for ever, however it grows
    assert pace.after(1e-3).promise() == pytest.approx(3e-3)  # nor over at once


def test_a_trial_has_to_gain_more_than_the_old_topics_would_have():
    def verdict(old, pace=0.0, passes=3, gain=100.0):
        """An old pass gained `old`, the last one on trial `pace`; each is three quarters of the one before."""
        trial = Trial("refresh", at(-500.0), {}, set(), Pace(old), pace=Pace(pace), age=passes)
        return trial.verdict(at(-500.0 + gain), is_last=False)

    would_have = 0.75 + 0.75**2 + 0.75**3  # of `old`, after three passes
    assert verdict(0.0) is True
    assert verdict(99 / would_have) is True
    assert verdict(101 / would_have) is False
    assert verdict(101 / would_have, pace=100.0) is None  # it catches up
    assert verdict(101 / would_have, pace=100.0, passes=15) is False  # not for ever
    assert verdict(0.0, passes=2) is None
    assert verdict(0.0, gain=-1.0) is False


def test_a_trial_of_a_size_is_judged_at_once_and_so_is_one_that_runs_out_of_passes():
    for gain, better in ((1.0, True), (-1.0, False)):
        assert Trial("renew 8", at(0.0), {}, set(), Pace(), size=6).verdict(at(gain), is_last=False) is better
        assert Trial("split 2", at(0.0), {}, set(), Pace(99.0)).verdict(at(gain), is_last=True) is better


def test_merges_are_not_taken_for_the_gain_of_a_pass():
    trial = Trial("split 2", at(-500.0), {}, set(), Pace())
    for bound, merged in ((-100.0, -100.0), (-60.0, -20.0), (-12.0, -12.0)):
        trial.passed(bound)
        trial.last = merged
    assert (trial.age, trial.pace.gain) == (3, 8.0)


# What was tried so far


def test_kinds_of_moves_are_tried_in_order_until_each_was_given_up():
    tried, seen = Tried(), []
    while (kind := tried.following()) is not None:
        seen.append(kind)
        tried.failed(kind, 0)
    assert seen == ["refresh", "birth", "split", "delete", "delete", "delete"]
    assert tried.failures == FAILURES


def test_a_large_gain_makes_other_moves_worth_trying_and_the_same_kind_comes_first():
    tried = Tried()
    for kind in ("refresh", "birth", "split"):
        tried.failed(kind, 0)
    tried.gained("delete", by_much=True)
    assert tried.following() == "delete"
    tried.give_up("delete")
    assert tried.following() == "birth"  # a refreshment after a deletion is in vain
    tried.gained("birth", by_much=True)
    assert tried.following() == "birth"
    assert tried.failures == dict.fromkeys(ORDER, 0)


def test_documents_do_not_start_from_their_words_twice_in_a_row():
    tried = Tried()
    tried.gained("refresh", by_much=True)
    assert tried.following() == "birth"


def test_a_small_gain_is_a_failure_of_its_kind_except_for_a_deletion():
    tried = Tried()
    tried.gained("refresh", by_much=False)
    assert tried.following() == "birth"
    tried.gained("delete", by_much=False)
    assert tried.failures["delete"] == 0
    tried.gained("renew", by_much=False)  # of a size, which is not one of the kinds
    tried.failed("renew", 0)
    assert set(tried.failures) == set(ORDER)


@pytest.mark.parametrize("K", [1, 2, 5, 40, 1000])
def test_deletions_get_smaller_and_the_same_is_not_tried_twice(K):
    tried, asked = Tried(), []
    while (n := tried.deletion(K)) is not None:
        asked.append(n)
        tried.failed("delete", n)
        if tried.failures["delete"] == FAILURES["delete"]:
            break
    assert asked == sorted(set(asked), reverse=True)
    wanted = {max(1, round(share * K)) for share in DELETED}
    assert set(asked) == {n for n in wanted if n < K}


def test_what_was_tried_goes_through_json():
    tried = Tried()
    tried.failed("delete", 7)
    tried.gained("split", by_much=True)
    tried.failed("refresh", 0)
    assert Tried.from_dict(json.loads(json.dumps(tried.to_dict()))) == tried
    with pytest.raises(KeyError):
        Tried.from_dict({"failures": {"refresh": 0}, "favourite": "split", "refused_deletion": 0})


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
    """As PausedFit, on one shard; `bounds` gives the bound of each pass, by the number of topics."""

    bound_of: object  # K, pass of these topics -> bound
    memory: dict = field(default_factory=lambda: {0: Visit(1, None)})
    K: int = 4
    age: int = 0  # passes of these topics
    told: list = field(default_factory=list)

    def __post_init__(self):
        self.workers = SimpleNamespace(
            forget=lambda: self.told.append("forget"), restore=lambda memory: self.told.append("restore"), n_shards=1
        )

    def documents(self, result):
        return documents(self.K, float(self.bound_of(self.K, self.age)))

    def put(self, here):
        self.K = here.model.n_components
        return here.model

    def begin(self, model, docs, posterior):
        self.told.append(f"begin {model.n_components} {posterior}")
        self.K, self.age = model.n_components, 0
        return self.solved_by(model, posterior)

    def under(self, posterior, model):
        self.workers.forget()
        self.told.append(posterior)
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
    assert fit.told[-1] == "forget"  # another posterior: documents start from their words
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
    began = [told for told in fit.told if told.startswith("begin")]
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
