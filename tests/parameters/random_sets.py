"""Random parameters of every estimator and component: a fit is refused with a reason, or its model saves and loads.

    python -m tests.parameters.random_sets 10000 [first seed]

Each set changes a few parameters of one estimator to values of odd types and sizes. The data is tiny, so a set takes
milliseconds. Set n is the same in every run.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import topmix
from topmix import Seeds
from topmix.chains import SAMPLERS
from topmix.engines import ENGINES
from topmix.engines.local import Serial, Threads
from topmix.estimators import ESTIMATORS
from topmix.inference import CVB0, SCVB0, Collapsed, Variational
from topmix.learners import Asynchronous, Batch, Memoized, Stochastic
from topmix.search import TopicSearch

from .facts import FAMILIES

N, V, D = 12, 7, 3  # rows, words, columns of a table
OF_ROWS = ("GaussianMixture", "VonMisesFisherMixture", "GaussianAdmixture", "VonMisesFisherAdmixture")
WORDS = [f"w{v}" for v in range(V)]


class Draw:
    """Values of one set."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def one_of(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def number(self, value: Any) -> Any:
        """The same number in one of the types that people have it in."""
        kinds = [type(value), np.float64, np.float32, np.array]
        if float(value).is_integer() and abs(value) < 2**31:
            kinds += [int, float, np.int64, np.int32, np.uint32] if value >= 0 else [int, float, np.int64]
        with np.errstate(over="ignore"):
            return self.one_of(*kinds)(value)

    def whole(self, *usual: Any, is_work: bool = False) -> Any:
        """A whole number, mostly a usual one; small where it says how much is to be done."""
        odd = (0, 1, -1, 2.5, "3", True, np.nan, np.inf, None, *(() if is_work else (2**31 - 1, 2**31, 2**40, 2**64)))
        value = self.one_of(*usual) if self.chance(0.9) else self.one_of(*odd)
        return self.number(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def size(self, *more: Any) -> Any:
        """A number over zero of any size."""
        if self.chance(0.1):
            return self.one_of(0, -1.0, np.nan, np.inf, True, "x", *more)
        spread = self.one_of(1.0, 1.0, 8.0, 120.0)
        value = self.one_of(1.0, 10.0 ** self.rng.normal(0, spread / 2))
        return self.number(value) if self.chance(0.7) else self.one_of(value, *(more or (value,)))

    def sizes(self, *shape: int) -> Any:
        """An array of numbers over zero, or lists."""
        a = 10.0 ** self.rng.normal(0, self.one_of(0.3, 0.3, 3.0, 60.0), shape)
        if self.chance(0.2) and a.max() < 2**31:
            a = np.maximum(np.round(a), 1).astype(int)
        with np.errstate(over="ignore"):
            short = a.astype(np.float32) if a.dtype.kind == "f" else a.astype(np.uint32)
        return self.one_of(a, a, a.tolist(), short, tuple(a.tolist()), a.T.copy().T)


def inference(d: Draw) -> Any:
    kind = d.one_of(Collapsed, Collapsed, Variational, CVB0, SCVB0)
    if d.chance(0.3):
        return {Collapsed: "collapsed", Variational: "variational", CVB0: "cvb0", SCVB0: "scvb0"}[kind]
    choices: dict[str, Any] = {
        "min_topic_mass": lambda: d.one_of(None, 0, d.size()),
        "restarts": lambda: d.whole(None, 0, 1, 3, is_work=True),
        "cold_visits": lambda: d.whole(None, 0, 1, 2, 3),
        "selection": lambda: d.one_of("last", "often", np.str_("last"), "never"),
        "max_doc_update_iter": lambda: d.whole(1, 5, 100, is_work=True),
        "doc_tol": lambda: d.one_of(0, d.size()),
        "stopping": lambda: d.one_of("max", "mean"),
        "own_discount": lambda: d.number(d.one_of(0, 0.5, 1, 2)),
        "sweeps": lambda: d.whole(0, 1, 3, 50, is_work=True),
        "doc_burn_in": lambda: d.whole(0, 1, 3, is_work=True),
        "doc_scale": d.size,
        "doc_offset": d.size,
        "doc_decay": d.size,
    }
    return some_of(d, kind, choices)


def learner(d: Draw) -> Any:
    kind = d.one_of(Memoized, Memoized, Batch, Stochastic, Asynchronous)
    if d.chance(0.3):
        return kind.__name__.lower()
    choices: dict[str, Any] = {
        "batch_size": lambda: d.whole(None, 1, 5, 2**31, 10**12),
        "batches_per_update": lambda: d.whole(1, 2, 100),
        "scale": d.size,
        "offset": d.size,
        "decay": lambda: d.one_of(0, 0.5, 1, -1, d.size()),
        "total_samples": lambda: d.one_of(None, 100, d.size()),
        "half_life": lambda: d.one_of(None, 100, d.size()),
        "workers": lambda: d.whole(None, 1, 2),
        "tail": lambda: d.one_of("best", "mean"),
        "warm_up": lambda: d.whole(0, 1, 20),
    }
    return some_of(d, kind, choices)


def engine(d: Draw) -> Any:
    return d.one_of("threads", "serial", Threads(), Serial(), ENGINES["ray"], "magic") if d.chance(0.2) else "threads"


def search(d: Draw) -> Any:
    if d.chance(0.6):
        return d.one_of(None, None, "auto")
    choices: dict[str, Any] = {
        "warm_up": lambda: d.whole(0, 1, 4),
        "polish": lambda: d.whole(0, 1, 9),
        "max_topics": lambda: d.whole(None, 1, 5, 2**31),
    }
    return some_of(d, TopicSearch, choices)


def some_of(d: Draw, kind: Any, choices: dict[str, Any]) -> Any:
    """A component with some of its settings drawn; what it refuses is left out."""
    known = [name for name in choices if name in kind.__dataclass_fields__]
    settings = {}
    for name in known:
        if d.chance(0.35):
            value = choices[name]()
            try:
                kind(**{name: value})
            except ValueError:
                continue
            settings[name] = value
    return kind(**settings)


def seeds(d: Draw, K: int) -> Any:
    each = [lambda: None, lambda: ["w1", "w3"], lambda: ("w2",), lambda: [np.int64(4), 5], lambda: [np.str_("w5")]]
    words = [d.one_of(*each)() for _ in range(min(K, 3))]
    rules = Seeds(strength=d.one_of(0.1, 3), ban={0: ["w1"]} if K > 1 else None, pin=[[2]])
    return d.one_of(None, words, rules)


def sampler(d: Draw) -> Any:
    if d.chance(0.6):
        return d.one_of("parallel", "sequential", np.str_("parallel"), None)
    choices: dict[str, Any] = {
        "annealing": lambda: d.whole(None, 0, 1),
        "learn_every": lambda: d.whole(1, 2, 10),
        "batch_size": lambda: d.whole(None, 1, 5, 2**31, 10**12),
    }
    return some_of(d, d.one_of(*SAMPLERS.values()), choices)


def parameters(d: Draw, name: str, data: Any) -> dict[str, Any]:
    """Drawn parameters of an estimator: a few, besides those that keep a fit short."""
    K = int(d.one_of(1, 2, 3, 5))
    tokens = int(np.round(np.asarray(data, float)).sum()) if name not in OF_ROWS else 0
    given: dict[str, Any] = {
        "n_active": lambda: d.whole(None, 1, 2, 100),
        "inference": lambda: inference(d),
        "learner": lambda: learner(d),
        "engine": lambda: engine(d),
        "search": lambda: search(d),
        "doc_topic_prior": lambda: d.one_of("auto", None, d.size(), d.sizes(K), ("auto", 0.3)),
        "weight_concentration_prior": lambda: d.size(None),
        "topic_word_prior": lambda: d.size() if name == "MultinomialMixture" else d.one_of(
            "auto", None, d.size(), d.sizes(V), d.sizes(K, V), d.sizes(K)),
        "smoothing": lambda: d.size(None),
        "seeds": lambda: seeds(d, K),
        "tol": lambda: d.one_of(-np.inf, 0, -1, d.size()),
        "max_time": lambda: d.one_of(None, 1000, d.size()),
        "n_init": lambda: d.whole(1, 2, is_work=True),
        "init": lambda: init(d, name, K, tokens),
        "warm_start": lambda: d.one_of(True, False, 1, 0, np.True_),
        "n_jobs": lambda: d.whole(None, 1, 2, -1, -2),
        "random_state": lambda: d.one_of(None, 0, np.int64(7), np.uint32(8), 2**32 - 1, 3.0, -1,
                                         np.random.RandomState(1)),
        "verbose": lambda: d.one_of(0, False, np.int64(0)),
        "sampler": lambda: sampler(d),
        "burn_in": lambda: d.whole(None, 0, 1, 2),
        "thin": lambda: d.whole(1, 2),
        "penalty": lambda: d.one_of("auto", 0, d.size()),
        "exchanges": lambda: d.one_of(True, False, np.True_, 1),
        "early_smoothing": lambda: d.one_of(True, False, np.False_, 0),
        "algorithm": lambda: d.one_of("word+refine", "word", "basic"),
        "objective": lambda: d.one_of("vb", "map", "ml", np.str_("map")),
        "weight_concentration_prior_type": lambda: d.one_of("dirichlet_distribution", "dirichlet_process"),
        "covariance_type": lambda: d.one_of("full", "tied", "diag", "spherical"),
        "zero_mean": lambda: d.one_of(True, False, np.True_, 1),
        "candidates": lambda: d.whole(None, 1, 3, 8, 100),
        "mean_prior": lambda: d.one_of(None, d.sizes(D), 0.0, d.size()),
        "mean_precision_prior": lambda: d.size(None),
        "degrees_of_freedom_prior": lambda: d.size(None, 5),
        "covariance_prior": lambda: d.one_of(None, 1.0, 2, np.eye(D), np.eye(D, dtype=int), np.ones(D), [1, 2, 3],
                                             d.size()),
        "reg_covar": lambda: d.one_of(0, d.size()),
        "init_params": lambda: init_params(d, name, K),
        "concentration_type": lambda: d.one_of("free", "tied"),
        "prior_rows": d.size,
        "max_concentration": d.size,
        "normalize": lambda: d.one_of(True, 1, np.True_),
    }  # fmt: skip
    known = ESTIMATORS[name]._get_param_names()
    assert set(known) - set(given) == {"n_components", "max_iter", "callbacks"}
    share = d.one_of(0.1, 0.25, 0.5)
    drawn = {p: draw() for p, draw in given.items() if p in known and d.chance(share)}
    passes = d.whole(0, 1, 2, 3, is_work=True) if d.chance(0.2) else int(d.one_of(1, 2, 3))
    if name == "LDA" and d.chance(0.1):
        passes = 8  # which explores
    return {"n_components": d.number(K), "max_iter": passes} | drawn


def init(d: Draw, name: str, K: int, tokens: int) -> Any:
    if name in ("VonMisesFisherMixture", "VonMisesFisherAdmixture"):
        return init_params(d, name, K)
    if name in ("GibbsLDA", "CombinatorialLDA"):
        topics = d.rng.integers(K, size=tokens)
        starts = [None, "random", topics, topics.tolist(), topics.astype(np.uint8), topics.astype(float)]
        return d.one_of(*starts, "documents")
    if name == "MultinomialMixture":
        labels = d.rng.integers(K, size=N)
        names = ("auto", "k-means++", "documents", "random")
        return d.one_of(*names, labels, labels.tolist(), labels.astype(np.uint8), np.eye(K)[labels])
    return d.one_of("auto", "blended", "documents", "random", d.sizes(K, V), np.str_("auto"))


def init_params(d: Draw, name: str, K: int) -> Any:
    labels = d.rng.integers(K, size=N)
    names = ("auto", "k-means++", "random_from_data", "kmeans", "random")
    arrays = (labels, labels.tolist(), labels.astype(np.uint8), np.eye(K)[labels], np.eye(K, dtype=int)[labels])
    table: dict[str, Any] = {}
    if d.chance(0.6):
        table["weights"] = d.one_of(np.full(K, 1 / K), [1 / K] * K)
    if d.chance(0.6):
        table["means"] = d.one_of(d.rng.normal(size=(K, D)), np.zeros((K, D), int), [[0, 1, 2]] * K)
    if d.chance(0.6):
        full = np.array([np.eye(D)] * K)
        table["precisions"] = d.one_of(full, full.tolist(), list(full), full[0], np.ones((K, D)), np.ones(K, int))
    return d.one_of(*names, *arrays, table, table, table)


def data_for(d: Draw, name: str) -> Any:
    if name in OF_ROWS:
        X = d.rng.normal(size=(N, D)) + d.one_of(0.0, 5.0) * (np.arange(N) % 3)[:, None]
        return X * 10.0 ** d.one_of(0, 0, 0, -5, 5, -30, 30) if name.startswith("Gaussian") else X
    X = d.rng.poisson(d.one_of(0.3, 1.0, 3.0), (N, V)).astype(float)
    X[d.rng.integers(N)] = 0
    if name in ("LDA", "HDP", "MultinomialMixture") and d.chance(0.3):
        X *= d.one_of(0.37, 1e-3, 1e4)
    return X


def ask(model: Any, X: Any) -> np.ndarray:
    return model.transform(X) if hasattr(model, "transform") else model.predict_proba(X)


def check(seed: int, path: Path) -> str:
    """One set: "refused" or "saved". Raises where a model does not come back as it was."""
    d = Draw(seed)
    name = list(ESTIMATORS)[seed % len(ESTIMATORS)]
    X = data_for(d, name)
    given = parameters(d, name, X)
    model = ESTIMATORS[name](**given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "the data does not have the seed words")
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.filterwarnings("ignore", "X is not counts|there are more topics|there are more clusters|reg_covar=")
        try:
            model.fit(X, feature_names=WORDS) if name not in (*OF_ROWS, "MultinomialMixture") else model.fit(X)
        except ValueError as error:
            if not str(error) or type(error) is np.linalg.LinAlgError:
                raise AssertionError("an error without a reason") from error
            assert {a for a in vars(model) if a.endswith("_")} <= {"history_"}, "a refused fit left attributes"
            return "refused"
        assert all(model.get_params(deep=False)[p] is value for p, value in given.items()), "fit changed a parameter"
        model.save(path)
        loaded = topmix.load(path, engine=given.get("engine"))  # which a file does not choose
        np.testing.assert_array_equal(ask(loaded, X), ask(model, X))
        assert np.isfinite(ask(model, X)).all(), "answers that are not numbers"
        same_parameters(model, loaded)
        clone(loaded)
        if not was_left_out(given):  # a note in the file says so
            first = path.read_bytes()
            loaded.save(path)
            assert path.read_bytes() == first, "the second save is another file"
    return "saved"


def was_left_out(given: dict[str, Any]) -> bool:
    """Whether a parameter is one that no file holds."""
    return isinstance(given.get("random_state"), np.random.RandomState)


def same_parameters(model: Any, loaded: Any) -> None:
    """A loaded model has the parameters of the saved one; those that no file holds are the defaults."""
    now = loaded.get_params(deep=False)
    for name, was in model.get_params(deep=False).items():
        if was_left_out({name: was}):
            continue
        if name == "seeds" and isinstance(was, list):
            assert now[name] == [list(seed) if isinstance(seed, tuple) else seed for seed in was]
        elif name in FAMILIES:
            assert now[name] == was, (name, was, now[name])
        elif isinstance(was, dict):
            assert was.keys() == now[name].keys()
            for key, value in was.items():
                np.testing.assert_array_equal(now[name][key], value)
        else:
            np.testing.assert_array_equal(now[name], was, err_msg=name)


def described(seed: int) -> str:
    d = Draw(seed)
    name = list(ESTIMATORS)[seed % len(ESTIMATORS)]
    given = parameters(d, name, data_for(d, name))
    return f"{name}({', '.join(f'{p}={value!r}' for p, value in given.items())})"


def main(n: int, first: int = 0) -> int:
    began, counts, failures = time.process_time(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + n):
            name = list(ESTIMATORS)[seed % len(ESTIMATORS)]
            try:
                counts[name, check(seed, Path(folder) / "model")] += 1
            except Exception as error:  # all of them are shown
                kind = f"{type(error).__name__}: {' '.join(str(error).split())[:110]}"
                if not failures[kind]:
                    print(f"{seed}: {kind}\n    {described(seed)[:600]}", flush=True)
                failures[kind] += 1
                counts[name, "FAILED"] += 1
    for key, count in sorted(counts.items()):
        print(*key, count)
    print(f"{n} sets, {sum(failures.values())} failures, {time.process_time() - began:.0f} s of processor time")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
