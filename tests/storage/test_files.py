"""Everything that is read or written by a path can be behind a URL, and is the same there."""

import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import topmix
from tests.storage.conftest import BUCKET
from topmix import LDA, Stream
from topmix.base.atomic import InUseError
from topmix.base.paths import RemotePath, path_of
from topmix.base.remote_file import BLOCK
from topmix.corpus.shard import Shards, forget_mapped_files
from topmix.data import Corpus, CorpusError, Rows, read_corpus, read_texts, sample_lda, write_corpus

TEXTS = ["wind sail boat water"] * 12 + ["rook bishop board king"] * 12


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(40, 60, 3, doc_length=30, random_state=0).corpus


@pytest.fixture(scope="module")
def wide():
    """Of several blocks, with names."""
    made = sample_lda(4000, 3000, 3, doc_length=160, random_state=0).corpus
    return Corpus(
        made.indptr, made.index, made.value, made.n_words, made.vocabulary, [f"document {d}" for d in range(len(made))]
    )


def lda(**given):
    return LDA(3, max_iter=3, random_state=0, **given)


@pytest.mark.parametrize(
    ("url", "name", "parent"),
    [
        ("s3://bucket/a/b.topmix", "b.topmix", "s3://bucket/a"),
        ("gs://bucket/b", "b", "gs://bucket"),
        ("memory://b", "b", "memory://"),
        ("file:///a/b.csv", "b.csv", "file:///a"),
        ("simplecache::s3://bucket/b", "b", "simplecache::s3://bucket"),
    ],
)
def test_a_url_is_a_path(url, name, parent):
    path = path_of(url)
    assert (str(path), path.name, str(path.parent)) == (url, name, parent)
    assert str(path.parent / name) == str(path.with_name(name)) == url
    assert pickle.loads(pickle.dumps(path)) == path == path_of(path)
    assert isinstance(pickle.loads(pickle.dumps(path)), RemotePath)
    assert str((path / "c" / "d").relative_to(path)) == "c/d"


def test_a_url_that_pathlib_has_shortened_is_the_same_url():
    from pathlib import Path

    assert str(path_of(Path("s3://bucket/a"))) == "s3://bucket/a"
    for local in ("C:/a", "a:b", "folder/s3:/a", "/s3:/a"):
        assert not isinstance(path_of(Path(local)), RemotePath)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_model_comes_back_as_it_was(storage, corpus, mapped):
    model = lda().fit(corpus)
    model.save(f"{BUCKET}/model")
    for found in (topmix.load(f"{BUCKET}/model", mapped=mapped), topmix.load(path_of(f"{BUCKET}/model"))):
        np.testing.assert_array_equal(found.components_, model.components_)
    predictor = topmix.load_predictor(f"{BUCKET}/model")
    assert predictor.n_topics == 3
    with pytest.raises(FileNotFoundError, match="no such file") as error:
        topmix.load(f"{BUCKET}/other")
    assert error.value.filename == f"{BUCKET}/other"


def test_a_fit_continues_from_a_checkpoint_with_the_same_bits(storage, corpus):
    whole = lda().fit(corpus)
    lda().set_params(max_iter=2).fit(corpus, checkpoint=f"{BUCKET}/deep/fit.checkpoint")
    assert path_of(f"{BUCKET}/deep/fit.checkpoint").is_file()
    continued = lda().fit(corpus, checkpoint=f"{BUCKET}/deep/fit.checkpoint")
    assert len(continued.history_) == 3
    np.testing.assert_array_equal(continued.components_, whole.components_)


def test_a_corpus_behind_a_url_gives_the_fit_of_the_file(storage, corpus, tmp_path):
    corpus.save(tmp_path / "c.topmix")
    corpus.save(f"{BUCKET}/c.topmix")
    here, there = (lda().fit(Corpus.open(where)) for where in (tmp_path / "c.topmix", f"{BUCKET}/c.topmix"))
    np.testing.assert_array_equal(here.components_, there.components_)
    np.testing.assert_array_equal(here.components_, lda().fit(f"{BUCKET}/c.topmix").components_)
    for name in ("c.topmix", "c"):  # known by its name, or by its first bytes
        corpus.save(f"{BUCKET}/{name}")
        assert read_corpus(f"{BUCKET}/{name}").url == f"{BUCKET}/{name}"
    built = Corpus.from_rows(({0: 1.0, 2: 3.0} for _ in range(5)), n_words=4, out=f"{BUCKET}/built.topmix")
    assert built.equals(Corpus.open(f"{BUCKET}/built.topmix"))


