"""Small data of each kind, models started on it, and statistics laid flat. A new kind of data is one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from topmix import _core
from topmix.allocations.document_prior import DocumentPrior
from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.allocations.stick_breaking import StickBreaking
from topmix.data import Corpus, Table
from topmix.data.shard import Shards
from topmix.likelihoods import LIKELIHOODS, gaussian_start, von_mises_fisher_start
from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.topic_words import TopicWords
from topmix.local import ExcludingStep, LocalStep, MixtureStep, OnlineStep, TopicStep
from topmix.models.mixture import Mixture
from topmix.models.topics import TopicModel
from topmix.stats import WordTotal

KIND = {"categorical": "counts", "von_mises_fisher": "directions"}  # rows that it takes; "vectors" if it is not here
OBJECTIVES = {"": "vb", "-map": "map", "-ml": "ml"}  # by the end of a problem's name
POINTS = {"": "map", "-ml": "ml"}  # the same, of likelihoods that have no posterior


def objectives(name: str) -> dict[str, str]:
    return POINTS if name == "von_mises_fisher" else OBJECTIVES


MIXTURES = [name + end for name in LIKELIHOODS for end in objectives(name)]
MIXTURES += [f"{name}-zero" for name in ("full", "diag", "spherical")] + ["full-sticks", "categorical-sticks"]


def counts() -> np.ndarray:
    """103 rows from 4 clusters with favourite words; one row is empty, one word is unused."""
    rng = np.random.default_rng(0)
    phi = np.full((4, 24), 0.3 / 24) + np.kron(np.eye(4), np.full(6, 0.7 / 6))
    X = np.array([rng.multinomial(rng.integers(5, 30), phi[k]) for k in rng.integers(4, size=103)], np.float32)
    X[11], X[:, 17] = 0, 0
    return X


def vectors() -> np.ndarray:
    """103 points from 4 clusters in five dimensions."""
    rng = np.random.default_rng(0)
    means = rng.normal(0, 1.5, (4, 5))
    return means[rng.integers(4, size=103)] + rng.normal(size=(103, 5))


def directions() -> np.ndarray:
    """103 unit vectors around 4 directions in six dimensions, some wide and some narrow."""
    rng = np.random.default_rng(0)
    k = rng.integers(4, size=103)
    X = rng.normal(size=(4, 6))[k] + np.array([0.3, 0.5, 0.8, 1.5])[k, None] * rng.normal(size=(103, 6))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


SAMPLES = {"counts": counts, "vectors": vectors, "directions": directions}


def table_of(kind: str) -> Corpus | Table:
    return Corpus.from_scipy(counts()) if kind == "counts" else Table(SAMPLES[kind]())


def start_words(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    return Categorical.start(data, None, K, 0.1, rng, 1, objective)


def start_gaussian(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    zero, s = variant == "zero", gaussian_start
    about = s.summary(data, None, name, zero)
    none = s.empty(about, "float64", K, covariance_type=name, objective=objective, zero_mean=zero, reg_covar=0)
    return s.start(none, data, None, "k-means++", rng, 1)


def start_directions(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    s = von_mises_fisher_start
    return s.start(s.empty(data, None, K, objective=objective), data, None, "k-means++", rng, 1)


# How each likelihood starts on its data; Gaussians are what is not here.
STARTS: dict[str, Callable[..., Any]] = {"categorical": start_words, "von_mises_fisher": start_directions}


@pytest.fixture
def sample() -> Callable[[str], np.ndarray]:
    """Rows of a kind."""
    return lambda kind: SAMPLES[kind]()


@pytest.fixture
def mixture(cut) -> Callable[..., tuple[Mixture, Callable[[int], Shards]]]:
    """mixture(name, K) is a started model and a way to cut its data into shards. See MIXTURES for names."""

    def make(name: str, K: int = 4, seed: int = 0) -> tuple[Mixture, Callable[[int], Shards]]:
        name, _, variant = name.partition("-")
        rng = np.random.default_rng(seed)
        objective = objectives(name).get(f"-{variant}", objectives(name)[""])
        data = table_of(KIND.get(name, "vectors"))
        likelihood = STARTS.get(name, start_gaussian)(name, data, K, objective, variant, rng)
        allocation: Any = (StickBreaking if variant == "sticks" else FiniteDirichlet).uniform(1 / K, K, objective)
        return Mixture(allocation, likelihood, data.shape[1], K), lambda n: cut(data, n)

    return make


@pytest.fixture
def problem(mixture, sample, cut) -> Callable[..., tuple[Any, Any, Callable[[int], Shards]]]:
    """problem(name) is (a started model, a local step, a way to cut its data): each likelihood, four of topics."""

    def make(name: str, K: int = 5, L: int = 2) -> tuple[Any, Any, Callable[[int], Shards]]:
        if name in MIXTURES:
            model, shards = mixture(name, K)
            return model, MixtureStep(type(model.likelihood), L), shards
        corpus = Corpus.from_scipy(sample("counts"))
        raw = np.random.default_rng(1).gamma(1.0, 1.0, (corpus.shape[1], K))
        posterior = "variational" if name == "variational" else "collapsed"
        words = TopicWords(np.full((1, 1), 0.1), WordTotal(raw, raw.sum(axis=0)), posterior)
        options = _core.TopicOptions(posterior, True, False, False, L, 0.3, 30, 0.01, 1, 3)
        steps: dict[str, LocalStep] = {
            "variational": TopicStep(options, cold_visits=1),
            "collapsed": TopicStep(options),
            "scvb0": OnlineStep(L),
            "cvb0": ExcludingStep(L),
        }
        model = TopicModel(DocumentPrior(np.linspace(0.1, 0.3, K), posterior), words)
        return model, steps[name], lambda n: cut(corpus, n)

    return make


@pytest.fixture
def flat() -> Callable[[Any], np.ndarray]:
    """Every number of a statistic (or of a model), in one vector."""

    def numbers(x: Any) -> list[np.ndarray]:
        if isinstance(x, WordTotal):
            return [x.counts().ravel(), x.totals]
        if is_dataclass(x):
            return [n for f in fields(x) for n in numbers(getattr(x, f.name))]
        return [] if isinstance(x, str | bool) else [np.asarray(x, np.float64).ravel()]

    return lambda x: np.concatenate(numbers(x))
