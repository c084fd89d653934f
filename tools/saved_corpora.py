"""Saved corpora taken apart and put together again with correct checksums, to be damaged in between."""

from __future__ import annotations

import json
import zlib
from typing import Any

from topmix.base.layout import metadata_crc


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, str], bytearray]:
    """(arrays by name, metadata, the data) of a saved corpus."""
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    return table, table.pop("__metadata__"), bytearray(data[8 + length :])


def sealed(table: dict[str, Any], metadata: dict[str, str], blob: bytearray) -> bytes:
    """The file of these parts, with correct checksums."""
    metadata = {key: text for key, text in metadata.items() if key != "metadata_crc32"}
    crcs = {name: f"{zlib.crc32(blob[slice(*entry['data_offsets'])]):08x}" for name, entry in table.items()}
    metadata["crc32"] = json.dumps(crcs)
    metadata["metadata_crc32"] = metadata_crc(metadata)
    header = json.dumps({"__metadata__": metadata} | table).encode()
    header += b" " * (-(8 + len(header)) % 64)
    return len(header).to_bytes(8, "little") + header + bytes(blob)
