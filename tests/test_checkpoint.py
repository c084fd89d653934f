"""A fit that was interrupted and continues has the same bits as one that was not."""

from __future__ import annotations

import itertools
import json
import random
import warnings
import zlib

import numpy as np
import pytest

import topmix
from topmix import HDP, LDA
from topmix.data import Corpus, sample_lda
from topmix.data.layout import metadata_crc
from topmix.engines import Serial
from topmix.files.reader import ModelFileError
from topmix.files.writer import Writer
from topmix.fitting.checkpoint import CheckpointError
from topmix.inference import Collapsed, Variational
from topmix.learners import Memoized, Stochastic

N_PASSES = 6
STREAM = Stochastic(batch_size=20)
KINDS = {
    "memoized, cold": {"inference": Collapsed(cold_visits=None)},
    "memoized, warm": {"inference": Collapsed(cold_visits=2)},
    "memoized, one batch": {"learner": Memoized(batch_size=1000)},
    "memoized, rounds": {"learner": Memoized(batch_size=12, batches_per_update=4)},
    "batch": {"learner": "batch"},
    "batch, cold": {"learner": "batch", "inference": Collapsed(cold_visits=None)},
    "stochastic fixed point": {"learner": STREAM},
    "SCVB0": {"learner": STREAM, "inference": "scvb0"},
    "SCVB0, memoized": {"inference": "scvb0"},
    "variational": {"inference": Variational(restarts=1)},
    "priors learned": {"doc_topic_prior": "auto", "topic_word_prior": "auto"},
    "variational, priors learned": {"inference": "variational", "doc_topic_prior": "auto", "topic_word_prior": "auto"},
    "priors learned in a stream": {"learner": STREAM, "doc_topic_prior": "auto"},
    "topics that start again": {"n_components": 30},
    "priors given": {"doc_topic_prior": np.linspace(0.1, 0.3, 4), "topic_word_prior": np.linspace(0.01, 0.1, 40)},
}


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
    return LDA(**{"n_components": 4, "max_iter": N_PASSES, "tol": -np.inf, "random_state": 0} | parameters)


def same(a, b):
    """All that was learned, and the history except for the seconds."""
    one, two = Writer(), Writer()
    a._write(one)
    b._write(two)
    assert one.arrays.keys() == two.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])
    assert one.values == two.values
    for x, y in zip(a.history_, b.history_, strict=True):
        assert (x.n_pass, x.objective, x.terms, x.effort) == (y.n_pass, y.objective, y.terms, y.effort)
    assert (a.n_iter_, a.n_batch_iter_, a.converged_, a.elbo_) == (b.n_iter_, b.n_batch_iter_, b.converged_, b.elbo_)


@pytest.fixture(scope="module", params=KINDS)
def kind(request, corpus):
    """Parameters, and the fit that was never interrupted."""
    return KINDS[request.param], lda(**KINDS[request.param]).fit(corpus)


@pytest.mark.parametrize("n_passes", range(N_PASSES))
def test_interrupted_after_each_pass(kind, corpus, n_passes, tmp_path):
    parameters, whole = kind
    path = tmp_path / "checkpoint"
    with pytest.raises(Crash):
        lda(**parameters, callbacks=[crash_after(n_passes)]).fit(corpus, checkpoint=path)
    assert path.exists() == (n_passes > 0)
    resumed = lda(**parameters, n_jobs=1, engine="serial").fit(corpus, checkpoint=path)
    same(resumed, whole)
    assert np.all(np.diff([r.seconds for r in resumed.history_]) > 0)


def test_interrupted_at_every_pass(kind, corpus, tmp_path):
    parameters, whole = kind
    for n_passes in itertools.count(1):
        try:
            last = lda(**parameters, callbacks=[crash_after(n_passes)]).fit(corpus, checkpoint=tmp_path / "file")
            break
        except Crash:
            pass
    assert n_passes == N_PASSES
    same(last, whole)


