"""What every estimator must do, run for each entry of the registry."""

import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from topmix.data import Corpus
from topmix.estimators import ESTIMATORS

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
FIXED = {"HDP": {"adapt": False}}  # so many topics as were asked for; scikit-learn's checks see the defaults
# Workers are another way through fit, so these are held to all of it as well.
ASYNCHRONOUS = {
    "LDA, asynchronous": {"learner": "asynchronous", "posterior": "variational", "opening": 0},
    "GaussianMixture, asynchronous": {"learner": "asynchronous"},
}
everyone = pytest.mark.parametrize("name", [*ESTIMATORS, *ASYNCHRONOUS])


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
    return hasattr(model, "opening") and model.learner == "asynchronous"


@parametrize_with_checks(
    [class_of(name)(8, n_jobs=1, **ASYNCHRONOUS.get(name, {})) for name in [*ESTIMATORS, *ASYNCHRONOUS]],
    expected_failed_checks=lambda e: EXPECTED.get(type(e).__name__, {}) | (STREAM if is_asynchronous_lda(e) else {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@everyone
@pytest.mark.parametrize("engine", [None, "serial", "threads"])
def test_same_bits_for_any_number_of_jobs(name, data, engine):
    if name in ASYNCHRONOUS:
        pytest.skip("it has n_jobs workers, who do not wait for each other")
    want = answers(make(name).fit(data), data)
    for n_jobs in (1, 2, 7, None):
        same(answers(make(name, n_jobs=n_jobs, engine=engine).fit(data), data), want)


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


@everyone
def test_duplicates_and_zeros_of_a_sparse_matrix_mean_what_they_say(name, data):
    if not counts_only(name):
        pytest.skip("takes dense rows")
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


@everyone
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_numbers_that_are_not_counts_are_refused(name, data, bad):
    if bad == -1 and not counts_only(name):
        pytest.skip("takes any finite number")
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


@everyone
def test_another_vocabulary_is_refused(name, data):
    if not counts_only(name):
        pytest.skip("takes vectors")
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


@everyone
def test_empty_rows_keep_their_place_and_change_nothing_else(name, data):
    if not counts_only(name):
        pytest.skip("takes vectors")
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


@everyone
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_components", 0), ("n_components", 2.5), ("n_components", 70_000), ("n_active", 0), ("n_active", "all"),
        ("learner", "magic"), ("engine", "magic"), ("n_jobs", 0), ("n_jobs", 1.5), ("max_iter", 0), ("n_init", 0),
        ("batch_size", 0), ("max_time", 0), ("max_time", "long"), ("max_time", np.nan),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_named(name, data, parameter, value):
    if parameter not in make(name).get_params() or (name in ASYNCHRONOUS and parameter in ("learner", "batch_size")):
        pytest.skip(f"has no {parameter}")
    with pytest.raises(ValueError, match=parameter):
        make(name, **{parameter: value}).fit(data)


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

    def watch(record, model):
        seen.append((record, model.n_components))
        return record.n_pass == 3

    model = make(name, tol=-np.inf, callbacks=[watch, lambda *_: None]).fit(data)
    assert [r for r, _ in seen] == model.history_
    assert [k for _, k in seen] == [4, 4, 4]
    assert model.n_iter_ == 3


@everyone
def test_time_ends_a_fit_after_the_pass_that_it_is_in(name, data):
    if "max_time" not in make(name).get_params():
        pytest.skip("has no max_time")
    short, long = (make(name, tol=-np.inf, max_time=seconds).fit(data) for seconds in (1e-9, 1e9))
    assert (short.n_iter_, long.n_iter_) == (1, 5)
    assert not short.converged_
    same(answers(long, data), answers(make(name, tol=-np.inf).fit(data), data))


@everyone
def test_a_failed_fit_leaves_an_estimator_that_says_it_is_not_fitted(name, data):
    def fail(record, model):
        raise RuntimeError("stop")

    model = make(name, callbacks=[fail])
    with pytest.raises(RuntimeError, match="stop"):
        model.fit(data)
    with pytest.raises(NotFittedError):
        ask(model, data)
    assert [r.n_pass for r in model.history_] == [1]  # what was done is on record


@everyone
def test_warm_start_goes_on(name, data):
    if "warm_start" not in make(name).get_params():
        pytest.skip("has no warm_start")
    model = make(name, learner="batch", warm_start=True, tol=-np.inf)
    last = model.fit(data).history_[-1].objective
    assert model.fit(data).history_[0].objective >= last - 1e-3 * abs(last)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_components=5).fit(data)


@everyone
def test_ctrl_c_is_answered_soon(name):
    """In the middle of a kernel that takes seconds; the estimator keeps the history of what it did."""
    script = textwrap.dedent(
        f"""
        import numpy as np, scipy.sparse as sp, signal, sys, time
        from topmix.estimators import ESTIMATORS

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that ignores it

        rng = np.random.default_rng(0)
        n, V, each = 15_000, 1_000, 100
        index = rng.integers(V, size=n * each)
        X = sp.csr_array((np.ones(n * each, np.float32), index, np.arange(0, n * each + 1, each)), shape=(n, V))
        X.sum_duplicates()
        X = X if {counts_only(name)} else rng.normal(size=(100_000, 50))

        def ready(record, model):
            print("ready", flush=True)

        how = dict(max_iter=10**6, tol=-np.inf, learner="batch", n_jobs=2, random_state=0, callbacks=[ready])
        cls = ESTIMATORS[{name.split(",")[0]!r}]
        how |= {ASYNCHRONOUS.get(name, {})!r}
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
    assert waited < 10  # about a second, on a machine that has nothing else to do
