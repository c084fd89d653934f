"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from topmix.estimators import LDA, MultinomialMixture

__version__ = "0.1.0"
__all__ = ["LDA", "MultinomialMixture", "__version__"]
