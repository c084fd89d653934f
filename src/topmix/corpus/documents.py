"""Documents as they come: texts and their names, fields of records, columns, iterators.

Texts go on in blocks: large enough for one native call, and small enough to stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from topmix.base.checks import CorpusError, as_list

BLOCK_CHARS = 1 << 24  # enough for many threads
BLOCK_TEXTS = 1 << 15
RUN_TEXTS = 32
DEFAULT_TEXT_FIELD = "text"
DEFAULT_ID_FIELD = "id"
_END: Any = object()

T = TypeVar("T")
Text = str | list[str]  # a text, or its tokens
Document = tuple[str, str]  # (name, text)
Blocks = Iterator[tuple[list[str] | None, list[Text]]]  # (names, texts)
Fields = str | Sequence[str] | None


def document_of(
    record: Mapping[str, object], fields: Iterable[str], id_field: str | None, where: str, n: int
) -> Document:
    """The document of a record; its name is the number n where the record has none."""
    texts = []
    for field in fields:
        if field not in record:
            known = ", ".join(map(repr, record)) or "none"
            raise CorpusError(f"{where}: no field {field!r}; there are {known}. Pass text= or field=")
        text = record[field]
        if text is None:  # null: this document does not have the field
            continue
        if not isinstance(text, str):
            raise CorpusError(f"{where}: the field {field!r} is not a string but {type(text).__name__}")
        texts.append(text)
    if id_field is not None and id_field not in record:
        raise CorpusError(f"{where}: no field {id_field!r} for the name of the document")
    name = record.get(id_field or DEFAULT_ID_FIELD)
    return str(n if name is None else name), "\n".join(texts)


def field_list(field: Fields) -> list[str]:
    if field is None:
        return [DEFAULT_TEXT_FIELD]
    fields = as_list(field)
    if not fields:
        raise ValueError("field= is an empty list: pass the name of a field")
    return fields


def is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def first_and_all(items: Iterable[T]) -> tuple[T | None, Iterator[T]]:
    """The first of some items, None if there is none, and an iterator of all."""
    rest = iter(items)
    for first in rest:
        return first, chain([first], rest)
    return None, iter(())


def is_text(item: object) -> TypeGuard[Text]:
    return isinstance(item, str | list | tuple)


def as_text(text: Text) -> Text:
    return readable(text) if isinstance(text, str) else [readable(token) for token in text]


def readable(text: T) -> T:
    """As UTF-8 holds it, where it is a string: JSON and names of files may have halves of surrogate pairs, here "?"."""
    if not isinstance(text, str) or text.isascii():
        return text
    return cast(T, text.encode(errors="replace").decode())


def is_texts(X: object) -> bool:
    """Whether X is one-dimensional and starts with a text, or with a list of tokens."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "UTO" and _starts_with_text(X)
    one_column = ("Series", "Index", "StringArray", "LargeStringArray", "ChunkedArray", "Column")
    is_listed = isinstance(X, list | tuple) or type(X).__name__ in one_column
    return is_listed and isinstance(X, Iterable) and _starts_with_text(X)


def plain(X: Iterable[Any]) -> Iterator[Any]:
    """The items of a column, without the scalars of pyarrow; the missing value of pandas is None."""
    items = (item.as_py() if hasattr(item, "as_py") else item for item in X)
    return (None if type(item).__name__ == "NAType" else item for item in items)


def _starts_with_text(items: Iterable[object]) -> bool:
    for item in plain(items):
        if isinstance(item, list | tuple):
            if item:
                return isinstance(item[0], str)
        elif not (item is None or item != item):  # missing
            return isinstance(item, str)
    return False


def text_blocks(texts: Iterable[Text], names: Iterable[str] | None = None) -> Blocks:
    """Texts in blocks that are large enough for one native call."""
    if isinstance(texts, str | bytes):
        raise ValueError("texts is a single string: pass a list of texts, such as [text]")
    if names is None:
        return document_blocks(texts, named=False)

    def documents(names: Iterable[str]) -> Iterator[tuple[str, Text]]:
        for n, (name, text) in enumerate(zip_longest(names, texts, fillvalue=_END)):
            if name is _END or text is _END:
                raise ValueError(f"{'names' if name is _END else 'texts'} ended after {n}: pass one name per text")
            yield str(name), text

    return document_blocks(documents(names))


@dataclass(frozen=True)
class NamedTexts:
    """Documents that somebody reads one by one, for instance from a pipe."""

    documents: Iterable[tuple[str, Text]]


def document_blocks(documents: Iterable[Any], *, named: bool = True) -> Blocks:
    """Pairs (name, text), or with named=False texts alone, in blocks that are large enough for one native call."""
    names: list[str] = []
    texts: list[Text] = []
    chars = n = 0
    items = iter(documents)
    while run := list(islice(items, RUN_TEXTS)):  # Python loops over runs in less time than over texts
        if named:
            names += [readable(name) for name, _ in run]
            run = [text for _, text in run]
        if set(map(type, run)) != {str}:
            for i, text in enumerate(run, n):
                if isinstance(text, bytes):
                    raise TypeError(f"text {i} is bytes: decode it first, for instance with .decode('utf-8')")
                if not is_text(text):
                    said = f"text {i} is not a string but {type(text).__name__}"
                    if text is None or text != text:
                        raise TypeError(f"{said}: {text!r}; drop it, or pass '' for an empty text")
                    raise TypeError(f"{said}: {text!r:.60}")
        texts += map(as_text, run)
        n += len(run)
        chars += sum(map(len, run))
        if chars >= BLOCK_CHARS or len(texts) >= BLOCK_TEXTS:
            yield names or None, texts
            names, texts, chars = [], [], 0
    if texts:
        yield names or None, texts
