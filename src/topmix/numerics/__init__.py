"""Numerical helpers that know nothing of models: Dirichlet expectations, BLAS, threads."""
