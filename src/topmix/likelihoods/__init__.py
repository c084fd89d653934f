"""Likelihoods: what a cluster says of a row. One file here; with a kernel of its own, one of the same name in cpp.

A likelihood is an immutable posterior over the parameters of K clusters; likelihood.py says what it must offer. There
is no list of them: estimators name theirs, and tests/conformance holds every one that it finds here to the contract.
"""
