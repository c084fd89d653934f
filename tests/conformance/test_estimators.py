"""What every estimator must do, run for each entry of the registry."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from topmix import LDA
from topmix.engines.local import Threads
from topmix.estimators import ESTIMATORS
from topmix.inference import Collapsed
from topmix.learners import Asynchronous, Batch, Memoized

from .estimators import ASYNCHRONOUS, EVERYONE, FIXED, answers, class_of, counts_only, everyone, make, same

ROWS = "a random start is drawn from the rows, so other rows give another start (as with scikit-learn's own KMeans)"
PROBA = "scikit-learn takes whatever has predict_proba for a classifier here"
EXPECTED = {
    "GaussianMixture": {
        "check_sample_weight_equivalence_on_dense_data": ROWS,
        "check_sample_weight_equivalence_on_sparse_data": ROWS,
        "check_estimator_sparse_array": PROBA,
        "check_estimator_sparse_matrix": PROBA,
    },
    "MultinomialMixture": {
        "check_estimator_sparse_array": PROBA,
        "check_estimator_sparse_matrix": PROBA,
    },
    "VonMisesFisherMixture": {
        "check_sample_weight_equivalence_on_dense_data": ROWS,
        "check_estimators_dtypes": "one of its rows of integers is zero, which has no direction",
    },
}
GROUPS = "the second argument of an admixture is the groups of rows, and there is no y"
EXPECTED |= {
    name: dict.fromkeys(
        (
            "check_fit_score_takes_y",
            "check_n_features_in_after_fitting",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
            "check_transformer_general",
            "check_transformer_data_not_an_array",
        ),
        GROUPS,
    )
    | {check: why for check, why in EXPECTED[mixture].items() if "weight" not in check}
    for name, mixture in (
        ("GaussianAdmixture", "GaussianMixture"),
        ("VonMisesFisherAdmixture", "VonMisesFisherMixture"),
    )
}
STREAM = dict.fromkeys(
    ("check_fit_score_takes_y", "check_n_features_in_after_fitting"), "partial_fit is refused: workers keep documents"
)


def expected(model):
    found = EXPECTED.get(type(model).__name__, {})
    if isinstance(model, LDA) and isinstance(model.learner, Asynchronous):
        return found | STREAM
    takes_sparse = get_tags(model).input_tags.sparse
    return {check: why for check, why in found.items() if takes_sparse or why != PROBA}


# The defaults, with fewer passes: the checks are not about how far a fit gets.
SHORT = {
    "LDA": {"inference": Collapsed(sweeps=2), "max_iter": 8},
    "HDP": {"max_iter": 3},
    "GibbsLDA": {"max_iter": 6},
    "GaussianAdmixture": {"max_iter": 4},
    "VonMisesFisherAdmixture": {"max_iter": 4},
}


@parametrize_with_checks(
    [class_of(name)(8, n_jobs=1, **(SHORT | ASYNCHRONOUS).get(name, {})) for name in [*ESTIMATORS, *ASYNCHRONOUS]],
    expected_failed_checks=expected,
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
        for engine, n_jobs in (("serial", 2), ("threads", 7), (Threads(), None)):
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
def test_copies_answer_alike(name, data):
    model = make(name).fit(data)
    want = answers(model, data)
    same(answers(pickle.loads(pickle.dumps(model)), data), want)
    same(answers(clone(model).fit(data), data), want)
    same(answers(model.fit(data), data), want)  # and fitting again forgets


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
