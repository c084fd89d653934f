"""Three disjoint parts, and a test set that is the same for every split."""

import hashlib

import numpy as np
import pytest

from benchmarks.harness import datasets
from benchmarks.harness.vectors import Vectors


def documents(X):
    """Which documents of the fixture these are."""
    return set(X[:, [0]].toarray()[:, 0].astype(int).tolist())


def test_the_parts_are_disjoint_and_have_every_document_that_is_not_empty(tiny):
    data = datasets.load("tiny")
    parts = [documents(X) for X in (data.train, data.validation, data.test)]
    assert [len(part) for part in parts] == [96, 11, 11]  # 10% of 118, twice
    assert set().union(*parts) == set(range(120)) - {3, 50}
    assert sum(map(len, parts)) == 118
    assert len(data.vocabulary) == 40


def test_test_documents_are_the_same_in_every_split_and_in_no_other_part_of_any(tiny):
    splits = [datasets.load("tiny", split=split, role=role) for split in (0, 1, 7) for role in datasets.ROLES]
    test = documents(splits[0].test)
    for data in splits:
        assert documents(data.test) == test
        assert not test & (documents(data.train) | documents(data.validation))


def test_a_split_chooses_validation_documents_and_the_role_what_is_scored(tiny):
    a, b = datasets.load("tiny", split=0), datasets.load("tiny", split=1)
    assert documents(a.validation) != documents(b.validation)
    assert documents(a.scored) == documents(a.test)
    v = datasets.load("tiny", split=0, role="validation")
    assert documents(v.scored) == documents(a.validation)
    assert documents(v.train) == documents(a.train)
    with pytest.raises(ValueError, match="training"):
        datasets.load("tiny", role="training")


def test_a_split_is_drawn_the_same_every_time(tiny):
    a, b = datasets.load("tiny", split=2), datasets.load("tiny", split=2)
    for x, y in ((a.train, b.train), (a.validation, b.validation), (a.test, b.test)):
        assert (x != y).nnz == 0


def test_large_corpora_hold_out_no_more_than_a_fixed_number():
    train, validation, test = datasets.parts(np.arange(100_000), 0)
    assert len(validation) == len(test) == datasets.MOST_HELD_OUT
    assert len(train) == 100_000 - 2 * datasets.MOST_HELD_OUT


def test_the_hash_is_that_of_the_file(tiny, tmp_path):
    assert datasets.sha256("tiny") == hashlib.sha256((tmp_path / "tiny" / "X.npz").read_bytes()).hexdigest()
    assert datasets.load("tiny").about["sha256"] == datasets.sha256("tiny")
    assert datasets.sha256(datasets.GENERATED) != datasets.sha256("tiny")


def test_a_missing_corpus_says_where_it_was_looked_for(tiny, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}.* set TOPMIX_DATA"):
        datasets.load("absent")


def test_some_rows_are_taken_of_each_part():
    X = np.arange(60, dtype=np.float32).reshape(20, 3)
    data = Vectors("rows", X, X + 100, X + 200)
    some = data.some(5, 2)
    assert (some.train.shape, some.validation.shape, some.test.shape) == ((5, 3), (2, 3), (2, 3))
    assert sorted(data.some(None).train[:, 0]) == sorted(X[:, 0])
    assert some.about["sha256"] != data.about["sha256"]
