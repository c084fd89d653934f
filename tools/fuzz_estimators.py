"""Estimators by the thousand, a part of tools/fuzz.py: parameters, data and calls are drawn, and laws must hold.

Parameters are drawn by the types that estimators declare and by the words of their documentation, so that a new one is
drawn without a change here. Of ten cases one has clusters or topics that nobody can miss, two compare fits that must
say the same, and seven fit whatever was drawn and call methods. A call may refuse what it is given, in a sentence of
ours, and then it has changed nothing. Whatever else is raised is a finding, and so are numbers that are not finite,
warnings of NumPy, other bits, and inputs that were changed.
"""

from __future__ import annotations

import inspect
import json
import linecache
import math
import pickle
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as hash_of
from sklearn.base import clone

import topmix
from topmix.base.component import declared_types
from topmix.base.fields import Writer
from topmix.data import Corpus
from topmix.estimators.declared import FAMILIES, entries_of

SOURCE = str(Path(topmix.__file__).parent)
ESTIMATORS = [kind for name in topmix.__all__ if hasattr(kind := getattr(topmix, name), "_get_param_names")]
MIXTURES = [kind for kind in ESTIMATORS if hasattr(kind, "sample")]
OF_ROWS = [kind for kind in MIXTURES if kind is not topmix.MultinomialMixture]
ADMIXTURES = [kind for kind in ESTIMATORS if "groups" in inspect.signature(kind.fit).parameters]
SUPERVISED = [topmix.LabelledLDA, topmix.SupervisedLDA]
ELSEWHERE = {"ray", "cuda"}  # engines that need more than a processor
NOT_CALLED = re.compile(r"_|get_|set_|fit$|annotate$|most_passes$|predictor$|save$|.*_$")
# Numbers of these ask for so much work, so that large ones are no mistake of ours.
WORK = """max_iter n_init sweeps restarts warm_up polish n_components n_components_per_label n_free n_jobs workers
length max_doc_update_iter doc_burn_in annealing n_samples burn_in max_topics""".split()  # noqa: SIM905 (20 lines otherwise)
ODD = [0, -1, 2.5, 1e300, -1e-300, math.nan, math.inf, None, True, "odd", "", b"x", [], {}, (1, 2), 2 + 1j, ...]
ODD += [np.array([1, 2]), np.datetime64("2020-01-01"), np.float32(0.5), np.int8(3)]
HUGE = [2**31 - 1, 2**31, 2**62, 2**64, 10**30]
PASSES = 15


def said_of(kind: type) -> dict[str, str]:
    """The types of its parameters in words."""
    entries = entries_of(kind.__doc__, "Parameters")
    return {name: entry.partition("\n")[0].partition(" : ")[2] for name, entry in entries.items()}


def stop(record: Any, view: Any) -> bool:
    return bool(record.n_pass >= PASSES)


