"""Ctrl-C is answered by every estimator, and what was done is on record."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from topmix.engines.local import Worker
from topmix.learn.asynchronous_mixture import AsynchronousMixture
from topmix.learn.asynchronous_topics import AsynchronousTopics
from topmix.learn.chains import Chain, HardTopics

from .estimators import ASYNCHRONOUS, FIXED, class_of, counts_only, everyone

WHERE_PASSES_BEGIN = (
    (Worker, "step"), (Chain, "sweep"), (HardTopics, "_pass"), (AsynchronousMixture, "first_pass"),
    (AsynchronousTopics, "__init__"),
)  # fmt: skip


def rows(name, n_docs, n_words, length, n_vectors, width):
    """Counts, or vectors where the estimator takes them."""
    rng = np.random.default_rng(0)
    if not counts_only(name):
        return rng.normal(size=(n_vectors, width))
    step = n_words // length
    words = rng.integers(step, size=(n_docs, length)) + step * np.arange(length)  # in order, and none of them twice
    ends = np.arange(0, n_docs * length + 1, length)
    return sp.csr_array(
        (np.ones(words.size, np.float32), words.ravel().astype(np.int32), ends), shape=(n_docs, n_words)
    )


def large(name, n_components, **parameters):
    """A fit that never ends, with those of the parameters that the estimator has."""
    common = {"max_iter": 10**6, "tol": -np.inf, "learner": "batch", "n_jobs": 2, "random_state": 0} | parameters
    common |= ASYNCHRONOUS.get(name, {}) | FIXED.get(name, {})
    known = class_of(name)._get_param_names()
    return class_of(name)(n_components, **{p: value for p, value in common.items() if p in known})


@pytest.fixture
def ctrl_c():
    """ctrl_c() sends it to this process 0.3 seconds later; `ctrl_c.sent` is when."""

    class Sender:
        sent = None
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

        def __call__(self):
            if self.sent is None:
                self.sent = time.monotonic() + 0.3
                self.timer.start()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may have been ignored
    yield Sender()
    Sender.timer.cancel()
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.timeout(300)
@everyone
def test_ctrl_c_is_answered_inside_a_long_pass(name, ctrl_c, monkeypatch):
    """While a kernel runs that takes far longer than anybody waits: no pass has ended yet."""

    def announced(real):
        return lambda *arguments, **more: (ctrl_c(), real(*arguments, **more))[1]

    for kind, method in WHERE_PASSES_BEGIN:
        monkeypatch.setattr(kind, method, announced(getattr(kind, method)))
    X = rows(name, 60_000, 3_000, 150, 300_000, 60)
    inits = {"Mul": "documents", "Von": "random_from_data"}  # those that take the least time
    start = {"init_params": "random_from_data", "init": inits.get(name[:3], "random")}
    start |= {"inference": "variational"} if name.split(",")[0] in ("LDA", "HDP") else {}
    model = large(name, 1000 if counts_only(name) else 300, **start)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert time.monotonic() - ctrl_c.sent < 30  # a second on a machine that has nothing else to do
    assert getattr(model, "history_", []) == []  # it was answered in the middle of the first pass


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore:the fit was interrupted")
@everyone
def test_an_interrupted_fit_keeps_the_history_of_what_it_did(name, ctrl_c):
    """Ctrl-C after some passes, in the middle of another."""
    X = rows(name, 1_000, 500, 50, 5_000, 20)
    start = {} if counts_only(name) else {"init_params": "random_from_data", "init": "random_from_data"}  # the soonest
    model = large(name, 100, callbacks=[lambda record, view: ctrl_c()], **start)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert len(model.history_) >= 1
    assert time.monotonic() - ctrl_c.sent < 30  # about a second, on a machine that has nothing else to do
