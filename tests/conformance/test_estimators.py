"""What every estimator must do, run for each entry of the registry."""

import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from topmix import LDA, load
from topmix.data import Corpus
from topmix.engines import Threads
from topmix.estimators import ESTIMATORS
from topmix.fitting import PassView, TimeLimit
from topmix.learners import Asynchronous, Batch, Memoized

ROWS = "a random start is drawn from the rows, so other rows give another start (as with scikit-learn's own KMeans)"
PROBA = "scikit-learn takes whatever has predict_proba for a classifier here"
EXPECTED = {
    "GaussianMixture": {"check_sample_weight_equivalence_on_dense_data": ROWS},
    "MultinomialMixture": {
        "check_sample_weight_equivalence_on_dense_data": ROWS,
        "check_sample_weight_equivalence_on_sparse_data": ROWS,
        "check_estimator_sparse_array": PROBA,
        "check_estimator_sparse_matrix": PROBA,
    },
    "VonMisesFisherMixture": {
        "check_sample_weight_equivalence_on_dense_data": ROWS,
        "check_estimators_dtypes": "one of its rows of integers is zero, which has no direction",
    },
}
STREAM = dict.fromkeys(
    ("check_fit_score_takes_y", "check_n_features_in_after_fitting"), "partial_fit is refused: workers keep documents"
)
FIXED = {"HDP": {"search": None}}  # as many topics as were asked for; scikit-learn's checks see the defaults
# Workers are another way through fit, so these are held to all of it as well.
ASYNCHRONOUS = {
    "LDA, asynchronous": {"learner": Asynchronous(opening=0), "inference": "variational"},
    "GaussianMixture, asynchronous": {"learner": "asynchronous"},
}
EVERYONE = [*ESTIMATORS, *ASYNCHRONOUS]


def class_of(name):
    return ESTIMATORS[name.split(",")[0]]


def make(name, **parameters):
    """Small and repeatable; of the other parameters, those that it has."""
    common = {"n_components": 4, "max_iter": 5, "random_state": 0, "n_jobs": 1} | FIXED.get(name, {})
    known = class_of(name)._get_param_names()
    return class_of(name)(
        **common | {p: value for p, value in parameters.items() if p in known} | ASYNCHRONOUS.get(name, {})
    )


def counts_only(name):
    return get_tags(make(name)).input_tags.positive_only


def has(name, parameter):
    """Whether it has a parameter, or a component with such a setting, that a test may set."""
    return parameter in make(name).get_params(deep=True) and not (
        name in ASYNCHRONOUS and parameter.partition("__")[0] == "learner"
    )


everyone = pytest.mark.parametrize("name", EVERYONE)
of_counts = pytest.mark.parametrize("name", [name for name in EVERYONE if counts_only(name)])


def those_with(parameter):
    return pytest.mark.parametrize("name", [name for name in EVERYONE if has(name, parameter)])


@pytest.fixture
def data(name, sample):
    return sample("counts" if counts_only(name) else "vectors")


