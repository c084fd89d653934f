"""What every engine must do, run for each entry of the registry, and for one that lives behind a wall of pickles."""

import itertools
import pickle

import numpy as np
import pytest

from topmix.engines import ENGINES, Engine, Serial
from topmix.engines.worker import Worker
from topmix.learners import LEARNERS
from topmix.likelihoods import LIKELIHOODS

PROBLEMS = [*LIKELIHOODS, "full-ml", "diag-zero", "categorical-sticks", "variational", "collapsed", "scvb0", "cvb0"]


class Remote(Engine):
    """Workers on machines that share nothing: all that goes in or comes out is bytes, two shards to a worker."""

    def __init__(self, shards, local, n_jobs):
        self.n_shards, self.n_rows, self.threads = len(shards), shards.n_rows, n_jobs
        made = [pickle.dumps(([shards[b] for b in range(a, min(a + 2, len(shards)))], local, n_jobs))
                for a in range(0, len(shards), 2)]  # fmt: skip
        self.workers = [Worker(*pickle.loads(arguments)) for arguments in made]
        self.sent = 0

    def run(self, tables, shards):
        for b in shards:
            worker, own = self.workers[b // 2], b % 2
            message = pickle.dumps(tables(pickle.loads(pickle.dumps(worker.columns(own)))))
            self.sent += len(message)
            yield b, pickle.loads(pickle.dumps(worker.step(own, pickle.loads(message))))


def learned(engine, name, model, flat, n=4):
    return [np.concatenate([flat(m), flat(t)]) for m, t in itertools.islice(LEARNERS[name](model, engine), n)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("what", PROBLEMS)
@pytest.mark.parametrize("name", [*ENGINES, "remote"])
def test_every_engine_gives_the_same_bits(name, what, learner, problem, flat):
    make = Remote if name == "remote" else ENGINES[name]
    model, step, shards = problem(what)
    want = learned(Serial(shards(5), step), learner, model, flat)
    for n_jobs in (1, 2, 7):
        model, step, shards = problem(what)
        got = learned(make(shards(5), step, n_jobs), learner, model, flat)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", [*ENGINES, "remote"])
def test_shards_come_back_in_the_order_asked(name, problem, flat):
    model, step, shards = problem("categorical")
    engine = (Remote if name == "remote" else ENGINES[name])(shards(5), step, 2)
    assert engine.n_shards == 5
    assert [b for b, _ in engine.run(model.tables, [3, 0, 4])] == [3, 0, 4]
    assert list(engine.run(model.tables, [])) == []
    alone = dict(Serial(shards(5), step).run(model.tables, range(5)))
    for b, stats in engine.run(model.tables, [2, 1]):
        np.testing.assert_array_equal(flat(stats), flat(alone[b]))


@pytest.mark.parametrize("what", PROBLEMS)
def test_tables_are_sized_by_the_words_of_their_shard(what, problem):
    model, step, shards = problem(what)
    sizes = []
    for n_shards in (1, 100):
        engine = Remote(shards(n_shards), step, 1)
        list(engine.run(model.tables, [0]))
        sizes.append(engine.sent)
    if what in ("categorical", "variational", "collapsed", "scvb0", "cvb0"):  # one row has few words
        assert sizes[1] < 0.8 * sizes[0]


@pytest.mark.parametrize("what", PROBLEMS)
def test_statistics_do_not_borrow_from_the_worker(what, problem, flat):
    model, step, shards = problem(what)
    engine = Serial(shards(2), step)
    ((_, first),) = engine.run(model.tables, [0])
    before = flat(first)
    list(engine.run(model.tables, [1, 0, 1]))
    np.testing.assert_array_equal(flat(first), before)
