"""Checkpoints with anything anywhere: CheckpointError that names the file, or a fit of the right shape."""

from __future__ import annotations

import itertools
import json
import random
import re
import warnings
import zlib

import numpy as np
import pytest

from topmix import HDP, LDA, GaussianAdmixture, GaussianMixture, MultinomialMixture, VonMisesFisherMixture
from topmix.base.layout import metadata_crc
from topmix.data import sample_lda
from topmix.learn.checkpoint import CheckpointError
from topmix.learners import Memoized
from topmix.models.frame import SingularCovariance

from .conftest import Crash, crash_after, forge, same


def small(**parameters):
    return LDA(3, max_iter=3, tol=-np.inf, random_state=0, learner=Memoized(batch_size=20), **parameters)


def small_hdp(**parameters):
    return HDP(3, max_iter=24, random_state=0, learner=Memoized(batch_size=20), **parameters)


def clusters(cls, K, **parameters):
    def make(**more):
        return cls(K, max_iter=3, tol=-1e9, random_state=0, learner=Memoized(batch_size=20), **parameters, **more)

    return make


VECTORS = np.random.default_rng(0).normal(size=(50, 2))
HURT = {
    "LDA": small,
    "LDA, priors learned": lambda **more: small(doc_topic_prior="auto", topic_word_prior="auto", **more),
    "LDA, SCVB0": lambda **more: small(inference="scvb0", **more),
    "HDP": lambda **more: small_hdp(search=None, doc_topic_prior="auto", **more),
    "HDP, search": small_hdp,
    "words": clusters(MultinomialMixture, 3),
    "vectors": clusters(GaussianMixture, 3),
    "vectors, candidates": clusters(GaussianMixture, 6, candidates=3, n_active=2),
    "directions, candidates": clusters(VonMisesFisherMixture, 33),
    "vectors in groups": clusters(GaussianAdmixture, 3),
}


