"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from topmix.estimators import MultinomialMixture

__version__ = "0.1.0"
__all__ = ["MultinomialMixture", "__version__"]
