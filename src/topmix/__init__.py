"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from topmix.estimators import HDP, LDA, MultinomialMixture
from topmix.io import load

__version__ = "0.1.0"
__all__ = ["HDP", "LDA", "MultinomialMixture", "__version__", "load"]
