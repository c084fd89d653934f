"""A process that can open no more files says so: no file is called damaged, and none is left half-written."""

from __future__ import annotations

import errno
import json
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="needs POSIX signals")

NO_DESCRIPTORS = """
import json, os, resource, warnings
import numpy as np
import topmix
from topmix import LDA, GaussianMixture
from topmix.data import Corpus, from_texts, read_corpus, write_corpus
from topmix.report import write_report

warnings.simplefilter("ignore")
TEXTS = ["apple bear", "bear cat"] * 9
corpus = Corpus.from_scipy(np.arange(60).reshape(12, 5) % 4, vocabulary=list("abcde"))
lda = LDA(2, max_iter=2, random_state=0, n_jobs=2).fit(corpus)
np.save("rows.npy", np.random.default_rng(0).normal(size=(40, 3)))
with open("texts.txt", "w") as file:
    file.write("\\n".join(TEXTS))
WRITES = {
    "uci": lambda: write_corpus(corpus, "docword.x.txt"),
    "npz": lambda: write_corpus(corpus, "counts.npz"),
    "corpus": lambda: corpus.save("corpus"),
    "model": lambda: lda.save("model"),
    "checkpoint": lambda: LDA(2, max_iter=2, random_state=0, n_jobs=2).fit(corpus, checkpoint="checkpoint"),
    "built": lambda: from_texts(TEXTS, out="built"),
    "report": lambda: write_report(lda, "report.html", corpus),
}
READS = {
    "open": lambda: Corpus.open("corpus").verify(),
    "load": lambda: topmix.load("model"),
    "predictor": lambda: topmix.load_predictor("model"),
    "read uci": lambda: read_corpus("docword.x.txt"),
    "read npz": lambda: read_corpus("counts.npz"),
    "read texts": lambda: read_corpus("texts.txt"),
    "rows": lambda: GaussianMixture(2, max_iter=1).fit("rows.npy"),
}
most = resource.getrlimit(resource.RLIMIT_NOFILE)


def call(way, left):
    "With so many descriptors left. What it raised, and whether it left one open."
    before = os.listdir("/dev/fd")
    used = [os.open(os.devnull, os.O_RDONLY) for _ in range(50)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used) + 1, most[1]))
    for fd in used[len(used) - left:]:
        os.close(fd)
    try:
        way()
        said = None
    except Exception as error:
        said = [type(error).__name__, getattr(error, "errno", None)]
    resource.setrlimit(resource.RLIMIT_NOFILE, most)
    for fd in used[:len(used) - left]:
        os.close(fd)
    return said, len(os.listdir("/dev/fd")) - len(before)


for way in [*WRITES.values(), *READS.values()]:
    way()  # imports what it needs
files = sorted(os.listdir())
for name, way in (WRITES | READS).items():
    raised, kept = zip(*(call(way, left) for left in range(6)))
    if name in WRITES:
        for read in READS.values():
            read()  # all files are whole
    print(json.dumps([name, raised, kept, sorted(os.listdir()) == files]))
"""


def test_without_descriptors_nothing_is_lost_and_no_file_is_called_damaged(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NO_DESCRIPTORS], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 14
    for name, raised, kept, same_files in told:
        errors = [error for error in raised if error is not None]
        assert errors, f"{name} opens nothing"
        assert raised[-1] is None, f"{name} needs more than five descriptors"
        assert errors == [["OSError", errno.EMFILE]] * len(errors), (name, raised)
        assert not any(kept), f"{name} leaves descriptors open"
        assert same_files, f"{name} leaves temporary files"
