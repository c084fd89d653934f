"""Dense rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from topmix.data import CorpusError, Rows


def test_types_and_names():
    assert Rows(np.ones((2, 3), np.float32)).data.dtype == np.float32
    assert Rows(np.ones((2, 3), int)).data.dtype == np.float64
    assert Rows(pd.DataFrame({"a": [1.0], "b": [2.0]})).feature_names == ("a", "b")
    assert "2 rows × 3 features" in repr(Rows(np.ones((2, 3))))


def test_nan_and_infinity_are_named():
    X = np.ones((10, 3))
    X[7, 1] = np.nan
    with pytest.raises(CorpusError, match=r"row 7, column 1 \('b'\): nan"):
        Rows(X, ["a", "b", "c"])
    X[7, 1], X[3, 2] = 0, -np.inf
    with pytest.raises(CorpusError, match="row 3, column 2: -inf"):
        Rows(X)


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((1, 2), complex), np.array([["a"]]), np.array([[None]])])
def test_what_is_not_a_table_is_refused(bad):
    with pytest.raises(CorpusError):
        Rows(bad)
    with pytest.raises(CorpusError, match="1 feature names for 2 columns"):
        Rows(np.ones((3, 2)), ["a"])


def test_a_mapped_table_is_the_table(tmp_path):
    X = np.random.default_rng(0).normal(size=(1003, 7))
    path = tmp_path / "x.npy"
    Rows(X).save(path)
    t = Rows.open(path).check()
    np.testing.assert_array_equal(t.data, X)
    np.testing.assert_array_equal(np.load(path), X)
    assert not t.data.flags.writeable
    for n in (1, 10, 1003, 5000):
        np.testing.assert_array_equal(np.concatenate(list(t.blocks(n))), X)
    np.testing.assert_array_equal(t[5:9].data, X[5:9])
    np.testing.assert_array_equal(t[[1, 1]].data, X[[1, 1]])
    assert [f.name for f in tmp_path.iterdir()] == ["x.npy"]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    Rows(np.ones((5, 2))).save(path)
    data = path.read_bytes()
    for n in range(len(data)):
        path.write_bytes(data[:n])
        with pytest.raises(CorpusError, match=r"x\.npy"):
            Rows.open(path)
    np.save(path, np.ones((2, 2), int))
    with pytest.raises(CorpusError, match="float32 or float64"):
        Rows.open(path)
