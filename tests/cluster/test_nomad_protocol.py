"""How blocks travel, with workers that are threads of this process: the code of an actor without its messages."""

import itertools
import time

import numpy as np
import pytest

from topmix import LDA
from topmix.data import sample_lda
from topmix.data.shard import Shards
from topmix.engines.nomad_ledger import Ledger, LedgerError, Offer, Routes, check_mass, missing
from topmix.engines.ray_nomad import EndOfRound, Links, Nomad, Run
from topmix.learners import Asynchronous
from topmix.learners.asynchronous_topics import Blocks, Maker, Settings, TopicStation, split_documents, statistics


class Here(Links):
    def put(self, content):
        return content

    def get(self, ref):
        return ref

    def offer(self, actor, session, run, offer):
        actor.offer(offer)

    def fetched(self, actor, session, run, block, visit):
        actor.fetched(block, visit)


class Slow(TopicStation):
    def visit(self, thread, blocks, n_round):
        time.sleep(0.002)
        super().visit(thread, blocks, n_round)


class Broken(Here):
    """One offer is lost, or comes twice."""

    def __init__(self, times):
        self.times, self.n = times, 0

    def offer(self, actor, session, run, offer):
        self.n += 1
        for _ in range(self.times if self.n == 5 else 1):
            actor.offer(offer)


def travel(stations, contents, rounds, settings, links=None, arrays=1, quiet=3.0, allowance=None):
    """The blocks at the end of each round, all posts of each, and the workers. Ends when nothing happens any more."""
    P = len(stations)
    run, nomads = Run(1, len(contents), rounds, Routes(P, 3), settings, arrays, True, links or Here(), allowance), []
    nomads += [Nomad("", run, w, nomads, station) for w, station in enumerate(stations)]
    for w, nomad in enumerate(nomads):
        mine = [b for b in range(len(contents)) if run.routes.at(b, 0) == w]
        nomad.offer(*[Offer(b, 0, float(contents[b].sum()), [contents[b]], -1) for b in mine])
        nomad.allow(rounds)
    ends, posts, last = [{} for _ in range(rounds)], [[] for _ in range(rounds)], time.monotonic()
    want = [len(contents), sum(station.n_threads for station in stations)]
    try:
        while any([len(e), len(p)] != want for e, p in zip(ends, posts)) and time.monotonic() - last < quiet:
            for nomad in nomads:
                for item in nomad.collect(0.002).items:
                    last = time.monotonic()
                    if isinstance(item, EndOfRound):
                        assert item.block not in ends[item.n_round]
                        ends[item.n_round][item.block] = item.content[0]
                    else:
                        posts[item.n_round].append(item.value)
    finally:
        for nomad in nomads:
            nomad.stop()
    return ends, posts, nomads


@pytest.fixture(scope="module")
def problem():
    corpus = sample_lda(240, 150, 5, doc_length=50, random_state=0).corpus
    first = LDA(8, inference="variational", learner=Asynchronous(warm_up=0), max_iter=1, random_state=0).fit(corpus)
    return corpus, first.model_


class Learning:
    """Documents of a corpus, dealt to P workers, and what they make of the topics of a model."""

    def __init__(self, problem, P, threads=1, kind=TopicStation, links=None):
        corpus, self.model = problem
        V, self.K = self.model.words.shape
        self.blocks = Blocks.of(np.bincount(corpus.index, minlength=V), self.K, P, None, 8)
        cuts, maker = split_documents(corpus.indptr, P), Maker(self.blocks, V, self.K, 4, "best")
        shards = Shards(corpus, [slice(a, b) for a, b in itertools.pairwise(cuts)])
        self.stations = [(kind if w == 0 else TopicStation)(maker, shards[w], threads) for w in range(P)]
        self.words, self.links = np.split(self.blocks.words, self.blocks.starts[1:-1]), links
        counts = self.model.words.total.counts()
        begin = [np.stack([counts[w], np.zeros_like(counts[w])]) for w in self.words]
        ends, _, self.beginners = travel(self.stations, begin, 1, self._settings(counts.sum(axis=0), 1), arrays=2)
        self.contents = [ends[0][b][1:] for b in range(len(begin))]

    def _settings(self, total, begins=0):
        return Settings(self.model.prior.alpha, self.model.words.eta, total, 0, begins)

    def rounds(self, n, **how):
        """The topics after each round, and what was posted of it."""
        total = sum(content[0].sum(axis=0) for content in self.contents)
        ends, posts, self.nomads = travel(self.stations, self.contents, n, self._settings(total), self.links, **how)
        for end, post in zip(ends, posts):
            S = np.zeros(self.model.words.shape)
            for b, words in enumerate(self.words):
                S[words] = end[b][0]
            H, gammas, rises = zip(*post)
            yield S, sum(H), sum(gammas), np.sum(rises, axis=0)


