"""Rows of a file are checked before anybody uses them, whoever it is, and whether or not checksums were compared."""

from __future__ import annotations

import os
import pickle
import zlib

import numpy as np
import pytest

from tools.saved_corpora import parts, sealed
from topmix import HDP, LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture, _core
from topmix.apps.command.eval_command import evaluate_topics
from topmix.corpus.directions import Directions
from topmix.corpus.shard import Shards, VectorShard, at_random, in_order
from topmix.corpus.vocabulary import Strings
from topmix.data import Corpus, CorpusBuilder, CorpusError, Rows, sample_lda, write_corpus
from topmix.metrics import completion_score, npmi_coherence
from topmix.report import write_report

D, V = 40, 30
CORPUS = sample_lda(D, V, 3, doc_length=60, random_state=0).corpus
WORDS = [f"w{v}" for v in range(V)]
MODEL = LDA(3, max_iter=2, random_state=0).fit(Corpus.from_scipy(CORPUS, vocabulary=WORDS))
ONCE = {"max_iter": 2, "random_state": 0}

# What is changed, and what the error says of it.
AT = int(CORPUS.indptr[17])
DAMAGE = {
    "an id that is too large": ("index", AT + 2, V + 2**20, r"row 17, column \d+: the column is outside"),
    "an id of -1": ("index", AT, -1, "row 17, column -1: the column is outside"),
    "an id twice": ("index", AT + 1, CORPUS.index[AT], "row 17, column .*: the column is there twice"),
    "ids that are not sorted": ("index", AT + 1, 0, "row 17, column 0: .*(twice|not sorted)"),
    "indptr beyond the end": ("indptr", 17, 2**40, "row 1[67]: indptr goes from"),
    "indptr below zero": ("indptr", 17, -8, "row 16: indptr goes from"),
    "indptr that falls": ("indptr", 17, CORPUS.indptr[16] - 1, "row 16: indptr goes from"),
    "NaN": ("value", AT, np.nan, "row 17, column .*: the count is NaN"),
    "infinity": ("value", AT, np.inf, "row 17, column .*: the count is infinite"),
    "a negative count": ("value", AT, -1.0, "row 17, column .*: the count is negative"),
    "a zero": ("value", AT, 0.0, "row 17, column .*: the count is zero"),
}


def arrays(c: Corpus) -> dict[str, np.ndarray]:
    return {"indptr": c.indptr.copy(), "index": c.index.copy(), "value": c.value.copy()}


def bad_file(tmp_path, name="index", at=AT, number=-1):
    """One number of an array changed, under correct checksums."""
    path = tmp_path / "bad.topmix"
    Corpus.from_scipy(CORPUS, vocabulary=WORDS).save(path)
    table, metadata, blob = parts(path.read_bytes())
    begin, end = table[name]["data_offsets"]
    array = np.frombuffer(blob[begin:end], getattr(CORPUS, name).dtype).copy()
    array[at] = number
    blob[begin:end] = array.tobytes()
    path.write_bytes(sealed(table, metadata, blob))
    return path


@pytest.fixture(params=DAMAGE)
def damaged(request, tmp_path):
    """(a corpus of bad rows, the pattern of the error)."""
    name, at, number, message = DAMAGE[request.param]
    return bad_file(tmp_path, name, at, number), rf"bad\.topmix: {message}"


def all_shards(corpus, rows):
    return [Shards(corpus, rows)[b] for b in range(len(rows))]


USES = {
    "indptr": lambda c: c.indptr,
    "value": lambda c: c.value,
    "slice": lambda c: c[10:20],
    "mask": lambda c: c[np.arange(D) % 2 == 1],
    "one": lambda c: c[17],
    "iterate": list,
    "to_scipy": lambda c: c.to_scipy(),
    "keep_words": lambda c: c.keep_words(["w1"]),
    "equals": lambda c: c.equals(c),
    "pickle": pickle.dumps,
    "in order": lambda c: all_shards(c, in_order(c, 100)),
    "at random": lambda c: all_shards(c, at_random(c, 4, np.random.default_rng(0))),
    "elsewhere": lambda c: Shards(c, [slice(10, 20)]).message(0).read(),
    "LDA": LDA(3, **ONCE).fit,
    "LDA documents": LDA(3, init="documents", **ONCE).fit,
    "LDA seeds": LDA(3, seeds=[["w1"], ["w2"], ["w3"]], **ONCE).fit,
    "LDA serial": LDA(3, engine="serial", **ONCE).fit,
    "LDA batch": LDA(3, learner="batch", **ONCE).fit,
    "LDA asynchronous": LDA(3, inference="variational", learner="asynchronous", **ONCE).fit,
    "LDA cvb0": LDA(3, inference="cvb0", **ONCE).fit,
    "LDA scvb0": LDA(3, inference="scvb0", learner="stochastic", **ONCE).fit,
    "HDP": HDP(3, **ONCE).fit,
    "GibbsLDA": GibbsLDA(3, **ONCE).fit,
    "CombinatorialLDA": CombinatorialLDA(3, **ONCE).fit,
    "MultinomialMixture": MultinomialMixture(3, **ONCE).fit,
    "partial_fit": lambda c: LDA(3, random_state=0).partial_fit(c),
    "transform": MODEL.transform,
    "score": MODEL.score,
    "perplexity": MODEL.perplexity,
    "document_info": MODEL.document_info,
    "completion": lambda c: completion_score(np.ones((3, V)), c),
    "coherence": lambda c: npmi_coherence(MODEL.components_, c),
    "evaluate": lambda c: evaluate_topics(MODEL, c),
}  # fmt: skip


