"""Files that are written: links lead to them, devices and pipes stay what they are, and errors come before the work."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from topmix import LDA, load
from topmix.base.atomic import atomic_write, check_can_write, temporary_path
from topmix.data import Corpus, from_texts, read_corpus, write_corpus
from topmix.export import export
from topmix.report import write_report

CORPUS = Corpus.from_scipy(np.arange(60).reshape(12, 5) % 4, vocabulary=list("abcde"))


def write(path, text=b"new"):
    with atomic_write(path) as file:
        file.write(text)


def test_a_pipe_receives_what_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    CORPUS.save(tmp_path / "pipe")  # which seeks, to write its header last
    reader.join(10)
    CORPUS.save(tmp_path / "plain")
    assert found == [(tmp_path / "plain").read_bytes()]
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_a_device_stays_a_device(tmp_path):
    """A node of one's own, or a link to the one that everybody uses: root could replace both."""
    node = tmp_path / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        node.symlink_to(os.devnull)
    write(node)
    check_can_write(node)
    write_corpus(CORPUS, node, "uci")  # whose words would lie beside it
    with pytest.raises(OSError, match="exists"):
        export(LDA(2, max_iter=1, random_state=0).fit(CORPUS), node, "mallet")  # a folder
    assert stat.S_ISCHR(os.stat(node).st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


def test_a_full_device_is_an_error_that_names_it():
    with pytest.raises(OSError, match="full") as error:
        write("/dev/full")
    assert error.value.errno == errno.ENOSPC
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path):
    """If it is of the same file, is a while old, and nobody is writing it."""
    (tmp_path / "other").touch()
    names = {f".file.1234567{n}.{part}.topmix-tmp" for n in range(2) for part in ("whole", "index")}
    others = {".file2.12345670.whole.topmix-tmp", ".other.12345670.whole.topmix-tmp", ".file.x.whole.topmix-tmp"}
    for name in names | others:
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (1e9, 1e9))
    os.utime(tmp_path / ".file.12345671.whole.topmix-tmp")  # now
    with atomic_write(tmp_path / "file") as long:
        (begun,) = {path.name for path in tmp_path.glob(".file.*.whole.topmix-tmp")} - names - others
        os.utime(tmp_path / begun, (1e9, 1e9))
        write(tmp_path / "file", b"meanwhile")
        long.write(b"at last")
    assert (tmp_path / "file").read_bytes() == b"at last"
    left = {path.name for path in tmp_path.iterdir()} - {"file", "other"}
    assert left == (names | others) - {".file.12345670.whole.topmix-tmp"}


SAVES = """
import sys, numpy as np, topmix
models = [topmix.LDA(k, max_iter=1, random_state=0).fit(np.eye(4, 3000)) for k in (20, 30)]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
"""


@pytest.mark.slow  # three processes; the test above and those of atomic writing notice most of it
def test_a_kill_while_a_model_is_saved_leaves_a_model(tmp_path):
    sizes = set()
    for wait in (0.0, 0.013, 0.05):
        child = subprocess.Popen([sys.executable, "-c", SAVES, str(tmp_path / "model")], stdout=subprocess.PIPE)
        child.stdout.readline()
        while not (tmp_path / "model").exists():
            time.sleep(0.001)
        time.sleep(wait)
        child.kill()
        child.communicate()
        sizes.add(load(tmp_path / "model").n_components)
    assert sizes <= {20, 30}


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_is_replaced(tmp_path, there):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "real"
    if there:
        target.write_bytes(b"old")
    (tmp_path / "link").symlink_to(Path("far") / "real")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "link", "real"]


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for mode in (0o600, 0o664, 0o640):
        path.chmod(mode)
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.read_bytes() == b"new"


def test_a_long_name_has_a_temporary_twin(tmp_path):
    for name in ("n" * 255, "é" * 127):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"
        assert len(os.fsencode(temporary_path(tmp_path / name, "names_offsets").name)) <= 255
    assert len(list(tmp_path.iterdir())) == 2


