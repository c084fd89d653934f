"""Estimators: parameters in words, attributes with a trailing underscore, following scikit-learn's API."""

from topmix.estimators.combinatorial import CombinatorialLDA
from topmix.estimators.gaussian import GaussianMixture
from topmix.estimators.gibbs import GibbsLDA
from topmix.estimators.hdp import HDP
from topmix.estimators.lda import LDA
from topmix.estimators.multinomial import MultinomialMixture
from topmix.estimators.predictor import Predictor, load_predictor
from topmix.estimators.saving import ESTIMATORS, load
from topmix.estimators.von_mises_fisher import VonMisesFisherMixture
from topmix.estimators.word_rules import WordRules

ESTIMATORS |= {
    cls.__name__: cls
    for cls in (
        LDA,
        HDP,
        GibbsLDA,
        CombinatorialLDA,
        GaussianMixture,
        MultinomialMixture,
        VonMisesFisherMixture,
    )
}

__all__ = [
    "ESTIMATORS",
    "HDP",
    "LDA",
    "CombinatorialLDA",
    "GaussianMixture",
    "GibbsLDA",
    "MultinomialMixture",
    "Predictor",
    "VonMisesFisherMixture",
    "WordRules",
    "load",
    "load_predictor",
]
