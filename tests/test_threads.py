"""Who may use how many threads: of kernels and of BLAS, from any thread of Python."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from topmix import LDA, GaussianMixture, GibbsLDA
from topmix.base.threads import MOST_THREADS, count_of_threads, one_thread, threads, use_threads
from topmix.models.mixture import Mixture
from topmix.models.topics import TopicModel


def test_kernels_use_all_cores_unless_a_block_says_otherwise():
    assert threads() == joblib.cpu_count()
    with use_threads(3):
        assert threads() == 3
        with use_threads(5):
            assert threads() == 5
        assert threads() == 3
    with pytest.raises(RuntimeError), use_threads(2):
        raise RuntimeError
    assert threads() == joblib.cpu_count()


def test_each_thread_of_python_has_its_own_number():
    both, seen = threading.Barrier(2), {}

    def work(n):
        with use_threads(n):
            both.wait()
            seen[n] = threads()
            both.wait()

    with use_threads(7), ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (2, 3)))
        assert threads() == 7
    assert seen == {2: 2, 3: 3}


@pytest.mark.parametrize("bad", [0, 1.5, True, "all"])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match="n_jobs"):
        count_of_threads(bad)


def test_numbers_of_jobs_are_scikit_learns():
    cores = joblib.cpu_count()
    assert [count_of_threads(n) for n in (None, -1, 1, 3, 10**6)] == [cores, cores, 1, 3, MOST_THREADS]
    assert count_of_threads(-2) == max(1, cores - 1)


@pytest.mark.parametrize("engine", ["serial", "threads"])
@pytest.mark.parametrize("estimator", [LDA, GaussianMixture])
def test_a_serial_engine_has_one_thread_for_tables_too(monkeypatch, estimator, engine):
    model = Mixture if estimator is GaussianMixture else TopicModel
    seen, tables = [], model.tables

    def watched(self, cols):
        seen.append(threads())
        return tables(self, cols)

    monkeypatch.setattr(model, "tables", watched)
    X = np.random.default_rng(0).integers(5, size=(40, 6)).astype(float)
    fitted = estimator(2, engine=engine, n_jobs=3, max_iter=2, random_state=0, tol=-np.inf).fit(X)
    n = len(seen)
    fitted.predict(X) if hasattr(fitted, "predict") else fitted.transform(X)
    assert len(seen) > n > 0
    fitted.set_params(learner="stochastic").partial_fit(X)
    assert set(seen) == {1 if engine == "serial" else 3}


def of_blas():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def in_a_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_blas_has_one_thread_inside_the_block_whoever_enters_it():
    def inside():
        with one_thread():
            return of_blas()

    before = of_blas()
    assert before
    for _ in range(2):
        assert set(inside()) == {1}
        assert of_blas() == before
        assert set(in_a_thread(inside)) == {1}
        assert of_blas() == before


def test_the_last_to_leave_gives_blas_its_threads_back():
    before, entered, leave = of_blas(), threading.Event(), threading.Event()

    def first():
        with one_thread():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait(60)
    with one_thread():
        leave.set()
        thread.join()
        assert set(of_blas()) == {1}  # who entered first has left
    assert of_blas() == before


def test_a_fit_has_the_same_bits_in_a_thread_of_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1.5, (4, 5))[rng.integers(4, size=1300)] + rng.normal(size=(1300, 5))

    def fitted():
        return GaussianMixture(4, max_iter=3, random_state=0).fit(X)

    here, there = fitted(), in_a_thread(fitted)
    np.testing.assert_array_equal(here.means_, there.means_)
    np.testing.assert_array_equal(here.covariances_, there.covariances_)


@pytest.mark.parametrize("kind", [LDA, GibbsLDA])
def test_a_score_has_the_same_bits_for_any_number_of_threads_of_blas(kind):
    """It is a sum over tens of thousands of words of documents, which BLAS would share among its threads."""
    X = np.random.default_rng(2).poisson(0.5, (1000, 600))
    model = kind(20, max_iter=1, random_state=0, n_jobs=1).fit(X)
    scores = set()
    for n in (1, 2, 3, 4):
        with threadpool_limits(n, user_api="blas"):
            scores.add(model.score(X))
    assert len(scores) == 1


# A limit of memory is one that anybody may set and lift, root too: each thread wants a stack of this size.
STACK = 1 << 30
SCARCE = """
import resource, sys, warnings
from contextlib import contextmanager
from pathlib import Path
import numpy as np
from topmix import LDA, GaussianMixture
from topmix.base.threads import one_thread, use_threads
from topmix.learners import Asynchronous
from scipy.linalg import blas

@contextmanager
def room(n_bytes):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + n_bytes, resource.RLIM_INFINITY))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

def room_for(threads):
    return room(threads * (STACK + (1 << 16)) + STACK // 2)

rng = np.random.default_rng(0)
X, Z = rng.poisson(0.3, (300, 50)).astype(float), rng.normal(size=(3000, 3))
how = dict(random_state=0, n_jobs=4, max_iter=2, tol=-np.inf)
"""
FEWER = """
def fit():
    return LDA(3, **how).fit(X).components_

want = fit()
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    for left in range(5):
        with room_for(left):
            assert np.array_equal(fit(), want), left
print(*(w.message for w in given), sep="\\n")
"""
ASYNCHRONOUS = """
warnings.simplefilter("ignore")
asynchronous = (LDA(3, learner="asynchronous", inference="variational", **how), X), (
    GaussianMixture(3, learner=Asynchronous(workers=4), **how), Z)
for model, data in asynchronous:
    model.fit(data)
    for left in range(5):
        with room_for(left):
            try:
                model.fit(data)
                print("fitted")
            except RuntimeError as error:
                print(error)
"""
NO_BUFFER = """
with room(10 << 20):
    a = np.ones((600, 600), np.float32)
    print(blas.sgemm(1.0, a, a)[0, 0], (a @ a)[0, 0])
    try:
        with use_threads(4), one_thread():
            pass
    except MemoryError as error:
        print(error)
with use_threads(4), one_thread():
    print("room")
"""


def said(script):
    """What a program says whose threads have large stacks, line by line. It is over soon."""
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    done = subprocess.run(
        [sys.executable, "-c", f"STACK = {STACK}\n{SCARCE}{script}"], capture_output=True, text=True, timeout=200,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, hard)),
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_fewer_threads_give_the_same_bits_and_one_warning():
    (warning,) = said(FEWER)
    assert re.match(r"the system started 1 of [2-4] threads \(limit of processes\)", warning)  # not all loops are long


def test_asynchronous_learning_needs_all_of_its_threads():
    why = "(limit of processes): use fewer (n_jobs, or workers of the learner)"
    errors = [f"could not start thread {left + 1} of 4 {why}" for left in range(4)]
    assert said(ASYNCHRONOUS) == [*errors, "fitted"] * 2


def test_blas_does_not_wait_for_memory_that_is_not_there():
    error = "no memory for the BLAS of 4 threads: raise the limit, or use a smaller n_jobs"
    assert said(NO_BUFFER) == ["600.0 600.0", error, "room"]
