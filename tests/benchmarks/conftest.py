"""A tiny corpus where benchmarks look for corpora."""

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """120 documents of 40 words, two of them empty, as the corpus "tiny"; returns the counts.

    The first word occurs in document d as often as d says, so that documents can be told apart.
    """
    X = np.random.default_rng(0).poisson(0.5, (120, 40))
    X[:, 0] = np.arange(120)
    X[[3, 50]] = 0
    X[0, 1] = 1
    (tmp_path / "tiny").mkdir()
    sp.save_npz(tmp_path / "tiny" / "X.npz", sp.csr_matrix(X))
    (tmp_path / "tiny" / "vocab.txt").write_text("\n".join(f"w{v}" for v in range(40)) + "\n")
    monkeypatch.setenv("TOPMIX_DATA", str(tmp_path))
    return X
