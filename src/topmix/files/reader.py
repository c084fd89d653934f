"""The parts of a model file, handed out one by one: each is there and is what was asked for, or ModelFileError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100  # of any saved number: sums and products of a few of these are still finite
SMALLEST = 1e-100  # of what must be positive
MAX_FEATURES = 2**31 - 1


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or was written by a newer topmix; or a model that no file can hold."""


class Parts:
    """Arrays are read when they are taken, after their type and shape were compared with what is wanted."""

    def __init__(
        self,
        arrays: dict[str, tuple[str, tuple[int, ...]]],  # name -> (dtype as safetensors spells it, shape)
        read: Callable[[str], NDArray[Any]],
        about: dict[str, Any],
    ):
        self.arrays, self.read, self.about = arrays, read, about
        self.left = set(arrays)  # not taken yet
        self.n_features = self._integer(about.get("n_features"), "n_features", 1, MAX_FEATURES)

    def array(self, name: str, *shape: int | set[int], positive: bool = False) -> NDArray[np.float64]:
        """Finite doubles of this shape, where a set means any of its sizes."""
        if name not in self.left:
            raise ModelFileError(f"has no array {name!r}")
        dtype, found = self.arrays[name]
        fits = len(found) == len(shape) and all(n in s if isinstance(s, set) else n == s for n, s in zip(found, shape))
        if dtype != "F64" or not fits:
            wanted = " x ".join(" or ".join(map(str, sorted(s))) if isinstance(s, set) else str(s) for s in shape)
            raise ModelFileError(f"array {name!r} is {dtype} of {found}, expected F64 of {wanted}")
        return self._take(name, SMALLEST if positive else -LARGEST)

    def any_array(self, name: str) -> NDArray[np.float64]:
        """Finite doubles of one or two dimensions."""
        dtype, shape = self.arrays[name]
        if dtype != "F64" or len(shape) not in (1, 2) or 0 in shape:
            raise ModelFileError(f"array {name!r} is {dtype} of {shape}, expected F64 of one or two dimensions")
        return self._take(name, -LARGEST)

    def vector(self, name: str, dtype: str, length: int | None = None) -> NDArray[Any]:
        """Finite numbers of this type (as safetensors spells it), as many as asked for."""
        if name not in self.left:
            raise ModelFileError(f"has no array {name!r}")
        found = self.arrays[name]
        if found[0] != dtype or len(found[1]) != 1 or length not in (None, found[1][0]):
            wanted = "any length" if length is None else f"({length},)"
            raise ModelFileError(f"array {name!r} is {found[0]} of {found[1]}, expected {dtype} of {wanted}")
        return self._take(name, -LARGEST)

    def number(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
        value = self._extra(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ModelFileError(f"{name} is {str(value)[:60]}, expected a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        return self._integer(self._extra(name), name, low, high)

    def flag(self, name: str) -> bool:
        value = self._extra(name)
        if not isinstance(value, bool):
            raise ModelFileError(f"{name} is {str(value)[:60]}, expected true or false")
        return value

    def choice(self, name: str, choices: tuple[str, ...], missing: str | None = None) -> str:
        """One of these words; `missing` stands for what files of older versions do not say."""
        extra = self.about.get("extra")
        value = missing if missing and isinstance(extra, dict) and name not in extra else self._extra(name)
        if value not in choices:
            raise ModelFileError(f"{name} is {str(value)[:60]!r}, expected one of {', '.join(choices)}")
        return str(value)

    def text(self, name: str) -> str:
        value = self.about.get(name)
        if not isinstance(value, str):
            raise ModelFileError(f"{name!r} is not a string")
        return value

    def items(self, name: str) -> list[dict[str, Any]]:
        value = self.about.get(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise ModelFileError(f"{name!r} is not a list of tables")
        return value

    def table(self, name: str, missing: Any = "refused") -> dict[str, Any] | None:
        value = self.about.get(name)
        if not isinstance(value, dict) and (value is not None or missing == "refused"):
            raise ModelFileError(f"{name!r} is not a table")
        return value

    def strings(self, name: str, length: int) -> list[str] | None:
        value = self.about.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != length or not all(isinstance(s, str) for s in value):
            raise ModelFileError(f"{name!r} is not a list of {length} strings")
        return value

    def _extra(self, name: str) -> Any:
        extra = self.about.get("extra")
        if not isinstance(extra, dict) or name not in extra:
            raise ModelFileError(f"does not say {name!r}")
        return extra[name]

    def _integer(self, value: Any, name: str, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ModelFileError(f"{name} is {str(value)[:60]}, expected an integer from {low} to {high}")
        return value

    def _take(self, name: str, low: float) -> NDArray[Any]:
        self.left.discard(name)
        array = self.read(name)
        if array.size and not (float(array.min()) >= low and float(array.max()) <= LARGEST):  # not true of NaN either
            raise ModelFileError(f"array {name!r} has entries that are not numbers from {low:g} to {LARGEST:g}")
        return array
