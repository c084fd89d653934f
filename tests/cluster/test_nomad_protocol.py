"""What workers do with blocks that come and go, without Ray: rows of several workers in this process."""

import itertools

import numpy as np
import pytest

from topmix import LDA
from topmix.corpus.shard import Shards
from topmix.data import sample_lda
from topmix.engines.blocks import BlockError
from topmix.learn.asynchronous_topics import RunSettings, TopicRows, split_documents, statistics, word_blocks
from topmix.learners import Asynchronous


@pytest.fixture(scope="module")
def problem():
    corpus = sample_lda(240, 150, 5, doc_length=50, random_state=0).corpus
    first = LDA(8, inference="variational", learner=Asynchronous(warm_up=0), max_iter=1, random_state=0).fit(corpus)
    return corpus, first.model_


class Learning:
    """Documents of a corpus, dealt to P workers, and what they make of the topics of a model."""

    def __init__(self, problem, P, threads=1):
        corpus, self.model = problem
        V, K = self.model.words.shape
        blocks = word_blocks(np.bincount(corpus.index, minlength=V), K, P, None, 8)
        cuts, how = split_documents(corpus.indptr, P), (blocks, (V, K), 4, "best")
        shards = Shards(corpus, [slice(a, b) for a, b in itertools.pairwise(cuts)])
        self.rows = [TopicRows(*how, shards[w], threads) for w in range(P)]
        self.words = np.split(blocks[1], blocks[0][1:-1])
        counts = self.model.words.total.counts()
        self.contents = [np.stack([counts[w], np.zeros_like(counts[w])]) for w in self.words]
        list(self.travel(1, counts.sum(axis=0), begins=1))
        self.contents = [content[1:] for content in self.contents]

    def travel(self, rounds, total, begins=0):
        """Blocks make so many rounds, in orders of their own; what is reported after each."""
        P, calls = len(self.rows), itertools.count()
        for mine in self.rows:
            mine.start(RunSettings(self.model.prior.alpha, self.model.words.eta, total, 0, begins))
        changes = [np.zeros_like(total) for _ in range(P)]
        for n_round in range(rounds):
            for n, b in itertools.product(range(P), range(len(self.contents))):
                w = (n + b) % P
                others = np.sum([made for v, made in enumerate(changes) if v != w], axis=0) if P > 1 else None
                self.news, self.contents[b] = self.rows[w].solve(next(calls), n_round, [b], others, self.contents[b])
                changes[w] = self.news.changes
            yield [summary for mine in self.rows for summary in mine.summaries()]

    def total(self):
        return sum(content[0].sum(axis=0) for content in self.contents)

    def rounds(self, n):
        """The topics after each round, and what was reported of it."""
        for summaries in self.travel(n, self.total()):
            S = np.zeros(self.model.words.shape)
            for content, words in zip(self.contents, self.words):
                S[words] = content[0]
            H, gammas, rises = zip(*summaries)
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
    learning = Learning(problem, 3)
    before = learning.total()
    *_, (S, *_) = learning.rounds(3)
    np.testing.assert_allclose(before + sum(s.own_changes() for s in learning.rows), S.sum(axis=0), rtol=1e-9)


def test_a_worker_has_only_the_blocks_that_it_visits(problem):
    for P in (1, 4):
        learning = Learning(problem, P)
        whole = sum(content.nbytes for content in learning.contents)
        list(learning.rounds(2))
        assert 0 < learning.news.block_bytes == max(content.nbytes for content in learning.contents) < whole / 4
        assert learning.news.own_bytes > 0


def test_a_doubled_or_missed_visit_is_an_error_that_names_the_block(problem):
    learning = Learning(problem, 2)
    rows, (first, second, *_) = learning.rows[0], learning.contents
    rows.start(RunSettings(learning.model.prior.alpha, learning.model.words.eta, learning.total(), 0))
    _, first = rows.solve(0, 0, [0], None, first)
    with pytest.raises(BlockError, match="block 0 came twice"):
        rows.solve(1, 0, [0], None, first)
    with pytest.raises(BlockError, match="block 1 lost a visit"):
        rows.solve(2, 1, [1], None, second)


def test_news_of_others_count_once_in_whatever_order_calls_come(problem):
    learning = Learning(problem, 2)
    rows, total = learning.rows[0], learning.total()
    rows.start(RunSettings(learning.model.prior.alpha, learning.model.words.eta, total, 0))
    seen = []
    rows.apply_changes = seen.append
    changes = np.arange(1.0, 1 + len(total))
    for b, (call, others) in enumerate([(0, None), (2, 3 * changes), (1, changes), (3, 4 * changes)]):
        rows.solve(call, 0, [b], others, learning.contents[b])
    np.testing.assert_array_equal(seen, [3 * changes, changes])
