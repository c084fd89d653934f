"""Texts in blocks: large enough for one native call, and small enough to stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any

BLOCK_CHARS = 1 << 24  # enough for many threads
BLOCK_TEXTS = 1 << 15
RUN_TEXTS = 32
_END: Any = object()

Text = str | list[str]  # a text, or its tokens
Document = tuple[str, Text]  # (name, text)
Blocks = Iterator[tuple[list[str] | None, list[Text]]]  # (names, texts)


def text_blocks(texts: Iterable[Text], names: Iterable[str] | None = None) -> Blocks:
    """Texts in blocks that are large enough for one native call."""
    if isinstance(texts, str | bytes):
        raise ValueError("texts is a single string: pass a list of texts, such as [text]")
    if names is not None:
        return document_blocks(_zip_names(texts, names))
    return _blocks((None, run) for run in _runs(texts))


def document_blocks(documents: Iterable[Document]) -> Blocks:
    """Texts and their names in blocks."""
    return _blocks(tuple(zip(*run)) for run in _runs(documents))  # type: ignore[misc]


def _zip_names(texts: Iterable[Text], names: Iterable[str]) -> Iterator[Document]:
    for n, (name, text) in enumerate(zip_longest(names, texts, fillvalue=_END)):
        if name is _END or text is _END:
            raise ValueError(f"{'names' if name is _END else 'texts'} ended after {n}: pass one name per text")
        yield str(name), text


def _runs(items: Iterable[Any]) -> Iterator[list[Any]]:
    """A few items at a time: Python loops over runs in less time than over items."""
    items = iter(items)
    while run := list(islice(items, RUN_TEXTS)):
        yield run


def _blocks(runs: Iterable[tuple[Sequence[str] | None, Sequence[Text]]]) -> Blocks:
    """(names, texts) in blocks that are large enough for one native call."""
    names: list[str] = []
    texts: list[Text] = []
    chars = n = 0
    for names_of_run, run in runs:
        if set(map(type, run)) != {str}:
            for i, text in enumerate(run):
                if not isinstance(text, str | list | tuple):
                    raise TypeError(_not_a_text(n + i, text))
            run = [text if isinstance(text, str) else list(text) for text in run]
        texts += run
        names += names_of_run or ()
        n += len(run)
        chars += sum(map(len, run))
        if chars >= BLOCK_CHARS or len(texts) >= BLOCK_TEXTS:
            yield names or None, texts
            names, texts, chars = [], [], 0
    if texts:
        yield names or None, texts


def _not_a_text(n: int, item: object) -> str:
    if isinstance(item, bytes):
        return f"text {n} is bytes: decode it first, for instance with .decode('utf-8')"
    if item is None or item != item:
        return f"text {n} is not a string but {type(item).__name__}: {item!r}; drop it, or pass '' for an empty text"
    return f"text {n} is not a string but {type(item).__name__}: {item!r:.60}"
