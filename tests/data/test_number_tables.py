"""Estimators of vectors fit files of numbers, with groups and texts in columns of the same table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from topmix import GaussianAdmixture, GaussianMixture, VonMisesFisherAdmixture, VonMisesFisherMixture
from topmix.data import CorpusError

COLUMNS = ["a", "b", "c"]
QUICK = {"random_state": 0, "max_iter": 3, "tol": -1.0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    of, group = rng.integers(0, 2, 120), rng.integers(0, 12, 120)
    words = ["boat, sail # sea", "chess rook queen", "tide mast anchor"]
    frame = pd.DataFrame(rng.normal(size=(120, 3)) + 6 * np.eye(3)[of], columns=COLUMNS)
    return frame.assign(sentence=[words[n % 3] for n in range(120)], paper=[f"p{g:02}" for g in group])


@pytest.fixture(params=["csv", "tsv", "parquet"])
def path_of(request, table, tmp_path):
    """path_of(columns): a file with these columns of the table."""

    def write(columns):
        path = tmp_path / f"{'-'.join(columns)}.{request.param}"
        if request.param == "parquet":
            table[columns].to_parquet(path)
        else:
            table[columns].to_csv(path, index=False, sep="\t" if request.param == "tsv" else ",")
        return path

    return write


def test_a_file_is_fitted_as_its_table_is(table, path_of):
    path, frame = path_of(COLUMNS), table[COLUMNS]
    found, want = (GaussianMixture(2, **QUICK).fit(X) for X in (str(path), frame))
    assert np.array_equal(found.means_, want.means_)
    assert found.feature_names_in_.tolist() == COLUMNS
    assert np.array_equal(found.predict_proba(path), want.predict_proba(frame))


def test_groups_and_texts_are_columns_of_the_same_file(table, path_of):
    path, frame = path_of([*COLUMNS, "sentence", "paper"]), table[COLUMNS]
    found = VonMisesFisherAdmixture(2, **QUICK).fit(path, groups="paper", texts="sentence")
    of_table = VonMisesFisherAdmixture(2, **QUICK).fit(table, groups="paper", texts="sentence")
    want = VonMisesFisherAdmixture(2, **QUICK).fit(frame, table["paper"], texts=table["sentence"])
    assert np.array_equal(found.means_, want.means_)
    assert np.array_equal(found.means_, of_table.means_)
    assert found.top_words(3) == want.top_words(3)
    assert np.array_equal(found.transform(path, "paper"), want.transform(frame, table["paper"]))
    found = VonMisesFisherMixture(2, **QUICK).fit(path_of([*COLUMNS, "sentence"]), texts="sentence")
    assert found.top_words(3) == VonMisesFisherMixture(2, **QUICK).fit(frame, texts=table["sentence"]).top_words(3)
    assert found.predict(path).shape == (120,)  # other columns are no matter to a fitted model


def test_numbers_without_names_and_groups_in_a_file(table, tmp_path):
    X = table[COLUMNS].to_numpy()
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    np.save(tmp_path / "x.npy", X)
    table[["paper"]].to_csv(tmp_path / "groups.csv", index=False)
    table[["paper"]].to_csv(tmp_path / "bare.csv", index=False, header=False)
    want = GaussianAdmixture(2, **QUICK).fit(X, table["paper"]).means_
    for data in ("x.csv", "x.npy"):
        for groups in ("groups.csv", "bare.csv"):
            found = GaussianAdmixture(2, **QUICK).fit(tmp_path / data, str(tmp_path / groups))
            assert np.array_equal(found.means_, want)


def test_wrong_tables_are_explained(path_of, tmp_path):
    path = path_of([*COLUMNS, "sentence"])
    with pytest.raises(CorpusError, match="not a table of numbers"):
        GaussianMixture(2).fit(path)
    with pytest.raises(ValueError, match="no column 'nothing'"):
        GaussianAdmixture(2).fit(path, "nothing")
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"no file nothing, and .*x\.npy has no columns"):
        GaussianAdmixture(2).fit(tmp_path / "x.npy", "nothing")