class Draw:
    """What is drawn in one case."""

    def __init__(self, n: int) -> None:
        self.rng = np.random.default_rng([n, 4])
        self.n_rows, self.K, self.width = int(self.rng.integers(40, 300)), int(self.rng.integers(1, 7)), 1
        self.odd = 0.04 if self.chance(0.5) else 0.0  # of values that are wrong

    def one_of(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def value(self, name: str, said: str, hint: object, default: Any) -> Any:
        """A value of a parameter, by what is said of it and by its type."""
        if self.chance(self.odd):
            return self.one_of(*ODD, *([] if name in WORK else HUGE))
        if name in FAMILIES and name != "seeds":
            kinds = {key: kind for key, kind in FAMILIES[name].items() if key not in ELSEWHERE}
            return self.one_of(*kinds, default) if self.chance(0.5) else self.settings(kinds[self.one_of(*kinds)], 0.3)
        said += f" {hint}"
        given: list[Any] = [default, *(word for word in re.findall(r'"([^"]+)"', said) if word not in ELSEWHERE)]
        given += [None] if "None" in said else []
        given += [True, False] if "bool" in said else []
        given += [self.one_of(1, 2, 3, self.K, 8)] * 2 if re.search(r"\bint\b", said) else []
        given += [10.0 ** self.rng.normal(0, self.one_of(0.5, 0.5, 2, 12))] * 3 if re.search(r"\bfloat\b", said) else []
        given += self.arrays(said) if "array" in said else []
        given += [[[0, 1], None, [2]][: self.K], topmix.Seeds(words=[[0]], ban={0: [2]})] if name == "seeds" else []
        return self.one_of(*given)

    def arrays(self, said: str) -> list[Any]:
        """Of the shapes that are named, or labels, shares, means and a covariance."""
        sizes = {"n_components": self.K, "n_features": self.width, "n_tokens": 50}
        shapes = [re.findall(r"n_\w+", inside) for inside in re.findall(r"\((n_[^)]+)\)", said)]
        if shapes:
            return [10.0 ** self.rng.normal(0, self.one_of(0.3, 3), [sizes[n] for n in names]) for names in shapes]
        labels, means = self.rng.integers(self.K, size=self.n_rows), self.rng.normal(size=(self.K, self.width))
        return [labels, np.eye(self.K)[labels], means, np.eye(self.width), {"means": means}]

    def settings(self, kind: Any, share: float) -> Any:
        """A component or an estimator with some of its parameters drawn."""
        said, hints = said_of(kind), declared_types(kind)
        known = {p.name: p.default for p in inspect.signature(kind).parameters.values() if p.name != "callbacks"}
        drawn = {
            name: self.value(name, said.get(name, ""), hints.get(name), default)
            for name, default in known.items()
            if self.chance(share)
        }
        if kind in ESTIMATORS:
            sizes = {"n_components": self.K, "max_iter": self.one_of(1, 2, 3, 5, 12), "n_jobs": self.one_of(1, 2, 3)}
            drawn |= {name: value for name, value in sizes.items() if name in known and not self.chance(self.odd)}
            return kind(**drawn | {"random_state": int(self.rng.integers(2**31)), "verbose": 0, "callbacks": [stop]})
        try:
            return kind(**drawn)
        except (ValueError, TypeError) as error:
            check_refusal(error)
            return kind()

    def data(self, kind: Any) -> Any:
        """Rows of numbers or counts: most are sound, and some hardly so."""
        N, D, V = self.n_rows, int(self.rng.integers(1, 9)), int(self.rng.integers(1, 60))
        if kind in OF_ROWS:
            X = self.rng.normal(size=(N, D)) + self.one_of(0, 3, 30) * self.rng.normal(size=(4, D))[np.arange(N) % 4]
            X *= self.one_of(1, 1, 1, 1e-6, 1e6, 10.0 ** self.rng.normal(0, 12))
            X[self.rng.integers(N)] *= self.one_of(1, 1, 0, 1e6)
            X[:, -1] = self.one_of(X[:, -1], X[:, -1], X[:, 0], np.full(N, self.one_of(0, 1, -5e3)))
        else:
            words = self.rng.dirichlet(np.full(V, self.one_of(0.1, 1)), 4)
            X = self.rng.poisson(self.one_of(3, 20, 60) * words[np.arange(N) % 4]).astype(float)
            X[self.rng.random(N) < self.one_of(0, 0.1, 0.9)] = 0
            X *= self.one_of(1, 1, 1, 1, 1, 0.3, 1e-3, 30, 1e30)
        self.width = X.shape[1]
        if self.chance(0.3):
            X = X[self.rng.integers(N, size=self.one_of(N, N, 1, 2, 5))]  # repeated rows, or few
        if self.chance(2 * self.odd):
            X[self.rng.integers(len(X)), self.rng.integers(X.shape[1])] = self.one_of(math.nan, math.inf, -1.0, 1e38)
        ways: list[Callable[[Any], Any]] = [
            np.asfortranarray,
            np.ndarray.tolist,
            np.float32,
            sp.csr_array,
            sp.csc_matrix,
        ]
        if kind not in OF_ROWS and np.isfinite(X).all() and X.min() >= 0:
            ways += [Corpus.from_scipy] * 3
        return self.one_of(*ways)(X) if self.chance(0.4) else X

    def beside(self, model: Any, name: str, X: Any) -> Any:
        """What a method takes, by the name of its argument."""
        n, topic = X.shape[0] if hasattr(X, "shape") else len(X), int(self.rng.integers(self.K))
        if self.chance(self.odd) and name != "X":
            return self.one_of(*ODD)
        labels = self.rng.integers(3, size=n)
        targets = self.rng.normal(size=n) if getattr(model, "response", "") == "gaussian" else labels.astype(str)
        return {
            "X": X, "y": [[label] for label in targets] if type(model) is topmix.LabelledLDA else targets,
            "groups": self.one_of(labels, labels.astype(str), None), "words": [0, 1], "word": 0, "seeds": [[0], [1]],
            "sample_weight": self.one_of(None, None, np.ones(n), self.rng.integers(3, size=n), labels * 1e-9),
            "topic": topic, "topics": [topic], "names": self.one_of({topic: "name"}, ["a", "b"]), "document": n // 2,
            "column": self.one_of(labels.astype(str).tolist(), ["2024-01-01", "2025-03-04"] * n)[:n], "version": 0,
            "metadata": None, "input_features": None,
        }[name]  # fmt: skip

    def call(self, model: Any, method: str, given: dict[str, Any]) -> Any:
        """One call, with most of the settings at their defaults."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for p in inspect.signature(getattr(model, method)).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                positional += [given["groups"]] if "groups" in given else []
            elif method == "merge_topics":
                positional = [[(0, self.K - 1)]]
            elif p.name in given and p.kind is p.POSITIONAL_OR_KEYWORD and not self.chance(self.odd):
                positional.append(given[p.name]) if p.name == "X" else named.update({p.name: given[p.name]})
            elif p.default is p.empty and p.kind is not p.VAR_KEYWORD:
                positional.append(self.beside(model, p.name, given["X"]))
            elif p.kind is p.KEYWORD_ONLY and p.name != "metadata" and self.chance(0.2):
                named[p.name] = self.value(p.name, "", p.annotation, p.default)
        return getattr(model, method)(*positional, **named)


def check_refusal(error: Exception) -> None:
    """Raises the error again, unless somebody meant it: a `raise` of ours, or a check of scikit-learn."""
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    file = frame.f_code.co_filename
    is_ours = file.startswith(SOURCE) and linecache.getline(file, line).strip().startswith("raise ")
    inner = isinstance(error, UnicodeError | np.linalg.LinAlgError)
    is_meant = (
        (is_ours or "sklearn" in file) and isinstance(error, ValueError | TypeError | AttributeError) and not inner
    )
    if not is_meant and not isinstance(error, MemoryError):
        raise error


def written(model: Any) -> Any:
    """All that was learned, as bytes and words."""
    if model._fitted is None:
        return None
    model._write(model._fitted, out := Writer())
    arrays = {name: (a.dtype.str, a.shape, np.ascontiguousarray(a).tobytes()) for name, a in out.arrays.items()}
    return arrays, json.dumps(out.values, default=float), model.objective_


def check_numbers(said: Any, what: str) -> None:
    if isinstance(said, tuple | list):
        for one in said:
            check_numbers(one, what)
    elif isinstance(said, float | np.ndarray | np.floating) or sp.issparse(said):
        numbers = np.asarray(said.data if sp.issparse(said) else said)
        assert numbers.dtype.kind != "f" or np.isfinite(numbers).all(), f"{what} is not finite"


def check_learned(model: Any, data: tuple[Any, ...]) -> None:
    """Numbers are finite, and shares sum to one."""
    for name in ("components_", "means_", "weights_", "covariances_", "concentrations_", "objective_", "topic_word_"):
        check_numbers(getattr(model, name, None), name)
    method = "predict_proba" if type(model) in MIXTURES else "transform"
    shares = np.asarray(getattr(model, method)(*data))
    check_numbers(shares, method)
    assert shares.min(initial=0) >= 0, f"{method} has negative shares"
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-4), f"rows of {method} sum to {shares.sum(axis=1)}"


def check_bits(d: Draw, model: Any, given: dict[str, Any], folder: Path) -> None:
    """Copies, files, other threads, and a fit that was interrupted."""
    want, path, law = written(model), folder / "file", d.rng.integers(4)
    path.unlink(missing_ok=True)
    if law == 0:
        assert written(pickle.loads(pickle.dumps(model))) == want, "a pickled copy differs"
    elif law == 1:
        model.save(path)
        engine = "serial" if "serial" in repr(model).lower() else None
        assert written(topmix.load(path, engine=engine))[:2] == want[:2], "a loaded model differs"
    elif "asynchronous" in repr(model).lower() or getattr(model, "max_time", None) is not None:
        return  # these promise none
    elif law == 2:
        again = clone(model).set_params(n_jobs=d.one_of(1, 2, 3)).fit(**given)
        assert written(again) == want, f"n_jobs={again.n_jobs} has other bits than {model.n_jobs}"
    elif "checkpoint" in inspect.signature(model.fit).parameters and getattr(model, "n_init", 1) == 1:

        def crash(record: Any, view: Any) -> None:
            if record.n_pass > 1:
                raise InterruptedError

        try:
            clone(model).set_params(callbacks=[crash]).fit(**given, checkpoint=path)
        except InterruptedError:
            pass
        except ValueError as error:  # some fits have none
            return check_refusal(error)
        assert written(clone(model).fit(**given, checkpoint=path)) == want, "a resumed fit has other bits"


def random_case(d: Draw, kind: Any, folder: Path) -> str:
    """A fit of whatever was drawn, and some calls."""
    X = d.data(kind)
    model = d.settings(kind, d.one_of(0.1, 0.3))
    taken = {"X", "groups", "sample_weight", *(["y"] if kind in SUPERVISED else [])}
    given = {name: d.beside(model, name, X) for name in inspect.signature(kind.fit).parameters if name in taken}
    data = (X, given["groups"]) if kind in ADMIXTURES else (X,)
    getattr(X, "has_canonical_format", None)  # which SciPy looks for once, and remembers in the matrix
    shown = [f"{name} {type(a).__name__} {getattr(a, 'shape', '')}" for name, a in given.items()]
    called, inputs = [f"{model!r}.fit({', '.join(shown)})"], (hash_of(given), hash_of(model.get_params(deep=False)))

    def tried(method: str) -> bool:
        called.append(method)
        was = written(model)
        try:
            check_numbers(model.fit(**given) if method == "fit" else d.call(model, method, given), method)
        except Exception as error:
            check_refusal(error)
            assert written(model) == was, f"{method} was refused, and changed the model"
            return False
        return True

    try:
        if not tried("fit"):
            return "refused"
        check_learned(model, data)
        assert (hash_of(given), hash_of(model.get_params(deep=False))) == inputs, "fit changed what it was given"
        check_bits(d, model, given, folder)
        methods = [name for name in dir(kind) if not NOT_CALLED.match(name) and callable(getattr(kind, name, None))]
        for method in d.rng.permutation(methods)[:4]:
            if hasattr(model, method) and tried(str(method)):
                check_learned(model, data)
        assert hash_of(given) == inputs[0], "inputs were changed"
    except Exception as error:
        error.add_note("; ".join(called))
        raise
    return "fitted"
