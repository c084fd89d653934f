"""svmlight / libsvm: one document per line, "label word:value word:value ... # comment".

Labels become the names of the documents: `np.array(corpus.names, float)` gives the numbers. As in scikit-learn, ids
start at 1 unless an id 0 occurs; `first_id` overrides that. Query ids are skipped. The format does not store the number
of documents: a file that was cut between two lines reads as a shorter corpus.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.errors import CorpusError
from topmix.data.formats.format import Format, Options, find_vocabulary, write_vocabulary
from topmix.data.formats.pairs import read_pairs
from topmix.data.formats.write import pair_lines
from topmix.data.textfile import TextFile, write_text

SUFFIXES = (".svmlight", ".svm", ".libsvm")
LABEL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def matches(head: bytes) -> bool:
    line = head.partition(b"\n")[0].partition(b"#")[0].split()
    return len(line) > 1 and all(re.fullmatch(rb"(\d+|qid):[-+.\deE]+", pair) for pair in line[1:])


def read(path: Path, options: Options) -> Corpus:
    vocabulary = find_vocabulary(path, options, options.n_words)
    n_words = options.n_words if vocabulary is None else len(vocabulary)
    low = options.first_id or 0
    last_id = None if n_words is None else n_words - 1 + (1 if options.first_id is None else low)
    smallest = 1
    with TextFile(path, block=1 << 20) as file, CorpusBuilder(options.out) as builder:
        for rows in read_pairs(file, counted=False, first_id=low, last_id=last_id):
            smallest = min(smallest, int(rows.word.min(initial=1)))
            names = [_label(x) for x in rows.label.tolist()]
            builder.append(rows.indptr, rows.word - low if low else rows.word, rows.value, names)
        shift = 1 if options.first_id is None and smallest > 0 else 0  # id 1 is column 0; id 0 does not occur
        return builder.finish(vocabulary, n_words, shift=shift)


def write(corpus: Corpus, path: Path) -> None:
    labels = ["0"] * corpus.n_docs if corpus.names is None else list(corpus.names)
    for d, label in enumerate(labels):
        if not LABEL.fullmatch(label) or not math.isfinite(float(label)):
            raise CorpusError(f"document {d} has the name {label!r}, but svmlight needs a finite number as the label")
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        for lines in pair_lines(corpus, 1, labels):
            file.write(lines)


def _label(x: float) -> str:
    return str(int(x)) if x == int(x) and abs(x) < 2**53 else repr(x)


SVMLIGHT = Format("svmlight", SUFFIXES, matches, read, write)
