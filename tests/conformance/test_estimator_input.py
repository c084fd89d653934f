"""What every estimator takes, and what it refuses: kinds of input, bad numbers, little data and none."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from topmix.data import Corpus

from .estimators import EVERYONE, answers, ask, counts_only, everyone, make, of_counts, same


@everyone
def test_the_same_from_every_kind_of_input(name, data, tmp_path):
    want = answers(make(name, max_iter=2).fit(data), data)
    frame = pd.DataFrame(data, columns=[f"w{v}" for v in range(data.shape[1])])
    inputs = [data.tolist(), data.astype(np.float64), np.asfortranarray(data), frame]
    if counts_only(name):
        corpus = Corpus.from_scipy(data, vocabulary=list(frame.columns))
        corpus.save(tmp_path / "saved.topmix")
        inputs += [data.astype(np.int64), sp.csr_matrix(data), sp.csr_array(data), sp.csc_array(data)]
        inputs += [sp.coo_array(data), corpus, tmp_path / "saved.topmix", str(tmp_path / "saved.topmix")]
    for X in inputs:
        model = make(name, max_iter=2).fit(X)
        same(answers(model, X), want)
        same(answers(model, data), want)
        assert model.n_features_in_ == data.shape[1]
        if X is frame:
            assert list(model.feature_names_in_) == list(frame.columns)


@of_counts
def test_duplicates_and_zeros_of_a_sparse_matrix_mean_what_they_say(name, data):
    row, col = np.nonzero(data)
    half = data[row, col] / 2
    doubled = sp.coo_array((np.concatenate([half, half, [0.0]]), (np.r_[row, row, 0], np.r_[col, col, 0])), data.shape)
    same(answers(make(name).fit(doubled), data), answers(make(name).fit(data), data))


@everyone
def test_the_input_is_not_changed(name, data):
    before = data.copy()
    answers(make(name).fit(data), data)
    np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, bad) for name in EVERYONE for bad in (np.nan, np.inf, -1.0) if bad != -1.0 or counts_only(name)],
)
def test_numbers_that_are_not_counts_are_refused(name, data, bad):
    spoiled = data.copy()
    spoiled[3, 2] = bad
    model = make(name).fit(data)
    inputs = [spoiled, pd.DataFrame(spoiled)] + ([sp.csr_array(spoiled)] if counts_only(name) else [])
    for X in inputs:
        with pytest.raises(ValueError, match=r"(?i)nan|infinity|negative"):
            make(name).fit(X)
    with pytest.raises(ValueError, match=r"(?i)nan|infinity|negative"):
        ask(model, spoiled)


@everyone
def test_another_number_of_features_is_refused(name, data):
    model = make(name).fit(data)
    for X in (data[:, 1:], np.hstack([data, data])):
        with pytest.raises(ValueError, match="features"):
            ask(model, X)
    if counts_only(name):
        with pytest.raises(ValueError, match=f"{data.shape[1] - 1} words.*{data.shape[1]}"):
            ask(model, Corpus.from_scipy(data[:, 1:]))


@of_counts
def test_another_vocabulary_is_refused(name, data):
    words = [f"w{v}" for v in range(data.shape[1])]
    model = make(name).fit(Corpus.from_scipy(data, vocabulary=words))
    with pytest.raises(ValueError, match=r"another vocabulary: word 1 is 'x', but was 'w1'"):
        ask(model, Corpus.from_scipy(data, vocabulary=["w0", "x", *words[2:]]))
    with pytest.raises(ValueError, match="feature names"):
        ask(model, pd.DataFrame(data, columns=words[::-1]))
    ask(model, Corpus.from_scipy(data))  # without names, order is trusted


@everyone
def test_nothing_is_refused(name, data):
    model = make(name).fit(data)
    empty = [data[:0], data[:, :0]]
    if counts_only(name):
        empty += [sp.csr_array(data[:0]), Corpus.from_scipy(data[:0]), Corpus.from_scipy(data[:, :0])]
    for X in empty:
        with pytest.raises(ValueError, match=r"0 (sample|feature|document|word)"):
            make(name).fit(X)
    for X in empty[::3]:
        with pytest.raises(ValueError, match=r"0 (sample|document)"):
            ask(model, X)


@everyone
@pytest.mark.parametrize("case", ["one row", "one column", "one of each", "more clusters than rows", "equal rows"])
def test_little_data_gives_finite_answers(name, data, case):
    X = {
        "one row": data[:1],
        "one column": data[:, :1],
        "one of each": data[:1, :1] + 1,
        "more clusters than rows": data[:3],
        "equal rows": np.repeat(data[:1], 9, axis=0),
    }[case]
    model = make(name, n_components=7).fit(X)
    for x in answers(model, X):
        assert np.all(np.isfinite(x))
    assert np.isfinite(model.history_[-1].objective)
    for proportions in [v for v in (getattr(model, "weights_", None),) if v is not None]:
        assert proportions.sum() == pytest.approx(1)


@of_counts
def test_empty_rows_keep_their_place_and_change_nothing_else(name, data):
    for X in (np.vstack([data, 0 * data[:5]]), 0 * data):
        model = make(name).fit(X)
        for x in answers(model, X):
            assert np.all(np.isfinite(x))
        assert len(ask(model, X)) == len(X)
    model = make(name).fit(data)
    gaps = np.insert(data, [0, 7, len(data)], 0, axis=0)
    full = np.setdiff1d(np.arange(len(gaps)), [0, 8, len(gaps) - 1])
    np.testing.assert_allclose(ask(model, gaps)[full], ask(model, data))


@everyone
def test_one_cluster(name, data):
    model = make(name, n_components=1).fit(data)
    for x in answers(model, data):
        assert np.all(np.isfinite(x))