def test_only_the_blocks_that_are_used_are_fetched_and_once(storage, wide):
    wide.save(f"{BUCKET}/wide.topmix")
    size = path_of(f"{BUCKET}/wide.topmix").stat().st_size
    assert size > 12 * BLOCK
    storage.requests.clear()
    corpus = Corpus.open(f"{BUCKET}/wide.topmix")
    assert corpus.shape == wide.shape
    assert corpus.vocabulary == wide.vocabulary
    opened = sum(storage.seen("GET", "/wide.topmix"))
    assert opened < size / 3
    for rows in (slice(100, 200), np.array([7, 3, 3999])):
        assert corpus[rows].equals(wide[rows])
    assert corpus.names[5] == "document 5"
    taken = sum(storage.seen("GET", "/wide.topmix"))
    assert opened < taken <= opened + 9 * BLOCK  # index and value of 100 and of three documents, and their names
    Corpus.open(f"{BUCKET}/wide.topmix")[100:200].verify()
    assert sum(storage.seen("GET", "/wide.topmix")) == taken
    assert corpus.verify().equals(wide)
    assert sum(storage.seen("GET", "/wide.topmix")) < size + BLOCK


def test_a_shard_travels_as_its_url_and_its_reader_fetches_neither_names_nor_other_rows(storage, wide):
    wide.save(f"{BUCKET}/wide.topmix")
    message = pickle.dumps(Shards(Corpus.open(f"{BUCKET}/wide.topmix"), [slice(0, 50), slice(50, 4000)]).message(0))
    assert len(message) < 1000
    storage.requests.clear()
    forget_mapped_files()
    shard = pickle.loads(message).read()
    np.testing.assert_array_equal(shard.cols[shard.index], wide[:50].index)
    assert sum(storage.seen("GET", "/wide.topmix")) <= 4 * BLOCK


def test_a_block_of_a_killed_reader_is_fetched_again(storage, wide, tmp_path):
    wide.save(f"{BUCKET}/wide.topmix")
    Corpus.open(f"{BUCKET}/wide.topmix").verify()
    [copy] = (tmp_path / "cache" / "parts").glob("*/wide.topmix")
    [marks] = copy.parent.glob("*.blocks")
    half = bytearray(copy.read_bytes())
    half[-BLOCK:] = bytes(BLOCK)  # written in part, and not marked
    copy.write_bytes(half)
    marks.write_bytes(marks.read_bytes()[:-2] + b"\0\0")
    assert Corpus.open(f"{BUCKET}/wide.topmix").verify().equals(wide)


def test_a_corpus_that_is_replaced_is_not_mixed_with_the_new_one(storage, wide):
    wide.save(f"{BUCKET}/wide.topmix")
    corpus = Corpus.open(f"{BUCKET}/wide.topmix")
    wide[::-1].save(f"{BUCKET}/wide.topmix")
    with pytest.raises(CorpusError, match="replaced by another file since it was opened"):
        corpus[2000:2100]
    assert Corpus.open(f"{BUCKET}/wide.topmix").equals(wide[::-1])


