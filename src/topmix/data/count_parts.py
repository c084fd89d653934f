"""Texts that are counted in parts, by somebody who has workers, into the corpus file that one process would write.

1. Each worker counts its part with all words, and says which words it has found, how often (`count_part`).
2. The words of all parts are merged and the vocabulary is chosen, as for texts that are read one after another. Then
   the place of each part in the corpus file is known.
3. Each worker writes its rows there (`write_part`). The header comes last, with the checksums of all parts joined.

Texts and rows never meet in the caller; it has the words and one array of numbers per part, which lies in a file.

Nobody can write into the middle of a file behind a URL. There one worker writes all parts, on its own disk, and sends
the file when it is complete.

What a worker does is a function of its arguments that leaves the same bytes however often it is called. So a call whose
worker was lost can be made again, and two workers may make the same call at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from topmix import _core
from topmix.data.atomic import atomic_write
from topmix.data.builder import row_blocks
from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.counts import tidy
from topmix.data.documents import document_blocks
from topmix.data.errors import CorpusError
from topmix.data.parquet_texts import ParquetTexts, Part
from topmix.data.paths import is_remote, open_whole, path_of
from topmix.data.store import StorePlan, open_store
from topmix.data.strings import Strings
from topmix.data.tokens import DEFAULT_PATTERN, NO_RULE
from topmix.data.vectorize import StopWords, Vectorizer
from topmix.numerics.threads import threads

BLOCK_TERMS = 1 << 16  # that are Python strings at a time
MOST_ENTRIES = 1 << 25  # of a part that are kept in memory, 268 MB; more go to a temporary file of the worker's machine
T = TypeVar("T")


class PartTerms(NamedTuple):
    """All terms that were counted in a part, in the order of first sight."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # [terms + 1]
    documents: NDArray[np.int64]  # [terms] that have the term
    tokens: NDArray[np.int64]  # [terms]
    n_rows: int

    @classmethod
    def of(cls, counter: _core.TermCounter) -> PartTerms:
        packed = counter.packed(np.arange(counter.n_terms, dtype=np.int32))
        return cls(*packed, counter.document_frequency(), counter.term_frequency(), counter.n_rows)


