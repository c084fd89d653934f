"""Slow NumPy twins of the native kernels: what the tests compare against, written to be obviously right."""
