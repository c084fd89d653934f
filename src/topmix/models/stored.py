"""Dataclasses whose annotations say what a file holds of them.

    @dataclass(frozen=True)
    class DocumentPrior(Stored):
        alpha: Annotated[np.ndarray, Numbers("K", low=SMALLEST)]
        posterior: str  # not in the file
        learned: Flag = False

`prior.write(out)` writes alpha and learned, and `DocumentPrior.read(file, K=3, posterior="collapsed")` reads and checks
them. A field that is Stored itself is written under its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from topmix.base.checks import LARGEST
from topmix.base.fields import CheckedReader, ModelFileError, Writer

Dim = int | str
Sizes = dict[str, Any]  # by name, of one dimension (a number) or of several (a tuple)


class Numbers:
    """An array. A dimension is a number, the name of a size such as "K" or "K+1", or a tuple of these: any of them. A
    name in lower case may be of any size, which is then the same in the fields after it."""

    def __init__(self, *shape: Dim | tuple[Dim, ...], dtype: str = "F64", low: float = -LARGEST, high: float = LARGEST):
        self.shape, self.dtype, self.low, self.high = shape, dtype, low, high

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> np.ndarray:
        wanted: list[int | set[int] | None] = []
        for dim in self.shape:
            if isinstance(dim, tuple):
                wanted.append({size for each in dim for size in _sizes_of(each, sizes)})
            else:
                wanted += [None] if _is_free(dim, sizes) else _sizes_of(dim, sizes)
        array = file.array(name, *(wanted or [1]), dtype=self.dtype, low=self.low, high=self.high)
        sizes |= {str(dim): n for dim, n in zip(self.shape, array.shape) if _is_free(dim, sizes)}
        return array if wanted else array.reshape(())

    def write(self, out: Writer, name: str, value: np.ndarray) -> None:
        out.array(name, value)


class Ids(Numbers):
    """Numbers from 0 to less than a size, which kernels use as indices."""

    def __init__(self, *shape: Dim, below: str, dtype: str = "I32", ascending: bool = False):
        super().__init__(*shape, dtype=dtype)
        self.below, self.ascending = below, ascending

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> np.ndarray:
        found, end = super().read(file, name, sizes), sizes[self.below]
        if np.any((found < 0) | (found >= end)):
            raise ModelFileError(f"array {file.prefix + name!r} has entries that are not from 0 to {end - 1}")
        if self.ascending and np.any(found[..., 1:] <= found[..., :-1]):
            raise ModelFileError(f"array {file.prefix + name!r} has entries that do not ascend")
        return found


class Starts(Numbers):
    """Where each of so many rows begins among all entries, and at last where they end."""

    def __init__(self, rows: str, entries: str):
        super().__init__(f"{rows}+1", dtype="I64")
        self.rows, self.entries = rows, entries

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> np.ndarray:
        n = None if _is_free(self.rows, sizes) else sizes[self.rows] + 1
        found = file.array(name, n, dtype="I64")
        if not len(found) or found[0] or np.any(found[1:] < found[:-1]):
            raise ModelFileError(f"array {file.prefix + name!r} is not where rows begin")
        sizes |= {self.rows: len(found) - 1, self.entries: int(found[-1])}
        return found


def _is_free(dim: object, sizes: Sizes) -> bool:
    return isinstance(dim, str) and dim.islower() and dim not in sizes


def _sizes_of(dim: Dim, sizes: Sizes) -> list[int]:
    if isinstance(dim, int):
        return [dim]
    name, _, more = dim.partition("+")
    size = sizes[name]
    return list(size) if isinstance(size, tuple) else [size + int(more or 0)]


class Value:
    """Something that JSON holds."""

    def __init__(self, checked: Callable[[CheckedReader, str], object]):
        self.checked = checked

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> object:
        return self.checked(file, name)

    def write(self, out: Writer, name: str, value: object) -> None:
        out.value(name, value)


def number(low: float = -LARGEST, high: float = LARGEST) -> Value:
    return Value(lambda file, name: file.number(name, low, high))


def integer(low: int, high: int) -> Value:
    return Value(lambda file, name: file.integer(name, low, high))


def choice(*choices: str) -> Value:
    return Value(lambda file, name: file.choice(name, choices))


Flag = Annotated[bool, Value(CheckedReader.flag)]


class Stored:
    """A dataclass whose fields go to files."""

    def write(self, out: Writer, *, without: str = "") -> None:
        """All fields that a file holds, but one."""
        for name, (kind, _) in _kinds(type(self)).items():  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is not None and name != without:
                kind.write(out, name, value)

    @classmethod
    def read(cls, file: CheckedReader, **given: Any) -> Self:
        """What `write` wrote. A field that is given is not read. What is given and is no field is a size."""
        names = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        found = {name: value for name, value in given.items() if name in names}
        sizes = {name: value for name, value in given.items() if name not in names}
        for name, (kind, is_optional) in _kinds(cls).items():  # type: ignore[arg-type]
            if name not in found:
                found[name] = None if is_optional and not file.has(name) else kind.read(file, name, sizes)
        made = cls(**found)
        try:
            made.check_fields()
        except ValueError as error:
            raise ModelFileError(f"{file.prefix.rstrip('.')}: {error}") from error
        return made

    def for_file(self) -> Stored:
        """What is written: itself, or on the host and exactly what is on a device."""
        return self

    def check_fields(self) -> None:
        """Raises ValueError where fields that are sound one by one do not go together."""


class Nested:
    """A field that is Stored itself."""

    def __init__(self, kind: type[Stored] = Stored):
        self.kind = kind

    def read(self, file: CheckedReader, name: str, sizes: Sizes) -> Stored:
        return self.kind.read(file.at(name), **{name: size for name, size in sizes.items() if not name.islower()})

    def write(self, out: Writer, name: str, value: Stored) -> None:
        value.write(out.at(name))


@cache
def _kinds(cls: type[Stored]) -> dict[str, tuple[Numbers | Value | Nested, bool]]:
    """Of the fields that a file holds, and whether each may be None: then nothing of it is in the file."""
    kinds: dict[str, tuple[Numbers | Value | Nested, bool]] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        parts = get_args(hint) if get_origin(hint) in (Annotated, Union, UnionType) else (hint,)
        is_optional = type(None) in (*parts, *get_args(parts[0]))
        for part in parts:
            if isinstance(part, Numbers | Value | Nested):
                kinds[name] = part, is_optional
            elif isinstance(part, type) and issubclass(part, Stored):
                kinds[name] = Nested(part), is_optional
    return kinds
