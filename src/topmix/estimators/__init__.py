"""Estimators: parameters in words, attributes with a trailing underscore, scikit-learn's manners."""

from topmix.estimators.mixtures import MultinomialMixture

ESTIMATORS = {"MultinomialMixture": MultinomialMixture}

__all__ = ["ESTIMATORS", "MultinomialMixture"]
