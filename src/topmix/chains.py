"""Models with one topic per token: Gibbs sampling, combinatorial optimisation, exchanges. How GibbsLDA samples is a
component that a user passes in."""

from topmix.learn.tokens import SAMPLERS, Parallel, Sampler, Sequential

__all__ = ["SAMPLERS", "Parallel", "Sampler", "Sequential"]
