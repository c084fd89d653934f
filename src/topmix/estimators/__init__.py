"""Estimators: parameters in words, attributes with a trailing underscore, scikit-learn's manners."""

from topmix.estimators.hdp import HDP
from topmix.estimators.mixtures import MultinomialMixture
from topmix.estimators.topics import LDA

ESTIMATORS = {"LDA": LDA, "HDP": HDP, "MultinomialMixture": MultinomialMixture}

__all__ = ["ESTIMATORS", "HDP", "LDA", "MultinomialMixture"]
