"""LDA-C, `.ldac` or `.dat`: one document per line, "n word:count word:count ...", with word ids from 0.

n is the number of pairs in the line. The format does not store the number of documents: a file that was cut between two
lines reads as a shorter corpus.
"""

from __future__ import annotations

import re
from pathlib import Path

from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.formats.format import Format, Options, check_whole_counts, find_vocabulary, write_vocabulary
from topmix.data.formats.pairs import read_pairs
from topmix.data.formats.write import pair_lines
from topmix.data.textfile import TextFile, write_text

SUFFIXES = (".ldac", ".dat")


def matches(head: bytes) -> bool:
    line = head.partition(b"\n")[0].split()
    if not line or not re.fullmatch(rb"\d{1,18}", line[0]):
        return False
    if b"\n" not in head:  # a long document: the last pair in `head` may be cut
        return int(line[0]) >= len(line) - 1 > 1 and _all_pairs(line[1:-1])
    return int(line[0]) == len(line) - 1 and _all_pairs(line[1:])


def _all_pairs(tokens: list[bytes]) -> bool:
    return all(re.fullmatch(rb"\d+:\d+", token) for token in tokens)


def read(path: Path, options: Options) -> Corpus:
    vocabulary = find_vocabulary(path, options, options.n_words)
    n_words = options.n_words if vocabulary is None else len(vocabulary)
    first_id = options.first_id or 0
    last_id = None if n_words is None else n_words - 1 + first_id
    with TextFile(path, block=1 << 20) as file, CorpusBuilder(options.out) as builder:
        for rows in read_pairs(file, counted=True, first_id=first_id, last_id=last_id):
            builder.append(rows.indptr, rows.word - first_id if first_id else rows.word, rows.value)
        return builder.finish(vocabulary, n_words)


def write(corpus: Corpus, path: Path) -> None:
    check_whole_counts(corpus, "LDA-C")
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        for lines in pair_lines(corpus, first_id=0):
            file.write(lines)


LDAC = Format("ldac", SUFFIXES, matches, read, write)
