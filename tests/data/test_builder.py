"""Building block by block: the same corpus in memory and on disk, and no half-written file ever."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.twins.readers import tidy_rows
from topmix.base import atomic
from topmix.base.threads import use_threads
from topmix.corpus.counts import tidy
from topmix.data import Corpus, CorpusBuilder, CorpusError


def append_all(builder, corpus, step, names=None):
    for d in range(0, len(corpus), step):
        c = corpus[d : d + step]
        builder.append(c.indptr, c.index, c.value, None if names is None else names[d : d + step])


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_blocks_make_the_corpus_they_came_from(medium, tmp_path, step, on_disk):
    path = tmp_path / "a.topmix" if on_disk else None
    names = [f"doc {d}" for d in range(len(medium))]
    with CorpusBuilder(path) as builder:
        append_all(builder, medium, step, names)
        built = builder.finish(medium.vocabulary, meta={"a": [1, "ü"]})
    want = Corpus.trusted(medium.indptr, medium.index, medium.value, 97, medium.vocabulary, names, meta={"a": [1, "ü"]})
    assert built.equals(want)
    assert built.path == path
    assert [f.name for f in tmp_path.iterdir()] == (["a.topmix"] if on_disk else [])


@pytest.mark.parametrize("on_disk", [False, True])
def test_remap_renames_drops_and_merges(medium, tmp_path, on_disk, monkeypatch):
    for name in ("MEMORY_ENTRIES", "FILE_ENTRIES"):  # many parts
        monkeypatch.setattr(f"topmix.corpus.builder.{name}", 100)
    remap = np.random.default_rng(1).integers(-1, 20, 97)
    with CorpusBuilder(tmp_path / "a.topmix" if on_disk else None) as builder:
        append_all(builder, medium, 50)
        built = builder.finish(None, 25, remap=remap)
    M = np.zeros((97, 25), np.float32)
    M[np.flatnonzero(remap >= 0), remap[remap >= 0]] = 1
    assert (built.to_scipy() != medium.to_scipy() @ M).sum() == 0
    built.verify()


@pytest.mark.parametrize("named", [pytest.param(False, marks=pytest.mark.slow), True])
def test_rows_that_become_many_move_to_a_file_that_goes_with_the_corpus(medium, tmp_path, named, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = [f"doc {d}" for d in range(len(medium))] if named else None
    remap = np.arange(97)[::-1].copy()
    for most in (0, 300, medium.nnz):
        with CorpusBuilder(most_entries=most) as builder, CorpusBuilder() as other:
            for either in (builder, other):
                append_all(either, medium, 50, names)
            built, want = (either.finish(None, 97, remap=remap) for either in (builder, other))
        assert built.equals(want)
        assert (built.path is None) == (most == medium.nnz)
        assert len(list(tmp_path.iterdir())) == (most < medium.nnz)
        rows = built[3:60]
        del built
        gc.collect()
        assert rows.equals(want[3:60])  # the pages stay while somebody has them
        del rows
        gc.collect()
        assert list(tmp_path.iterdir()) == []


def test_a_builder_that_fails_leaves_no_file_behind(medium, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyError), CorpusBuilder(most_entries=10) as builder:  # noqa: PT012
        append_all(builder, medium, 50)
        assert len(list(tmp_path.iterdir())) == 1
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_blocks_in_memory_are_joined_as_they_come(medium, monkeypatch):
    monkeypatch.setattr("topmix.corpus.builder.MEMORY_ENTRIES", 200)
    with CorpusBuilder() as builder:
        append_all(builder, medium, 7)
        assert len(builder._parts) + len(builder._blocks) < len(medium) / 14
        built = builder.finish(medium.vocabulary, remap=np.arange(97))
    assert built.equals(Corpus.trusted(medium.indptr, medium.index, medium.value, 97, medium.vocabulary))


rows = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=8), max_size=6
)  # fmt: skip


@given(rows, st.lists(st.integers(-1, 4), min_size=7, max_size=7))
def test_tidy_is_its_slow_twin(docs, remap):
    indptr = np.cumsum([0, *map(len, docs)])
    index = np.array([v for d in docs for v, _ in d], np.int32)
    value = np.array([x for d in docs for _, x in d], np.float32)
    for use, n in ((None, 7), (np.array(remap), 5)):
        got = tidy(indptr, index, value, n, remap=use)
        want = tidy_rows((indptr, index, value), n, None if use is None else dict(enumerate(remap)))
        for a, b in zip(got, want):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("where", ["append", "finish", "between", "replace"])
def test_what_fails_leaves_nothing_behind(medium, tmp_path, where, monkeypatch):
    path = tmp_path / "a.topmix"

    def fail(*_):
        raise OSError("no space left")

    def attempt():
        with CorpusBuilder(path) as builder:
            append_all(builder, medium, 100)
            assert not path.exists()
            if where == "append":
                builder.append([0, 1], [0], [-1])
            if where == "between":
                raise KeyboardInterrupt
            if where == "replace":
                monkeypatch.setattr(atomic.os, "replace", fail)
            builder.finish(["too", "few"] if where == "finish" else None)

    with pytest.raises((CorpusError, KeyboardInterrupt, OSError)):
        attempt()
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_survives_a_failed_rewrite(small, medium, tmp_path, monkeypatch):
    path = tmp_path / "a.topmix"
    small.save(path)
    monkeypatch.setattr("topmix.corpus.store.encode_header", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        medium.save(path)
    assert Corpus.open(path, verify=True).equals(small)
    assert [f.name for f in tmp_path.iterdir()] == ["a.topmix"]


def test_a_corpus_can_be_rewritten_while_it_is_mapped(small, tmp_path):
    path = tmp_path / "a.topmix"
    small.save(path)
    mapped = Corpus.open(path)
    mapped[1:4].save(path)
    assert mapped.equals(small)
    assert Corpus.open(path, verify=True).n_docs == 3


def test_a_dropped_builder_cleans_up(small, tmp_path):
    builder = CorpusBuilder(tmp_path / "a.topmix")
    append_all(builder, small, 2)
    del builder
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_builder_says_what_is_wrong(small):
    builder = CorpusBuilder()
    builder.append([0, 1], [3], [1])
    with pytest.raises(CorpusError, match="row 1, column 2: the count is NaN"):
        builder.append([0, 1], [2], [np.nan])
    with pytest.raises(CorpusError, match="some blocks have names"):
        builder.append([0, 1], [2], [1], names=["a"])
    with pytest.raises(CorpusError, match="word id 3 occurs, but there are only 3 words"):
        builder.finish(["a", "b", "c"])
    with pytest.raises(CorpusError, match="4 words, but n_words is 5"):
        builder.finish(list("abcd"), 5)
    with pytest.raises(CorpusError, match="at least 4"):
        builder.finish(None, remap=np.arange(3))
    assert builder.finish(list("abcd")).n_docs == 1  # what failed above lost nothing
    with pytest.raises(RuntimeError, match="finished"):
        builder.append([0], [], [])


@settings(max_examples=20)
@given(st.integers(0, 3))
def test_names_need_not_be_ascii(n):
    names = ["", "é" * n, "\U0001f600\n"]
    builder = CorpusBuilder()
    builder.append([0, 0, 0, 0], [], [], names)
    assert builder.finish(None).names == names


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("during", ["append", "write"])
def test_a_killed_process_leaves_only_temporary_files(tmp_path, during):
    code = """if True:
        import os, signal, sys
        import topmix.corpus.store as store
        from topmix.data import CorpusBuilder
        die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        builder = CorpusBuilder(sys.argv[1])
        for _ in range(1000):
            builder.append([0, 2], [1, 0], [1, 2])
        if sys.argv[2] == "append":
            die()
        store._core.crc32 = die  # in the middle of the arrays
        builder.finish(None)
    """
    path = tmp_path / "a.topmix"
    done = subprocess.run([sys.executable, "-c", code, path, during], check=False)
    assert done.returncode == -signal.SIGKILL
    left = list(tmp_path.iterdir())
    assert len(left) == (during == "write")  # blocks are in a file without a name
    assert path not in left
    for file in left:
        with pytest.raises(CorpusError, match="unfinished temporary file"):
            Corpus.open(file)
        with pytest.raises(CorpusError):
            Corpus.open(file.rename(tmp_path / "renamed.topmix"))


@pytest.mark.parametrize("mapped", [False, True])
def test_rows_that_are_tidied_later_are_the_same(tmp_path, mapped):
    rng = np.random.default_rng(0)
    blocks = []
    for n in (3, 0, 5, 700, 2):  # rows; some of them, and all of the last block, are empty
        lengths = rng.integers(0, 6, n) * (n != 2)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        blocks.append((indptr, rng.integers(0, 50, indptr[-1]), rng.integers(0, 4, indptr[-1])))
    remap = np.where(np.arange(50) % 3, np.arange(50)[::-1], -1)
    made = []
    for later in (False, True):
        for threads in (1, 3):
            out = tmp_path / f"{later}{threads}.topmix" if mapped else None
            with use_threads(threads), CorpusBuilder(out) as builder:
                for block in blocks:
                    builder.append(*block, tidy_later=later)
                made.append(builder.finish(None, 50, remap=remap))
    for corpus in made[1:]:
        for name in ("indptr", "index", "value"):
            np.testing.assert_array_equal(getattr(corpus, name), getattr(made[0], name))


def test_rows_to_be_tidied_need_a_remap():
    with CorpusBuilder() as builder:
        builder.append([0, 2], [3, 1], [1, 1], tidy_later=True)
        with pytest.raises(ValueError, match="needs a remap"):
            builder.finish(None)


def test_the_first_bad_row_is_named_whatever_the_threads():
    n = 5000
    value = np.ones(n, np.float32)
    value[[1234, 4321]] = -1
    for threads in (1, 4):
        with use_threads(threads), CorpusBuilder() as builder, pytest.raises(CorpusError, match="row 1234, column 0"):
            builder.append(np.arange(n + 1), np.zeros(n, np.int32), value)
