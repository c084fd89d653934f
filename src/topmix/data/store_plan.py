"""Where everything goes in the `.topmix` file of a corpus.

The file has the safetensors layout (layout.py). Its arrays are indptr I64, index I32 and value F32. Vocabulary and
names are optional, each as UTF-8 bytes U8 and offsets I64. The metadata are strings:

    format "topmix-corpus", format_version, library_version, n_docs, n_words, nnz, n_tokens,
    meta (JSON), crc32 (JSON: array -> checksum), metadata_crc32 (checksum of all other metadata)

The header is written last: an unfinished file starts with zeros, and opening it raises CorpusError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topmix._version import __version__
from topmix.data.errors import CorpusError
from topmix.data.layout import DTYPES, Entry, encode_header, metadata_crc, plan

FORMAT = "topmix-corpus"
FORMAT_VERSION = 1

# In the order of the file: wide types first, so that each array is aligned.
ARRAYS = {"indptr": "I64", "vocabulary_offsets": "I64", "names_offsets": "I64", "index": "I32", "value": "F32",
          "vocabulary": "U8", "names": "U8"}  # fmt: skip


@dataclass(frozen=True)
class StorePlan:
    """The places of all arrays are known before any of them is there, so several can write at the same time."""

    entries: dict[str, Entry]
    n_words: int
    meta: str  # JSON
    start: int  # bytes before the data

    @classmethod
    def of(cls, lengths: Mapping[str, int], n_words: int, meta: Mapping[str, Any]) -> StorePlan:
        """`lengths` has the length of each array."""
        entries = plan({name: (dtype, (lengths[name],)) for name, dtype in ARRAYS.items() if name in lengths})
        blank = cls(entries, n_words, _meta_json(meta), 0)
        # The data starts after the header, so reserve room for the longest: n_tokens may print with 23 characters.
        room = len(blank._header(dict.fromkeys(entries, 0), -1.2345678901234567e-100))
        return cls(entries, n_words, blank.meta, room)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.start + max(e.end for e in self.entries.values())

    def place(self, name: str, item: int = 0) -> int:
        """The byte of the file where this item of an array begins."""
        e = self.entries[name]
        return self.start + e.begin + item * DTYPES[e.dtype].itemsize

    def header(self, checksums: Mapping[str, int], n_tokens: float) -> bytes:
        """All bytes before the data."""
        text = self._header(checksums, n_tokens)
        padding = self.start - len(text)
        return (len(text) - 8 + padding).to_bytes(8, "little") + text[8:] + b" " * padding

    def _header(self, checksums: Mapping[str, int], n_tokens: float) -> bytes:
        metadata = {
            "format": FORMAT,
            "format_version": str(FORMAT_VERSION),
            "library_version": __version__,
            "n_docs": str(self.entries["indptr"].shape[0] - 1),
            "n_words": str(self.n_words),
            "nnz": str(self.entries["index"].shape[0]),
            "n_tokens": repr(n_tokens),
            "meta": self.meta,
            "crc32": json.dumps({name: f"{checksums[name]:08x}" for name in self.entries}),
        }
        return encode_header(self.entries, metadata | {"metadata_crc32": metadata_crc(metadata)})


def _meta_json(meta: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CorpusError(f"meta cannot be written as JSON: {error}") from error
