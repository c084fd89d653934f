"""A file that is not a model says so, and does nothing else."""

from __future__ import annotations

import json
import pickle
import random
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import topmix
from topmix.base.fields import ModelFileError
from topmix.base.layout import metadata_crc, parse_json
from topmix.data import Corpus, CorpusError, Vectorizer, sample_lda


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small LDA in a file: its path, its bytes, and the model."""
    sample = sample_lda(30, 7, 2, doc_length=20, random_state=1).corpus
    corpus = Corpus.from_scipy(sample.to_scipy(), vocabulary=list("abcdefg"))
    model = topmix.LDA(3, max_iter=2, topic_word_prior=np.full(7, 0.1), tol=-np.inf, random_state=0).fit(corpus)
    path = tmp_path_factory.mktemp("models") / "small.topmix"
    model.save(path)
    return path, path.read_bytes(), model


# What follows is hostile. `attempt` is the contract: ModelFileError that names the file, or a model of the same shape.


def attempt(path, data, model):
    path = path.with_name("hostile")
    path.write_bytes(data)
    loaded, message = None, ""
    try:
        loaded = topmix.load(path)
    except ModelFileError as error:
        message = str(error)
    assert (loaded is None) == (str(path) in message)
    if loaded is not None:
        assert loaded.components_.shape == model.components_.shape
        assert np.isfinite(loaded.topic_word_).all()
    return message


def forge(data, edit):
    """The file with its header and data changed by edit(table, about, blob), and checksums that are right again."""
    length = int.from_bytes(data[:8], "little")
    table, blob = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    metadata = table["__metadata__"]
    metadata.pop("metadata_crc32")
    about = json.loads(metadata["model"])
    about = edit(table, about, blob) or about
    metadata["model"] = about if isinstance(about, str) else json.dumps(about)
    crcs = {}
    for name, entry in table.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            crcs[name] = f"{zlib.crc32(blob[begin:end]):08x}"
    metadata["crc32"] = json.dumps(crcs)
    metadata["metadata_crc32"] = metadata_crc(metadata)
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + bytes(blob)


def test_a_forgery_without_an_edit_loads(whole):
    path, data, model = whole
    assert attempt(path, forge(data, lambda table, about, blob: None), model) == ""


def test_truncation(whole):
    path, data, model = whole
    for n in {*range(0, len(data), 5), *range(50), *range(len(data) - 50, len(data))}:
        assert attempt(path, data[:n], model)


def test_a_changed_bit_of_any_array_is_found_by_its_checksum(whole):
    """Whatever the number is then: the lowest bit of a count makes another model that looks sound."""
    path, data, model = whole
    start = 8 + int.from_bytes(data[:8], "little")
    table = json.loads(data[8:start])
    for name, entry in table.items():
        if name != "__metadata__":
            hurt = bytearray(data)
            hurt[start + entry["data_offsets"][0]] ^= 1
            assert f"array {name!r} does not match its checksum" in attempt(path, bytes(hurt), model)


def test_thousands_of_changed_bytes(whole):
    path, data, model = whole
    rng = random.Random(0)
    for _ in range(2500):
        hurt = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            hurt[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if bytes(hurt) != data:
            attempt(path, bytes(hurt), model)


def _set(*keys, to):
    def edit(table, about, blob):
        inner = {"about": about, "table": table}
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = to

    return edit


def _component(parameter, name, **settings):
    return _set("about", "parameters", parameter, to={"component": name, **settings})


HOSTILE = {
    "an unknown class": (_set("about", "estimator", to="os.system"), "does not know"),
    "no class": (_set("about", "estimator", to=["LDA"]), "expected a string"),
    "a newer format": (_set("table", "__metadata__", "format_version", to="4"), "newer topmix"),
    "a format version that is no number": (_set("table", "__metadata__", "format_version", to="9" * 5000), "number"),
    "another format": (_set("table", "__metadata__", "format", to="pt"), "not a model"),
    "a corpus": (_set("table", "__metadata__", "format", to="topmix-corpus"), "Corpus.open"),
    "bad JSON": (lambda *_: '{"estimator": ', "not JSON"),
    "NaN": (lambda *_: '{"estimator": NaN}', "not JSON"),
    "deep JSON": (lambda *_: "[" * 100_000, "not JSON"),
    "a huge integer": (lambda *_: '{"n_features": ' + "9" * 100_000 + "}", "not JSON"),
    "many features": (_set("about", "n_features", to=2**31 - 1), "expected F64|strings"),
    "more than many features": (_set("about", "n_features", to=10**30), "n_features"),
    "wrong names": (_set("about", "feature_names", to=["a"]), "strings"),
    "many topics": (_set("about", "extra", "n_components", to=65536), "expected F64"),
    "an unknown parameter": (_set("about", "parameters", "__class__", to="x"), "no parameter"),
    "callbacks": (_set("about", "parameters", "callbacks", to=["os.system"]), "no parameter"),
    "a parameter of the wrong type": (_set("about", "parameters", "max_iter", to="rm"), "no parameter"),
    "no threads": (_set("about", "parameters", "n_jobs", to=0), "n_jobs"),
    "an attribute that is not ours": (_set("about", "numbers", "transform", to=1), "no number"),
    "an attribute that is no number": (_set("about", "numbers", "objective", to="x"), "no number"),
    "fewer than no updates": (_set("about", "numbers", "n_updates", to=-30), "no number 'n_updates'"),
    "half a pass": (_set("about", "numbers", "n_iter", to=1.5), "no number"),
    "more passes than anybody can count": (_set("about", "numbers", "n_iter", to=2**63), "no number"),
    "fewer than no rows": (_set("about", "numbers", "n_seen", to=-1.0), "no number"),
    "no number of rows": (_set("about", "numbers", "n_seen", to={"float": "nan"}), "no number"),
    "a flag for a number": (_set("about", "numbers", "objective", to=True), "no number"),
    "a number for a flag": (_set("about", "numbers", "converged", to=1), "no number"),
    "a prior that cannot be learned": (_set("about", "extra", "words.learned", to=True), "not one number"),
    "half of a character as a name": (_set("about", "topic_names", to=[[0, "a\ud800"]]), "topic_names"),
    "hundreds of thousands of lists": (lambda *_: '{"history": [' + "[]," * 600_000 + "[]]}", "500,000 lists"),
    "a strange history": (_set("about", "history", to=[{"n_pass": []}]), "history"),
    "a factor of zero": (_set("about", "extra", "words.total.factor", to=0), "words.total.factor"),
    "a strange posterior": (_set("about", "extra", "words.posterior", to={}), "words.posterior"),
    "an unknown component": (_component("learner", "os.system"), "learner cannot be 'os.system'"),
    "a component of another family": (_component("engine", "Batch"), "engine cannot be 'Batch'"),
    "a component without a name": (_set("about", "parameters", "learner", to={}), "learner cannot be"),
    "a component whose name is no word": (_component("learner", ["Batch"]), "learner cannot be"),
    "a setting that no component has": (_component("learner", "Memoized", x=1), "Memoized has no setting 'x'"),
    "a setting that makes no sense": (_component("learner", "Memoized", batch_size="rm"), "batch_size"),
    "a flag that is none": (_component("learner", "Asynchronous", per_token="x"), "per_token"),
    "another type": (_set("table", "prior.alpha", "dtype", to="I64"), "expected F64"),
    "an unknown type": (_set("table", "prior.alpha", "dtype", to="O"), "is not valid"),
    "another shape": (_set("table", "words.total.held", "shape", to=[3, 7]), "expected F64"),
    "a huge shape": (_set("table", "words.total.held", "shape", to=[2**40, 2**40]), "is not valid"),
    "a shape with a word": (_set("table", "words.total.held", "shape", to=["x", 2**20, 2**30]), "is not valid"),
    "an empty huge shape": (_set("table", "words.total.held", "shape", to=[0, 10**30]), "is not valid"),
    "overlapping arrays": (_set("table", "words.total.totals", "data_offsets", to=[0, 24]), "starts at|describes"),
    "negative places": (_set("table", "words.total.totals", "data_offsets", to=[-24, 0]), "is not valid"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "message"), HOSTILE.values(), ids=HOSTILE)
def test_forged_files_are_refused(whole, edit, message, tmp_path):
    _, data, _ = whole
    path = tmp_path / "hostile"
    path.write_bytes(forge(data, edit))
    with pytest.raises(ModelFileError, match=message):
        topmix.load(path)


# Of a vectorizer, which is made when texts come.
BAD_SETTINGS = {
    "lowercase": ["x", None, 2],
    "clean": ["x", None, 2], "token_pattern": [None, 3, "(", "(a)(b)", []], "stop_words": [1, {}, ["a", 2], "xx"],
    "ngram_range": [None, 1, [1], [2, 1], [0, 1], ["1", "2"], [1, 10**40], [1, 2**31], [1, 1.5], [1, {}], "12", {}],
    "min_df": [None, 0, -1, "x", True, 1.5], "max_df": [[], 2.5], "max_features": [0, "x", 2**70, []],
    "tokenizer": [1, [], {}], "strip_accents": ["x", [], True], "stemmer": ["x", {}, 1, ""], "phrases": [0.5, {}, "x"],
    "vocabulary": [None, ["a"]], "colour": ["blue"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD_SETTINGS.items() for v in values])
def test_settings_of_a_vectorizer_are_checked_when_the_file_is_read(whole, name, value, tmp_path):
    path, good = tmp_path / "hostile", Vectorizer().to_dict()
    assert BAD_SETTINGS.keys() >= good.keys()
    path.write_bytes(forge(whole[1], _set("about", "tokenizer", to=good)))
    topmix.load(path).transform(["a b"])
    path.write_bytes(forge(whole[1], _set("about", "tokenizer", to=good | {name: value})))
    with pytest.raises(ModelFileError, match=name):
        topmix.load(path)


@pytest.mark.parametrize("at", [("input", "text"), ("input", "layer"), ("input", "named"), ("feature_names", 0)])
@pytest.mark.parametrize("value", [1, [None], {}, "a\ud800"])
def test_what_a_file_says_of_its_data_is_checked_when_it_is_read(whole, at, value, tmp_path):
    def edit(table, about, blob):
        about["tokenizer"] = Vectorizer().to_dict()
        about[at[0]][at[1]] = value

    path = tmp_path / "hostile"
    path.write_bytes(forge(whole[1], edit))
    if isinstance(value, str) and at[1] in ("text", "layer"):  # tables may have such columns
        assert topmix.load(path)._fitted.reading.words[0] == "a"
        return
    with pytest.raises(ModelFileError, match=at[0]):
        topmix.load(path)


def test_a_corpus_whose_words_were_cut_in_no_known_way_is_refused_before_the_fit(tmp_path):
    for said in ("spacy", {"ngram_range": None}, {"colour": "blue"}, []):
        corpus = Corpus.from_scipy(np.ones((3, 2)), vocabulary=["a", "b"])
        corpus = Corpus.trusted(corpus.indptr, corpus.index, corpus.value, 2, ["a", "b"], meta={"tokenizer": said})
        corpus.save(tmp_path / "corpus")
        for X in (corpus, tmp_path / "corpus"):
            with pytest.raises(CorpusError, match=r"meta\['tokenizer'\] of the corpus"):
                topmix.LDA(2, max_iter=1).fit(X)


@pytest.mark.parametrize("number", [np.nan, np.inf, -1e300])
@pytest.mark.parametrize(
    "name", ["words.total.held", "words.total.totals", "words.eta", "prior.alpha", "parameters.topic_word_prior"]
)
def test_numbers_that_no_model_has_are_refused(whole, name, number, tmp_path):
    def edit(table, about, blob):
        begin = table[name]["data_offsets"][0]
        blob[begin : begin + 8] = np.float64(number).tobytes()

    path = tmp_path / "hostile"
    path.write_bytes(forge(whole[1], edit))
    with pytest.raises(ModelFileError, match="entries that are not"):
        topmix.load(path)


def test_a_header_that_claims_to_be_huge_costs_nothing(whole, tmp_path):
    path = tmp_path / "hostile"
    for length in (2**63, 99_999_999, 2**32):
        path.write_bytes(length.to_bytes(8, "little") + whole[1][8:])
        with pytest.raises(ModelFileError, match="header's length"):
            topmix.load(path)


def test_a_shape_that_is_no_numbers_costs_nothing(whole, tmp_path):
    path = tmp_path / "hostile"

    def edit(table, about, blob):
        table["words.eta"]["shape"] = ["x", 2**40]  # a string of a terabyte, if somebody multiplies

    path.write_bytes(forge(whole[1], edit))
    with pytest.raises(ModelFileError, match=r"words\.eta"):
        topmix.load(path)


def test_files_of_other_kinds(corpus, tmp_path):
    for content in (b"", b"\0" * 100, b"PK\3\4" + b"x" * 100, pickle.dumps(print)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ModelFileError):
            topmix.load(tmp_path / "other")
    corpus.save(tmp_path / "corpus")
    with pytest.raises(ModelFileError, match=r"Corpus\.open"):
        topmix.load(tmp_path / "corpus")
    with pytest.raises(FileNotFoundError):
        topmix.load(tmp_path / "nothing")


SHORT = st.text(max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | SHORT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT | st.just("float"), inner, max_size=3),
    max_leaves=5,
)


def test_a_header_of_millions_of_lists_is_refused_before_it_is_read(tmp_path):
    """Each of them has three bytes, and would take eighty of memory."""
    for inside in (b"[],", b"{},", b"[" * 200 + b"]" * 200 + b","):
        header = b'{"__metadata__":{},"a":[' + inside * (4_000_000 // len(inside)) + b"0]}"
        (tmp_path / "model").write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(ModelFileError, match="more than 500,000 lists and tables"):
            topmix.load(tmp_path / "model")


def test_brackets_in_words_are_no_lists():
    words = ["[]", '["\\"{', "{" * 500_000, 'a\\"[']
    assert parse_json(json.dumps({"feature_names": words})) == {"feature_names": words}
    with pytest.raises(ValueError, match="lists and tables"):
        parse_json(json.dumps({"feature_names": words, "history": [[]] * 500_001}))


def _places(value, at=()):
    """Every place in a JSON value."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*at, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _places(inner, (*at, i))


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_anything_anywhere_in_the_json_with_checksums_that_fit(whole, data):
    path, text, model = whole

    def edit(table, about, blob):
        target = data.draw(st.sampled_from([about, {n: e for n, e in table.items() if n != "__metadata__"}]))
        at = data.draw(st.sampled_from([p for p in _places(target) if p]))
        inner = target
        for key in at[:-1]:
            inner = inner[key]
        if data.draw(st.booleans()):
            inner[at[-1]] = data.draw(json_values)
        else:
            del inner[at[-1]]
        if target is not about:
            table.update(target)

    try:
        forged = forge(text, edit)
    except (TypeError, KeyError, ValueError):  # our own forger cannot sum what the edit left of the table
        return
    attempt(path, forged, model)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0), st.floats(width=64))
def test_any_number_in_any_array_with_checksums_that_fit(whole, place, number):
    path, text, model = whole

    def edit(table, about, blob):
        begin = 8 * (place % (len(blob) // 8))
        blob[begin : begin + 8] = np.float64(number).tobytes()

    attempt(path, forge(text, edit), model)
