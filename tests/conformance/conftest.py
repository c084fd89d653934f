"""Data of each kind, models started on it, and statistics laid flat. A new kind of data is one entry here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from topmix import models
from topmix.corpus.rows import GroupedRows
from topmix.corpus.shard import Shards
from topmix.data import Corpus, Rows
from topmix.models import gaussian_start, von_mises_fisher
from topmix.models.categorical import WordStart
from topmix.models.document_prior import DocumentPrior
from topmix.models.mixture import Admixture, FiniteDirichlet, Mixture, StickBreaking
from topmix.models.topic_words import TopicWords
from topmix.models.topics import DocumentOptions, TopicModel
from topmix.models.words import WordTotal
from topmix.steps import LocalStep
from topmix.steps.documents import CVB0Step, SCVB0Step, TopicStep
from topmix.steps.rows import CandidateStep, GroupStep, MixtureStep

from .estimators import counts_only


def found_likelihoods() -> dict[str, type]:
    """Every likelihood of the package, by the name of its file. The covariances of Gaussians differ in shape only: one
    class, four entries, so that each is held to the contract."""
    found: dict[str, type] = {}
    for file in pkgutil.iter_modules(models.__path__):
        module = importlib.import_module(f"topmix.models.{file.name}")
        for value in vars(module).values():
            if is_dataclass(value) and value.__module__ == module.__name__ and hasattr(value, "objectives"):
                found[file.name] = value
    gaussian = found.pop("gaussian")
    return found | dict.fromkeys(("full", "diag", "spherical", "tied"), gaussian)


LIKELIHOODS = found_likelihoods()


def objectives(name: str) -> dict[str, str]:
    """By the end of a problem's name."""
    usual, *others = LIKELIHOODS[name].objectives
    return {"": usual} | {f"-{other}": other for other in others}


MIXTURES = [name + end for name in LIKELIHOODS for end in objectives(name)]
MIXTURES += [f"{name}-zero" for name in ("full", "diag", "spherical")] + ["full-sticks", "categorical-sticks"]
TOPICS = ["variational", "collapsed", "discounted", "scvb0", "cvb0"]
# Each likelihood and each local step.
ADMIXTURES = ["full-groups", "von_mises_fisher-groups"]
PROBLEMS = [*LIKELIHOODS, "full-ml", "diag-zero", "categorical-sticks", "full-candidates", *ADMIXTURES, *TOPICS]


