"""A GPU as the rest of the package sees it: arrays on it, and kernels that are launched on it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from topmix.base.checks import needed
from topmix.cuda.sources import PRELUDE, TOGETHER, kernels, program, program_of, struct, struct_of

Given: TypeAlias = dict[str, Any]  # fields of a kernel's struct of arguments: arrays, numbers, and None for null
Cupy: TypeAlias = Any  # objects of CuPy, which has no types
T = TypeVar("T")
KEPT = 8  # arrays of a model, on the device from one update to the next


def padded(n: int, to: int) -> int:
    """The next multiple, and no less than one of them."""
    return -(-max(n, 1) // to) * to


class DeviceArray(Protocol):
    """As far as Python looks at it: it has the arithmetic of NumPy's."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    size: int
    nbytes: int
    itemsize: int

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[DeviceArray]: ...
    def __getitem__(self, index: int | slice | tuple[int | slice, ...], /) -> DeviceArray: ...
    def sum(self, axis: int, /) -> DeviceArray: ...
    def __mul__(self, other: float, /) -> DeviceArray: ...
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any: ...
    def __iadd__(self, other: DeviceArray, /) -> DeviceArray: ...


class Spillable:
    """An array on the device that nobody writes any more; perhaps on the host alone, until it is used. A launch brings
    back the arrays that it is given, so no kernel and no learner knows of it."""

    def __init__(self, device: Device, array: DeviceArray):
        self.device, self.visit = device, device.visit
        self.array: DeviceArray | None = array
        self.host: np.ndarray | None = None  # a copy, which stays good, as the array never changes

    def __call__(self) -> DeviceArray:
        """The array on the device."""
        self.visit = self.device.visit
        if self.array is None:
            assert self.host is not None
            self.array = self.device.array(self.host)
        return self.array


