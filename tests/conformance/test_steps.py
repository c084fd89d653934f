"""What every local step must do: it is a frozen description and a pure function, so it runs anywhere."""

import io
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from itertools import pairwise

import numpy as np
import pytest

from topmix import _core
from topmix.engines.engine import add_info
from topmix.engines.local import Worker
from topmix.inference import CVB0, SCVB0, Collapsed, Variational
from topmix.models.categorical import Categorical
from topmix.models.topics import DocumentOptions
from topmix.steps.documents import CVB0Step, FoldIn, SCVB0Step, TopicStep
from topmix.steps.rows import AssignStep, CandidateStep, MixtureStep

from .conftest import ADMIXTURES, PROBLEMS, TOPICS

ASKED = ["fold in", "fold in, with bound", "assign", "assign, likelihood only", "merge entropy"]
STEPS = [*PROBLEMS, *ASKED]
FIRST, THIRD = "first visit", "third visit"

IN_ANOTHER_PROCESS = """
import pickle, sys
from topmix.engines.engine import add_info
from topmix.engines.local import Worker
for step, shard, tables, memory in pickle.load(sys.stdin.buffer):
    pickle.dump(Worker(step, 2).step(shard, tables, memory), sys.stdout.buffer)
"""


@pytest.fixture
def arguments(problem):
    """arguments(name, when) is (step, shard, tables, memory)."""

    def make(name, when=FIRST):
        of = {"fold in": "collapsed", "fold in, with bound": "variational", "assign": "full",
              "assign, likelihood only": "categorical", "merge entropy": "variational"}.get(name, name)  # fmt: skip
        model, step, shards = problem(of)
        if name.startswith("fold in"):
            step = FoldIn(want_bound=name.endswith("bound"))
        elif name.startswith("assign"):
            step = AssignStep(step.likelihood, 3, keep_clusters=name == "assign")
        elif name == "merge entropy":
            model = replace(model, partner=np.array([3, 2, 1, 0, -1], np.int32))
        shard = shards(2)[1]
        memory = None
        if when == THIRD:
            for _ in range(2):
                memory = Worker(step).step(shard, model.tables(shard.cols), memory).memory
        return step, shard, model.tables(shard.cols), memory

    return make


def contents(shard):
    """A shard by its fields: what it caches for itself is not compared."""
    return [getattr(shard, f.name) for f in fields(shard)] if hasattr(shard, "__dataclass_fields__") else vars(shard)


steps = pytest.mark.parametrize("name", STEPS)
visits = pytest.mark.parametrize("when", [FIRST, THIRD])


@steps
def test_a_step_is_frozen_and_compares_by_value(name, arguments):
    step, *_ = arguments(name)
    for f in fields(step):
        with pytest.raises(FrozenInstanceError):
            setattr(step, f.name, getattr(step, f.name))
    assert step == pickle.loads(pickle.dumps(step))
    assert hash(step) == hash(replace(step))
    assert not hasattr(step, "memory")


@visits
@steps
def test_the_same_arguments_give_the_same_result_twice(name, when, arguments, flat):
    """And so does a worker that did something else in between: its buffers hold nothing."""
    step, shard, tables, memory = arguments(name, when)
    worker, fresh = Worker(step), Worker(step, 3)
    first = flat(worker.step(shard, tables, memory))
    for other in STEPS[::5]:
        args = arguments(other)
        args[0](args[1], args[2], args[3], worker.scratch)
    np.testing.assert_array_equal(flat(worker.step(shard, tables, memory)), first)
    np.testing.assert_array_equal(flat(fresh.step(shard, tables, memory)), first)


@visits
@steps
def test_arguments_are_not_changed_and_results_do_not_share_with_each_other(name, when, arguments, flat):
    step, shard, tables, memory = arguments(name, when)
    worker = Worker(step)

    def now():
        return pickle.dumps((contents(shard), tables, memory))

    before = now()
    results = [worker.step(shard, tables, memory) for _ in range(3)]
    assert now() == before
    for one, two in pairwise(results):
        for a, b in zip(_arrays(one), _arrays(two), strict=True):
            assert not np.shares_memory(a, b) or not a.flags.writeable or _is_given(a, shard, tables)


def _arrays(x):
    if isinstance(x, np.ndarray):
        return [x]
    if hasattr(x, "__dataclass_fields__"):
        return [a for f in fields(x) for a in _arrays(getattr(x, f.name))]
    if isinstance(x, dict):
        return [a for key in sorted(x) for a in _arrays(x[key])]
    return [a for inner in x for a in _arrays(inner)] if isinstance(x, tuple | list) else []


def _is_given(a, shard, tables):
    """Statistics name the words of their shard by its own array."""
    return any(np.shares_memory(a, given) for given in (*_arrays(contents(shard)), *_arrays(tables)))


def test_another_process_gives_the_same_bits(arguments, flat):
    asked = [arguments(name, when) for when in (FIRST, THIRD) for name in STEPS]
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], input=pickle.dumps(asked), capture_output=True, check=True
    )
    stream = io.BytesIO(done.stdout)
    for step, shard, tables, memory in asked:
        np.testing.assert_array_equal(flat(pickle.load(stream)), flat(Worker(step).step(shard, tables, memory)))
    assert not stream.read()