def answers(model, X):
    """All that a fitted estimator says of X and of itself."""
    out = [np.asarray(getattr(model, a)) for a in ("components_", "weights_", "means_") if hasattr(model, a)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
        verbs = ("predict", "predict_proba", "transform", "score_samples")
        out += [np.asarray(getattr(model, verb)(X)) for verb in verbs if hasattr(model, verb)]
    return out


def same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def ask(model, X):
    """One of its verbs."""
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


def is_asynchronous_lda(model):
    return isinstance(model, LDA) and isinstance(model.learner, Asynchronous)


@parametrize_with_checks(
    [class_of(name)(8, n_jobs=1, **ASYNCHRONOUS.get(name, {})) for name in [*ESTIMATORS, *ASYNCHRONOUS]],
    expected_failed_checks=lambda e: EXPECTED.get(type(e).__name__, {}) | (STREAM if is_asynchronous_lda(e) else {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)  # asynchronous ones have n_jobs workers, who do not wait for each other
def test_same_bits_for_any_number_of_jobs_and_engine(name, sample):
    """On data that kernels cut in several chunks, see WIDE."""
    X = sample("counts" if counts_only(name) else "vectors", wide=True)
    learners = [Memoized(batch_size=len(X) // 3), Memoized(batch_size=len(X) // 6, batches_per_update=2), Batch()]
    for learner in learners if "learner" in make(name).get_params() else [None]:
        want = answers(make(name, max_iter=3, learner=learner).fit(X), X)
        for engine, n_jobs in (("serial", 1), ("serial", 2), ("threads", 2), ("threads", 7), (Threads(), None)):
            if engine == "serial" and "engine" not in make(name).get_params():
                continue
            same(answers(make(name, max_iter=3, learner=learner, n_jobs=n_jobs, engine=engine).fit(X), X), want)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_two_fits_at_once_have_the_bits_of_fits_one_after_the_other(name, sample):
    """From threads of Python: numbers of threads, buffers and interrupts of one fit are nothing to the other."""
    X = sample("counts" if counts_only(name) else "vectors", wide=True)
    how = [{"random_state": seed, "n_jobs": n_jobs} for seed, n_jobs in ((0, 1), (1, 3), (2, 2), (3, 7))]

    def fitted(parameters):
        return answers(make(name, max_iter=3).set_params(**parameters).fit(X), X)

    with ThreadPoolExecutor(len(how)) as pool:
        at_once = list(pool.map(fitted, how))
    for got, parameters in zip(at_once, how, strict=True):
        same(got, fitted(parameters))


@everyone
def test_the_same_from_every_kind_of_input(name, data, tmp_path):
    want = answers(make(name).fit(data), data)
    frame = pd.DataFrame(data, columns=[f"w{v}" for v in range(data.shape[1])])
    inputs = [data.tolist(), data.astype(np.float64), np.asfortranarray(data), frame]
    if counts_only(name):
        corpus = Corpus.from_scipy(data, vocabulary=list(frame.columns))
        corpus.save(tmp_path / "saved.topmix")
        inputs += [data.astype(np.int64), sp.csr_matrix(data), sp.csr_array(data), sp.csc_array(data)]
        inputs += [sp.coo_array(data), corpus, tmp_path / "saved.topmix", str(tmp_path / "saved.topmix")]
    for X in inputs:
        model = make(name).fit(X)
        same(answers(model, X), want)
        same(answers(model, data), want)
        assert model.n_features_in_ == data.shape[1]
        if X is frame:
            assert list(model.feature_names_in_) == list(frame.columns)


@of_counts
def test_duplicates_and_zeros_of_a_sparse_matrix_mean_what_they_say(name, data):
    row, col = np.nonzero(data)
    half = data[row, col] / 2
    doubled = sp.coo_array((np.concatenate([half, half, [0.0]]), (np.r_[row, row, 0], np.r_[col, col, 0])), data.shape)
    same(answers(make(name).fit(doubled), data), answers(make(name).fit(data), data))


@everyone
def test_copies_answer_alike(name, data):
    model = make(name).fit(data)
    want = answers(model, data)
    same(answers(pickle.loads(pickle.dumps(model)), data), want)
    same(answers(clone(model).fit(data), data), want)
    same(answers(model.fit(data), data), want)  # and fitting again forgets


@everyone
def test_the_input_is_not_changed(name, data):
    before = data.copy()
    answers(make(name).fit(data), data)
    np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, bad) for name in EVERYONE for bad in (np.nan, np.inf, -1.0) if bad != -1.0 or counts_only(name)],
)
def test_numbers_that_are_not_counts_are_refused(name, data, bad):
    spoiled = data.copy()
    spoiled[3, 2] = bad
    model = make(name).fit(data)
    inputs = [spoiled, pd.DataFrame(spoiled)] + ([sp.csr_array(spoiled)] if counts_only(name) else [])
    for X in inputs:
        with pytest.raises(ValueError, match=r"(?i)nan|infinity|negative"):
            make(name).fit(X)
    with pytest.raises(ValueError, match=r"(?i)nan|infinity|negative"):
        ask(model, spoiled)


@everyone
def test_another_number_of_features_is_refused(name, data):
    model = make(name).fit(data)
    for X in (data[:, 1:], np.hstack([data, data])):
        with pytest.raises(ValueError, match="features"):
            ask(model, X)
    if counts_only(name):
        with pytest.raises(ValueError, match=f"{data.shape[1] - 1} words.*{data.shape[1]}"):
            ask(model, Corpus.from_scipy(data[:, 1:]))


@of_counts
def test_another_vocabulary_is_refused(name, data):
    words = [f"w{v}" for v in range(data.shape[1])]
    model = make(name).fit(Corpus.from_scipy(data, vocabulary=words))
    with pytest.raises(ValueError, match=r"another vocabulary: word 1 is 'x', but was 'w1'"):
        ask(model, Corpus.from_scipy(data, vocabulary=["w0", "x", *words[2:]]))
    with pytest.raises(ValueError, match="feature names"):
        ask(model, pd.DataFrame(data, columns=words[::-1]))
    ask(model, Corpus.from_scipy(data))  # without names, order is trusted


@everyone
def test_nothing_is_refused(name, data):
    model = make(name).fit(data)
    empty = [data[:0], data[:, :0]]
    if counts_only(name):
        empty += [sp.csr_array(data[:0]), Corpus.from_scipy(data[:0]), Corpus.from_scipy(data[:, :0])]
    for X in empty:
        with pytest.raises(ValueError, match=r"0 (sample|feature|document|word)"):
            make(name).fit(X)
    for X in empty[::3]:
        with pytest.raises(ValueError, match=r"0 (sample|document)"):
            ask(model, X)


@everyone
@pytest.mark.parametrize("case", ["one row", "one column", "one of each", "more clusters than rows", "equal rows"])
def test_little_data_gives_finite_answers(name, data, case):
    X = {
        "one row": data[:1],
        "one column": data[:, :1],
        "one of each": data[:1, :1] + 1,
        "more clusters than rows": data[:3],
        "equal rows": np.repeat(data[:1], 9, axis=0),
    }[case]
    model = make(name, n_components=7).fit(X)
    for x in answers(model, X):
        assert np.all(np.isfinite(x))
    assert np.isfinite(model.history_[-1].objective)
    for proportions in [v for v in (getattr(model, "weights_", None),) if v is not None]:
        assert proportions.sum() == pytest.approx(1)


@of_counts
def test_empty_rows_keep_their_place_and_change_nothing_else(name, data):
    for X in (np.vstack([data, 0 * data[:5]]), 0 * data):
        model = make(name).fit(X)
        for x in answers(model, X):
            assert np.all(np.isfinite(x))
        assert len(ask(model, X)) == len(X)
    model = make(name).fit(data)
    gaps = np.insert(data, [0, 7, len(data)], 0, axis=0)
    full = np.setdiff1d(np.arange(len(gaps)), [0, 8, len(gaps) - 1])
    np.testing.assert_allclose(ask(model, gaps)[full], ask(model, data))


@everyone
def test_one_cluster(name, data):
    model = make(name, n_components=1).fit(data)
    for x in answers(model, data):
        assert np.all(np.isfinite(x))


BAD = [
    ("n_components", 0), ("n_components", 2.5), ("n_components", 70_000), ("n_active", 0), ("n_active", "all"),
    ("learner", "magic"), ("learner", Threads()), ("engine", "magic"), ("engine", 3), ("inference", "magic"),
    ("inference", Memoized()), ("search", "magic"), ("n_jobs", 0), ("n_jobs", 1.5), ("max_iter", -1), ("n_init", 0),
    ("batch_size", 0), ("max_time", 0), ("max_time", "long"), ("max_time", np.nan),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [(name, *bad) for name in EVERYONE for bad in BAD if bad[0] in class_of(name)._get_param_names()],
)
def test_a_bad_parameter_is_named(name, data, parameter, value):
    model = make(name).set_params(**FIXED.get(name, {}) | {parameter: value})
    with pytest.raises(ValueError, match=parameter):
        model.fit(data)


@everyone
def test_history_has_a_record_a_pass(name, data):
    model = make(name, tol=-np.inf).fit(data)
    assert [r.n_pass for r in model.history_] == [1, 2, 3, 4, 5]
    assert model.n_iter_ == 5
    assert not getattr(model, "converged_", False)
    assert np.all(np.diff([r.seconds for r in model.history_]) > 0)
    for r in model.history_:
        assert r.objective == pytest.approx(sum(r.terms.values()))
        assert r.n_components == 4
        assert r.to_dict()["objective"] == r.objective
    if "tol" in model.get_params():
        assert make(name, tol=1e9).fit(data).n_iter_ == 2  # the first pass has nothing to compare with


@everyone
def test_callbacks_see_every_pass_and_may_stop_it(name, data):
    seen = []

    def watch(record, view):
        seen.append((record, view.n_components))
        return record.n_pass == 3

    model = make(name, tol=-np.inf, callbacks=[watch, lambda *_: None]).fit(data)
    assert [r for r, _ in seen] == model.history_
    assert [k for _, k in seen] == [4, 4, 4]
    assert model.n_iter_ == 3


@everyone
def test_time_ends_a_fit_after_the_pass_that_it_is_in(name, data):
    short, long = (make(name, tol=-np.inf, callbacks=[TimeLimit(s)]).fit(data) for s in (1e-9, 1e9))
    assert (short.n_iter_, long.n_iter_) == (1, 5)
    assert not getattr(short, "converged_", False)
    if name != "LDA, asynchronous":
        same(answers(long, data), answers(make(name, tol=-np.inf).fit(data), data))


@those_with("max_time")
def test_max_time_is_a_limit_of_time(name, data):
    short, long = (make(name, tol=-np.inf, max_time=seconds).fit(data) for seconds in (1e-9, 1e9))
    assert (short.n_iter_, long.n_iter_) == (1, 5)
    assert not short.converged_
    same(answers(long, data), answers(make(name, tol=-np.inf).fit(data), data))


@everyone
def test_a_failed_fit_leaves_an_estimator_that_says_it_is_not_fitted(name, data):
    def fail(record, view):
        raise RuntimeError("stop")

    model = make(name, callbacks=[fail])
    with pytest.raises(RuntimeError, match="stop"):
        model.fit(data)
    with pytest.raises(NotFittedError):
        ask(model, data)
    assert [r.n_pass for r in model.history_] == [1]  # what was done is on record


@those_with("warm_start")
def test_warm_start_goes_on(name, data):
    model = make(name, learner="batch", warm_start=True, tol=-np.inf)
    last = model.fit(data).history_[-1].objective
    assert model.fit(data).history_[0].objective >= last - 1e-3 * abs(last)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_components=5).fit(data)


@everyone
def test_a_view_says_the_same_of_every_estimator(name, data):
    """How many components there are, how large they are, what they say, and a copy to keep."""
    seen = []

    def watch(record, view):
        assert isinstance(view, PassView)
        counts, now = view.counts(), view.fitted()
        assert view.n_components == record.n_components == 4
        assert view.weights.shape == (4,)
        assert np.all(view.weights >= 0)
        assert view.weights.sum() == pytest.approx(1)
        if counts_only(name):
            assert counts.shape == (data.shape[1], 4)
            assert counts.sum() == pytest.approx(data.sum(), rel=1e-5)
        else:
            assert counts is None
        assert type(now) is class_of(name)
        seen.append((now, answers(now, data)))

    last = make(name, tol=-np.inf, callbacks=[watch]).fit(data)
    assert len(seen) == 5
    for n_pass, (now, said) in enumerate(seen, 1):  # the fit went on; the copies did not
        same(answers(now, data), said)
        assert now.n_iter_ == n_pass
        assert now.history_ == last.history_[:n_pass]
        assert not hasattr(now, "converged_")
        for x in said:
            assert np.all(np.isfinite(x))
    assert not all(np.array_equal(a, b) for a, b in zip(seen[0][1], seen[-1][1], strict=True))
    if name != "GibbsLDA":  # whose topics are means over the last sweeps
        same(answers(last, data), seen[-1][1])


@everyone
def test_a_copy_of_a_pass_can_be_saved_and_scored(name, data, tmp_path):
    paths = []

    def keep(record, view):
        now = view.fitted()
        paths.append((tmp_path / str(record.n_pass), answers(now, data)))
        now.save(paths[-1][0])

    make(name, max_iter=2, tol=-np.inf, callbacks=[keep]).fit(data)
    for path, said in paths:
        same(answers(load(path), data), said)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if hasattr(class_of(name), "partial_fit")])
def test_a_copy_of_a_pass_can_be_fitted_further(name, data):
    copies = []
    last = make(name, max_iter=2, tol=-np.inf, callbacks=[lambda _, view: copies.append(view.fitted())]).fit(data)
    before = answers(last, data)
    for now in copies:
        assert np.all(np.isfinite(answers(now.partial_fit(data), data)[0]))
        assert now.set_params(callbacks=None).fit(data).n_iter_ == 2
    same(answers(last, data), before)


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
        print("inside", flush=True)
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
        n, V, each = 15_000, 1_000, 100
        index = rng.integers(V, size=n * each)
        X = sp.csr_array((np.ones(n * each, np.float32), index, np.arange(0, n * each + 1, each)), shape=(n, V))
        X.sum_duplicates()
        X = X if {counts_only(name)} else rng.normal(size=(100_000, 50))

        def ready(record, view):
            print("ready", flush=True)

        how = dict(max_iter=10**6, tol=-np.inf, learner="batch", n_jobs=2, random_state=0, callbacks=[ready])
        cls = ESTIMATORS[{name.split(",")[0]!r}]
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
