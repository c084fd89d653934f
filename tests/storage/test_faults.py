"""Requests that fail, answers that are slow or cut off, killed writers: nothing half-written is read as whole."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import topmix
from tests.storage.conftest import BUCKET
from topmix import LDA, Stream
from topmix.base.paths import open_whole, path_of
from topmix.data import Corpus, CorpusError, sample_lda
from topmix.estimators import files as model_files

TEXTS = ["wind sail boat water"] * 12 + ["rook bishop board king"] * 12


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(40, 60, 3, doc_length=30, random_state=0).corpus


def first(n, method):
    """The first n requests of a method."""
    left = [n]

    def is_one(used, path):
        if used == method and left[0]:
            left[0] -= 1
            return True
        return False

    return is_one


def always(method):
    return lambda used, path: used == method


def lda():
    return LDA(3, max_iter=2, random_state=0)


@pytest.mark.usefixtures("impatient")
def test_requests_that_fail_a_few_times_are_made_again(storage, corpus):
    storage.fails = first(2, "PUT")
    corpus.save(f"{BUCKET}/corpus")
    storage.fails = first(2, "GET")
    assert Corpus.open(f"{BUCKET}/corpus").verify().equals(corpus)


@pytest.mark.usefixtures("impatient")
def test_a_write_that_fails_is_an_error_that_names_the_url_and_leaves_what_was_there(storage, corpus):
    lda().fit(corpus).save(f"{BUCKET}/model")
    before = topmix.load(f"{BUCKET}/model").components_
    storage.fails = always("PUT")
    with pytest.raises(OSError, match="cannot be written") as error:
        lda().fit(corpus[:20]).save(f"{BUCKET}/model")
    assert error.value.filename == f"{BUCKET}/model"
    storage.heal()
    np.testing.assert_array_equal(topmix.load(f"{BUCKET}/model").components_, before)


@pytest.mark.usefixtures("impatient")
def test_a_fit_whose_checkpoint_cannot_be_written_says_so_before_the_first_pass(storage, corpus):
    storage.fails = always("PUT")
    passes = []
    with pytest.raises(OSError, match="cannot be written"):
        lda().set_params(callbacks=[passes.append]).fit(corpus, checkpoint=f"{BUCKET}/checkpoint")
    assert not passes


@pytest.mark.usefixtures("impatient")
def test_reads_that_fail_are_errors_that_name_the_url(storage, corpus):
    corpus.save(f"{BUCKET}/corpus")
    lda().fit(corpus).save(f"{BUCKET}/model")
    opened = Corpus.open(f"{BUCKET}/corpus")
    storage.fails = always("GET")
    with pytest.raises(OSError, match="cannot be read") as error:
        topmix.load(f"{BUCKET}/model")
    assert error.value.filename == f"{BUCKET}/model"
    storage.heal()
    storage.fails = always("HEAD")
    with pytest.raises(CorpusError, match=f"{BUCKET}/corpus: cannot be fetched"):
        Corpus.open(f"{BUCKET}/corpus")
    storage.heal()
    assert opened.equals(corpus)  # which goes on when the storage answers again


def test_slow_answers_are_waited_for(storage, corpus):
    corpus.save(f"{BUCKET}/corpus")
    storage.is_slow = always("GET")
    assert Corpus.open(f"{BUCKET}/corpus").verify().equals(corpus)


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_is_cut_off_is_never_a_shorter_file(storage, corpus):
    corpus.save(f"{BUCKET}/corpus")
    lda().fit(corpus).save(f"{BUCKET}/model")
    storage.is_cut = first(1, "GET")
    assert topmix.load(f"{BUCKET}/model").n_components == 3
    storage.is_cut = always("GET")
    with pytest.raises(OSError, match="cannot be read"):
        topmix.load(f"{BUCKET}/model")
    with pytest.raises(CorpusError, match="cannot be fetched"):
        Corpus.open(f"{BUCKET}/corpus")
    storage.heal()
    assert Corpus.open(f"{BUCKET}/corpus").verify().equals(corpus)


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(storage, monkeypatch):
    import fsspec

    files = fsspec.filesystem("s3")
    files.pipe_file("bucket/file", b"old" * 1000)
    read, times = files.cat_file, []

    def replaced_meanwhile(*arguments, **given):
        found = read(*arguments, **given)
        if not times:
            files.pipe_file("bucket/file", b"new" * 1000)
        times.append(1)
        return found

    monkeypatch.setattr(files, "cat_file", replaced_meanwhile)
    with open_whole(path_of(f"{BUCKET}/file")) as file:
        assert file.read() == b"new" * 1000
    assert len(times) == 2


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_writer_that_is_killed_half_way_leaves_what_was_there(storage, corpus):
    lda().fit(corpus).save(f"{BUCKET}/model")
    before = topmix.load(f"{BUCKET}/model").components_
    storage.waits = always("PUT")  # the server has the body, and has not answered
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import topmix; topmix.load('{BUCKET}/model').set_params(n_jobs=1).save('{BUCKET}/model')",
        ]
    )
    deadline = time.monotonic() + 60
    while not storage.seen("PUT", "/model") and time.monotonic() < deadline:
        time.sleep(0.02)
    writer.send_signal(signal.SIGKILL)
    assert writer.wait() == -signal.SIGKILL
    storage.heal()
    np.testing.assert_array_equal(topmix.load(f"{BUCKET}/model").components_, before)
    assert [path.name for path in path_of(BUCKET).glob("*")] == ["model"]


@pytest.mark.parametrize("at", ["the model", "the state"])
def test_a_stream_that_is_killed_between_two_files_continues_from_the_last_batch(storage, monkeypatch, at):
    stream = Stream(LDA(3, random_state=0), f"{BUCKET}/stream", admit=2)
    stream.learn(TEXTS, id="monday")
    write = model_files.write_file

    class Killed(BaseException):
        pass

    def killed(path, *arguments, **given):
        if at == "the model":
            raise Killed
        write(path, *arguments, **given)
        raise Killed

    monkeypatch.setattr(model_files, "write_file", killed)
    with pytest.raises(Killed):
        stream.learn(TEXTS[:6], id="tuesday")
    monkeypatch.setattr(model_files, "write_file", write)
    again = Stream(LDA(3, random_state=0), f"{BUCKET}/stream", admit=2)
    assert ("monday" in again, "tuesday" in again) == (True, False)
    again.learn(TEXTS[:6], id="tuesday")
    whole = Stream(LDA(3, random_state=0), admit=2)
    whole.learn(TEXTS, id="monday")
    whole.learn(TEXTS[:6], id="tuesday")
    np.testing.assert_array_equal(again.model.components_, whole.model.components_)
