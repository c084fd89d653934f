"""Ctrl-C is answered by every estimator, and what was done is on record."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest

from .estimators import ASYNCHRONOUS, FIXED, counts_only, everyone

LONG_PASS = """
import sys, signal, time
import numpy as np, scipy.sparse as sp
from topmix.chains.gibbs import Chain
from topmix.chains.hard_topics import HardTopics
from topmix.engines.worker import Worker
from topmix.estimators import ESTIMATORS
from topmix.learners import Asynchronous
from topmix.learners.asynchronous_mixture import Assignments
from topmix.learners.asynchronous_topics import AsynchronousTopics

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it
rng = np.random.default_rng(0)
name, is_counts, how = sys.argv[1], sys.argv[2] == "counts", eval(sys.argv[3])
if is_counts:  # a pass of many seconds
    n, V, each = 60_000, 3_000, 150
    index = rng.integers(V, size=n * each).astype(np.int32)
    X = sp.csr_array((np.ones(n * each, np.float32), index, np.arange(0, n * each + 1, each)), shape=(n, V))
    X.sum_duplicates()
else:
    X = rng.normal(size=(300_000, 60))

def announced(kind, method):
    real = getattr(kind, method)
    def before(*arguments, **more):
        sys.stdout.write("inside\\n")
        sys.stdout.flush()
        return real(*arguments, **more)
    setattr(kind, method, before)

for kind, method in ((Worker, "step"), (Chain, "sweep"), (HardTopics, "_pass"), (Assignments, "first_pass"),
                     (AsynchronousTopics, "__init__")):
    announced(kind, method)
common = dict(max_iter=10**6, tol=-np.inf, learner="batch", n_jobs=2, random_state=0)
common |= {"init": "random"} if name in ("LDA", "HDP") else {"init_params": "random_from_data"}
common |= {"inference": "variational"} if name in ("LDA", "HDP") else {}
known = ESTIMATORS[name]._get_param_names()
model = ESTIMATORS[name](1000 if is_counts else 300, **{p: v for p, v in (common | how).items() if p in known})
try:
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), len(getattr(model, "history_", [])), flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@everyone
def test_ctrl_c_is_answered_inside_a_long_pass(name):
    """While a kernel runs that takes far longer than anybody waits: no pass has ended yet."""
    data = "counts" if counts_only(name) else "vectors"
    how = repr(ASYNCHRONOUS.get(name, {}) | FIXED.get(name, {}))
    command = [sys.executable, "-c", LONG_PASS, name.split(",")[0], data, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "inside\n"
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            sent = time.monotonic()
            lines = child.stdout.read().split("\n")
        finally:
            child.kill()
    word, when, n_passes = lines[-2].split()
    assert word == "interrupted"
    assert int(n_passes) == 0  # it was answered in the middle of the first pass
    assert float(when) - sent < 30  # a second on a machine that has nothing else to do


@pytest.mark.timeout(300)
@everyone
def test_an_interrupted_fit_keeps_the_history_of_what_it_did(name):
    """Ctrl-C after some passes, in the middle of another."""
    script = textwrap.dedent(
        f"""
        import numpy as np, scipy.sparse as sp, signal, sys, time
        from topmix.estimators import ESTIMATORS
        from topmix.learners import Asynchronous

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it

        rng = np.random.default_rng(0)
        n, V, each = 5_000, 1_000, 100
        index = rng.integers(V, size=n * each)
        X = sp.csr_array((np.ones(n * each, np.float32), index, np.arange(0, n * each + 1, each)), shape=(n, V))
        X.sum_duplicates()
        X = X if {counts_only(name)} else rng.normal(size=(30_000, 50))

        def ready(record, view):
            sys.stdout.write("ready\\n")  # print would write the end of the line by itself, and Ctrl-C may come between
            sys.stdout.flush()

        how = dict(max_iter=10**6, tol=-np.inf, learner="batch", n_jobs=2, random_state=0, callbacks=[ready])
        cls = ESTIMATORS[{name.split(",")[0]!r}]
        how |= {{"init_params": "random_from_data"}} if not {counts_only(name)} else {{}}  # the soonest
        how |= {ASYNCHRONOUS.get(name, {})!r} | {FIXED.get(name, {})!r}
        model = cls(400, **{{p: value for p, value in how.items() if p in cls._get_param_names()}})
        try:
            model.fit(X)
        except KeyboardInterrupt:
            print("interrupted", len(model.history_), flush=True)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            sent = time.monotonic()
            lines = child.stdout.read().split("\n")
            waited = time.monotonic() - sent
        finally:
            child.kill()
    word, n_passes = lines[-2].split()
    assert word == "interrupted"
    assert int(n_passes) >= 1
    assert waited < 30  # about a second, on a machine that has nothing else to do
