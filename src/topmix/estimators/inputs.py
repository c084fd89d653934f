"""What comes in at the door of an estimator: checked once, here, then trusted by everything below."""

from __future__ import annotations

import os
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import check_non_negative, validate_data

from topmix import _core
from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.table import Table

MOST_THREADS = 1024  # more would only cost memory
CLONED = (
    " (scikit-learn's clone empties estimators inside others: give its labels_ or components_, or a FrozenEstimator)"
)
PAIRS_PER_BATCH = 1 << 26  # responsibilities, of 6 bytes, that a step holds at most, unless batch_size asks for more


def as_corpus(estimator: Any, X: Any, *, reset: bool) -> Corpus:
    """Counts from a sparse or dense matrix, a DataFrame, a Corpus or the path of a saved one.

    With reset=True the number of features and their names are remembered, and how texts were cut into words where a
    corpus says so; otherwise X must agree with them.
    """
    if isinstance(X, str | os.PathLike):
        X = Corpus.open(X)
    if reset:
        estimator.tokenizer_ = X.meta.get("tokenizer") if isinstance(X, Corpus) else None
    if isinstance(X, Corpus):
        return _known_corpus(estimator, X, reset)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float32, reset=reset)
    check_non_negative(X, type(estimator).__name__)
    return Corpus.from_scipy(X)


def _known_corpus(estimator: Any, corpus: Corpus, reset: bool) -> Corpus:
    if 0 in corpus.shape:
        size = f"{corpus.shape[0]} documents and {corpus.shape[1]} words"
        raise ValueError(f"the corpus has {size}, but {type(estimator).__name__} needs at least one of each")
    names = None if corpus.vocabulary is None else np.asarray(corpus.vocabulary, dtype=object)
    if reset:
        estimator.n_features_in_ = corpus.shape[1]
        if names is not None:
            estimator.feature_names_in_ = names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return corpus
    if corpus.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"the corpus has {corpus.shape[1]} words, but this {type(estimator).__name__} was fitted on "
            f"{estimator.n_features_in_}. Build new documents with the vocabulary of the training corpus."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and not np.array_equal(names, known):
        first = int(np.flatnonzero(names != known)[0])
        raise ValueError(
            f"the corpus has another vocabulary: word {first} is {names[first]!r}, but was {known[first]!r} in "
            "training. Build new documents with the vocabulary of the training corpus."
        )
    return corpus


def as_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Rows of finite numbers from an array, which may be mapped from a file and is not copied, a DataFrame, a Table, or
    the path of a .npy file; as float32 if that is what they are, else as float64."""
    if isinstance(X, str | os.PathLike):
        X = Table.open(X)
    names = X.feature_names if isinstance(X, Table) else None
    data = X.data if isinstance(X, Table) else X
    dtypes = [np.float64, np.float32]
    data = validate_data(estimator, data, dtype=dtypes, ensure_all_finite=False, reset=reset)
    if names is not None and reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    table = Table(data, check=False)
    try:
        return table.check()
    except CorpusError as error:
        raise ValueError(f"X has a value that is NaN or infinity: {error}") from None


def count_of_threads(n_jobs: Any) -> int:
    """n_jobs as a number: None and -1 are all cores that this process may use, -2 all but one."""
    if n_jobs is None:
        n_jobs = -1
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    return min(max(1, int(n_jobs) if n_jobs > 0 else joblib.cpu_count() + 1 + int(n_jobs)), MOST_THREADS)


def positive_count(value: Any, parameter: str) -> int:
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{parameter} must be a positive integer, got {value!r}")
    return int(value)


def count_of_components(n_components: Any) -> int:
    if not isinstance(n_components, int | np.integer) or not 1 <= n_components <= _core.MAX_TOPICS:
        raise ValueError(f"n_components must be an integer from 1 to {_core.MAX_TOPICS}, got {n_components!r}")
    return int(n_components)


def count_of_active(n_active: Any, K: int) -> int:
    """L, the clusters kept: None keeps all K, and more than K means K."""
    if n_active is None:
        return K
    if not isinstance(n_active, int | np.integer) or n_active < 1:
        raise ValueError(f"n_active must be None or a positive integer, got {n_active!r}")
    return min(int(n_active), K)


def count_of_batches(batch_size: Any, corpus: Corpus | Table, L: int = 1, default: int = 10) -> int:
    """Batches a pass: `default` of them, more where one would hold too much in memory, or as batch_size says."""
    if batch_size is None:
        held = corpus.nnz * L if isinstance(corpus, Corpus) else 0  # rows of a table are visited a piece at a time
        return min(max(default, -(-held // PAIRS_PER_BATCH)), max(len(corpus), 1))
    if not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise ValueError(f"batch_size must be None or a positive integer, got {batch_size!r}")
    return -(-len(corpus) // int(batch_size))


def positive_number(value: Any, parameter: str, *, least: float = 0.0) -> float:
    """A finite number over `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not least < float(value) < np.inf:
        raise ValueError(f"{parameter} must be a number over {least:g}, got {value!r}")
    return float(value)


def any_number(value: Any, parameter: str) -> float:
    """A number, which may be infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or np.isnan(float(value)):
        raise ValueError(f"{parameter} must be a number, got {value!r}")
    return float(value)


def chosen(registry: dict[str, Any], name: str, parameter: str) -> Any:
    if name not in registry:
        raise ValueError(f"{parameter}={name!r} is not one of {', '.join(map(repr, registry))}")
    return registry[name]
