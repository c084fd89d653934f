"""A document of a record: its text, from one field or several, and its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from topmix.data.errors import CorpusError

Document = tuple[str, str]  # (name, text)
Fields = str | Sequence[str] | None

DEFAULT_TEXT_FIELD = "text"
DEFAULT_ID_FIELD = "id"


def document_of(record: Mapping[str, Any], fields: Iterable[str], id_field: str | None, where: str, n: int) -> Document:
    """The document of a record; its name is the number n where the record has none."""
    texts = []
    for field in fields:
        if field not in record:
            raise CorpusError(f"{where}: no field {field!r}; there are {', '.join(map(repr, record)) or 'none'}")
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
    fields = [field] if isinstance(field, str) else list(field)
    if not fields:
        raise ValueError("field= is an empty list: pass the name of a field")
    return fields


def is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)
