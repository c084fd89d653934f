"""The CUDA engine without a GPU: the same kernels, compiled for the host, on arrays of NumPy."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from topmix.cuda.device import Device, Spillable
from topmix.cuda.sources import PROGRAMS, STRUCTS, kernels, program, program_of, struct, struct_of
from topmix.engines.cuda import Cuda

HEADER = Path(__file__).with_name("emulate.hpp")


@cache
def library(name: str, L: int) -> ctypes.CDLL:
    """One program, compiled once for each L and text."""
    calls = "".join(
        f'extern "C" void launch_{kernel}(int blocks, int threads, size_t shared, const void* args) {{\n'
        f"    emulated::launch<{struct_of(kernel)}, {kernel}>(blocks, threads, shared, args);\n}}\n"
        for kernel in kernels(name)
    )
    sizes = "".join(
        f"static_assert(offsetof({kind}, {field}) == {offset});\n"
        for kind in STRUCTS
        if re.search(rf"struct {kind}(?: : \w+)? {{{{", program(name))
        for field, (_, offset) in (struct(kind).fields or {}).items()
    )
    order = 'extern "C" void set_order(int seed) { emulated::order_seed = seed; }\n'
    text = f'#include "{HEADER}"\n' + program(name).replace('extern "C" __global__', "__global__")
    text += sizes + calls + order
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-w", f"-DTOPMIX_L={L}"]
    flags += ["-U_FORTIFY_SOURCE"]  # with it, which some systems set, a jump to another lane's stack aborts
    key = hashlib.sha256(f"{text}{HEADER.read_text()}{flags}".encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"topmix-emulated-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    built = folder / f"{name.partition('.')[0]}-{key}.so"
    with one_at_a_time(folder / f"{key}.lock"):  # tests in other processes want the same programs at the same time
        if not built.exists():
            source, fresh = folder / f"{key}.cpp", folder / f"{key}.so"
            source.write_text(text)
            subprocess.run([os.environ.get("CXX", "g++"), *flags, "-o", str(fresh), str(source)], check=True)
            fresh.replace(built)
            source.unlink()
    return ctypes.CDLL(str(built))


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Other processes wait; the lock of one that ends, however it does, is free."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class EmulatedDevice(Device):
    """`order` is which lane goes first at barriers: 0 ascending, 1 descending, else a permutation."""

    n_processors = 1
    blocks_of_a_sum = 2
    arrays: ClassVar[list[weakref.ref[np.ndarray]]] = []  # all that were ever made
    most_bytes: ClassVar[list[int]] = []  # that a device had at any time
    spilled: ClassVar[list[int]] = []  # arrays that had to make room
    at_close: ClassVar[list[int]] = []  # arrays that a device still had when it was closed

    def __init__(self, order: int = 0, shared_per_block: int = 227 * 1024, memory: int | None = None):
        self.forget()
        self.capacity, self.n_bytes, self.most, self.n_spilled = memory or 1 << 60, 0, 0, 0
        self._made: list[weakref.ref[np.ndarray]] = []
        self.order, self.shared_per_block, self.shared_per_processor = order, shared_per_block, shared_per_block + 1024

    def array(self, host, dtype=None):
        return self._noted(np.array(host, dtype, order="C"))

    def _noted(self, array):
        while self.n_bytes + array.nbytes > self.capacity:
            if not self.make_room():
                raise MemoryError(f"{array.nbytes} bytes do not fit: {self.n_bytes} of {self.capacity} are used")
            self.n_spilled += 1
        self.n_bytes += array.nbytes
        self.most = max(self.most, self.n_bytes)
        weakref.finalize(array, self._free, array.nbytes)
        EmulatedDevice.arrays.append(weakref.ref(array))
        self._made.append(EmulatedDevice.arrays[-1])
        return array

    def _free(self, n_bytes):
        self.n_bytes -= n_bytes

    def close(self):
        self.forget()
        EmulatedDevice.most_bytes.append(self.most), EmulatedDevice.spilled.append(self.n_spilled)
        EmulatedDevice.at_close.append(sum(array() is not None for array in self._made))

    def empty(self, shape, dtype):
        """Of arbitrary contents, so that what nobody writes is seen."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        contents = np.random.default_rng(n_bytes).integers(256, size=n_bytes, dtype=np.uint8)
        return self._noted(contents.view(dtype).reshape(shape).copy())

    def zeros(self, shape, dtype):
        return self._noted(np.zeros(shape, dtype))

    def get(self, array):
        return (array() if isinstance(array, Spillable) else array).copy()

    def copy_to(self, array, host):
        array[...] = host

    def nonzero(self, array):
        row, column = np.nonzero(array)
        return row, column, array[row, column]

    def take(self, array, ids, axis):
        return self._noted(np.take(array, ids, axis))

    def address(self, array):
        return array.ctypes.data

    def product(self, a, b, out, scale, *, is_added):
        products = scale * (a.astype(out.dtype) @ b.astype(out.dtype).T)
        out[: len(a)] = out[: len(a)] + products if is_added else products

    def start(self, kernel, L, blocks, threads, args, shared):
        assert shared <= self.shared_per_block
        code = library(program_of(kernel), L)
        code.set_order(self.order)
        call = code[f"launch_{kernel}"]
        call(blocks, threads, ctypes.c_size_t(shared), ctypes.c_void_p(args.ctypes.data))


@dataclass(frozen=True, repr=False)
class Emulated(Cuda):
    """Cuda() on an emulated device."""

    order: int = 0
    shared_per_block: int = 227 * 1024

    def opened(self):
        return EmulatedDevice(self.order, self.shared_per_block, self.memory)

    def own_stream(self, number, of):
        return nullcontext()


def build_all(L: int) -> None:
    for name in PROGRAMS:
        library(name, L)