def test_a_checkpoint_changes_nothing(kind, corpus, tmp_path):
    parameters, whole = kind
    same(lda(**parameters).fit(corpus, checkpoint=tmp_path / "file", checkpoint_every=4), whole)


def test_a_finished_fit_is_read_back_and_may_go_on(kind, corpus, tmp_path):
    parameters, whole = kind
    short = lda(**parameters | {"max_iter": 3}).fit(corpus, checkpoint=tmp_path / "file")

    def never(record, view):
        raise AssertionError

    same(lda(**parameters, callbacks=[never]).set_params(max_iter=3).fit(corpus, checkpoint=tmp_path / "file"), short)
    same(lda(**parameters).fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_it_is_written_every_so_often_and_at_the_end(corpus, tmp_path):
    path, seen = tmp_path / "file", []
    watch = [lambda record, view: seen.append(path.exists() and path.stat().st_mtime_ns)]
    lda(callbacks=watch, max_iter=5).fit(corpus, checkpoint=path, checkpoint_every=3)
    assert seen[:3] == [False] * 3
    assert seen[3] == seen[4] < path.stat().st_mtime_ns
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ValueError, match="checkpoint_every"):
        lda().fit(corpus, checkpoint=path, checkpoint_every=0)


def test_convergence_and_callbacks_end_it_alike(corpus, tmp_path):
    whole = lda(max_iter=100, tol=1e-2).fit(corpus)
    assert whole.converged_
    stop = [lambda record, view: record.n_pass == 2]
    stopped = lda(max_iter=100, tol=1e-2, callbacks=stop).fit(corpus, checkpoint=tmp_path / "file")
    assert not stopped.converged_
    for _ in range(2):  # the second time there is nothing left to do
        same(lda(max_iter=100, tol=1e-2).fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_without_a_seed_the_deal_is_in_the_file(corpus, tmp_path):
    """What was drawn when the fit began is what goes on, whatever would be drawn now."""
    path = tmp_path / "file"
    whole = lda(random_state=None, max_iter=2).fit(corpus, checkpoint=path)
    copy = path.read_bytes()
    on = [lda(random_state=None).fit(corpus, checkpoint=path)]
    path.write_bytes(copy)
    on.append(lda(random_state=None).fit(corpus, checkpoint=path))
    same(*on)
    assert on[0].history_[:2] == whole.history_


def test_from_a_mapped_corpus_and_edited_topics(corpus, tmp_path):
    corpus.save(tmp_path / "corpus")
    first = lda(warm_start=True).fit(tmp_path / "corpus").drop_topics([1])
    first.save(tmp_path / "model")
    whole = topmix.load(tmp_path / "model").fit(tmp_path / "corpus")
    with pytest.raises(Crash):
        first.set_params(callbacks=[crash_after(3)]).fit(tmp_path / "corpus", checkpoint=tmp_path / "file")
    same(topmix.load(tmp_path / "model").fit(tmp_path / "corpus", checkpoint=tmp_path / "file"), whole)
    with pytest.raises(CheckpointError, match="the start was"):
        topmix.load(tmp_path / "model").drop_topics([0]).set_params(n_components=2).fit(
            corpus, checkpoint=tmp_path / "file"
        )


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_components", 5), ("learner", "stochastic"), ("learner", Memoized(batch_size=30)),
        ("learner", Memoized(batches_per_update=2)), ("inference", "variational"),
        ("inference", Collapsed(doc_tol=0.2)),
        ("doc_topic_prior", 0.3), ("topic_word_prior", np.full(40, 0.1)), ("random_state", 1), ("n_active", 2),
    ],
)  # fmt: skip
def test_another_fit_is_refused(corpus, parameter, value, tmp_path):
    lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    with pytest.raises(CheckpointError, match=f"file: the checkpoint of another fit: {parameter} was .* and is"):
        lda(**{parameter: value}).fit(corpus, checkpoint=tmp_path / "file")
    with pytest.raises(ValueError, match="n_init=1"):
        lda(n_init=2).fit(corpus, checkpoint=tmp_path / "other")