def test_texts_of_every_kind_are_read(storage, tmp_path):
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = fsspec.filesystem("s3")
    files.pipe_file("bucket/texts.csv", ("text\n" + "\n".join(TEXTS) + "\n").encode())
    files.pipe_file("bucket/texts.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in TEXTS).encode())
    for n, text in enumerate(TEXTS[8:16]):
        files.pipe_file(f"bucket/folder/{n:02}.txt", text.encode())
    files.pipe_file("bucket/folder/.hidden.txt", b"nobody reads this")
    for n in range(2):
        pq.write_table(pa.table({"text": TEXTS[12 * n :][:12]}), tmp_path / "part.parquet")
        files.put_file(str(tmp_path / "part.parquet"), f"bucket/parquet/part-{n}.parquet")
    for source in ("texts.csv", "texts.jsonl", "folder", "parquet", "parquet/*.parquet"):
        found = list(read_texts(f"{BUCKET}/{source}"))
        assert [text for _, text in found] == (TEXTS[8:16] if source == "folder" else TEXTS)
    assert len(list(read_texts(f"{BUCKET}/parquet/*-0.parquet"))) == 12
    for source in ("texts.csv", "parquet/*.parquet"):
        np.testing.assert_array_equal(lda().fit(f"{BUCKET}/{source}").components_, lda().fit(TEXTS).components_)
    with pytest.raises(CorpusError, match="cannot be fetched"):
        list(read_texts(f"{BUCKET}/none.csv"))


def test_counts_tables_and_pages_are_written(storage, corpus, tmp_path):
    for name in ("c.mtx.gz", "docword.c.txt", "c.parquet"):
        write_corpus(corpus, tmp_path / name)
        write_corpus(corpus, f"{BUCKET}/{name}")
        written = path_of(f"{BUCKET}/{name}").ask(lambda files, there: files.cat_file(there))
        assert written == (tmp_path / name).read_bytes()
    model = lda().fit(corpus)
    topmix.export.export(model, f"{BUCKET}/topics.csv")
    topmix.report.write_report(model, f"{BUCKET}/report.html")
    assert "<html" in path_of(f"{BUCKET}/report.html").read_text()
    rows = Rows(np.random.default_rng(0).normal(size=(30, 4)))
    rows.save(f"{BUCKET}/rows.npy")
    np.testing.assert_array_equal(Rows.open(f"{BUCKET}/rows.npy").data, rows.data)
    message = pickle.dumps(Shards(Rows.open(f"{BUCKET}/rows.npy"), [slice(0, 9)])[0])
    assert f"{BUCKET}/rows.npy".encode() in message
    np.testing.assert_array_equal(pickle.loads(message).rows_as(np.float64), rows.data[:9])


def test_a_stream_continues_from_its_folder(storage):
    stream = Stream(lda(), f"{BUCKET}/stream", admit=2)
    stream.learn(TEXTS, id="monday")
    again = Stream(lda(), f"{BUCKET}/stream", admit=2)
    assert "monday" in again
    again.learn(TEXTS[:6], id="tuesday")
    assert sorted(path.name for path in path_of(f"{BUCKET}/stream").glob("*")) == ["model-2", "state"]
    with pytest.raises(InUseError, match="has changed since"):
        stream.learn(TEXTS[6:], id="wednesday")
    here = Stream(lda(), admit=2)
    here.learn(TEXTS, id="monday")
    here.learn(TEXTS[:6], id="tuesday")
    np.testing.assert_array_equal(again.model.components_, here.model.components_)


def test_a_url_without_a_name_is_no_file(corpus):
    with pytest.raises(IsADirectoryError, match="no name of a file"):
        corpus.save("s3://bucket")


def test_a_missing_package_is_named(monkeypatch, corpus):
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r"topmix\[cloud\]"):
        lda().fit(corpus).save("s3://bucket/model")
    with pytest.raises(CorpusError, match=r"topmix\[cloud\]"):
        Corpus.open("s3://bucket/corpus")


class Refusing(BaseHTTPRequestHandler):
    """A web server that answers /403/... with 403, and counts its requests."""

    asked = 0

    def do_GET(self):
        Refusing.asked += 1
        self.send_error(int(self.path.split("/")[1]))

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def test_urls_without_hope_fail_at_once_and_say_why():
    """fsspec says FileNotFoundError whatever a web server answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        for status, why in {404: "no such file", 401: "401", 403: "403", 500: "500"}.items():
            for read in (topmix.load, read_corpus):
                Refusing.asked = 0
                with pytest.raises((OSError, CorpusError), match=why) as found:
                    read(f"{address}/{status}/x.jsonl")
                assert isinstance(found.value, FileNotFoundError | CorpusError) == (status == 404)
                assert Refusing.asked <= 3
        server.shutdown()
    for read in (topmix.load, read_corpus):
        with pytest.raises(ConnectionRefusedError, match="Cannot connect"):
            read(f"{address}/x.jsonl")


def test_file_systems_without_objects_get_a_file_that_is_renamed(tmp_path, corpus):
    corpus.save(f"file://{tmp_path}/c.topmix")
    assert [path.name for path in tmp_path.iterdir()] == ["c.topmix"]
    assert Corpus.open(tmp_path / "c.topmix").equals(corpus)
