"""Estimators: parameters in words, attributes with a trailing underscore, scikit-learn's manners."""

from topmix.estimators.gaussian import GaussianMixture
from topmix.estimators.mixtures import MultinomialMixture
from topmix.estimators.topics import LDA

ESTIMATORS = {"LDA": LDA, "GaussianMixture": GaussianMixture, "MultinomialMixture": MultinomialMixture}

__all__ = ["ESTIMATORS", "LDA", "GaussianMixture", "MultinomialMixture"]