def test_another_name_for_the_same_component_is_the_same_fit(corpus, tmp_path):
    """A string is short for the object with its defaults; and who computes changes no bit."""
    whole = lda().fit(corpus)
    lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    again = lda(learner=Memoized(), inference=Collapsed(), engine=Serial(), n_jobs=1, verbose=0)
    same(again.fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_other_data_is_refused(corpus, tmp_path):
    lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    X = corpus.to_scipy().copy()
    X.data[7] += 1
    for other in (corpus[:100], corpus[::-1], Corpus.from_scipy(X, vocabulary=corpus.vocabulary)):
        with pytest.raises(CheckpointError, match="the data was"):
            lda().fit(other, checkpoint=tmp_path / "file")
    with pytest.raises(CheckpointError, match="the vocabulary was"):
        lda().fit(corpus.to_scipy(), checkpoint=tmp_path / "file")


def test_models_and_checkpoints_are_not_confused(corpus, tmp_path):
    model = lda(max_iter=2).fit(corpus, checkpoint=tmp_path / "file")
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="continue the fit that wrote it"):
        topmix.load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        lda().fit(corpus, checkpoint=tmp_path / "model")


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


def _put(name, place, value):
    def edit(about, arrays):
        arrays[name][place] = value

    return edit


HOSTILE = {
    "a topic too many": (_put("memo.0.topic", 3, 4), "topics that are not from 0 to 3"),
    "a document's topic too many": (_put("docs.1.topic", 0, 65535), "topics that are not from 0 to 3"),
    "a word too many": (_put("memo.2.cols", -1, 40), "words that are not from 0 to 39"),
    "a negative word": (_put("memo.2.cols", 0, -1), "words that are not"),
    "words out of order": (_put("memo.2.cols", 0, 39), "words that are not"),
    "rows that run away": (_put("memo.0.indptr", -1, 2**40), "where rows begin"),
    "rows that go back": (_put("docs.0.indptr", 1, 2**40), "where rows begin"),
    "not a number": (_put("memo.0.value", 0, np.nan), "not numbers"),
    "no prior": (_put("model.prior.alpha", 0, -1.0), "not numbers"),
    "a shard too few": (lambda about, arrays: about["visits"].popitem(), "statistics of|has arrays"),
    "a shard of another name": (lambda about, arrays: about["visits"].update(x=1), "all shards"),
    "no numbers": (lambda about, arrays: about["extra"].pop("memo.0.H"), "does not say 'memo.0.H'"),
    "more statistics than shards": (lambda about, arrays: about.update(n_memo=11), "statistics of 11 of 10 shards"),
    "a number that is none": (lambda about, arrays: about["extra"].update({"total.D": "x"}), "expected a number"),
    "another posterior": (lambda about, arrays: about["extra"].update({"model.words.posterior": "x"}), "posterior"),
    "visits that make no sense": (lambda about, arrays: about["visits"].update({"0": -1}), "visited"),
    "no history": (lambda about, arrays: about.update(history=[]), "no history"),
    "no generator": (lambda about, arrays: about.update(random={"state": 3}), "random generator"),
    "no values": (lambda about, arrays: about.update(extra=3), "does not say"),
    "visits in no table": (lambda about, arrays: about.update(visits=3), "not a table"),
    "another number of topics": (lambda about, arrays: about["extra"].update(n_components=3), "3 topics, expected"),
    "another number of words": (lambda about, arrays: about.update(n_features=41), "41 words"),
}


