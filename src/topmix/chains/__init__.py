"""Models with one topic per token: Gibbs sampling, combinatorial optimisation, exchanges. How GibbsLDA samples is a
component that a user passes in."""

from topmix.chains.samplers import Parallel, Sampler, Sequential

SAMPLERS: dict[str, type[Sampler]] = {"parallel": Parallel, "sequential": Sequential}

__all__ = ["SAMPLERS", "Parallel", "Sampler", "Sequential"]