def counts(n: int = 103, V: int = 24, most: int = 30) -> np.ndarray:
    """Rows from 4 clusters with favourite words; one row is empty, one word is unused."""
    rng = np.random.default_rng(0)
    phi = np.full((4, V), 0.3 / V) + np.kron(np.eye(4), np.full(V // 4, 0.7 / (V // 4)))
    X = np.array([rng.multinomial(rng.integers(5, most), phi[k]) for k in rng.integers(4, size=n)], np.float32)
    X[11], X[:, 17] = 0, 0
    return X


def vectors(n: int = 103) -> np.ndarray:
    """Points from 4 clusters in five dimensions."""
    rng = np.random.default_rng(0)
    means = rng.normal(0, 1.5, (4, 5))
    return means[rng.integers(4, size=n)] + rng.normal(size=(n, 5))


# Kernels cut work into chunks: 16 documents, 64 rows of counts, 256 rows of vectors, 64 words, 4096 entries that are
# summed by word, 16384 entries whose entropies are merged (parallel_for in cpp/). Small data is one chunk, which every
# number of threads computes alike.
WIDE = {"counts": (420, 400, 200), "vectors": (1300,), "directions": (1300,)}


def directions(n: int = 103) -> np.ndarray:
    """Unit vectors around 4 directions in six dimensions, some wide and some narrow."""
    rng = np.random.default_rng(0)
    k = rng.integers(4, size=n)
    X = rng.normal(size=(4, 6))[k] + np.array([0.3, 0.5, 0.8, 1.5])[k, None] * rng.normal(size=(n, 6))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


SAMPLES = {"counts": counts, "vectors": vectors, "directions": directions}


@cache
def rows_of(kind: str, *, wide: bool = False) -> np.ndarray:
    rows = SAMPLES[kind](*(WIDE[kind] if wide else ()))
    rows.flags.writeable = False  # all tests have the same
    return rows


def table_of(kind: str, *, wide: bool = False) -> Corpus | Rows:
    X = rows_of(kind, wide=wide)
    return Corpus.from_scipy(X) if kind == "counts" else Rows(X)


def start_words(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    return WordStart(data, None, K, 0.1, objective, 0.1, "documents").first(rng)[0]


def start_gaussian(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    zero, s = variant == "zero", gaussian_start
    about = s.summary(data, None, name, zero)
    reg = 1e-6 if objective == "ml" else 0.0  # a cluster of few rows has no covariance, and "ml" no prior
    prior = s.default_covariance_prior(about[1], name, reg) if objective == "map" else None
    settings = {"covariance_type": name, "objective": objective, "zero_mean": zero, "covariance_prior": prior}
    none = s.empty(about, "float64", K, reg_covar=reg, **settings)
    return s.start(none, data, None, "k-means++", rng)


def start_directions(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    s = von_mises_fisher
    return s.start(s.empty(data, None, K, objective=objective), data, None, "k-means++", rng)


def start(name: str, data: Any, K: int, objective: str, variant: str, rng: np.random.Generator) -> Any:
    return LIKELIHOODS[name].start(data, None, K, rng=rng, objective=objective)


# How likelihoods start that need more than `start` of the class.
STARTS: dict[str, Callable[..., Any]] = {
    "categorical": start_words,
    "von_mises_fisher": start_directions,
    **dict.fromkeys(("full", "diag", "spherical", "tied"), start_gaussian),
}


@pytest.fixture
def sample() -> Callable[..., np.ndarray]:
    """Rows of a kind; wide=True: enough for several chunks in each kernel, whichever learner cuts them into shards."""
    return rows_of


@pytest.fixture
def data(name, sample):
    return sample("counts" if counts_only(name) else "vectors")


@pytest.fixture
def mixture(cut) -> Callable[..., tuple[Mixture, Callable[[int], Shards]]]:
    """mixture(name, K) is a started model and a way to cut its data into shards. See MIXTURES for names."""

    def make(name: str, K: int = 4, seed: int = 0, *, wide: bool = False) -> tuple[Mixture, Callable[[int], Shards]]:
        name, _, variant = name.partition("-")
        rng = np.random.default_rng(seed)
        objective = objectives(name).get(f"-{variant}", objectives(name)[""])
        data = table_of(LIKELIHOODS[name].rows, wide=wide)
        likelihood = STARTS.get(name, start)(name, data, K, objective, variant, rng)
        if variant == "candidates":
            likelihood = replace(likelihood, n_candidates=3)
        allocation: Any = (StickBreaking if variant == "sticks" else FiniteDirichlet).uniform(1 / K, K, objective)
        return Mixture(allocation, likelihood, data.shape[1]), lambda n: cut(data, n)

    return make


@pytest.fixture
def problem(mixture, sample, cut) -> Callable[..., tuple[Any, Any, Callable[[int], Shards]]]:
    """problem(name) is (a started model, a local step, a way to cut its data). See PROBLEMS for names."""

    def make(name: str, K: int = 5, L: int = 2, *, wide: bool = False) -> tuple[Any, Any, Callable[[int], Shards]]:
        if name not in TOPICS:
            model, shards = mixture(name, K, wide=wide)
            if name in ADMIXTURES:
                rows = shards(1).corpus
                groups = GroupedRows(rows, np.unique(np.minimum(np.arange(len(rows) // 5) ** 2 // 3, len(rows))))
                groups.starts[-1] = len(rows)
                prior = DocumentPrior(np.linspace(0.1, 0.3, K), "variational" if name == "full-groups" else "collapsed")
                sizes = np.full(K, len(rows) / K)
                mixed = Admixture(prior, model.likelihood, sizes, model.objective, rows.shape[1])
                return mixed, GroupStep(type(model.likelihood), L), lambda n: cut(groups, n)
            step = CandidateStep if name.endswith("-candidates") else MixtureStep
            return model, step(type(model.likelihood), L), shards
        corpus = Corpus.from_scipy(sample("counts", wide=wide))
        raw = np.random.default_rng(1).gamma(1.0, 1.0, (corpus.shape[1], K))
        posterior = "variational" if name == "variational" else "collapsed"
        words = TopicWords(np.full((1, 1), 0.1), WordTotal.of(raw), posterior)
        options = DocumentOptions(n_active=L, eps=0.3, max_iter=30, tol=0.01, exclude=True, restarts=1)
        if name == "discounted":
            options = replace(options, own_discount=0.5)
        steps: dict[str, LocalStep] = {
            "variational": TopicStep(cold_visits=1),
            "collapsed": TopicStep(),
            "discounted": TopicStep(cold_visits=2),
            "scvb0": SCVB0Step(),
            "cvb0": CVB0Step(),
        }
        model = TopicModel(DocumentPrior(np.linspace(0.1, 0.3, K), posterior), words, options)
        return model, steps[name], lambda n: cut(corpus, n)

    return make


@pytest.fixture
def flat() -> Callable[[Any], np.ndarray]:
    """Every number of a statistic, a model, a memory or a result, in one vector."""

    def numbers(x: Any) -> list[np.ndarray]:
        if isinstance(x, WordTotal):
            return [x.counts().ravel(), x.totals]
        if is_dataclass(x):
            return [n for f in fields(x) for n in numbers(getattr(x, f.name))]
        if isinstance(x, dict):
            return [n for key in sorted(x) for n in numbers(x[key])]
        if isinstance(x, tuple | list):
            return [n for inner in x for n in numbers(inner)]
        return [] if x is None or isinstance(x, str | bool | type) else [np.asarray(x, np.float64).ravel()]

    return lambda x: np.concatenate([np.zeros(0), *numbers(x)])