@pytest.mark.parametrize(("edit", "message"), HOSTILE.values(), ids=HOSTILE)
def test_forged_checkpoints_are_refused(corpus, edit, message, tmp_path):
    path = tmp_path / "file"
    lda(max_iter=3).fit(corpus, checkpoint=path)
    data = path.read_bytes()
    path.write_bytes(forge(data, lambda about, arrays: None))
    lda(max_iter=4).fit(corpus, checkpoint=path)
    path.write_bytes(forge(data, edit))
    with pytest.raises(CheckpointError, match=message):
        lda(max_iter=4).fit(corpus, checkpoint=path)
    for cut in (0, 7, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(CheckpointError, match="file"):
            lda(max_iter=4).fit(corpus, checkpoint=path)


def test_cvb0_is_refused_because_its_responsibilities_are_not_kept(tmp_path):
    corpus = sample_lda(30, 20, 3, random_state=0).corpus
    with pytest.raises(ValueError, match="does not hold the responsibilities of CVB0"):
        LDA(3, inference="cvb0").fit(corpus, checkpoint=tmp_path / "fit.checkpoint")
    assert not list(tmp_path.iterdir())


# What follows is hostile. The contract: CheckpointError that names the file, or a fit of the right shape.


def small(**parameters):
    return LDA(3, max_iter=3, tol=-np.inf, random_state=0, learner=Memoized(batch_size=20), **parameters)


def small_hdp(**parameters):
    return HDP(3, max_iter=24, random_state=0, learner=Memoized(batch_size=20), **parameters)


HURT = {
    "LDA": small,
    "LDA, priors learned": lambda **more: small(doc_topic_prior="auto", topic_word_prior="auto", **more),
    "LDA, SCVB0": lambda **more: small(inference="scvb0", **more),
    "HDP": lambda **more: small_hdp(search=None, doc_topic_prior="auto", **more),
    "HDP, search": small_hdp,
}


@pytest.fixture(scope="module", params=HURT)
def hurt(request, tmp_path_factory):
    """(how the fit is made, its corpus, a checkpoint from its middle, what it gives when it is not interrupted)"""
    corpus, make = sample_lda(40, 12, 3, doc_length=20, random_state=0).corpus, HURT[request.param]
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
        assert str(path) in str(error) or "checkpoint" in str(error)  # noqa: PT017
        assert path.read_bytes() == data
        return False
    assert not must_fail
    assert model.components_.shape[1] == whole.components_.shape[1]
    assert model.n_iter_ == len(model.history_)
    return True


def test_a_checkpoint_that_is_not_hurt_gives_the_same_bits(hurt, tmp_path):
    make, corpus, data, whole = hurt
    (tmp_path / "file").write_bytes(forge(data, lambda about, arrays: None))
    same(make().fit(corpus, checkpoint=tmp_path / "file"), whole)


def test_truncated_checkpoints(hurt, tmp_path):
    data = hurt[2]
    for n in {*range(0, len(data), 97), *range(0, 40, 3), *range(len(data) - 40, len(data), 3)}:
        attempt(hurt, tmp_path / "file", data[:n], must_fail=True)


def test_checkpoints_with_changed_bytes(hurt, tmp_path):
    """Checksums see each of them: the fit is refused, or it is the same to the bit."""
    data, rng = hurt[2], random.Random(0)
    for _ in range(300):
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

    for _ in range(400):
        n_taken += attempt(hurt, tmp_path / "file", forge(hurt[2], edit))
    assert n_taken < 300  # most of what a checkpoint says matters


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

    for _ in range(400):
        attempt(hurt, tmp_path / "file", forge(hurt[2], edit))


def test_checkpoints_with_arrays_of_other_shapes(hurt, tmp_path):
    """Each array in turn: shorter, of another type, or not there."""
    data = hurt[2]
    length = int.from_bytes(data[:8], "little")
    names = [name for name in json.loads(data[8 : 8 + length]) if name != "__metadata__"]
    for name in names:
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
            attempt(hurt, tmp_path / "file", forged, must_fail=not (kind == "gone" and name.startswith("docs.")))


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
        sizes = [table[f"docs.{b}.indptr"]["shape"] for b in range(3)]
        one, two = next((a, b) for a, b in itertools.combinations(range(3), 2) if sizes[a] != sizes[b])
        for part in ("indptr", "topic", "count"):
            a, b = f"docs.{one}.{part}", f"docs.{two}.{part}"
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
        with pytest.raises(CheckpointError, match="documents"):
            make(max_iter=5).fit(corpus, checkpoint=path)
