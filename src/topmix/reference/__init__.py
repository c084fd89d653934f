"""Slow twins of the native kernels, in plain Python and NumPy: what the tests compare against."""