@pytest.mark.parametrize("name", ["variational", "discounted", "scvb0", "cvb0"])
def test_a_memory_makes_the_next_visit_another(name, arguments, flat):
    step, shard, tables, _ = arguments(name)
    memory, seen = None, []
    for _ in range(3):
        stats, memory, _ = Worker(step).step(shard, tables, memory)
        seen.append(flat(stats))
    assert not np.array_equal(seen[1], seen[2])


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in (*TOPICS, *ADMIXTURES, "full-candidates")])
def test_a_mixture_step_remembers_nothing(name, arguments):
    step, shard, tables, _ = arguments(name)
    assert Worker(step).step(shard, tables).memory is None


def test_a_warm_visit_starts_from_the_last_and_cold_visits_do_not(arguments, flat):
    step, shard, tables, _ = arguments("variational")

    def visits(step, n=3):
        memory, found = None, []
        for _ in range(n):
            stats, memory, info = Worker(step).step(shard, tables, memory)
            found.append((flat(stats), memory, info["iterations"]))
        return found

    cold = visits(replace(step, cold_visits=None))
    np.testing.assert_array_equal(cold[0][0], cold[1][0])
    assert [memory.times for _, memory, _ in cold] == [1, 2, 3]
    assert all(memory.docs is None for _, memory, _ in cold)  # nothing that no visit needs is kept
    warm = visits(replace(step, cold_visits=2))
    np.testing.assert_array_equal(warm[0][0], warm[1][0])
    assert warm[0][1].docs is None
    assert warm[1][1].docs is not None
    assert warm[2][2] < warm[1][2]  # iterations


def test_the_options_of_documents_travel_in_the_tables(problem, flat):
    model, step, shards = problem("variational")
    shard, found = shards(1)[0], []
    for n_active, eps in ((1, 0.0), (5, 0.0), (5, 3.0), (None, 0.0), (100, 0.0)):
        options = DocumentOptions(n_active=n_active, eps=eps, tol=0.01)
        tables = replace(model, document_options=options).tables(shard.cols)
        docs = Worker(replace(step, cold_visits=0)).step(shard, tables).memory.docs
        found.append(docs)
        counts = docs.count[docs.count > 0]
        assert counts.min() > eps or np.diff(docs.indptr).min() == 1
    one, five, pruned, every, many = (np.diff(docs.indptr).sum() for docs in found)
    assert one < five
    assert pruned < five
    assert five == every == many  # more than K means K


def test_document_options_are_values():
    assert DocumentOptions() == DocumentOptions(n_active=None, eps=0.0)
    assert DocumentOptions(n_active=3).L(10) == 3
    assert DocumentOptions(n_active=30).L(10) == DocumentOptions().L(10) == 10
    with pytest.raises(FrozenInstanceError):
        DocumentOptions().eps = 1.0
    native = DocumentOptions(n_active=3, eps=0.5, max_iter=7, tol=0.2, restarts=2, own_discount=0.25).native(
        "collapsed", 9
    )
    assert isinstance(native, _core.DocumentOptions)
    assert (native.L, native.max_iter, native.restarts, native.own_discount) == (3, 7, 2, 0.25)


@pytest.mark.parametrize(
    ("inference", "documents", "step"),
    [
        (Collapsed(), DocumentOptions(eps=2.5, own_discount=0.5), TopicStep(2)),
        (
            Collapsed(min_topic_mass=0.0, restarts=3, cold_visits=None, selection="often", max_doc_update_iter=7,
                      doc_tol=0.5, stopping="mean", own_discount=0.0),
            DocumentOptions(eps=0.0, restarts=3, select_often=True, max_iter=7, tol=0.5, mean_change=True),
            TopicStep(None),
        ),
        (Variational(min_topic_mass=1.0, cold_visits=0), DocumentOptions(eps=1.0), TopicStep(0)),
        (SCVB0(2, 3.0, 4.0, 0.7), DocumentOptions(eps=2.5), SCVB0Step(2, 3.0, 4.0, 0.7, 17)),
        (CVB0(3), DocumentOptions(eps=2.5), CVB0Step(3)),
    ],
)  # fmt: skip
def test_inference_says_how_documents_are_solved_and_by_which_step(inference, documents, step):
    assert inference.document_options(None) == documents
    assert inference.document_options(4) == replace(documents, n_active=4)
    assert inference.step(17) == step


def test_info_adds_and_nobody_writes_into_a_result():
    lost = np.array([1.0, 2.0])
    one, two = {"iterations": 2.0, "lost": lost}, {"iterations": 3.0, "lost": lost, "other": 1.0}
    total = {}
    for more in (one, two):
        add_info(total, more)
    assert total["iterations"] == 5.0
    np.testing.assert_array_equal(total["lost"], [2.0, 4.0])
    assert total["other"] == 1.0
    np.testing.assert_array_equal(lost, [1.0, 2.0])
    assert one == {"iterations": 2.0, "lost": lost}


def test_steps_of_mixtures_are_told_apart():
    assert MixtureStep(Categorical, 2) != CandidateStep(Categorical, 2)
    assert MixtureStep(Categorical, 2) == MixtureStep(Categorical, 2) != MixtureStep(Categorical, 3)
