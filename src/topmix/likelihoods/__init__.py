"""Likelihoods: what a cluster says of a row. One file here and one of the same name in cpp/likelihoods.

A likelihood is an immutable posterior over the parameters of K clusters; topmix.model.Likelihood states what it must
offer.
"""

from topmix.likelihoods.categorical import Categorical

LIKELIHOODS = {"categorical": Categorical}
