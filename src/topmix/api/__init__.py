"""Estimators: parameters in words, attributes with a trailing underscore, following scikit-learn's API."""

from topmix.api.admixture import GaussianAdmixture, VonMisesFisherAdmixture
from topmix.api.combinatorial import CombinatorialLDA
from topmix.api.files import ESTIMATORS, SUPERVISED, load, load_predictor
from topmix.api.gaussian import GaussianMixture
from topmix.api.gibbs import GibbsLDA
from topmix.api.hdp import HDP
from topmix.api.labelled import LabelledLDA
from topmix.api.lda import LDA
from topmix.api.multinomial import MultinomialMixture
from topmix.api.supervised import SupervisedLDA
from topmix.api.von_mises_fisher import VonMisesFisherMixture
from topmix.fitted.predictor import Predictor
from topmix.fitted.seeds import Seeds

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
        GaussianAdmixture,
        VonMisesFisherAdmixture,
    )
}

SUPERVISED |= {cls.__name__: cls for cls in (LabelledLDA, SupervisedLDA)}

__all__ = [
    "ESTIMATORS",
    "HDP",
    "LDA",
    "SUPERVISED",
    "CombinatorialLDA",
    "GaussianAdmixture",
    "GaussianMixture",
    "GibbsLDA",
    "LabelledLDA",
    "MultinomialMixture",
    "Predictor",
    "Seeds",
    "SupervisedLDA",
    "VonMisesFisherAdmixture",
    "VonMisesFisherMixture",
    "load",
    "load_predictor",
]