@pytest.mark.parametrize("use", ["slice", "mask", "iterate", "to_scipy", "at random", "in order", "elsewhere", "LDA"])
@pytest.mark.parametrize("verify", [True, False])
def test_every_kind_of_damage_is_refused(damaged, use, verify):
    path, message = damaged
    with pytest.raises(CorpusError, match=message):
        USES[use](Corpus.open(path, verify=verify))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["index", "indptr"])
def test_every_use_is_refused(tmp_path, use, name):
    path = bad_file(tmp_path, name, *((AT, V + 2**24) if name == "index" else (17, 2**40)))
    with pytest.raises(CorpusError, match=r"bad\.topmix: row 1[67]"):
        USES[use](Corpus.open(path, verify=False))


@pytest.mark.parametrize("suffix", ["copy.topmix", "copy.mtx", "copy.npz"])
def test_damage_is_not_written_on(tmp_path, suffix):
    corpus = Corpus.open(bad_file(tmp_path), verify=False)
    with pytest.raises(CorpusError, match="row 17, column -1"):
        write_corpus(corpus, tmp_path / suffix)
    assert not (tmp_path / suffix).exists()


def test_a_report_of_damaged_documents_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="row 17, column -1"):
        write_report(MODEL, tmp_path / "a.html", Corpus.open(bad_file(tmp_path)))


def flip(path, number: float, new: float) -> None:
    """Change a count in the file, and leave its checksum."""
    data = bytearray(path.read_bytes())
    at = data.rindex(np.float32(number).tobytes())
    data[at : at + 4] = np.float32(new).tobytes()
    path.write_bytes(data)


def test_a_flipped_bit_is_found_at_open_and_never_saved_under_a_new_checksum(tmp_path):
    """The rows are still rows: only the checksum tells."""
    path = tmp_path / "a.topmix"
    Corpus.from_rows([{0: 1, 3: 12}, {2: 77}, {1: 5}], list("abcd")).save(path)
    whole = Corpus.open(path)
    flip(path, 77, 78)
    with pytest.raises(CorpusError, match="value does not match its checksum"):
        Corpus.open(path)
    doubtful = Corpus.open(path, verify=False)
    for corpus in (whole, doubtful, doubtful[1:], doubtful[[0, 1]], doubtful[1:][:1], doubtful[1:].drop_words(["a"])):
        with pytest.raises(CorpusError, match="value does not match its checksum"):
            corpus.save(tmp_path / "b.topmix")
    assert not (tmp_path / "b.topmix").exists()


def test_a_wrong_sum_in_the_header_is_found(tmp_path, monkeypatch):
    path = tmp_path / "a.topmix"
    monkeypatch.setattr("topmix.corpus.store.repr", lambda n: str(n + 1), raising=False)
    CORPUS.save(path)
    corpus = Corpus.open(path)
    for use in (lambda c: c.n_tokens, LDA(3, **ONCE).fit):
        with pytest.raises(CorpusError, match=r"the header says .* tokens, but the counts sum to"):
            use(corpus)


def test_without_verify_opening_reads_the_header_alone(tmp_path, monkeypatch):
    CORPUS.save(tmp_path / "a.topmix")
    for name in ("crc32", "check_saved_rows"):
        monkeypatch.setattr(_core, name, lambda *_: pytest.fail("rows were read"))
    corpus = Corpus.open(tmp_path / "a.topmix", verify=False)
    assert (corpus.n_docs, corpus.nnz, corpus.shape) == (CORPUS.n_docs, CORPUS.nnz, CORPUS.shape)
    assert "mapped from a.topmix" in repr(corpus)


