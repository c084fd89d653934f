"""Arrays and values on their way to a file, under dotted names."""

from __future__ import annotations

import numpy as np


class Writer:
    """What a model or a checkpoint consists of. `at("words")` puts "words." before every name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.values: dict[str, object] = {}  # numbers, flags and words, for JSON
        self.prefix = ""

    def at(self, name: str) -> Writer:
        inner = Writer()
        inner.arrays, inner.values, inner.prefix = self.arrays, self.values, f"{self.prefix}{name}."
        return inner

    def array(self, name: str, array: np.ndarray) -> None:
        self.arrays[self.prefix + name] = array

    def value(self, name: str, value: object) -> None:
        self.values[self.prefix + name] = value
