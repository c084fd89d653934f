"""The only place that constructs estimators of topmix, and that reads what their callbacks see.

Settings are flat dictionaries in the words of the library's parameters, so that they can be merged, written in a result
row and given on a command line: {"inference": "variational", "min_topic_mass": 0.0, "learner": "stochastic",
"batch_size": 100, "decay": 0.9}. `arguments` turns them into the arguments of a constructor. When parameters of the
library change their names or move into objects, this file changes, and no script does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import topmix
from benchmarks.harness.methods.method import Topics
from topmix.estimators.priors import WORD_PRIOR, firm_word_prior

Settings = dict[str, Any]

# What the constructors of today call these words.
INFERENCE: dict[str, Settings] = {
    "collapsed": {"posterior": "collapsed", "local_step": "fixed_point"},
    "variational": {"posterior": "variational"},
    "cvb0": {"posterior": "collapsed", "local_step": "cvb0"},
    "scvb0": {"posterior": "collapsed", "local_step": "scvb0"},
}
RENAMED = {
    "doc_burn_in": "burn_in",
    "doc_scale": "doc_learning_scale",
    "doc_offset": "doc_learning_offset",
    "doc_decay": "doc_learning_decay",
    "scale": "learning_scale",
    "offset": "learning_offset",
    "decay": "learning_decay",
    "outside": "rest",
}


def lda(K: int, **settings: Any) -> topmix.LDA:
    return topmix.LDA(K, **arguments({"inference": "collapsed"} | settings))


def hdp(K: int, **settings: Any) -> topmix.HDP:
    """`search=None` keeps K topics."""
    given = arguments(settings)
    given.pop("local_step", None)  # it has one
    if "search" in given:
        given["adapt"] = given.pop("search") is not None
    return topmix.HDP(K, **given)


def gaussian_mixture(K: int, **settings: Any) -> topmix.GaussianMixture:
    """`init_params` may be a dictionary of weights, means and precisions."""
    given = arguments(settings)
    start = given.get("init_params")
    if isinstance(start, dict):
        given |= {f"{name}_init": value for name, value in start.items()} | {"init_params": "random_from_data"}
    return topmix.GaussianMixture(K, **given)


def multinomial_mixture(K: int, **settings: Any) -> topmix.MultinomialMixture:
    return topmix.MultinomialMixture(K, **arguments(settings))


def gibbs_lda(K: int, **settings: Any) -> topmix.GibbsLDA:
    return topmix.GibbsLDA(K, **settings)


def combinatorial_lda(K: int, **settings: Any) -> topmix.CombinatorialLDA:
    return topmix.CombinatorialLDA(K, **settings)


ESTIMATORS = {"LDA": lda, "HDP": hdp}


def arguments(settings: Settings) -> Settings:
    """What a constructor takes, from settings in our words."""
    given = dict(settings)
    inference = given.pop("inference", None)
    found = dict(INFERENCE[inference]) if inference else {}
    if given.get("learner") == "asynchronous":
        found.pop("local_step", None)  # it has its own
    return found | {RENAMED.get(name, name): value for name, value in given.items()}


def default(name: str, K: int) -> Any:
    """The value of one of LDA's parameters when nobody gives it."""
    derived = {"topic_word_prior": firm_word_prior(K), "smoothing": WORD_PRIOR}
    return derived[name] if name in derived else topmix.LDA(K).get_params()[RENAMED.get(name, name)]


# What callbacks see as their second argument (`view`), and what fitted estimators hold.


def topics_in(view: Any) -> Topics:
    return Topics(view.words.mean(), np.asarray(view.words.total.totals, dtype=np.float64))


def pseudo_counts_in(view: Any) -> np.ndarray:
    """[K, V], of q(phi)."""
    return np.array(view.words.pseudo_counts())


def gaussians_in(view: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(weights, means, covariances)."""
    return view.allocation.weights(), view.likelihood.mean(), view.likelihood.covariances()


def word_counts_in(view: Any) -> np.ndarray:
    """[K, V] tokens, of a Gibbs chain."""
    return view.word.T


def topics_of(fitted: Any) -> Topics:
    """Of an LDA or HDP, as it would predict with them."""
    return Topics(fitted.topic_word_, topics_in(fitted.model_).tokens)


def token_topics_of(fitted: Any) -> np.ndarray:
    """The topic of each token, of a GibbsLDA or CombinatorialLDA."""
    return fitted.labels_
