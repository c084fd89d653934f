"""Reading an untrusted file: each part is there and is what was asked for, or ModelFileError is raised."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topmix.parameters.checks import LARGEST, SMALLEST

MAX_FEATURES = 2**31 - 1


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or was written by a newer topmix; or a model that no file can hold."""


class CheckedReader:
    """The arrays and values of a file, under dotted names such as "words.eta".

    An array is read when it is taken, after its type and shape were compared with what is wanted. `at("words")` is the
    same file seen from inside "words.": what `Writer.at` wrote there reads itself without knowing where it is.
    """

    def __init__(
        self,
        arrays: dict[str, tuple[str, tuple[int, ...]]],  # name -> (dtype as safetensors spells it, shape)
        read: Callable[[str], np.ndarray],
        about: dict[str, object],
    ):
        self.arrays, self.read, self.about, self.prefix = arrays, read, about, ""
        self.left = set(arrays)  # not taken yet
        self.n_features = self._integer(about.get("n_features"), "n_features", 1, MAX_FEATURES)

    def at(self, name: str) -> CheckedReader:
        inner = copy.copy(self)
        inner.prefix = f"{self.prefix}{name}."
        return inner

    def inside(self, name: str) -> CheckedReader:
        """A table among the values, read as if it were at the top of the file."""
        value, inner = self._extra(name), copy.copy(self)
        if not isinstance(value, dict):
            raise ModelFileError(f"{self.prefix}{name} is not a table")
        inner.about = value
        inner.n_features = self._integer(value.get("n_features"), f"{self.prefix}{name}.n_features", 1, MAX_FEATURES)
        return inner

    def has(self, name: str) -> bool:
        """Whether there is an array of this name that was not taken yet."""
        return self.prefix + name in self.left

    def array(self, name: str, *shape: int | set[int], positive: bool = False) -> NDArray[np.float64]:
        """Finite doubles of this shape, where a set means any of its sizes."""
        name = self.prefix + name
        if name not in self.left:
            raise ModelFileError(f"has no array {name!r}")
        dtype, found = self.arrays[name]
        fits = len(found) == len(shape) and all(n in s if isinstance(s, set) else n == s for n, s in zip(found, shape))
        if dtype != "F64" or not fits:
            wanted = " x ".join(" or ".join(map(str, sorted(s))) if isinstance(s, set) else str(s) for s in shape)
            raise ModelFileError(f"array {name!r} is {dtype} of {found}, expected F64 of {wanted}")
        return self._take(name, SMALLEST if positive else -LARGEST)

    def any_array(self, name: str) -> np.ndarray:
        """Finite doubles or whole numbers, of one to three dimensions."""
        name = self.prefix + name
        dtype, shape = self.arrays[name]
        if dtype not in ("F64", "I64") or len(shape) not in (1, 2, 3) or 0 in shape:
            raise ModelFileError(f"array {name!r} is {dtype} of {shape}, expected F64 or I64 of 1 to 3 dimensions")
        return self._take(name, -LARGEST)

    def vector(self, name: str, dtype: str, length: int | None = None) -> np.ndarray:
        """Finite numbers of this type (as safetensors spells it), as many as asked for."""
        name = self.prefix + name
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
            raise ModelFileError(
                f"{self.prefix}{name} is {str(value)[:60]}, expected a number from {low:g} to {high:g}"
            )
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        return self._integer(self._extra(name), self.prefix + name, low, high)

    def count(self, name: str) -> int:
        """A number of things, at the top of the file."""
        return self._integer(self.about.get(name), name, 0, MAX_FEATURES)

    def flag(self, name: str) -> bool:
        value = self._extra(name)
        if not isinstance(value, bool):
            raise ModelFileError(f"{self.prefix}{name} is {str(value)[:60]}, expected true or false")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = self._extra(name)
        if value not in choices:
            raise ModelFileError(f"{self.prefix}{name} is {str(value)[:60]!r}, expected one of {', '.join(choices)}")
        return str(value)

    def listed(self, name: str) -> list[Any]:
        """A list of whatever JSON has, for the caller to look at."""
        value = self._extra(name)
        if not isinstance(value, list):
            raise ModelFileError(f"{self.prefix}{name} is {str(value)[:60]}, expected a list")
        return value

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

    def table(self, name: str, missing: str | None = "refused") -> dict[str, Any] | None:
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

    def rows_of_topics(self, n: int | None, K: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """`indptr` and `topic` of n sparse rows (None: any number): rows in order, and no topic past the last."""
        indptr = self.vector("indptr", "I64", None if n is None else n + 1)
        topic = self.vector("topic", "U16")
        if not (len(indptr) and indptr[0] == 0 and indptr[-1] == len(topic) and np.all(indptr[1:] >= indptr[:-1])):
            raise ModelFileError(f"{self.prefix}indptr is not where rows begin")
        if len(topic) and topic.max() >= K:
            raise ModelFileError(f"{self.prefix}topic has topics that are not from 0 to {K - 1}")
        return indptr, topic

    def _extra(self, name: str) -> object:
        name = self.prefix + name
        extra = self.about.get("extra")
        if not isinstance(extra, dict) or name not in extra:
            raise ModelFileError(f"does not say {name!r}")
        return extra[name]

    def _integer(self, value: object, name: str, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ModelFileError(f"{name} is {str(value)[:60]}, expected an integer from {low} to {high}")
        return value

    def _take(self, name: str, low: float) -> np.ndarray:
        self.left.discard(name)
        array = self.read(name)
        if array.size and not (float(array.min()) >= low and float(array.max()) <= LARGEST):  # not true of NaN either
            raise ModelFileError(f"array {name!r} has entries that are not numbers from {low:g} to {LARGEST:g}")
        return array