BAD = {
    "no folder": ("nowhere/file", errno.ENOENT),
    "a folder": (".", errno.EISDIR),
    "a name that is too long": ("n" * 256, errno.ENAMETOOLONG),
    "a file as a folder": ("file/inside", errno.ENOTDIR),
}


@pytest.mark.parametrize(("name", "code"), BAD.values(), ids=BAD)
def test_what_cannot_be_written_is_known_before_the_work(tmp_path, name, code):
    (tmp_path / "file").touch()
    path = tmp_path / name
    worked = []

    def words():
        for _ in range(100):
            worked.append(1)
            yield "a b c"

    model = LDA(2, max_iter=1, random_state=0, n_jobs=1).fit(CORPUS)
    ways = [
        lambda: check_can_write(path),
        lambda: write(path),
        lambda: from_texts(words(), out=path),
        lambda: LDA(2, callbacks=[lambda *_: worked.append(1)]).fit(CORPUS, checkpoint=path),
        lambda: write_report(model, path, CORPUS, texts=words()),
        lambda: export(model, path, "pyldavis", CORPUS),
        lambda: export(model, path, "csv"),
        lambda: model.save(path),
    ]
    for way in ways:
        with pytest.raises(OSError) as error:
            way()
        assert error.value.errno == code
        assert error.value.filename == str(path)  # and not its temporary twin
    assert len(worked) <= 1  # the first text says what they are
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_a_folder_without_permission_is_known_before_the_work(tmp_path, monkeypatch):
    """As somebody who is not root sees it."""
    real = os.open

    def refused(path, flags, *more, **other):
        if flags & os.O_CREAT and str(path).startswith(str(tmp_path)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *more, **other)

    monkeypatch.setattr("builtins.open", lambda path, *a, **k: os.fdopen(refused(path, os.O_CREAT | os.O_RDWR), "w+b"))
    with pytest.raises(PermissionError) as error:
        check_can_write(tmp_path / "file")
    assert error.value.filename == str(tmp_path / "file")


def test_a_corpus_is_not_built_in_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a plain file"):
        from_texts(["a b", "b c"], out=tmp_path / "pipe")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


DISK_FULL = """
import os, resource, signal, sys
import numpy as np
from topmix.data import from_texts, read_corpus
from topmix.data import CorpusBuilder

out = "out.topmix"

def texts():
    words = [f"w{v}" for v in range(1000)]
    from_texts((" ".join(words) for _ in range(400)), names=map(str, range(400)), out=out)

def triples():
    read_corpus("docword.x.txt", out=out)

def rows():
    with CorpusBuilder(out) as builder:
        for _ in range(10):
            builder.append([0, 50_000], np.arange(50_000), np.ones(50_000))
        builder.finish(None)

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for way in (texts, triples, rows):
    for limit in (1000, 400_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))  # every file: a full disk
        try:
            way()
        except OSError as error:
            print(way.__name__, limit, error.errno, os.listdir())
"""


def test_a_full_disk_leaves_no_temporary_files(tmp_path):
    lines = "".join(f"{d} {w} 1\n" for w in range(1, 301) for d in range(1, 501))  # documents in turns, so in buckets
    (tmp_path / "docword.x.txt").write_text(f"500\n300\n150000\n{lines}")
    done = subprocess.run(
        [sys.executable, "-c", DISK_FULL], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    ways = [(way, limit) for way in ("texts", "triples", "rows") for limit in (1000, 400_000)]
    assert done.stdout.splitlines() == [f"{way} {limit} {errno.EFBIG} ['docword.x.txt']" for way, limit in ways]
    assert "Exception ignored" not in done.stderr


def test_a_corpus_is_written_and_read_as_before(tmp_path):
    write_corpus(CORPUS, tmp_path / "c.mtx")
    found = read_corpus(tmp_path / "c.mtx", out=tmp_path / "c.topmix")
    np.testing.assert_array_equal(found.to_scipy().toarray(), CORPUS.to_scipy().toarray())
    assert found.path == tmp_path / "c.topmix"
