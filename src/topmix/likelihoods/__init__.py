"""Likelihoods: what a cluster says of a row. One file here and one of the same name in cpp/likelihoods.

A likelihood is an immutable posterior over the parameters of K clusters; likelihood.py says what it must offer.
"""

from topmix.likelihoods.categorical import Categorical
from topmix.likelihoods.gaussian import Gaussian
from topmix.likelihoods.likelihood import Likelihood
from topmix.likelihoods.von_mises_fisher import VonMisesFisher

# The covariances of Gaussians differ in shape only: one class, four entries, so that each is held to the contract.
LIKELIHOODS: dict[str, type[Likelihood]] = {
    "categorical": Categorical,
    "full": Gaussian,
    "diag": Gaussian,
    "spherical": Gaussian,
    "tied": Gaussian,
    "von_mises_fisher": VonMisesFisher,
}