@pytest.fixture(scope="module", autouse=True)
def few():
    """Candidates for fewer clusters than usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("topmix.models.von_mises_fisher.MANY", 33)
        yield


@pytest.fixture(scope="module", params=HURT)
def hurt(request, tmp_path_factory):
    """(how the fit is made, its corpus, a checkpoint from its middle, what it gives when it is not interrupted)"""
    corpus, make = sample_lda(40, 12, 3, doc_length=20, random_state=0).corpus, HURT[request.param]
    corpus = VECTORS if request.param.startswith(("vectors", "directions")) else corpus
    path = tmp_path_factory.mktemp("hurt") / "file"
    whole = make().fit(corpus)
    with pytest.raises(Crash):
        make(callbacks=[crash_after(whole.n_iter_ - 1)]).fit(corpus, checkpoint=path)
    return make, corpus, path.read_bytes(), whole


def attempt(hurt, path, data, must_fail=False):
    """Whether the file was taken. A file that was not is left as it is."""
    make, corpus, _, whole = hurt
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers up to 1e100 overflow a float32, and do no harm
            model = make().fit(corpus, checkpoint=path)
    except CheckpointError as error:
        assert str(path) in str(error)  # noqa: PT017
        assert path.read_bytes() == data
        return False
    except SingularCovariance:  # of statistics of shards, when they are taken out
        assert path.read_bytes() == data
        return False
    assert not must_fail
    assert model.n_features_in_ == whole.n_features_in_
    assert model.n_iter_ == len(model.history_)
    return True


def test_a_checkpoint_that_is_not_hurt_gives_the_same_bits(hurt, tmp_path):
    make, corpus, data, whole = hurt
    (tmp_path / "file").write_bytes(forge(data, lambda about, arrays: None))
    same(make().fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_truncated_checkpoints(hurt, tmp_path):
    data = hurt[2]
    for n in {*range(0, len(data), 397), *range(0, 40, 3), *range(len(data) - 40, len(data), 3)}:
        attempt(hurt, tmp_path / "file", data[:n], must_fail=True)


def test_checkpoints_with_changed_bytes(hurt, tmp_path):
    """Checksums see each of them: the fit is refused, or it is the same to the bit."""
    data, rng = hurt[2], random.Random(0)
    for _ in range(50):
        bytes_ = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            bytes_[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if bytes(bytes_) != data and attempt(hurt, tmp_path / "file", bytes(bytes_)):
            same(hurt[0]().fit(hurt[1], checkpoint=tmp_path / "file"), hurt[3])


NASTY = [None, True, -1, 0, 1, 2**31, 2**63, 10**40, -0.5, 1e308, "", "x", "../etc", [], {}, [[]], {"float": "nan"}]
NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e-200, 1e100, 1.1e100, 1e308]


def test_checkpoints_with_anything_anywhere_in_the_json(hurt, tmp_path):
    rng, n_taken = random.Random(1), 0

    def edit(about, arrays):
        holder, key = about, rng.choice(sorted(about))
        while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.8:
            holder = holder[key]
            key = rng.choice(sorted(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        if rng.random() < 0.2:
            del holder[key]
        else:
            holder[key] = rng.choice(NASTY)

    for _ in range(50):
        n_taken += attempt(hurt, tmp_path / "file", forge(hurt[2], edit))
    assert n_taken < 40  # most of what a checkpoint says matters


def test_checkpoints_with_any_number_in_any_array(hurt, tmp_path):
    """With checksums that fit: a kernel never sees an index that is not one."""
    rng = random.Random(2)

    def edit(about, arrays):
        array = arrays[rng.choice(sorted(name for name, a in arrays.items() if len(a)))]
        if array.dtype.kind == "f":
            value = rng.choice(NUMBERS)
        else:
            limits = np.iinfo(array.dtype)
            value = rng.choice([0, 1, 2, limits.min, limits.max, rng.randrange(limits.min, limits.max)])
        with np.errstate(over="ignore"):
            array[rng.randrange(len(array))] = value

    for _ in range(50):
        attempt(hurt, tmp_path / "file", forge(hurt[2], edit))


def test_checkpoints_with_arrays_of_other_shapes(hurt, tmp_path):
    """Each array in turn: shorter, of another type, or not there."""
    data = hurt[2]
    length = int.from_bytes(data[:8], "little")
    names = [name for name in json.loads(data[8 : 8 + length]) if name != "__metadata__"]
    for name in names:
        is_optional = ".docs." in name or name == "model.near"
        for kind in ("shorter", "another type", "gone", "renamed"):
            table, blob = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
            entry, metadata = table[name], table["__metadata__"]
            begin, end = entry["data_offsets"]
            if kind == "shorter":
                if begin == end:
                    continue
                size = (end - begin) // int(np.prod(entry["shape"]))
                entry["shape"], entry["data_offsets"] = (
                    [entry["shape"][0] - 1, *entry["shape"][1:]],
                    [begin, end - size],
                )
            elif kind == "another type":
                entry["dtype"] = {"F64": "I64", "I64": "F64", "F32": "I32", "I32": "F32", "U16": "I16"}[entry["dtype"]]
            else:
                del table[name]
                if kind == "renamed":
                    table[f"{name}x"] = entry
            crcs = {n: f"{zlib.crc32(blob[slice(*e['data_offsets'])]):08x}" for n, e in table.items() if n[0] != "_"}
            del metadata["metadata_crc32"]
            metadata["crc32"] = json.dumps(crcs)
            metadata["metadata_crc32"] = metadata_crc(metadata)
            header = json.dumps(table).encode()
            forged = len(header).to_bytes(8, "little") + header + bytes(blob)
            attempt(hurt, tmp_path / "file", forged, must_fail=kind != "gone" or not is_optional)


def test_documents_of_another_shard_are_refused(tmp_path):
    """Each array is whole, and has its own checksum; but there are more documents, or fewer, than the shard has."""
    corpus, path = sample_lda(41, 12, 3, doc_length=20, random_state=0).corpus, tmp_path / "file"
    for make in (
        lambda **more: LDA(3, tol=-np.inf, random_state=0, learner=Memoized(batch_size=15), **more),
        lambda **more: HDP(3, tol=-np.inf, random_state=0, learner=Memoized(batch_size=15), search=None, **more),
    ):
        path.unlink(missing_ok=True)
        make(max_iter=3).fit(corpus, checkpoint=path)
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        table, blob = json.loads(data[8 : 8 + length]), data[8 + length :]
        sizes = [table[f"kept.{b}.docs.indptr"]["shape"] for b in range(3)]
        one, two = next((a, b) for a, b in itertools.combinations(range(3), 2) if sizes[a] != sizes[b])
        for part in ("indptr", "topic", "count"):
            a, b = f"kept.{one}.docs.{part}", f"kept.{two}.docs.{part}"
            table[a], table[b] = table[b], table[a]
        table = {
            "__metadata__": table.pop("__metadata__"),
            **dict(sorted(table.items(), key=lambda e: e[1]["data_offsets"])),
        }
        metadata = table["__metadata__"]
        del metadata["metadata_crc32"]
        names = [name for name in table if name != "__metadata__"]
        crcs = {name: f"{zlib.crc32(blob[slice(*table[name]['data_offsets'])]):08x}" for name in names}
        metadata["crc32"] = json.dumps(crcs)
        metadata["metadata_crc32"] = metadata_crc(metadata)
        header = json.dumps(table).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header + blob)
        with pytest.raises(CheckpointError, match=rf"{re.escape(str(path))}: .*documents"):
            make(max_iter=5).fit(corpus, checkpoint=path)
