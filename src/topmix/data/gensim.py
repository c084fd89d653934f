"""Corpora of gensim: iterables of documents [(id, count), ...], with a Dictionary. gensim need not be installed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError


def from_gensim(
    corpus: Iterable[Iterable[tuple[int, float]]],
    id2word: Mapping[int, str] | Sequence[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
) -> Corpus:
    """A corpus from a gensim corpus (in memory or streamed) and its Dictionary or any other mapping of id to word.

    With `out` the corpus is built in that file, in bounded memory, and mapped from it.
    """
    return Corpus.from_rows(corpus, None if id2word is None else _words(id2word), out=out)


def _words(id2word: Mapping[int, str] | Sequence[str]) -> list[str]:
    if not hasattr(id2word, "keys"):
        return [id2word[v] for v in range(len(id2word))]
    ids = sorted(id2word.keys())
    for expected, v in enumerate(ids):
        if v != expected:
            raise CorpusError(
                f"id2word has no word {expected}: call compactify() of gensim's Dictionary to close the gaps"
            )
    return [id2word[v] for v in ids]
