"""Steps on a GPU whose data and results are on the host, as workers of a cluster run them."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

from topmix import HDP, LDA, GaussianMixture
from topmix.cuda.hosted import HostedStep
from topmix.cuda.shared_total import Counts, RoundWords, SharedTotal
from topmix.cuda.staying import History, PastVisit, Size, StayingShards
from topmix.cuda.words import UNIT
from topmix.data import sample_lda
from topmix.data.shard import Shards
from topmix.engines import Cuda, Ray, Threads
from topmix.engines.local import LocalWorkers, Worker
from topmix.inference import Collapsed
from topmix.learners import Memoized, Stochastic
from topmix.local.cvb0 import CVB0Step
from topmix.local.topics import TopicStep

CORPUS = sample_lda(40, 50, 4, doc_length=25, random_state=2).corpus


@dataclass(frozen=True, repr=False)
class Hosted(Threads):
    """A worker with a GPU, without the cluster."""

    device: Cuda | None = None

    def open(self, shards, step, threads):
        sent = pickle.loads(pickle.dumps(HostedStep(step, self.device)))
        return LocalWorkers(shards, Worker(sent, threads))


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (LDA, {"learner": Memoized(batch_size=15), "inference": Collapsed(sweeps=0)}),
        (LDA, {"learner": "batch", "inference": "variational"}),
        (LDA, {"learner": Stochastic(batch_size=15), "inference": "scvb0"}),
        (HDP, {"search": None}),
    ],
    ids=str,
)
def test_a_fit_is_that_of_the_processor(engine, estimator, parameters):
    settings = {"n_active": 3, "max_iter": 3, "random_state": 0} | parameters
    want, got = estimator(4, **settings).fit(CORPUS), estimator(4, engine=Hosted(engine), **settings).fit(CORPUS)
    np.testing.assert_allclose(got.components_, want.components_, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(got.transform(CORPUS), want.transform(CORPUS), atol=1e-4)
    assert got.score(CORPUS) == pytest.approx(want.score(CORPUS), rel=1e-5)
    again = estimator(4, engine=Hosted(engine), **settings).fit(CORPUS)
    np.testing.assert_array_equal(got.components_, again.components_)


def test_a_fit_explores(engine):
    settings = {"max_iter": 8, "random_state": 0, "inference": Collapsed(sweeps=2), "n_active": 3}
    model = LDA(4, engine=Hosted(engine), **settings).fit(CORPUS)
    assert [record.phase for record in model.history_].count("sampling") == 2
    assert model.components_.sum() == pytest.approx(CORPUS.n_tokens + 4 * 50 * model.topic_word_prior_, rel=1e-6)


def test_shards_that_stay_have_the_bits_of_engine_cuda(engine):
    """Also where a worker makes the visits of another, from the first one or from what was saved."""
    settings = {"max_iter": 1, "random_state": 0, "inference": Collapsed(sweeps=0), "n_active": 3}
    model, shards = LDA(4, **settings).fit(CORPUS).model_, Shards(CORPUS, [slice(0, 15), slice(15, 40)])
    workers = engine.open(shards, TopicStep(), 1)
    there, rounds = workers.place(model), workers.rounds({})
    size, device = Size(*model.words.shape, UNIT), engine.opened()
    total = SharedTotal.like(model.words.total, UNIT)
    total.counts_ = Counts("these", 0, total.raw.copy(), ())
    histories = [History(b, shards[b], None, None, 0, (), False) for b in range(2)]

    def now(n):
        sent = pickle.loads(pickle.dumps(replace(model, words=model.words.update(total.elsewhere()))))
        visit = PastVisit(n, sent, total.counts_)
        return [h._replace(visits=(*h.visits, visit), has_stats=n > 1) for h in histories]

    def same(found, wanted):
        for mine, theirs in zip(found[0], wanted[0], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        for (mine, _), (theirs, _) in zip(found[1], wanted[1], strict=True):
            np.testing.assert_array_equal(mine.M, theirs.M)
            np.testing.assert_array_equal(mine.S.totals, theirs.S.totals)

    stay, old = StayingShards(TopicStep(), device), 0.0
    for n in range(1, 4):
        histories = now(n)
        found = stay.visit(size, histories, True, lambda value: value)
        same(stay.visit(size, histories, True, lambda value: value), found)  # it is asked again
        same(StayingShards(TopicStep(), device).visit(size, histories, True, lambda value: value), found)
        new = sum(stats.S.totals for stats, _ in found[1])
        total.add(RoundWords(new - old, (found[0],), (found[0],)))
        old = new
        one = rounds.visit(there.tables, [0, 1])
        if one.old is not None:
            there.words.total.add(one.old.S, -1.0)
        there.words.total.add(one.new.S)
        np.testing.assert_array_equal(total.raw, there.words.total.on_host().raw)
    stay.visit(size, now(4)[:1], True, lambda value: value)
    same(stay.visit(size, histories, True, lambda value: value), found)  # a late call, when the next round has begun
    whole, _ = stay.sum(size, histories, lambda value: value)
    assert whole.values.sum() / UNIT == pytest.approx(CORPUS.n_tokens, abs=1e-3)
    saved = [stay.save(size, each, lambda value: value) for each in histories]
    from_saved = [
        new._replace(memory=memory, stats=stats, number=3, visits=new.visits[-1:])
        for new, (memory, stats) in zip(now(4), pickle.loads(pickle.dumps(saved)), strict=True)
    ]
    found = stay.visit(size, from_saved, True, lambda value: value)
    same(StayingShards(TopicStep(), device).visit(size, from_saved, True, lambda value: value), found)
    same(StayingShards(TopicStep(), device).visit(size, now(4), True, lambda value: value), found)
    stay.clear()
    workers.close()


def test_the_device_is_given_back(engine):
    device = engine.opened()
    step = HostedStep(TopicStep(), type("Given", (), {"opened": lambda self: device})())
    worker = Worker(step)
    worker.close()  # before it was used
    assert step._device is None


def test_what_cannot_travel_is_refused():
    with pytest.raises(ValueError, match="cannot run CVB0Step on GPUs"):
        HostedStep(CVB0Step(), Cuda())
    with pytest.raises(ValueError, match="on GPUs: they have LDA and HDP"):
        GaussianMixture(2, engine=Ray(gpus_per_worker=1)).fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match="gpus_per_worker must be 0 or 1"):
        Ray(gpus_per_worker=2)
