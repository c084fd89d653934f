"""What every engine must do, run for those of one process, and for one that lives behind a wall of pickles."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from topmix import (
    HDP,
    LDA,
    GaussianAdmixture,
    GaussianMixture,
    MultinomialMixture,
    VonMisesFisherAdmixture,
    VonMisesFisherMixture,
)
from topmix.engines import ENGINES
from topmix.engines.local import Serial, Threads
from topmix.inference import CVB0, SCVB0, Collapsed, Variational
from topmix.learners import Batch, Memoized, State, Stochastic
from topmix.steps.documents import FoldIn
from topmix.steps.rows import AssignGroupsStep, AssignStep

from .conftest import ADMIXTURES, LIKELIHOODS, PROBLEMS, TOPICS
from .remote import Remote

# Ray needs a cluster, and a GPU has bits of its own: tests/cluster and tests/cuda ask them.
ENGINE = {**{name: kind() for name, kind in ENGINES.items() if name not in ("ray", "cuda")}, "remote": Remote()}
# Asynchronous learners open workers of their own.
LEARNER = {
    "memoized": Memoized(),
    "rounds": Memoized(batches_per_update=3),
    "batch": Batch(),
    "stochastic": Stochastic(),
}
PAIRS = [
    (learner, what)
    for learner, what in itertools.product(LEARNER, PROBLEMS)
    if not (learner == "stochastic" and what in ("cvb0", "discounted", "full-candidates"))  # which need a memory
]
engines = pytest.mark.parametrize("engine", ENGINE.values(), ids=ENGINE)


def learned(learner, model, workers, flat, n=2):
    passes = learner.passes(model, workers, State())
    return [np.concatenate([flat(m), flat(t)]) for m, t, _ in itertools.islice(passes, n)]


@pytest.mark.parametrize(("learner", "what"), PAIRS)
def test_every_engine_gives_the_same_bits_for_any_number_of_threads(what, learner, problem, flat):
    """On shards that kernels cut in several chunks, see WIDE."""
    found = {}
    for name, threads in (("serial", 1), ("serial", 7), ("threads", 7), ("remote", 2)):
        model, step, shards = problem(what, wide=True)
        workers = ENGINE[name].open(shards(3), step, threads)
        found[name, threads] = learned(LEARNER[learner], model, workers, flat)
        workers.close()
    assert {name for name, _ in found} == {*ENGINE}
    want = found.pop(("serial", 1))
    for got in found.values():
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_shards_of_the_test_above_have_several_chunks(problem):
    for what in PROBLEMS:
        shard = max(problem(what, wide=True)[2](3), key=lambda shard: shard.n_rows)
        if what in TOPICS or LIKELIHOODS[what.partition("-")[0]].rows == "counts":
            assert shard.n_rows > 2 * 64  # rows of counts per chunk, and 16 documents
            assert len(shard.cols) > 2 * 64  # words per chunk
            assert len(shard.index) > 2 * 4096  # entries per chunk
        else:
            assert shard.n_rows > 256  # rows of vectors per chunk


@engines
@pytest.mark.parametrize("what", PROBLEMS)
def test_shards_come_back_in_the_order_asked(engine, what, problem, flat):
    model, step, shards = problem(what)
    workers = engine.open(shards(5), step, 2)
    assert (workers.n_shards, workers.n_rows) == (5, len(shards(1).corpus))
    assert what in ADMIXTURES or workers.n_rows == 103
    assert [result.shard for result in workers.run(model.tables, [3, 0, 4])] == [3, 0, 4]
    assert list(workers.run(model.tables, [])) == []
    alone = {r.shard: r for r in Serial().open(shards(5), step, 1).run(model.tables, range(5))}
    for result in workers.run(model.tables, [2, 1]):
        np.testing.assert_array_equal(flat(result), flat(alone[result.shard]))
    workers.close()


@pytest.mark.parametrize("what", PROBLEMS)
def test_tables_are_sized_by_the_words_of_their_shard(what, problem):
    model, step, shards = problem(what)
    sizes = []
    for n_shards in (1, 100):
        workers = Remote().open(shards(n_shards), step, 1)
        list(workers.run(model.tables, [0]))
        sizes.append(workers.sent)
    if what in TOPICS or LIKELIHOODS[what.partition("-")[0]].rows == "counts":
        assert sizes[1] < 0.8 * sizes[0]  # one row has few words
    else:
        assert sizes[1] == sizes[0]  # vectors use all columns, however few the rows are


@engines
@pytest.mark.parametrize("what", PROBLEMS)
def test_results_and_memories_do_not_borrow_from_the_worker(engine, what, problem, flat):
    model, step, shards = problem(what)
    workers = engine.open(shards(2), step, 1)
    (first,) = workers.run(model.tables, [0])
    before, memory = flat(first), workers.recall()
    remembered = flat(memory)
    list(workers.run(model.tables, [1, 0, 1]))
    np.testing.assert_array_equal(flat(first), before)
    np.testing.assert_array_equal(flat(memory), remembered)


@engines
@pytest.mark.parametrize("what", PROBLEMS)
def test_memories_are_recalled_restored_and_forgotten(engine, what, problem, flat):
    model, step, shards = problem(what)
    workers = engine.open(shards(5), step, 1)

    def visit(b):
        return flat(next(iter(workers.run(model.tables, [b]))))

    has_memory = what in (*TOPICS, *ADMIXTURES, "full-candidates")
    assert workers.recall() == {}
    first = visit(1), visit(4)
    after_one = workers.recall()
    assert set(after_one) == ({1, 4} if has_memory else set())
    second = visit(1), visit(4)
    after_two = workers.recall()
    assert np.array_equal(flat(after_one), flat(after_two)) != has_memory
    workers.restore(after_one)
    np.testing.assert_array_equal(flat(workers.recall()), flat(after_one))
    for got, want in zip((visit(1), visit(4)), second, strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(flat(workers.recall()), flat(after_two))
    workers.forget()
    assert workers.recall() == {}
    for got, want in zip((visit(1), visit(4)), first, strict=True):
        np.testing.assert_array_equal(got, want)
    workers.restore({b: m for b, m in after_two.items() if b == 4})  # in the place of all, not beside it
    assert set(workers.recall()) == ({4} if has_memory else set())
    np.testing.assert_array_equal(visit(1), first[0])


@engines
@pytest.mark.parametrize("what", PROBLEMS)
def test_questions_about_rows_have_the_same_bits(engine, what, problem, flat):
    """What estimators ask of a fitted model: documents under fixed topics, rows under a fixed mixture."""
    model, step, shards = problem(what, wide=True)
    asked = FoldIn(want_bound=True) if what in TOPICS else AssignStep(step.likelihood, 3)
    if what in ADMIXTURES:
        asked = AssignGroupsStep(step.likelihood, 3, want_likelihood=True)
    want = [flat(r) for r in Serial().open(shards(2), asked, 1).run(model.tables, range(2))]
    got = [flat(r) for r in engine.open(shards(2), asked, 2).run(model.tables, range(2))]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


# Estimators with engine=Remote(): everything that they do goes through pickles, two shards to a worker.

TOPIC_FITS = {
    "LDA": LDA(4, max_iter=4),
    "LDA, rounds": LDA(4, max_iter=4, learner=Memoized(batch_size=20, batches_per_update=3)),
    "LDA, batch": LDA(4, max_iter=4, learner="batch"),
    "LDA, stochastic": LDA(4, max_iter=3, learner=Stochastic(batch_size=25)),
    "LDA, variational": LDA(4, max_iter=4, inference=Variational(restarts=1), doc_topic_prior="auto"),
    "LDA, SCVB0": LDA(4, max_iter=3, inference=SCVB0(), learner=Stochastic(batch_size=25)),
    "LDA, CVB0": LDA(4, max_iter=3, inference=CVB0()),
    "LDA, topics that start again": LDA(30, max_iter=4, inference=Collapsed(min_topic_mass=0.5)),
    "HDP": HDP(4, search=None, max_iter=4),
    "HDP, search": HDP(4, max_iter=45, learner=Memoized(batch_size=60)),
    "HDP, search, variational": HDP(4, max_iter=45, learner=Memoized(batch_size=60), inference="variational"),
}
MIXTURE_FITS = {
    "MultinomialMixture": MultinomialMixture(4, max_iter=4, n_active=2),
    "MultinomialMixture, stochastic": MultinomialMixture(4, max_iter=3, learner=Stochastic(batch_size=25)),
    "GaussianMixture": GaussianMixture(4, max_iter=4, n_active=2),
    "VonMisesFisherMixture": VonMisesFisherMixture(4, max_iter=4, n_active=2),
    "GaussianMixture, candidates": GaussianMixture(6, max_iter=4, n_active=2, candidates=3),
    "GaussianAdmixture": GaussianAdmixture(4, max_iter=4, n_active=2, learner=Memoized(batch_size=3)),
    "VonMisesFisherAdmixture": VonMisesFisherAdmixture(4, max_iter=4, n_active=2),
    "GaussianMixture, batch": GaussianMixture(4, max_iter=4, learner="batch", covariance_type="diag"),
}


def like(estimator, engine, **parameters):
    """The same estimator with another engine."""
    return type(estimator)(**estimator.get_params(deep=False) | {"random_state": 0, "engine": engine} | parameters)


@pytest.mark.parametrize("name", TOPIC_FITS)
def test_topics_through_pickles_have_the_same_bits(name, sample):
    X = sample("counts")
    one, two = (
        like(TOPIC_FITS[name], engine, tol=-np.inf if "search" not in name else 1e-3)
        for engine in (Threads(), Remote())
    )
    one.fit(X)
    two.fit(X)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert one.score(X) == two.score(X)
    assert [(r.objective, r.moves, r.effort) for r in one.history_] == [
        (r.objective, r.moves, r.effort) for r in two.history_
    ]
    for model in (one, two):
        model.partial_fit(X[:60]).partial_fit(X[60:])
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize("name", MIXTURE_FITS)
def test_mixtures_through_pickles_have_the_same_bits(name, sample):
    X = sample("counts" if name.startswith("M") else "vectors")
    one, two = (like(MIXTURE_FITS[name], engine, tol=-np.inf) for engine in (Threads(), Remote()))
    groups = [np.arange(len(X)) % 9] if "Admixture" in name else []
    for model in (one, two):
        model.fit(X, *groups, sample_weight=np.linspace(0.5, 1.5, len(X)))
    assert [r.objective for r in one.history_] == [r.objective for r in two.history_]
    for verb in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(one, verb)(X, *groups), getattr(two, verb)(X, *groups))
    assert one.score(X, *groups) == two.score(X, *groups)
    for model in (one, two):
        model.partial_fit(X[:60])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("name", [name for name in TOPIC_FITS if name not in ("LDA, CVB0", "HDP, search, variational")])
def test_checkpoints_through_pickles_are_continued_by_any_engine(name, sample, tmp_path):
    X, whole = sample("counts"), like(TOPIC_FITS[name], "threads").fit(sample("counts"))

    class Crash(Exception):
        pass

    def crash(record, view):
        if record.n_pass > whole.n_iter_ // 2:
            raise Crash

    for first, then in ((Remote(), "serial"), ("threads", Remote(3))):
        path = tmp_path / f"{first}"
        with pytest.raises(Crash):
            like(TOPIC_FITS[name], first, callbacks=[crash]).fit(X, checkpoint=path)
        assert path.exists()
        resumed = like(TOPIC_FITS[name], then).fit(X, checkpoint=path)
        np.testing.assert_array_equal(resumed.components_, whole.components_)
        assert [r.objective for r in resumed.history_] == [r.objective for r in whole.history_]


@pytest.mark.parametrize("name", MIXTURE_FITS)
def test_checkpoints_of_mixtures_are_continued_by_any_engine(name, sample, tmp_path):
    X = sample("counts" if name.startswith("M") else "vectors")
    groups = [np.arange(len(X)) % 9] if "Admixture" in name else []
    whole, path = like(MIXTURE_FITS[name], "threads", tol=-np.inf).fit(X, *groups), tmp_path / "file"
    half = [lambda record, view: record.n_pass > whole.n_iter_ // 2]
    like(MIXTURE_FITS[name], Remote(), tol=-np.inf, callbacks=half).fit(X, *groups, checkpoint=path)
    resumed = like(MIXTURE_FITS[name], Remote(3), tol=-np.inf).fit(X, *groups, checkpoint=path)
    assert [r.objective for r in resumed.history_] == [r.objective for r in whole.history_]
    np.testing.assert_array_equal(resumed.predict_proba(X, *groups), whole.predict_proba(X, *groups))


def test_workers_are_closed_when_a_fit_ends_or_fails(sample):
    opened = []

    class Watched(Threads):
        def open(self, shards, step, threads):
            workers = super().open(shards, step, threads)
            close, entry = workers.close, {"closed": False}
            workers.close = lambda: (entry.update(closed=True), close())
            opened.append(entry)
            return workers

    def fail(record, view):
        raise RuntimeError

    counts, vectors = sample("counts"), sample("vectors")
    lda, gm = LDA(3, max_iter=2, engine=Watched()), GaussianMixture(3, max_iter=2, engine=Watched())
    lda.fit(counts).partial_fit(counts).transform(counts)
    gm.fit(vectors).partial_fit(vectors).predict(vectors)
    assert len(opened) == 7  # a fit of a mixture also asks for its labels
    for model, X in ((lda, counts), (gm, vectors)):
        with pytest.raises(RuntimeError):
            model.set_params(callbacks=[fail]).fit(X)
    assert len(opened) == 9
    assert all(entry["closed"] for entry in opened)


def test_an_engine_is_a_component_that_compares_and_prints():
    assert Remote() == Remote(2) != Remote(3)
    assert repr(Remote()) == "Remote()"
    assert repr(Remote(3)) == "Remote(shards_per_worker=3)"
    assert replace(Remote(), shards_per_worker=5) == Remote(5)
    with pytest.raises(ValueError, match="shards_per_worker must be a positive integer"):
        Remote(0)
    with pytest.raises(ValueError, match="engine must be one of 'threads', 'serial', 'ray', 'cuda', or one of"):
        LDA(3, engine=Memoized()).fit(np.ones((3, 4)))
