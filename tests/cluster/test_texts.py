"""Workers read and count the texts of Parquet files: the same file and the same fit, and nothing through the driver."""

import gc
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topmix import LDA
from topmix.data import CorpusError, Vectorizer, count_parts, read_corpus
from topmix.data.parquet_texts import ParquetTexts
from topmix.data.paths import path_of
from topmix.engines import Ray, ray_counts
from topmix.learners import Memoized

SETTINGS = {"learner": Memoized(batch_size=60, batches_per_update=2), "max_iter": 3, "random_state": 0}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A folder of three files, 300 documents of three groups of words."""
    folder, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(0)
    words = [[f"{kind}{i}" for i in range(40)] for kind in ("fish", "bird", "tree")]
    rows = [" ".join(rng.choice([*words[d % 3], "the", "and", f"rare{d % 97}"], 50)) for d in range(300)]
    for n, begin in enumerate(range(0, 300, 100)):
        pq.write_table(pa.table({"text": rows[begin : begin + 100]}), folder / f"{n}.parquet", row_group_size=30)
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(ray_counts, "LEAST_BYTES", 1)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files of the driver, where nothing is to be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def blind(monkeypatch):
    """The driver cannot read a text; workers are other processes, and can."""
    monkeypatch.setattr(ParquetTexts, "_read", lambda *_: pytest.fail("the driver read texts"))
    monkeypatch.setattr(Vectorizer, "_append", lambda *_: pytest.fail("the driver counted texts"))


def test_the_corpus_has_the_bytes_of_convert(three, texts, tmp_path, small_parts, blind, monkeypatch):
    cutting = {"token_pattern": "auto", "stop_words": "auto", "min_df": "auto", "max_df": "auto"}
    vectorizer = Vectorizer(**cutting)
    found = three.count_texts(ParquetTexts(str(texts)), vectorizer, None, tmp_path / "workers.topmix")
    assert found.path == tmp_path / "workers.topmix"
    assert os.listdir(tmp_path) == ["workers.topmix"]
    monkeypatch.undo()
    read_corpus(texts, **cutting, out=tmp_path / "driver.topmix")
    assert (tmp_path / "workers.topmix").read_bytes() == (tmp_path / "driver.topmix").read_bytes()


def test_a_fit_of_texts_has_the_bits_of_threads(three, texts, temporary, small_parts, blind, monkeypatch):
    model = LDA(3, engine=three, **SETTINGS).fit(texts)
    shares, score = model.transform(texts), model.score(str(texts))
    assert not os.listdir(temporary)
    monkeypatch.undo()
    expected = LDA(3, **SETTINGS).fit(texts)
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert [r.objective for r in model.history_] == [r.objective for r in expected.history_]
    assert list(model.feature_names_in_) == list(expected.feature_names_in_)
    assert model.tokenizer_ == expected.tokenizer_
    np.testing.assert_array_equal(shares, expected.transform(texts))
    np.testing.assert_allclose(score, expected.score(texts), rtol=1e-12)  # read in parts there


def test_a_folder_that_all_machines_see_holds_the_counts(cluster, texts, tmp_path, temporary, small_parts):
    engine, seen = Ray(workers=2, folder=str(tmp_path)), []

    def look(record, view):
        seen.append([path for path in tmp_path.iterdir() if path != temporary])

    LDA(3, engine=engine, callbacks=[look], **SETTINGS).fit(f"file://{texts}")
    assert [path.name.startswith(".topmix-counts-") for path in seen[0]] == [True]
    assert os.listdir(tmp_path) == [temporary.name]
    assert not os.listdir(temporary)
    engine.release()


@pytest.mark.parametrize("out", [None, "here", "there"])
def test_a_folder_behind_a_url_holds_the_counts(
    cluster, texts, tmp_path, temporary, small_parts, blind, monkeypatch, out
):
    """Nobody can write into the middle of a file there: one worker writes it, and sends it."""
    there = tmp_path / "there"
    there.mkdir()
    engine, vectorizer = Ray(workers=2, folder=f"file://{there}"), Vectorizer()
    where = {None: None, "here": tmp_path / "out.topmix", "there": path_of(f"file://{there}/out.topmix")}[out]
    monkeypatch.setattr(count_parts, "_write", lambda *_: pytest.fail("the driver wrote rows"))
    found = engine.count_texts(ParquetTexts(str(texts)), vectorizer, None, where)
    files = [path for path in tmp_path.rglob("*.topmix") if "parts" not in path.parts]
    [made] = [path for path in files if temporary not in path.parents]
    read_corpus_of(monkeypatch, texts, tmp_path / "expected")
    assert made.read_bytes() == (tmp_path / "expected").read_bytes()
    assert found.n_docs == 300
    del found
    gc.collect()
    assert [path.name for path in there.iterdir()] == (["out.topmix"] if out == "there" else [])
    engine.release()


def read_corpus_of(monkeypatch, texts, out):
    monkeypatch.undo()  # this process may read again
    read_corpus(texts, out=out)


def test_workers_that_do_not_see_the_folder(three, texts, tmp_path, temporary, monkeypatch, caplog):
    monkeypatch.setattr(ray_counts.PoolRun, "all_see", lambda *_: False)
    model = LDA(3, engine=three, **SETTINGS).fit(texts)
    np.testing.assert_array_equal(model.components_, LDA(3, **SETTINGS).fit(texts).components_)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "topmix.ray"]
    assert "this process counts the texts alone" in line
    assert "Ray(folder=" in line
    engine = Ray(workers=3, folder=str(tmp_path))
    with pytest.raises(CorpusError, match="some workers do not see this folder"):
        LDA(3, engine=engine).fit(texts)
    engine.release()
    assert os.listdir(tmp_path) == [temporary.name]


def test_a_worker_sees_a_folder_of_this_machine_and_no_other(three, tmp_path):
    from topmix.engines.ray_pool import pool_of

    run = ray_counts.PoolRun(pool_of(three), 1)
    assert run.all_see(tmp_path)
    (tmp_path / "token").unlink()
    assert not ray_counts.sees(str(tmp_path), "token", 0)
    assert not ray_counts.sees(str(tmp_path / "nowhere"), "token", 0)


@pytest.mark.slow  # waits for workers to come back
@pytest.mark.parametrize("phase", ["count_part", "write_part"])
def test_a_worker_is_killed_while_it_counts(three, texts, tmp_path, small_parts, phase, monkeypatch, caplog):
    ask, asked = ray_counts.PoolRun._ask, []

    def watched(self, i, function, *rest):
        ask(self, i, function, *rest)
        asked.append(function.__name__)
        if asked.count(phase) == 4 and asked[-1] == phase:
            peer = next(peer for peer in self.pool.alive() if peer.waiting)
            os.kill(peer.pid, signal.SIGKILL)

    monkeypatch.setattr(ray_counts.PoolRun, "_ask", watched)
    three.count_texts(ParquetTexts(str(texts)), Vectorizer(), None, tmp_path / "workers.topmix")
    assert any("was lost" in record.getMessage() for record in caplog.records)
    read_corpus(texts, out=tmp_path / "driver.topmix")
    assert (tmp_path / "workers.topmix").read_bytes() == (tmp_path / "driver.topmix").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["driver.topmix", "workers.topmix"]


@pytest.mark.slow  # many small fits
def test_bad_files_are_said_to_be_bad_as_by_threads(three, texts, tmp_path, temporary, small_parts):
    column, damaged, numbers = (tmp_path / f"{name}.parquet" for name in ("column", "damaged", "numbers"))
    pq.write_table(pa.table({"body": ["a b", "c d"]}), column)
    pq.write_table(pa.table({"text": [1, 2], "title": ["a", "b"]}), numbers)
    blob = bytearray((texts / "0.parquet").read_bytes())
    blob[50:400] = bytes(350)
    damaged.write_bytes(blob)
    for path in (column, damaged, numbers):
        said = []
        for engine in ("threads", three):
            with pytest.raises(CorpusError) as error:
                LDA(3, engine=engine).fit(path)
            said.append(str(error.value))
        assert said[0] == said[1]
        assert path.name in said[0]
    pq.write_table(pa.table({"text": ["the", None]}), column)
    for engine in ("threads", three):
        with pytest.raises(ValueError, match="hold no words"):
            LDA(3, engine=engine).fit(column, vectorizer=Vectorizer(stop_words="english"))
    assert not os.listdir(temporary)


@pytest.mark.slow  # waits for workers to come back
@pytest.mark.parametrize("phase", ["count_part", "write_part"])
def test_ctrl_c_leaves_nothing_behind(three, texts, temporary, small_parts, phase, monkeypatch):
    ask, asked = ray_counts.PoolRun._ask, []

    def watched(self, i, function, *rest):
        ask(self, i, function, *rest)
        asked.append(function.__name__)
        if asked.count(phase) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ray_counts.PoolRun, "_ask", watched)
    with pytest.raises(KeyboardInterrupt):
        LDA(3, engine=three, **SETTINGS).fit(texts)
    assert not os.listdir(temporary)


@pytest.mark.slow  # starts a program
def test_the_command_has_workers_count(cluster, texts, tmp_path):
    engine = ["--engine", "ray", "--engine.address", cluster.address, "--engine.workers", "2"]
    command = [sys.executable, "-c", "from topmix.cli import main; main()"]
    for out, options in (("workers", engine), ("driver", [])):
        subprocess.run([*command, "convert", texts, f"{out}.topmix", *options], check=True, cwd=tmp_path)
    assert (tmp_path / "workers.topmix").read_bytes() == (tmp_path / "driver.topmix").read_bytes()
    fit = ["fit", texts, "-k", "3", "-o", "model", "--max-iter", "2", "--n-init", "1", "--quiet"]
    subprocess.run([*command, *fit, *engine], check=True, cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["driver.topmix", "model", "workers.topmix"]
