"""The only place that constructs estimators of topmix.

Settings are dictionaries in the words of the library's `set_params`: {"inference": "variational",
"inference__min_topic_mass": 0.0, "learner": "stochastic", "learner__decay": 0.9}. So they can be merged, written in a
result row and sent to another process. A call that needs none of this may pass components instead:
lda(K, learner=Stochastic(decay=0.9)).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import topmix
from benchmarks.harness.methods.method import Topics
from topmix.inference import Collapsed
from topmix.io.reading import Reading
from topmix.learn.sampling import FIRST_PASSES, LAST_PASSES
from topmix.models.topic_words import WORD_PRIOR, collapsed_word_prior
from topmix.models.topics import TopicModel
from topmix.results.mixture import FittedMixture
from topmix.results.topics import FittedTopics
from topmix.steps.inference import MIN_TOPIC_MASS

Settings = dict[str, Any]


def lda(K: int, **settings: Any) -> topmix.LDA:
    return topmix.LDA(K).set_params(**settings)


def hdp(K: int, **settings: Any) -> topmix.HDP:
    return topmix.HDP(K).set_params(**settings)


def gaussian_mixture(K: int, **settings: Any) -> topmix.GaussianMixture:
    return topmix.GaussianMixture(K).set_params(**settings)


def multinomial_mixture(K: int, **settings: Any) -> topmix.MultinomialMixture:
    return topmix.MultinomialMixture(K).set_params(**settings)


def gibbs_lda(K: int, **settings: Any) -> topmix.GibbsLDA:
    return topmix.GibbsLDA(K, **settings)


def combinatorial_lda(K: int, **settings: Any) -> topmix.CombinatorialLDA:
    return topmix.CombinatorialLDA(K, **settings)


def preset(K: int, preset: str, arguments: Settings | None = None, **settings: Any) -> Any:
    """The algorithm of a paper: a function of topmix.presets and what it is given."""
    model = getattr(topmix.presets, preset)(K, **arguments or {})
    known = model.get_params()
    return model.set_params(**{name: v for name, v in settings.items() if name in known or name != "tol"})


def with_sweeps(passes: int, sweeps: int | None = None) -> int:
    """The max_iter of an LDA that makes so many passes and, if they are not too few, sampling sweeps between them.
    Scripts count the two apart, as the rows of results do."""
    most = Collapsed().sweeps if sweeps is None else sweeps
    return passes + most if passes >= FIRST_PASSES + LAST_PASSES else passes


ESTIMATORS = {"LDA": lda, "HDP": hdp, "preset": preset}


def full_names(given: Settings) -> Settings:
    """Settings of an LDA with full names, from short ones: {"decay": 0.9} with learner="stochastic" is learner__decay.

    Raises ValueError for a setting that the LDA does not have.
    """
    model = topmix.LDA()
    model.set_params(**{name: value for name, value in given.items() if name in model.get_params(deep=False)})
    full = {name.partition("__")[2]: name for name in model.get_params() if "__" in name}
    settings = {full.get(name, name): value for name, value in given.items()}
    model.set_params(**settings)
    return settings


def default(name: str, K: int) -> Any:
    """The value of one of LDA's settings when nobody gives it."""
    derived = {
        "topic_word_prior": collapsed_word_prior(K),
        "inference__smoothing": min(WORD_PRIOR, collapsed_word_prior(K)),
        "inference__min_topic_mass": MIN_TOPIC_MASS,
    }
    return derived[name] if name in derived else topmix.LDA(K).get_params()[name]


def topics_of(fitted: Any) -> Topics:
    """Of an LDA or HDP: its topics as it predicts with them, and the tokens that each has."""
    counts = fitted.components_ - fitted.topic_word_prior_
    return Topics(fitted.topic_word_, np.maximum(counts.sum(axis=1), 0.0))


def gaussians_of(fitted: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(weights, means, covariances)."""
    return fitted.weights_, fitted.means_, fitted.covariances_


def fitted_with(estimator: Any, model: Any) -> Any:
    """A fitted copy of an estimator with the model that its learner has in the middle of a pass. The estimator itself
    has learned nothing before the fit ends."""
    now = copy.deepcopy(model.on_host())
    if isinstance(now, TopicModel):
        V = len(now.words.total.held)
        found: Any = FittedTopics(reading=Reading(V), model=estimator._reported(now))
    else:
        found = FittedMixture(reading=Reading(now.n_features), model=now)
    return estimator._with(found).set_params(engine="threads")
