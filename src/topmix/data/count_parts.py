"""Texts that are counted in parts, by somebody who has workers, into the corpus file that one process would write.

1. Each worker counts its part with all words, and says which words it has found, how often.
2. The words of all parts are merged and the vocabulary is chosen, as for texts that are read one after another. Then
   the place of each part in the corpus file is known.
3. Each worker writes its rows there. The header comes last, with the checksums of all parts joined.

Texts and rows never meet in the caller; it has the words and one array of numbers per part, which lies in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from topmix import _core
from topmix.data.atomic import atomic_write
from topmix.data.corpus import Corpus
from topmix.data.merged_terms import MergedTerms
from topmix.data.parquet_texts import ParquetTexts, Part
from topmix.data.part_files import CountedPart, CountJob, Place, count_part, first_block, write_part
from topmix.data.store import StorePlan, open_store
from topmix.data.strings import Strings
from topmix.data.tokens import DEFAULT_PATTERN
from topmix.data.vectorize import Vectorizer
from topmix.numerics.threads import threads

T = TypeVar("T")


class Run(Protocol):
    """Calls function(job, *arguments) for each of `calls`, wherever; results come in the order of the calls."""

    def __call__(self, function: Callable[..., T], job: CountJob, calls: Iterable[tuple[Any, ...]]) -> Iterator[T]: ...


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
    _write(job, counted, words, columns, out, run)
    return Corpus.of_parts(open_store(out, verify=False))


def _decide(job: CountJob, run: Run) -> None:
    """Stop words, and the warning about texts without spaces, by the first block of texts."""
    vectorizer = job.vectorizer
    if hasattr(vectorizer, "stop_words_"):
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


def _save_ids(job: CountJob, number: int, ids: np.ndarray, documents: np.ndarray) -> None:
    """The merged id of each word of a part, and the documents of the part that have it: too many to hold for all."""
    np.save(_ids_path(job, number), np.stack([ids.astype(np.int64), documents]))


def _ids_path(job: CountJob, number: int) -> Path:
    return job.path(number).with_suffix(".npy")


def _n_kept(job: CountJob, number: int, columns: np.ndarray) -> int:
    """Entries of a part whose word is kept: a word has one in each of its documents."""
    ids, documents = np.load(_ids_path(job, number))
    return int(documents[columns[ids] >= 0].sum())


def _columns_of(job: CountJob, number: int, columns: np.ndarray | None) -> np.ndarray | None:
    """The column of each word of a part; None where the part has them already."""
    return None if columns is None else columns[np.load(_ids_path(job, number))[0]]
