"""The format of topmix, `.topmix`: see data/store.py."""

from __future__ import annotations

from pathlib import Path

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.formats.format import Format, Options


def matches(head: bytes) -> bool:
    return head[8:9] == b"{" and b"topmix-corpus" in head


def read(path: Path, options: Options) -> Corpus:
    if options.vocabulary or options.n_words is not None or options.first_id is not None:
        raise CorpusError(f"{path}: a saved corpus holds its words; leave out vocabulary, n_words and first_id")
    corpus = Corpus.open(path, verify=options.verify)
    if options.out is None:
        return corpus
    corpus.save(options.out)
    return Corpus.open(options.out, verify=False)  # its rows were checked a moment ago, and are checked again when used


def write(corpus: Corpus, path: Path) -> None:
    corpus.save(path)


SAVED = Format("topmix", (".topmix",), matches, read, write)