def test_rows_are_checked_once_and_shards_of_them_never_again(tmp_path, monkeypatch):
    CORPUS.save(tmp_path / "a.topmix")
    calls = []
    check = _core.check_saved_rows
    monkeypatch.setattr(_core, "check_saved_rows", lambda *a: calls.append(len(a[0]) - 1) or check(*a))
    corpus = Corpus.open(tmp_path / "a.topmix")
    assert corpus[3:9].n_docs == 6
    assert corpus.index.size
    assert corpus[5:7].equals(CORPUS[5:7])
    assert calls == [6, D]


def test_a_built_file_is_checked_too(tmp_path):
    with CorpusBuilder(tmp_path / "a.topmix") as builder:
        builder.append(CORPUS.indptr, CORPUS.index, CORPUS.value)
        corpus = builder.finish(None, V)
    with open(tmp_path / "a.topmix", "r+b") as file:  # under the mapping
        data = file.read()
        file.seek(data.index(CORPUS.index.tobytes()) + 4 * AT)
        file.write(np.int32(-1).tobytes())
    with pytest.raises(CorpusError, match="row 17, column -1"):
        corpus.to_scipy()


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL")
@pytest.mark.parametrize("used", [False, True])
def test_a_mapped_file_that_became_shorter_is_an_error(tmp_path, used):
    """Touching its pages would be the end of the process: SIGBUS."""
    big = sample_lda(3000, V, 3, doc_length=60, random_state=0).corpus
    big.save(tmp_path / "a.topmix")
    corpus = Corpus.open(tmp_path / "a.topmix")
    if used:
        assert corpus.indptr[-1] == big.nnz
    os.truncate(tmp_path / "a.topmix", 8192)
    for use in (lambda c: c[2990:3000], lambda c: c[[5, 2990]], lambda c: Shards(c, [slice(0, 3000)])[0]):
        with pytest.raises(CorpusError, match="the file became shorter after it was opened"):
            use(corpus)
    if not used:
        with pytest.raises(CorpusError, match="the file became shorter after it was opened"):
            LDA(3, **ONCE).fit(corpus)


@pytest.mark.skipif(os.name != "posix", reason="no SIGBUS")
@pytest.mark.parametrize("given", ["path", "memmap", "part"])
def test_mapped_numbers_that_became_shorter_are_an_error(tmp_path, given):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).normal(size=(20_000, 4)))
    mapped = np.load(path, mmap_mode="r")
    X = {"path": path, "memmap": mapped, "part": mapped[5:]}[given]
    rows = Rows.open(path) if given == "path" else Rows(X)
    shards = Shards(rows, [slice(0, 19_000), np.arange(18_000, 19_000)])
    held, units = list(shards), VectorShard(Directions(np.load(path, mmap_mode="r")).data, slice(18_000, 19_000))

    def cut(record, view):
        os.truncate(path, 8192)

    with pytest.raises(CorpusError, match=r"x\.npy: byte 8,192: the file became shorter after it was opened"):
        GaussianMixture(2, max_iter=5, random_state=0, tol=-np.inf, callbacks=[cut]).fit(X)
    uses = (
        *(lambda shard=shard: shard.rows_as(np.float64) for shard in (*held, units)),
        lambda: held[1].in_place(np.float64),
        lambda: shards[0],
        rows.check,
        lambda: rows[18_000:],
        lambda: rows.save(tmp_path / "y.npy"),
    )
    for use in uses:
        with pytest.raises(CorpusError, match="the file became shorter after it was opened"):
            use()


def test_damaged_strings_are_refused():
    words = Strings.pack(["ab", "c", "def"])
    for at, number in ((1, 5), (1, -2), (2, 99)):
        offsets = words.offsets.copy()
        offsets[at] = number
        hurt = Strings(words.text, offsets)
        for use in (list, lambda s: [s[i] for i in range(3)]):
            with pytest.raises(CorpusError, match="string"):
                use(hurt)


def test_crc32_is_that_of_zlib():
    rng = np.random.default_rng(0)
    for n in [*range(70), 127, 128, 1000, 65_537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (3 << 20) + 77]:
        data = rng.integers(0, 256, n + 3, dtype=np.uint8)[3:]
        start = int(rng.integers(2**32))
        for threads in (1, 3):
            assert _core.crc32(data, start, threads) == zlib.crc32(data, start), n


def test_check_saved_rows_says_what_check_rows_says():
    """Two ways to look at rows: one for rows of users, and a fast one for rows of files."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        rows = arrays(CORPUS)
        name = rng.choice(list(rows))
        numbers = [np.nan, -1.0, 2.0, np.inf] if name == "value" else [-1, 0, 5, V, 2**30]
        rows[name][rng.integers(1, len(rows[name]) - 1)] = rng.choice(numbers)
        slow = _core.check_rows(*rows.values(), V)[0]
        assert _core.check_saved_rows(*rows.values(), V, 0, int(rng.integers(1, 4)))[0] == slow
