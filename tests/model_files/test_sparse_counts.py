"""Counts that are mostly zero are sparse in files, and in memory until somebody needs them dense. No bit is lost."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import topmix
from topmix.base.fields import ModelFileError
from topmix.data import Corpus, sample_lda
from topmix.inference import Variational
from topmix.models.sparse_counts import SparseCounts

from .test_refused import forge

V, K = 301, 40
MODELS = {
    "LDA": lambda: topmix.LDA(K, max_iter=3, random_state=0),
    "variational": lambda: topmix.LDA(K, inference=Variational(), max_iter=3, random_state=0),
    "one prior per word": lambda: topmix.LDA(K, topic_word_prior=np.linspace(0.01, 0.1, V), max_iter=3, random_state=0),
    "seeds": lambda: topmix.LDA(K, seeds=[["word3", "word8"], None, ["word5"]], max_iter=3, random_state=0),
    "HDP": lambda: topmix.HDP(K, search=None, max_iter=3, random_state=0),
    "GibbsLDA": lambda: topmix.GibbsLDA(K, max_iter=6, random_state=0),
    "CombinatorialLDA": lambda: topmix.CombinatorialLDA(K, max_iter=2, random_state=0),
    "MultinomialMixture": lambda: topmix.MultinomialMixture(K, n_active=2, max_iter=2, random_state=0),
}


@pytest.fixture(scope="module")
def corpus():
    sample = sample_lda(150, V, 8, doc_length=25, random_state=3).corpus
    return Corpus.from_scipy(sample.to_scipy(), vocabulary=[f"word{v}" for v in range(V)])


DENSE = {"CombinatorialLDA", "MultinomialMixture"}  # in memory: they work on all of their counts


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, corpus):
    return MODELS[request.param]().fit(corpus)


@pytest.fixture
def path(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def total(model):
    return model.model_.words.total


@pytest.mark.parametrize("mapped", [False, True])
def test_a_loaded_model_has_the_same_bits(fitted, path, corpus, mapped):
    assert path.stat().st_size < 0.8 * 8 * V * K
    loaded = topmix.load(path, mapped=mapped)
    answers = "predict_proba" if isinstance(fitted, topmix.MultinomialMixture) else "transform"
    np.testing.assert_array_equal(getattr(loaded, answers)(corpus), getattr(fitted, answers)(corpus))
    assert loaded.score(corpus) == fitted.score(corpus)
    if hasattr(fitted, "partial_fit") and hasattr(fitted.model_, "words") and fitted.model_.words.eta.shape[0] == 1:
        other = pickle.loads(pickle.dumps(fitted))
        for model in (loaded, other):
            model.partial_fit(corpus[:50])
        np.testing.assert_array_equal(loaded.components_, other.components_)
        loaded = topmix.load(path, mapped=mapped)
    np.testing.assert_array_equal(loaded.components_, fitted.components_)
    np.testing.assert_array_equal(loaded.topic_word_, fitted.topic_word_)
    loaded.save(path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()


def test_dense_counts_are_mapped_too(corpus, tmp_path):
    model = topmix.LDA(4, max_iter=2, topic_word_prior="auto", random_state=0).fit(corpus)
    dense = pickle.loads(pickle.dumps(model))
    dense.model_.words.total.raw[:] += 1 / 3
    dense.model_.words.total.totals[:] += V / 3
    dense.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model", mapped=True)
    assert isinstance(total(loaded).held, np.ndarray)
    assert not total(loaded).held.flags.writeable
    np.testing.assert_array_equal(loaded.transform(corpus), dense.transform(corpus))
    np.testing.assert_array_equal(loaded.components_, dense.components_)
    for other in (loaded, dense):
        other.partial_fit(corpus[:60])
        other.set_params(warm_start=True).fit(corpus)
    np.testing.assert_array_equal(loaded.components_, dense.components_)


def test_questions_leave_the_counts_sparse(fitted, path, corpus):
    loaded = topmix.load(path)
    if type(fitted).__name__ in DENSE:
        assert loaded.components_.shape == (K, V)
        return
    loaded.transform(corpus[:20])
    loaded.predict(corpus[:20])
    loaded.score(corpus[:20])
    loaded.components_  # noqa: B018
    assert isinstance(total(loaded).held, SparseCounts)
    assert total(loaded).held.nbytes < 0.8 * 8 * V * K
    np.testing.assert_array_equal(total(loaded).counts(), total(fitted).counts())
    np.testing.assert_array_equal(total(loaded).rows(np.array([5, 2, 300])), total(fitted).counts()[[5, 2, 300]])
    assert isinstance(total(pickle.loads(pickle.dumps(loaded))).held, SparseCounts)


def test_components_are_made_when_asked_for(corpus):
    model = topmix.LDA(4, max_iter=1, random_state=0)
    assert not hasattr(model, "components_")
    with pytest.raises(AttributeError, match="before it is fitted"):
        model.topic_word_  # noqa: B018
    model.fit(corpus).transform(corpus)
    assert not {"components_", "topic_word_"} & vars(model).keys()
    before = model.components_
    assert model.components_ is before
    assert not np.array_equal(model.partial_fit(corpus).components_, before)


def test_any_double_comes_back():
    raw = np.zeros((5, 6))
    raw[0, :5] = [1.0, 1 / 3, -0.0, 1e300, 5e-324]
    raw[3] = [2**24 + 1, -2.5, 1e-40, np.float32(0.1), 0.1, np.nextafter(1, 2)]
    found = SparseCounts.of(raw)
    assert np.asarray(found).tobytes() == raw.tobytes()
    assert found.single.value.tolist() == [1.0, -0.0, -2.5, np.float32(0.1)]
    words = np.array([3, 0, 3], np.int32)
    assert found[words].tobytes() == raw[words].tobytes()


def test_dense_counts_stay_dense():
    rng = np.random.default_rng(0)
    assert SparseCounts.if_smaller(rng.random((50, 20))) is None
    assert SparseCounts.if_smaller(np.where(rng.random((50, 20)) < 0.3, rng.random((50, 20)), 0.0)) is not None


def _array(table, blob, name, dtype):
    begin, end = table[name]["data_offsets"]
    return np.frombuffer(blob, dtype, (end - begin) // np.dtype(dtype).itemsize, begin)


def _change(name, dtype, at, to):
    def edit(table, about, blob):
        _array(table, blob, name, dtype)[at] = to

    return edit


def _type(table, about, blob):
    table["words.total.held.single.value"]["dtype"] = "I32"


HOSTILE = {
    "a topic past the last": (_change("words.total.held.single.topic", np.uint16, 0, K), "not from 0 to"),
    "topics that fall": (_change("words.total.held.single.topic", np.uint16, slice(None), 3), "does not ascend"),
    "rows out of order": (_change("words.total.held.double.indptr", np.int64, 1, 10**6), "where rows begin"),
    "rows before the first": (_change("words.total.held.double.indptr", np.int64, 0, -1), "where rows begin"),
    "no number": (_change("words.total.held.single.value", np.float32, 0, np.nan), "entries that are not"),
    "infinity": (_change("words.total.held.double.value", np.float64, -1, np.inf), "entries that are not"),
    "another type": (_type, "expected F32"),
}


@pytest.fixture(scope="module")
def data(corpus, tmp_path_factory):
    """The bytes of a file."""
    path = tmp_path_factory.mktemp("models") / "model"
    topmix.LDA(K, max_iter=3, random_state=0).fit(corpus).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(("edit", "message"), HOSTILE.values(), ids=HOSTILE)
def test_forged_counts_are_refused(data, tmp_path, edit, message, mapped):
    (tmp_path / "hostile").write_bytes(forge(data, edit))
    with pytest.raises(ModelFileError, match=message):
        topmix.load(tmp_path / "hostile", mapped=mapped)


def test_a_file_that_is_not_aligned_is_mapped_too(data, corpus, tmp_path):
    """Arrays at odd places are copied: kernels want them at multiples of their item size."""
    (tmp_path / "model").write_bytes(data)
    want = topmix.load(tmp_path / "model").transform(corpus)
    length = int.from_bytes(data[:8], "little")
    header, blob = data[8 : 8 + length], data[8 + length :]
    for pad in range(8):
        odd = (length + pad).to_bytes(8, "little") + header + b" " * pad + blob
        (tmp_path / "odd").write_bytes(odd)
        np.testing.assert_array_equal(topmix.load(tmp_path / "odd", mapped=True).transform(corpus), want)