class MergedTerms:
    """Terms of all parts, as if one counter had seen all documents. Parts that are added in the order of the documents
    give the ids that it would."""

    def __init__(self) -> None:
        # The native table numbers strings by first sight: a term is a token of a document there.
        self._table = _core.TermCounter(*NO_RULE, False, [], 1, 1, None)
        self._documents, self._tokens = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.n_rows = 0

    def add(self, part: PartTerms) -> NDArray[np.int32]:
        """The id of each term of the part."""
        found = [np.empty(0, np.int32)]
        for begin in range(0, len(part.offsets) - 1, BLOCK_TERMS):
            cuts = part.offsets[begin : begin + BLOCK_TERMS + 1]
            text, ends = part.text[cuts[0] : cuts[-1]].tobytes(), (cuts - cuts[0]).tolist()
            terms = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
            found.append(self._table.count([terms], threads())[1])  # distinct, so in their order
        ids = np.concatenate(found)
        more = np.zeros(self.n_terms - len(self._documents), np.int64)
        self._documents, self._tokens = (np.concatenate([a, more]) for a in (self._documents, self._tokens))
        self._documents[ids] += part.documents
        self._tokens[ids] += part.tokens
        self.n_rows += part.n_rows
        return ids

    @property
    def n_terms(self) -> int:
        return self._table.n_terms

    def document_frequency(self) -> NDArray[np.int64]:
        return self._documents

    def term_frequency(self) -> NDArray[np.int64]:
        return self._tokens

    def sort(self, ids: NDArray[np.int32], threads: int = 1) -> NDArray[np.int32]:
        return self._table.sort(ids, threads)

    def packed(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return self._table.packed(ids)

    def terms(self, ids: NDArray[np.int32]) -> list[str]:
        return self._table.terms(ids)


@dataclass(frozen=True)
class CountJob:
    """What all parts have in common."""

    texts: ParquetTexts
    vectorizer: Vectorizer
    is_known: bool  # the vocabulary is: words are counted in its columns
    folder: str  # that all workers see

    def path(self, number: int) -> Path:
        return path_of(self.folder) / f"part-{number}.topmix"


class CountedPart(NamedTuple):
    n_docs: int
    nnz: int
    name_bytes: int
    n_unknown: int
    terms: PartTerms | None  # None where the vocabulary is known


class Place(NamedTuple):
    """Where a part begins in the corpus file."""

    doc: int
    entry: int
    name_byte: int


@dataclass
class WrittenPart:
    n_tokens: float = 0.0
    checksums: dict[str, int] = field(default_factory=dict)  # of what was written of each array
    n_bytes: dict[str, int] = field(default_factory=dict)


class Run(Protocol):
    """Calls function(job, *arguments) for each of `calls`, wherever; results come in the order of the calls."""

    def __call__(
        self, function: Callable[..., T], job: CountJob, calls: Iterable[tuple[object, ...]]
    ) -> Iterator[T]: ...


def count_in_parts(
    texts: ParquetTexts,
    parts: Sequence[Part],
    vectorizer: Vectorizer,
    vocabulary: Sequence[str] | None,
    folder: Path,
    out: Path,
    run: Run,
) -> Corpus:
    """The corpus of all parts, in the file `out`; without a vocabulary the vectorizer learns it. `folder` is for
    temporary files, and is the caller's to remove. All who run parts must see both."""
    job = CountJob(texts, vectorizer, vocabulary is not None, str(folder))
    _decide(job, run)
    terms, counted = MergedTerms(), list[CountedPart]()
    for number, found in enumerate(run(count_part, job, enumerate(parts))):
        if found.terms is not None:
            _save_ids(job, number, terms.add(found.terms), found.terms.documents)
        counted.append(found._replace(terms=None))
    columns = None
    if vocabulary is None:
        columns = vectorizer._select(terms)
        counted = [part._replace(nnz=_n_kept(job, number, columns)) for number, part in enumerate(counted)]
    else:
        vectorizer.n_unknown_ = sum(part.n_unknown for part in counted)
    words = Strings.pack(vectorizer._known_vocabulary() if vocabulary is None else vocabulary, "word")
    del terms
    if not is_remote(out):
        _write(job, counted, words, columns, out, run)
        return Corpus.of_parts(open_store(out, verify=False))
    for _ in run(write_whole, job, [(counted, words, columns, out)]):
        pass
    return Corpus.open(out, verify=False)


def _decide(job: CountJob, run: Run) -> None:
    """Stop words, and the warning about texts without spaces, by the first block of texts."""
    vectorizer = job.vectorizer
    if "stop_words_" in vars(vectorizer):
        return
    if vectorizer.stop_words == "auto" or vectorizer.token_pattern == DEFAULT_PATTERN:
        [(stop_words, finds_sentences)] = run(first_block, job, [()])
        vectorizer._warn_of_unspaced(finds_sentences)
        vectorizer.stop_words_ = stop_words
    else:
        vectorizer.stop_words_ = vectorizer._decided_stop_words([])


def _write(
    job: CountJob, counted: Sequence[CountedPart], words: Strings, columns: np.ndarray | None, out: Path, run: Run
) -> None:
    ends = [list(accumulate(sizes, initial=0)) for sizes in zip(*(part[:3] for part in counted), strict=True)]
    n_docs, nnz, name_bytes = (end[-1] for end in ends)
    text, offsets = words.arrays()
    lengths = {"indptr": n_docs + 1, "index": nnz, "value": nnz, "names_offsets": n_docs + 1, "names": name_bytes,
               "vocabulary_offsets": len(offsets), "vocabulary": len(text)}  # fmt: skip
    plan = StorePlan.of(lengths, len(words), job.vectorizer._meta())
    with atomic_write(out) as file:
        file.truncate(plan.size)  # before workers open it, so that nobody fills up a page at the end with zeros
        places = enumerate(Place(*at) for at in zip(*(end[:-1] for end in ends), strict=True))
        calls = ((n, plan, file.name, place, _columns_of(job, n, columns)) for n, place in places)
        checksums, n_tokens = dict.fromkeys(plan.entries, 0), 0.0
        for name in ("indptr", "names_offsets"):
            checksums[name] = _core.crc32(np.zeros(8, np.uint8), 0, 1)  # the first offset
        for written in run(write_part, job, calls):
            n_tokens += written.n_tokens
            for name, crc in written.checksums.items():
                checksums[name] = _core.crc32_joined(checksums[name], crc, written.n_bytes[name])
        for name, array in (("vocabulary_offsets", offsets), ("vocabulary", text)):
            file.seek(plan.place(name))
            file.write(np.ascontiguousarray(array).data)
            checksums[name] = _core.crc32(np.ascontiguousarray(array).view(np.uint8), 0, threads())
        file.seek(0)
        file.write(plan.header(checksums, n_tokens))


def write_whole(
    job: CountJob, counted: Sequence[CountedPart], words: Strings, columns: np.ndarray | None, out: Path
) -> None:
    """All parts, by this process."""
    _write(job, counted, words, columns, out, _here)


def _here(function: Callable[..., T], job: CountJob, calls: Iterable[tuple[object, ...]]) -> Iterator[T]:
    return (function(job, *arguments) for arguments in calls)


def _save_ids(job: CountJob, number: int, ids: np.ndarray, documents: np.ndarray) -> None:
    """The merged id of each word of a part, and the documents of the part that have it: too many to hold for all."""
    with atomic_write(_ids_path(job, number)) as file:
        np.save(file, np.stack([ids.astype(np.int64), documents]))


def _ids(job: CountJob, number: int) -> NDArray[np.int64]:  # [2, words]
    with open_whole(_ids_path(job, number)) as file:
        found: NDArray[np.int64] = np.load(file)
    return found


def _ids_path(job: CountJob, number: int) -> Path:
    return job.path(number).with_suffix(".npy")


def _n_kept(job: CountJob, number: int, columns: np.ndarray) -> int:
    """Entries of a part whose word is kept: a word has one in each of its documents."""
    ids, documents = _ids(job, number)
    return int(documents[columns[ids] >= 0].sum())


def _columns_of(job: CountJob, number: int, columns: np.ndarray | None) -> np.ndarray | None:
    """The column of each word of a part; None where the part has them already."""
    return None if columns is None else columns[_ids(job, number)[0]]


def first_block(job: CountJob) -> tuple[StopWords, bool]:
    """What the first block of texts decides: stop words, and whether the pattern finds sentences instead of words."""
    found = next(document_blocks(job.texts.documents()), None)
    texts = [] if found is None else found[1]
    return job.vectorizer._decided_stop_words(texts), job.vectorizer._finds_sentences(texts)


def count_part(job: CountJob, number: int, part: Part) -> CountedPart:
    """Counts the texts of a part into its file. Words that are not known yet have numbers of their own there."""
    vectorizer = job.vectorizer
    vocabulary = vectorizer._known_vocabulary() if job.is_known else None
    with CorpusBuilder(most_entries=MOST_ENTRIES) as builder:
        blocks = document_blocks(job.texts.read(part))
        counter = vectorizer._append(blocks, builder, vocabulary, tidy_later=False)
        corpus = builder.finish(None, counter.n_terms)
    with _seen(job.folder):
        corpus.save(job.path(number))
    names = corpus.names
    name_bytes = int(names.offsets[-1] - names.offsets[0]) if isinstance(names, Strings) else 0
    about = corpus.n_docs, corpus.nnz, name_bytes
    if job.is_known:
        return CountedPart(*about, vectorizer.n_unknown_, None)
    return CountedPart(*about, 0, PartTerms.of(counter))


def write_part(
    job: CountJob, number: int, plan: StorePlan, target: str, place: Place, columns: NDArray[np.int32] | None
) -> WrittenPart:
    """Writes the rows of a part to their places in the corpus file; `columns` are those of its words."""
    with _seen(job.folder):
        corpus = Corpus.open(job.path(number))
        file = open(target, "wb", opener=_write_only)  # noqa: SIM115
    remap = None if columns is None else columns.astype(np.int64)
    offsets, entry, written = corpus.indptr, place.entry, WrittenPart()
    with file:
        for begin, end in row_blocks(offsets):
            a, b = offsets[begin], offsets[end]
            rows = offsets[begin : end + 1] - a, corpus.index[a:b], corpus.value[a:b]
            if remap is not None:
                rows = tidy(*rows, plan.n_words, remap=remap, first_row=begin)
            _put(file, plan, "indptr", place.doc + 1 + begin, rows[0][1:] + entry, written)
            _put(file, plan, "index", entry, rows[1], written)
            _put(file, plan, "value", entry, rows[2], written)
            written.n_tokens += float(rows[2].sum(dtype=np.float64))
            entry += len(rows[1])
        text, ends = Strings.pack(corpus.names or (), "name").arrays()
        _put(file, plan, "names_offsets", place.doc + 1, ends[1:] + place.name_byte, written)
        _put(file, plan, "names", place.name_byte, text, written)
        file.flush()
        os.fsync(file.fileno())
    return written


def _put(file: IO[bytes], plan: StorePlan, name: str, item: int, array: np.ndarray, written: WrittenPart) -> None:
    array = np.ascontiguousarray(array)
    if len(array):
        file.seek(plan.place(name, item))
        file.write(array.data)
        before = written.checksums.get(name, 0)
        written.checksums[name] = _core.crc32(array.view(np.uint8), before, threads())
        written.n_bytes[name] = written.n_bytes.get(name, 0) + array.nbytes


def _write_only(path: str, flags: int) -> int:
    """Without truncation, and without reading: a network file system that reads a page to change some bytes of it
    would write the whole page, and with it old bytes of a neighbour's part."""
    return os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0))


@contextmanager
def _seen(folder: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CorpusError(
            f"{folder}: this machine does not see the folder of counts, or it is gone: {error.strerror}. Pass a folder "
            "that all machines see, such as Ray(folder='/shared')"
        ) from error
