"""Fits that are interrupted, what makes two of them the same, and forged files."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

from topmix import LDA
from topmix.base.fields import Writer
from topmix.base.layout import metadata_crc
from topmix.data import sample_lda
from topmix.inference import Collapsed

N_PASSES = 6


class Crash(Exception):
    pass


def crash_after(n_passes):
    def crash(record, view):
        if record.n_pass > n_passes:
            raise Crash

    return crash


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(120, 40, 4, doc_length=50, random_state=1).corpus


def lda(**parameters):
    """Without sampling, unless it is asked for."""
    given = {"n_components": 4, "max_iter": N_PASSES, "tol": -np.inf, "random_state": 0}
    return LDA(**given | {"inference": Collapsed(sweeps=0)} | parameters)


def same(a, b):
    """All that was learned, and the history except for the seconds."""
    one, two = Writer(), Writer()
    a._write(a._fitted, one)
    b._write(b._fitted, two)
    assert one.arrays.keys() == two.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])
    assert one.values == two.values
    for x, y in zip(a.history_, b.history_, strict=True):
        assert (x.n_pass, x.objective, x.terms, x.effort) == (y.n_pass, y.objective, y.terms, y.effort)
    assert (a.n_iter_, a.n_batch_iter_, a.converged_, a.elbo_) == (b.n_iter_, b.n_batch_iter_, b.converged_, b.elbo_)


def forge(data, edit):
    """The file with its JSON and arrays changed by edit(about, arrays), and checksums that are right again."""
    length = int.from_bytes(data[:8], "little")
    table, blob = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    metadata = table["__metadata__"]
    metadata.pop("metadata_crc32")
    about = json.loads(metadata["model"])
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U16": "<u2"}
    arrays = {
        name: np.frombuffer(blob, kinds[e["dtype"]], (e["data_offsets"][1] - e["data_offsets"][0])
                            // np.dtype(kinds[e["dtype"]]).itemsize, e["data_offsets"][0])
        for name, e in table.items() if name != "__metadata__"
    }  # fmt: skip
    edit(about, arrays)
    metadata["model"] = json.dumps(about)
    metadata["crc32"] = json.dumps({name: f"{zlib.crc32(a.data):08x}" for name, a in arrays.items()})
    metadata["metadata_crc32"] = metadata_crc(metadata)
    del arrays
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + bytes(blob)
