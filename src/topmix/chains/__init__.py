"""Models with one topic per token: Gibbs sampling and combinatorial optimisation."""
