"""Allocations: how often clusters are used. Kernels see a vector of K numbers; how it is made is decided here."""

from topmix.allocations.finite_dirichlet import FiniteDirichlet
from topmix.allocations.stick_breaking import StickBreaking

# The priors on weights that a mixture can have, by scikit-learn's names for them.
WEIGHTS: dict[str, type[FiniteDirichlet] | type[StickBreaking]] = {
    "dirichlet_distribution": FiniteDirichlet,
    "dirichlet_process": StickBreaking,
}
