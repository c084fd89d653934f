"""Text files of counts.

UCI bags of words, `docword.X.txt` or `.txt.gz`, with the words in `vocab.X.txt` in the same folder, have three header
lines (documents D, words W, entries NNZ), then NNZ lines "doc word count" with ids from 1, in any order. Entries in the
order of documents are read in bounded memory. Matrix Market coordinate files, `.mtx` or `.mtx.gz`, have one document
per row; MmCorpus of gensim writes them too. They are read by SciPy.

LDA-C, `.ldac` or `.dat`, has lines "pairs word:count word:count ..." with word ids from 0, one document per line, and
is read in bounded memory. svmlight (libsvm) opens a line with a label, which becomes the name of the document:
`np.array(corpus.names, float)` gives the numbers. It is read by scikit-learn: ids start at 1 unless an id 0 occurs;
`first_id` overrides that. Neither stores the number of documents: a file that was cut between two lines reads as a
shorter corpus.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

from topmix.base.checks import CorpusError
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.counts import MAX_WORDS
from topmix.corpus.vocabulary import starts_of
from topmix.io.formats import Format, Options, built, find_vocabulary, write_vocabulary
from topmix.io.textfile import TextFile, write_text

LARGEST = 2**63 - 1  # number that is read as a whole one
LINES = 2048  # documents that are written as text at a time
SHORTEST_ENTRY = 4  # bytes of a line "doc word count"
LABEL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
Entries = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]  # document, word, count


class Header(NamedTuple):
    n_docs: int
    n_words: int
    nnz: int

    @property
    def problem(self) -> str:
        for what, n in (("documents", self.n_docs), ("words", self.n_words)):
            if n > MAX_WORDS:
                return f"the header says {n} {what}; the limit is {MAX_WORDS}"
        if self.nnz > self.n_docs * self.n_words:
            return f"the header says {self.nnz} entries, more than {self.n_docs} × {self.n_words}"
        if self.n_docs > most_documents(self.nnz):
            return f"the header says {self.n_docs} documents, but only {self.nnz} entries"
        return ""


def most_documents(n_entries: int) -> int:
    """Documents that a file may have up to its n-th entry. Nearly all of more would be empty, and they would take the
    memory of a machine for a file of three lines."""
    return 1_000_000 + 100 * n_entries


class _OutOfOrder(Exception):
    pass


def _read_uci(path: Path, options: Options) -> Corpus:
    try:
        return _read_docword(path, options, in_order=True)
    except _OutOfOrder:  # most files that are not in order show it early, so reading again costs little
        return _read_docword(path, options, in_order=False)


def _read_docword(path: Path, options: Options, *, in_order: bool) -> Corpus:
    with TextFile(path) as file, CorpusBuilder(options.out) as builder:
        numbers = []
        for what in ("the number of documents", "the number of words", "the number of entries"):
            text = file.readline(what).strip()
            if not re.fullmatch(rb"\d{1,18}", text):
                raise file.error(f"expected {what}, found {text[:24].decode(errors='replace')!r}", file.line - 1)
            numbers.append(int(text))
        header = Header(*numbers)
        if header.problem:
            raise file.error(header.problem, file.line - 1)
        vocabulary = find_vocabulary(path, options, header.n_words)
        blocks = _entries(file, header)
        if in_order:
            _append_in_order(builder, file, header, blocks)
        else:
            doc, word, value = (np.concatenate(arrays) for arrays in zip(*blocks))
            order = np.argsort(doc, kind="stable")
            _append(builder, (doc[order], word[order], value[order]), 0, header.n_docs)
        return builder.finish(vocabulary, header.n_words)


class NumberLines(NamedTuple):
    """A block of lines of whole numbers."""

    numbers: NDArray[np.int64]  # of all lines
    starts: NDArray[np.int64]  # [lines + 1] where those of each line begin
    text: NDArray[np.uint8]  # bytes
    seen: NDArray[np.int64]  # [bytes] numbers that have begun up to there

    @classmethod
    def of(cls, text: bytes, file: TextFile, gaps: bytes = b" \t\r\n") -> NumberLines:
        """Of the next lines of a file. What is neither a digit nor a gap is an error."""
        found = np.frombuffer(text, np.uint8)
        is_digit: NDArray[np.bool_] = (found - np.uint8(ord("0"))) < 10
        is_newline: NDArray[np.bool_] = found == ord("\n")
        fine = is_digit | np.isin(found, np.frombuffer(gaps, np.uint8))
        if not fine.all():
            at = int(np.argmin(fine))
            here = re.match(rb"\S{0,24}", text[at:])
            said = (here[0] if here else b"").decode(errors="replace")
            raise file.error(f"expected a whole number, found {said!r}", file.line + int(is_newline[:at].sum()))
        begins = is_digit.copy()
        begins[1:] &= ~is_digit[:-1]
        seen: NDArray[np.int64] = np.cumsum(begins)
        numbers = np.fromstring(text.translate(bytes.maketrans(b":", b" ")), np.int64, sep=" ")
        return cls(numbers, np.append(0, seen[is_newline]), found, seen)

    def check(self, file: TextFile, fine: NDArray[np.bool_], expected: str) -> None:
        """Raises an error that names the first line for which `fine` [lines] is False."""
        if not fine.all():
            raise file.error(f"expected {expected}", file.line + int(np.argmin(fine)))

    def check_each(self, file: TextFile, fine: NDArray[np.bool_], of: NDArray[np.int64], expected: str) -> None:
        """The same where `fine` is of the numbers at these places."""
        if not fine.all():
            line = int(np.searchsorted(self.starts, of[int(np.argmin(fine))], "right")) - 1
            raise file.error(f"expected {expected}, found '{self.numbers[of[int(np.argmin(fine))]]}'", file.line + line)


def _entries(file: TextFile, header: Header) -> Iterator[Entries]:
    """Blocks of entries, with ids from 0. Checks the total of the header."""
    total = 0
    for text in file.blocks():
        lines = NumberLines.of(text, file)
        lengths = np.diff(lines.starts)
        lines.check(file, (lengths == 3) | (lengths == 0), "a line 'doc word count'")
        places = np.arange(len(lines.numbers)).reshape(-1, 3).T
        doc, word, value = lines.numbers[places]
        for n, end, what in ((0, header.n_docs, "a document id"), (1, header.n_words, "a word id")):
            fine = (lines.numbers[places[n]] >= 1) & (lines.numbers[places[n]] <= end)
            lines.check_each(file, fine, places[n], f"{what} from 1 to {end}")
        lines.check_each(file, (value >= 1) & (value < LARGEST), places[2], "a count of at least 1")
        file.line, total = file.line + len(lengths), total + len(doc)
        if total > header.nnz:
            raise file.error(f"{total} entries up to here, but the header says {header.nnz}", file.line - 1)
        if len(doc):
            yield doc - 1, (word - 1).astype(np.int32), value.astype(np.float32)
    if total != header.nnz:
        raise file.error(f"the file ends after {total} entries, but the header says {header.nnz}: it may be cut short")


def _append_in_order(builder: CorpusBuilder, file: TextFile, header: Header, blocks: Iterator[Entries]) -> None:
    """Documents go to the builder when they are complete."""
    held: Entries = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    done = seen = 0  # documents appended; entries
    for block in blocks:
        doc, word, value = (np.concatenate([held[i], block[i]]) for i in range(3))
        seen += len(block[0])
        if (doc[1:] < doc[:-1]).any():
            raise _OutOfOrder
        last = int(doc[-1])  # this document may continue in the next block
        if last > most_documents(seen):
            raise file.error(f"document {last + 1} after {seen} entries: nearly all documents before it are empty")
        cut = int(np.searchsorted(doc, last))
        _append(builder, (doc[:cut], word[:cut], value[:cut]), done, last)
        held, done = (doc[cut:], word[cut:], value[cut:]), last
    _append(builder, held, done, header.n_docs)


def _append(builder: CorpusBuilder, entries: Entries, begin: int, end: int) -> None:
    """Append the rows begin to end - 1. The entries are in the order of documents and belong to these rows."""
    doc, word, value = entries
    builder.append(starts_of(np.bincount(doc - begin, minlength=end - begin)), word, value)


def _read_matrix_market(path: Path, options: Options) -> Corpus:
    with TextFile(path) as file:
        text = file.whole_lines()
    try:
        *sizes, layout, kind, symmetry = scipy.io.mminfo(io.BytesIO(text))
        header = Header(*sizes)
        if (layout, symmetry) != ("coordinate", "general") or kind not in ("real", "integer", "pattern"):
            found = f"{layout} {kind} {symmetry}"
            raise CorpusError(
                f"{path}: expected a general coordinate matrix of real, integer or pattern entries, found {found}"
            )
        most = len(text) // SHORTEST_ENTRY  # nobody makes room for entries that are not there
        if header.problem or header.nnz > most:
            lacking = f"the header says {header.nnz} entries, and the file has room for {most}"
            raise CorpusError(f"{path}: {header.problem or lacking}")
        vocabulary = find_vocabulary(path, options, header.n_words)
        with warnings.catch_warnings():
            # SciPy 1.18 warns that a later version will return an array, which is what is made here anyway.
            warnings.simplefilter("ignore", DeprecationWarning)
            rows = sp.csr_array(scipy.io.mmread(io.BytesIO(text)))
    except (ValueError, OverflowError, MemoryError) as error:
        raise CorpusError(f"{path}: not a Matrix Market file: {error}") from error
    return built(rows, vocabulary, options)


def _read_ldac(path: Path, options: Options) -> Corpus:
    vocabulary = find_vocabulary(path, options, options.n_words)
    n_words = options.n_words if vocabulary is None else len(vocabulary)
    first_id = options.first_id or 0
    last_id = MAX_WORDS - 1 if n_words is None else n_words - 1 + first_id
    with TextFile(path) as file, CorpusBuilder(options.out) as builder:
        for text in file.blocks():
            lines = NumberLines.of(text, file, b" \t\r\n:")
            numbers, starts = lines.numbers, lines.starts
            # The k-th colon of a line stands right between its numbers 2k and 2k + 1, and the line begins with how many
            # colons there are.
            colons = np.flatnonzero(lines.text == ord(":"))
            line = np.searchsorted(starts[1:], lines.seen[colons])
            n_pairs = np.bincount(line, minlength=len(starts) - 1)
            nth = np.arange(len(colons)) - (np.cumsum(n_pairs) - n_pairs)[line]
            fine = lines.seen[colons] - starts[line] == 2 * (nth + 1)
            for beside in (colons - 1, colons + 1):
                fine &= (lines.text[beside] - np.uint8(ord("0"))) < 10
            of_line = np.ones(len(n_pairs), bool)
            of_line[line[~fine]] = False
            lengths = np.diff(starts)
            is_there = lengths > 0
            of_line &= ~is_there | (lengths == 1 + 2 * n_pairs)
            lines.check(file, of_line, "a number of pairs, and pairs word:count")
            first = starts[:-1][is_there]
            lines.check_each(file, numbers[first] == n_pairs[is_there], first, "as many pairs as the line says")
            is_pair = np.ones(len(numbers), bool)
            is_pair[first] = False
            word, value = np.flatnonzero(is_pair).reshape(-1, 2).T
            fine = (numbers[word] >= first_id) & (numbers[word] <= last_id)
            lines.check_each(file, fine, word, f"a word id from {first_id} to {last_id}")
            lines.check_each(file, (numbers[value] >= 1) & (numbers[value] < LARGEST), value, "a count of at least 1")
            rows = starts_of(n_pairs[is_there]), numbers[word] - first_id, numbers[value].astype(np.float32)
            builder.append(*rows)
            file.line += len(lengths)
        return builder.finish(vocabulary, n_words)


def _read_svmlight(path: Path, options: Options) -> Corpus:
    # It imports much of SciPy, and few files need it.
    from sklearn.datasets import load_svmlight_file

    vocabulary = find_vocabulary(path, options, options.n_words)
    n_words = options.n_words if vocabulary is None else len(vocabulary)
    with TextFile(path) as file:
        text = file.whole_lines()
    zero_based = "auto" if options.first_id is None else options.first_id == 0
    try:
        rows, labels = load_svmlight_file(io.BytesIO(text), n_features=n_words or None, zero_based=zero_based)
    except (ValueError, OverflowError) as error:
        raise CorpusError(f"{path}: not a file of svmlight: {error}") from error
    if not np.isfinite(labels).all():
        raise CorpusError(f"{path}: the label of document {int(np.argmin(np.isfinite(labels)))} is not a finite number")
    names = [str(int(x)) if x == int(x) and abs(x) < 2**53 else repr(x) for x in labels.tolist()]
    with CorpusBuilder(options.out) as builder:
        builder.append(rows.indptr, rows.indices, rows.data, names)
        return builder.finish(vocabulary, n_words)


def _triple_lines(block: Corpus, begin: int) -> list[str]:
    """Lines "doc word count" with ids from 1, of documents from `begin` on."""
    doc = np.repeat(np.arange(begin + 1, begin + 1 + block.n_docs), np.diff(block.indptr))
    words = (block.index + np.int64(1)).tolist()
    return [f"{d} {w} {x}\n" for d, w, x in zip(doc.tolist(), words, _number_texts(block.value))]


def _pair_lines(block: Corpus, first_id: int, opening: list[str] | None = None) -> list[str]:
    """Lines "opening word:count ...". Without `opening`, a line starts with the number of its pairs."""
    ids = (block.index + np.int64(first_id)).tolist()
    pairs = [f"{w}:{x}" for w, x in zip(ids, _number_texts(block.value))]
    rows = [pairs[begin:end] for begin, end in zip(block.indptr[:-1], block.indptr[1:])]
    opening = [str(len(row)) for row in rows] if opening is None else opening
    return [" ".join([first, *row]) + "\n" for first, row in zip(opening, rows)]


def _number_texts(value: NDArray[np.float32]) -> list[str]:
    """The shortest texts that read back as the same float32 numbers."""
    if (value == value.round()).all() and (value < LARGEST).all():
        return [str(x) for x in value.astype(np.int64).tolist()]
    # The shortest text of the largest number is above it when it is read as a double.
    return [str(x) if x < np.finfo(np.float32).max else "3.4028234e+38" for x in value]


def _write_blocks(corpus: Corpus, path: Path, lines: Callable[[Corpus, int], list[str]], header: str = "") -> None:
    """`lines` of a block of documents and the number of its first one."""
    write_vocabulary(corpus, path)
    with write_text(path) as file:
        file.write(header.encode())
        for begin in range(0, corpus.n_docs, LINES):
            file.write("".join(lines(corpus[begin : begin + LINES], begin)).encode())


def _write_uci(corpus: Corpus, path: Path) -> None:
    _check_whole_counts(corpus, "UCI docword")
    _write_blocks(corpus, path, _triple_lines, f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.nnz}\n")


def _write_matrix_market(corpus: Corpus, path: Path) -> None:
    sizes = f"{corpus.n_docs} {corpus.n_words} {corpus.nnz}\n"
    _write_blocks(corpus, path, _triple_lines, f"%%MatrixMarket matrix coordinate real general\n{sizes}")


def _write_ldac(corpus: Corpus, path: Path) -> None:
    _check_whole_counts(corpus, "LDA-C")
    _write_blocks(corpus, path, lambda block, begin: _pair_lines(block, 0))


def _write_svmlight(corpus: Corpus, path: Path) -> None:
    labels = ["0"] * corpus.n_docs if corpus.names is None else list(corpus.names)
    for d, label in enumerate(labels):
        if not LABEL.fullmatch(label) or not math.isfinite(float(label)):
            raise CorpusError(f"document {d} has the name {label!r}, but svmlight needs a finite number as the label")
    _write_blocks(corpus, path, lambda block, begin: _pair_lines(block, 1, labels[begin : begin + block.n_docs]))


def _check_whole_counts(corpus: Corpus, what: str) -> None:
    """Raise unless every count is an integer."""
    for begin in range(0, corpus.nnz, 1 << 20):
        block = corpus.value[begin : begin + (1 << 20)]
        if (block != block.round()).any() or block.max(initial=0.0) >= LARGEST:
            raise CorpusError(
                f"{what} holds integers below 2**63 only, and this corpus has other counts: write Matrix Market (.mtx)"
            )


def _is_uci(head: bytes) -> bool:
    return re.match(rb"\s*\d+\s*\n\s*\d+\s*\n\s*\d+\s*\n", head) is not None


def _is_matrix_market(head: bytes) -> bool:
    return head[:14].lower() == b"%%matrixmarket"


def _is_ldac(head: bytes) -> bool:
    line, newline, _ = head.partition(b"\n")
    first, *pairs = line.split() or [b""]
    if not re.fullmatch(rb"\d{1,18}", first):
        return False
    if not newline:  # a long document: the last pair in `head` may be cut
        return int(first) >= len(pairs) > 1 and _all_pairs(pairs[:-1])
    return int(first) == len(pairs) and _all_pairs(pairs)


def _all_pairs(tokens: list[bytes]) -> bool:
    return all(re.fullmatch(rb"\d+:\d+", token) for token in tokens)


def _is_svmlight(head: bytes) -> bool:
    line = head.partition(b"\n")[0].partition(b"#")[0].split()
    return len(line) > 1 and all(re.fullmatch(rb"(\d+|qid):[-+.\deE]+", pair) for pair in line[1:])


UCI = Format("uci", (), _is_uci, _read_uci, _write_uci, prefix="docword.")
MATRIX_MARKET = Format("mtx", (".mtx", ".mm"), _is_matrix_market, _read_matrix_market, _write_matrix_market)
LDAC = Format("ldac", (".ldac", ".dat"), _is_ldac, _read_ldac, _write_ldac)
SVMLIGHT = Format("svmlight", (".svmlight", ".svm", ".libsvm"), _is_svmlight, _read_svmlight, _write_svmlight)
