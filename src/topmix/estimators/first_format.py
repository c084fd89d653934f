"""Files of the first format: parameters, values and arrays in the terms of the second.

The first version had no components: every setting of every algorithm was a parameter of the estimator.
"""

from __future__ import annotations

from typing import Any

from topmix.files.reader import CheckedReader, ModelFileError
from topmix.inference import CVB0, SCVB0, Collapsed, Inference, Variational
from topmix.learners import Asynchronous, Batch, Learner, Memoized, Stochastic

DOCUMENT_SETTINGS = (
    "min_topic_mass",
    "restarts",
    "cold_visits",
    "selection",
    "max_doc_update_iter",
    "doc_tol",
    "stopping",
)
FIRST_SETTINGS = (
    *DOCUMENT_SETTINGS, "posterior", "local_step", "exclude", "own_discount", "burn_in", "doc_learning_scale",
    "doc_learning_offset", "doc_learning_decay", "batch_size", "total_samples", "learning_scale", "learning_offset",
    "learning_decay", "rest", "opening", "n_workers", "adapt", "weights_init", "means_init", "precisions_init",
)  # fmt: skip


def upgrade_parameters(estimator: str, first: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a first-format file as those of this version. Raises ValueError for what was never valid."""
    if estimator in ("GibbsLDA", "CombinatorialLDA"):
        return dict(first)
    now = {name: value for name, value in first.items() if name not in FIRST_SETTINGS and name != "learner"}
    if now.get("engine", 0) is None:
        now["engine"] = "threads"
    learner = first.get("learner", "memoized")
    if estimator in ("LDA", "HDP"):
        now["inference"] = _inference(estimator, first, learner)
    now["learner"] = _learner(first, learner)
    if estimator == "HDP":
        now["search"] = "auto" if first.get("adapt", True) and learner == "memoized" else None
        now.pop("n_init", None)
    if estimator == "MultinomialMixture" and "word_prior" in now:
        now["topic_word_prior"] = now.pop("word_prior")
    if estimator == "GaussianMixture":
        now.pop("max_time", None)
    return now


def _inference(estimator: str, first: dict[str, Any], learner: str) -> Inference:
    posterior, kind = first.get("posterior", "collapsed"), first.get("local_step", "auto")
    if kind == "auto" and estimator == "LDA" and posterior == "collapsed":
        kind = {"stochastic": "scvb0", "batch": "cvb0"}.get(learner, "fixed_point")
    burn_in = first.get("burn_in", 1)
    if kind == "scvb0":
        names = {
            "doc_scale": "doc_learning_scale",
            "doc_offset": "doc_learning_offset",
            "doc_decay": "doc_learning_decay",
        }
        return SCVB0(burn_in, **{new: first[old] for new, old in names.items() if old in first})
    if kind == "cvb0":
        return CVB0(burn_in)
    settings = {name: first[name] for name in DOCUMENT_SETTINGS if name in first}
    if settings.get("min_topic_mass") == 2.5:
        settings["min_topic_mass"] = None  # the default, which was written out
    if estimator == "LDA" and settings.get("restarts") == 0:
        settings["restarts"] = None
    if estimator == "HDP" and settings.get("restarts") == 5:
        settings["restarts"] = None
    if posterior == "variational":
        return Variational(**settings)
    more = {name: first[name] for name in ("own_discount",) if name in first}
    return Collapsed(**settings, **more)


def _learner(first: dict[str, Any], learner: str) -> Learner:
    size = first.get("batch_size")
    step = {new: first[old] for new, old in (("scale", "learning_scale"), ("offset", "learning_offset"),
            ("decay", "learning_decay")) if old in first}  # fmt: skip
    total = first.get("total_samples")
    if learner == "stochastic" or (learner == "memoized" and total is not None):  # a stream
        return Stochastic(size, **step, total_samples=total)
    if learner == "asynchronous":
        more = {new: first[old] for new, old in (("tail", "rest"), ("warm_up", "opening")) if old in first}
        workers = first.get("n_workers")
        return Asynchronous(workers, size, **more)
    if learner not in ("batch", "memoized"):
        raise ValueError(f"learner cannot be {str(learner)[:60]!r}")
    return Batch() if learner == "batch" else Memoized(size)


def upgrade_model(file: CheckedReader, estimator: str) -> None:
    """Renames arrays and values of a model file, in place."""
    extra = file.about.get("extra")
    if not isinstance(extra, dict):
        raise ModelFileError("has no table of values")
    if estimator in ("LDA", "HDP", "GibbsLDA"):
        missing = "variational" if estimator == "HDP" else "collapsed"
        extra["words.posterior"] = extra.get("posterior", missing)
    if estimator == "HDP":
        for old, new in (("alpha", "concentration"), ("gamma", "stick_prior")):
            extra[f"prior.{new}"], extra[f"prior.learns_{new}"] = extra.get(old), extra.get(f"{old}.learned")
        extra["prior.D"] = extra.get("sticks.D")
        file.rename({f"sticks.{name}": f"prior.{name}" for name in ("rho", "omega", "T")})
    if estimator in ("GibbsLDA", "CombinatorialLDA"):
        file.rename({"labels": "token_topics"})
    if estimator in ("GaussianMixture", "MultinomialMixture"):
        extra.setdefault("objective", "vb")
        extra.setdefault("weights", "dirichlet_distribution")
    start = {name: f"parameters.{name}_init" for name in ("weights", "means", "precisions")}
    if estimator == "GaussianMixture" and any(file.has(old) for old in start.values()):
        file.rename({old: f"parameters.init_params.{name}" for name, old in start.items()})