class Device:
    """A GPU, through CuPy. Its memory is a pool of its own, which is given back at the end. Where data is larger than
    that, arrays that nobody writes any more make room for others on the host."""

    blocks_of_a_sum = 1024  # their number decides the bits of a sum of floats: the same for every GPU
    visit = 0  # how many visits to shards there were

    def __init__(self, number: int, memory: int | None):
        self.forget()
        self.cupy = cupy = _import_cupy()
        runtime = cupy.cuda.runtime
        try:
            count = int(runtime.getDeviceCount())
        except runtime.CUDARuntimeError as error:
            if "Driver" in str(error):
                raise RuntimeError(
                    f"engine='cuda' needs NVIDIA's driver, which is missing or too old for this CuPy ({error})"
                ) from error
            raise RuntimeError(f"engine='cuda' needs an NVIDIA GPU, and there is none ({error})") from error
        if count == 0:
            raise RuntimeError("engine='cuda' needs an NVIDIA GPU, and there is none")
        if number >= count:
            raise RuntimeError(f"engine='cuda': there is no device {number}; this machine has {count}")
        self.number = number
        self._device = cupy.cuda.Device(number)
        about = self._device.attributes
        self.n_processors = about["MultiProcessorCount"]
        self.shared_per_block = about["MaxSharedMemoryPerBlockOptin"]  # bytes that a kernel may ask for
        self.shared_per_processor = about["MaxSharedMemoryPerMultiprocessor"]
        if int(self._device.compute_capability) < 80:
            raise RuntimeError(
                f"engine='cuda' needs a GPU of compute capability 8.0 or more (Ampere, 2020), and device {number} "
                f"has {self._device.compute_capability[:-1]}.{self._device.compute_capability[-1]}"
            )
        self.pool = cupy.cuda.MemoryPool()
        with self._device:
            self.capacity = memory or self._device.mem_info[1]  # bytes
        self._functions: dict[tuple[str, int], Cupy] = {}

    def _allocated(self, make: Cupy, *args: Cupy, n_bytes: int = 0) -> Cupy:
        if self.pool.total_bytes() + n_bytes > 0.9 * self.capacity:  # a failed allocation would cost more
            while self.pool.used_bytes() + n_bytes > 0.9 * self.capacity and self.make_room():
                pass
            if self.pool.total_bytes() > self.capacity:
                self.pool.free_all_blocks()
            if self.pool.used_bytes() + n_bytes > self.capacity:
                raise self._too_small(f"{n_bytes} bytes more are needed")
        while True:
            try:
                with self._device, self.cupy.cuda.using_allocator(self.pool.malloc):
                    return make(*args)
            except self.cupy.cuda.memory.OutOfMemoryError as error:
                if not self.make_room():
                    raise self._too_small(str(error)) from error

    def _too_small(self, why: str) -> MemoryError:
        return MemoryError(
            f"engine='cuda': the memory of device {self.number} is not enough ({why}). Use fewer topics or clusters, a "
            "smaller n_active, smaller batches, or a larger `memory`."
        )

    def array(self, host: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> DeviceArray:
        numbers = np.ascontiguousarray(host, dtype)
        return self._allocated(self.cupy.asarray, numbers, n_bytes=numbers.nbytes)

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        return self._allocated(self.cupy.empty, shape, dtype, n_bytes=int(np.prod(shape)) * np.dtype(dtype).itemsize)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        return self._allocated(self.cupy.zeros, shape, dtype, n_bytes=int(np.prod(shape)) * np.dtype(dtype).itemsize)

    def get(self, array: Cupy) -> np.ndarray:
        """A copy on the host, when all that was launched before is done."""
        if isinstance(array, Spillable):
            array = array()
        with self._device:
            host: np.ndarray = array.get()
        return host

    def copy_to(self, array: Cupy, host: np.ndarray) -> None:
        """Fills an array, which may be a part of another, from the host."""
        with self._device:
            if array.flags.c_contiguous:
                array.set(np.ascontiguousarray(host))
            else:
                array[...] = self.array(host)

    def nonzero(self, array: Cupy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and values of what is not zero in a matrix, row by row, on the host."""
        row, column = self._allocated(array.nonzero)
        value = self._allocated(lambda: array[row, column])
        return self.get(row), self.get(column), self.get(value)

    def take(self, array: Cupy, ids: npt.ArrayLike, axis: int) -> DeviceArray:
        """Some rows (axis 0) or columns (1) of a matrix, in this order."""
        chosen = self.array(ids, np.int64)
        n_bytes = len(chosen) * array.nbytes // max(array.shape[axis], 1)
        return self._allocated(self.cupy.take, array, chosen, axis, n_bytes=n_bytes)

    def address(self, array: Cupy) -> int:
        return int(array.data.ptr)

    def product(self, a: DeviceArray, b: DeviceArray, out: DeviceArray, scale: float, *, is_added: bool) -> None:
        """out = scale a b', plus what is there if `is_added`. a and b are columns of matrices: halves, whose products
        are summed in float32, or doubles. The bits depend on the shapes alone. By cuBLAS, which counts columns first:
        its matrices are the transposes of ours."""
        try:
            cublas = self.cupy.cuda.cublas
        except ImportError as error:
            raise ImportError(
                "engine='cuda' needs cuBLAS for mixtures, which CuPy does not find: install the CUDA toolkit, or CuPy "
                f"with its libraries (pip install 'cupy-cuda13x[ctk]') ({error})"
            ) from error
        kind, total, compute = (2, 0, 68) if a.dtype == np.float16 else (1, 1, 70)  # CUDA_R_*, CUBLAS_COMPUTE_*
        numbers = np.array([scale, float(is_added)], out.dtype)
        of_a, of_b = ((self.address(x), kind, x.strides[0] // x.itemsize) for x in (a, b))
        with self._device:
            cublas.gemmEx(
                self.cupy.cuda.device.get_cublas_handle(),
                *(cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, len(b), len(a), a.shape[1]),
                *(numbers.ctypes.data, *of_b, *of_a, numbers.ctypes.data + numbers.itemsize),
                *(self.address(out), total, out.shape[1], compute, -1),
            )

    def start(self, kernel: str, L: int, blocks: int, threads: int, args: np.ndarray, shared: int) -> None:
        with self._device:
            function = self._function(kernel, L)
            if shared > 48 * 1024 and function.max_dynamic_shared_size_bytes < shared:
                function.max_dynamic_shared_size_bytes = shared
            function((blocks,), (threads,), (args[()],), shared_mem=shared)

    def _function(self, kernel: str, L: int) -> Cupy:
        """Programs go through NVRTC, for this architecture; CuPy keeps what it has compiled in its cache on disk."""

        def compiled(name: str) -> dict[tuple[str, int], Cupy]:
            with self._device:
                options = ("-std=c++17", f"-DTOPMIX_L={L}", "--diag-suppress=177")
                module = self.cupy.RawModule(code=PRELUDE + program(name), options=options, backend="nvrtc")
                return {(kernel, L): module.get_function(kernel) for kernel in kernels(name)}

        if (kernel, L) not in self._functions:
            names = next(names for names in TOGETHER if program_of(kernel) in names)
            with ThreadPoolExecutor(len(names)) as threads:  # the compiler runs without the interpreter's lock
                for functions in threads.map(compiled, names):
                    self._functions |= functions
        return self._functions[kernel, L]

    def forget(self) -> None:
        """Nothing is kept on it from here on."""
        self._spillable = weakref.WeakSet[Spillable]()
        self._kept: dict[int, tuple[object, Any]] = {}  # the host's object, and what was made of it

    def close(self) -> None:
        """Gives back the memory that nobody uses. The device can be used again."""
        self.forget()
        with self._device:
            self.cupy.cuda.get_current_stream().synchronize()
            self.pool.free_all_blocks()

    def spillable(self, array: DeviceArray | Spillable) -> Spillable:
        """An array that nobody writes any more, and that may make room for others."""
        spillable = array if isinstance(array, Spillable) else Spillable(self, array)
        self._spillable.add(spillable)
        return spillable

    def make_room(self) -> bool:
        """Some, a sixteenth of the device where that can be; False where there is none to make. The arrays that were
        used most recently go, but those of this visit and the last one only where there are no others: shards are
        visited in turn, so what was just used is needed again last."""
        here = [each for each in self._spillable if each.array is not None]
        n_bytes = 0
        for each in sorted(here, key=lambda each: (each.visit < self.visit - 1, each.visit), reverse=True):
            if each.host is None:
                each.host = self.get(each)
            n_bytes += each.host.nbytes
            each.array = None
            if n_bytes * 16 >= self.capacity or each.visit >= self.visit - 1:
                break
        return bool(here)

    def launch(self, kernel: str, blocks: int, threads: int, given: Given, *, L: int = 16, shared: int = 0) -> None:
        """Starts a kernel whose only argument is a struct. A field that is not given is zero, or null. Without blocks
        there is nothing to do."""
        if blocks == 0:
            return
        fields = struct(struct_of(kernel))
        values: dict[str, int | float] = dict.fromkeys(fields.names or (), 0)
        arrays = []  # which stay where they are until the kernel is launched
        for name, value in given.items():
            if value is not None:
                if not isinstance(value, int | float):
                    arrays.append(value() if isinstance(value, Spillable) else value)
                    value = self.address(arrays[-1])
                values[name] = value
        self.start(kernel, L, blocks, threads, np.array(tuple(values.values()), fields), shared)

    def launch_over(self, n: int, kernel: str, given: Given) -> None:
        """A lane for each of n entries."""
        self.launch(kernel, min(-(-n // 256), 32 * self.n_processors), 256, given)

    def kept(self, host: object, make: Callable[[], T]) -> T:
        """What `make` returns: made once for each object `host` that it belongs to."""
        entry = self._kept.get(id(host))
        if entry is None or entry[0] is not host:
            while len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            entry = self._kept[id(host)] = host, make()
        return entry[1]

    def mirror(self, host: np.ndarray, dtype: npt.DTypeLike = np.float64) -> DeviceArray:
        """The array on the device: copied once."""
        return self.kept(host, lambda: self.array(host, dtype))


_stream: ContextVar[tuple[int, int]] = ContextVar("stream", default=(0, 1))


@contextmanager
def own_stream(device: int, number: int, of: int) -> Iterator[None]:
    """Inside, what this thread computes on a device is apart from what other threads do: it has an object, memory and a
    stream of its own, where `of` is more than one."""
    if of == 1:
        yield
        return
    cupy = _import_cupy()
    token = _stream.set((number, of))
    try:
        with cupy.cuda.Device(device), _stream_of(device, number, of):
            yield
    finally:
        _stream.reset(token)


@cache
def _stream_of(device: int, number: int, of: int) -> Cupy:
    """One for each number: memory that was freed in a stream is used again in this one alone."""
    return _import_cupy().cuda.Stream(non_blocking=True)


def cuda_device(number: int, memory: int | None) -> Device:
    """One object for each GPU, stream and process: programs are loaded once, and memory that a fit leaves is the next
    one's."""
    return _device_of(number, memory, *_stream.get())


@cache
def _device_of(number: int, memory: int | None, stream: int, of: int) -> Device:
    device = Device(number, memory)
    device.capacity //= of
    return device


def _import_cupy() -> ModuleType:
    with needed("engine='cuda'", "CuPy (for CUDA 12 cupy-cuda12x)", "cuda"):
        import cupy
    return cupy
