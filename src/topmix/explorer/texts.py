"""The texts of documents in a temporary file, to be read one at a time: a million of them need no memory."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable

import numpy as np


class TextStore:
    """Texts by number. Numbers come in the order of the texts that were given."""

    def __init__(self, texts: Iterable[str]):
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the store
        self._lock = threading.Lock()  # of the position in the file
        ends = [0]
        for text in texts:
            ends.append(ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))
        self._ends = np.array(ends, np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, d: int) -> str:
        if not 0 <= d < len(self):
            raise IndexError(f"there is no text {d}")
        begin, end = int(self._ends[d]), int(self._ends[d + 1])
        with self._lock:
            self._file.seek(begin)
            return self._file.read(end - begin).decode("utf-8", "replace")

    def close(self) -> None:
        self._file.close()