@pytest.mark.parametrize(("P", "threads"), [(1, 1), (4, 1), (2, 3)])
def test_nothing_is_lost_and_the_bound_rises(problem, P, threads):
    corpus, model = problem
    learning, bounds = Learning(problem, P, threads), []
    lengths = np.asarray(corpus.to_scipy().sum(axis=1)).ravel()
    for snapshot in learning.rounds(5):
        np.testing.assert_allclose(snapshot[0].sum(axis=1), corpus.to_scipy().sum(axis=0), rtol=1e-9, atol=1e-9)
        total = statistics(snapshot, model, lengths)
        bounds.append(sum(model.update(total).bound(total).values()))
    assert np.all(np.diff(bounds) > -1e-3 * abs(bounds[0]))
    assert bounds[-1] > bounds[0]


def test_the_sum_over_words_that_workers_know_is_that_of_their_blocks(problem):
    """Each knows what the others have sent, and all of its own."""
    learning = Learning(problem, 3)
    before = sum(content[0].sum(axis=0) for content in learning.contents)
    *_, (S, *_) = learning.rounds(3)
    np.testing.assert_allclose(before + sum(s.own_changes() for s in learning.stations), S.sum(axis=0), rtol=1e-9)


def test_what_a_worker_has_at_a_time_falls_with_the_number_of_workers(problem):
    """Blocks and what words have from its documents; also where one worker is slow and all others wait for it."""
    whole, first, peaks, own = 0, {}, {}, {}
    for P in (1, 2, 4, 8):
        learning = Learning(problem, P, kind=Slow)
        list(learning.rounds(3))
        whole = sum(content.nbytes for content in learning.contents)
        first[P] = max(nomad.peak for nomad in learning.beginners)  # of blocks that have two arrays
        peaks[P] = max(nomad.peak for nomad in learning.nomads)
        own[P] = max(station.n_bytes() for station in learning.stations)
    assert peaks[1] == whole
    assert whole > peaks[2] > peaks[4] > peaks[8]
    assert peaks[8] < whole / 3
    assert 2 * whole >= max(first[1], first[2])
    assert first[2] > first[4] > first[8]
    assert own[1] > own[2] > own[4] > own[8]


def test_what_one_worker_may_not_have_is_learned_by_four(problem):
    """Of documents and topics together."""
    four = Learning(problem, 4)
    list(four.rounds(2))
    enough = max(n.peak + s.n_bytes() for n, s in zip(four.nomads, four.stations)) * 5 // 4
    list(four.rounds(2, allowance=enough))
    with pytest.raises(MemoryError, match=r"worker 0 needs .* use more workers"):
        list(Learning(problem, 1).rounds(2, allowance=enough))


def test_a_doubled_block_is_found_by_the_worker_that_it_comes_to(problem):
    with pytest.raises(LedgerError, match=r"block \d+ came twice: visit \d+ to worker \d"):
        list(Learning(problem, 2, links=Broken(2)).rounds(3))


def test_a_lost_block_is_found_when_nobody_has_anything_to_do(problem):
    learning = Learning(problem, 2, links=Broken(0))
    with pytest.raises((KeyError, ValueError)):  # the round has no end
        list(learning.rounds(3, quiet=0.3))
    ledgers = [nomad.ledger for nomad in learning.nomads]
    assert all(nomad.collect(0.0).is_idle for nomad in learning.nomads)
    said = missing([x.received for x in ledgers], [x.sent for x in ledgers], Routes(2, 3))
    assert "was sent by worker" in said
    assert "never arrived" in said


@pytest.mark.parametrize("P", [1, 2, 5])
def test_a_block_visits_every_worker_once_in_a_round(P):
    routes = Routes(P, 7)
    for b in range(11):
        assert sorted(routes.at(b, n) for n in range(P)) == list(range(P))
        assert routes.at(b, 0) == b % P  # dealt evenly


def test_ledgers_know_what_may_come():
    routes = Routes(2, 0)
    ledgers = [Ledger(w, routes) for w in range(2)]
    for visit in range(4):
        worker = ledgers[routes.at(3, visit)]
        worker.receive(Offer(3, visit, 1.0, None, 0))
        worker.send(3, visit + 1)
    assert "(visit 4)" in missing([x.received for x in ledgers], [x.sent for x in ledgers], routes)
    with pytest.raises(LedgerError, match="came twice: visit 2"):
        ledgers[routes.at(3, 2)].receive(Offer(3, 2, 1.0, None, 0))
    with pytest.raises(LedgerError, match="lost a visit: 6 came"):
        ledgers[routes.at(3, 6)].receive(Offer(3, 6, 1.0, None, 0))
    with pytest.raises(LedgerError, match="is another worker's"):
        ledgers[routes.at(3, 5)].receive(Offer(3, 4, 1.0, None, 0))
    with pytest.raises(LedgerError, match="but is not there"):
        ledgers[0].send(9, 1)
    with pytest.raises(LedgerError, match="block 3 changed on its way"):
        check_mass(Offer(3, 0, 2.0, None, 0), np.ones((1, 1, 1)))
