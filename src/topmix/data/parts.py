"""What a corpus consists of, before it is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.data.strings import Strings


@dataclass(frozen=True)
class CorpusParts:
    """Arrays that were checked, in memory or mapped from a file. `Corpus.of_parts` makes a corpus of them."""

    indptr: NDArray[np.int64]
    index: NDArray[np.int32]
    value: NDArray[np.float32]
    n_words: int
    vocabulary: Strings | None = None
    names: Strings | None = None
    meta: Mapping[str, Any] | None = None
    path: Path | None = None  # where they are mapped from
    n_tokens: float | None = None
