"""What topics depend on: priors that know more of a document than its words."""

from topmix.io.priors import ByGroup, Covariates, OverTime

__all__ = ["ByGroup", "Covariates", "OverTime"]
