"""What outlives a fit, as frozen values: FittedTopics and FittedMixture. Everything here is a function of them."""

from topmix.fitted.mixture import FittedMixture
from topmix.fitted.topics import Fitted, FittedTopics

__all__ = ["Fitted", "FittedMixture", "FittedTopics"]
