"""Estimators: parameters in words, attributes with a trailing underscore, scikit-learn's manners."""

from topmix.estimators.combinatorial import CombinatorialLDA
from topmix.estimators.gaussian import GaussianMixture
from topmix.estimators.gibbs import GibbsLDA
from topmix.estimators.hdp import HDP
from topmix.estimators.mixtures import MultinomialMixture
from topmix.estimators.topics import LDA
from topmix.estimators.von_mises_fisher import VonMisesFisherMixture

ESTIMATORS = {
    "LDA": LDA,
    "HDP": HDP,
    "GibbsLDA": GibbsLDA,
    "CombinatorialLDA": CombinatorialLDA,
    "GaussianMixture": GaussianMixture,
    "MultinomialMixture": MultinomialMixture,
    "VonMisesFisherMixture": VonMisesFisherMixture,
}

__all__ = [
    "ESTIMATORS",
    "HDP",
    "LDA",
    "CombinatorialLDA",
    "GaussianMixture",
    "GibbsLDA",
    "MultinomialMixture",
    "VonMisesFisherMixture",
]
