"""Estimators: parameters in words, attributes with a trailing underscore, scikit-learn's manners."""

from topmix.estimators.mixtures import MultinomialMixture
from topmix.estimators.topics import LDA

ESTIMATORS = {"LDA": LDA, "MultinomialMixture": MultinomialMixture}

__all__ = ["ESTIMATORS", "LDA", "MultinomialMixture"]
