"""A GPU as the rest of the package sees it: arrays on it, and kernels that are launched on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from topmix.cuda.arrays import DeviceArray, Shape
from topmix.cuda.parking import Held, Parking
from topmix.cuda.sources import PRELUDE, PROGRAMS, TOGETHER, kernels, program, struct

Given: TypeAlias = dict[str, Any]  # fields of a kernel's struct of arguments: arrays, numbers, and None for null
Cupy: TypeAlias = Any  # objects of CuPy, which has no types
T = TypeVar("T")
KEPT = 8  # arrays of a model, on the device from one update to the next


class Device(ABC):
    """Arrays of a device have the arithmetic of NumPy's."""

    n_processors: int
    shared_per_block: int  # bytes that a kernel may ask for
    shared_per_processor: int
    blocks_of_a_sum = 1024  # their number decides the bits of a sum of floats: the same for every GPU

    capacity: int  # bytes of memory

    def __init__(self) -> None:
        self.parking = Parking(self)
        self._kept: dict[int, tuple[object, Any]] = {}  # the host's object, and what was made of it
        self._constants: dict[object, DeviceArray] = {}

    @abstractmethod
    def array(self, host: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> DeviceArray: ...

    @abstractmethod
    def empty(self, shape: Shape, dtype: npt.DTypeLike) -> DeviceArray: ...

    @abstractmethod
    def zeros(self, shape: Shape, dtype: npt.DTypeLike) -> DeviceArray: ...

    def get(self, array: DeviceArray | Held) -> np.ndarray:
        """A copy on the host, when all that was launched before is done."""
        return self.fetch(array() if isinstance(array, Held) else array)

    @abstractmethod
    def fetch(self, array: DeviceArray) -> np.ndarray: ...

    @abstractmethod
    def copy_out(self, array: DeviceArray) -> tuple[np.ndarray, object]: ...  # these four: see parking.py

    @abstractmethod
    def copy_in(self, host: np.ndarray) -> tuple[DeviceArray, object]: ...

    @abstractmethod
    def wait(self, token: object) -> None: ...

    @abstractmethod
    def finish(self, token: object) -> None: ...

    @abstractmethod
    def copy_to(self, array: DeviceArray, host: np.ndarray) -> None:
        """Fills an array, which may be a part of another, from the host."""

    @abstractmethod
    def nonzero(self, array: DeviceArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and values of what is not zero in a matrix, row by row, on the host."""

    @abstractmethod
    def changes(self, array: DeviceArray) -> tuple[np.ndarray, np.ndarray]:
        """Places in the flat array of integers that are not zero, and these, on the host: short ones where they fit."""

    @abstractmethod
    def change(self, array: DeviceArray, places: np.ndarray, values: np.ndarray) -> None:
        """Adds integers to an array at places of the flat one, each of them once."""

    @abstractmethod
    def take(self, array: DeviceArray, ids: npt.ArrayLike, axis: int) -> DeviceArray:
        """Some rows (axis 0) or columns (1) of a matrix, in this order."""

    @abstractmethod
    def address(self, array: DeviceArray) -> int: ...

    @abstractmethod
    def product(
        self,
        a: DeviceArray,
        b: DeviceArray,
        out: DeviceArray,
        *,
        columns: tuple[slice, slice],
        scale: float,
        is_added: bool,
    ) -> None:
        """out = scale a b', plus what is there if `is_added`, of chosen columns of a [n, .] and b [m, .]: halves, whose
        products are summed in float32, or doubles. The bits depend on the shapes alone."""

    @abstractmethod
    def start(self, kernel: str, L: int, blocks: int, threads: int, args: np.ndarray, shared: int) -> None: ...

    def close(self) -> None:
        """Gives back the memory that nobody uses. The device can be used again."""
        self.parking.clear()
        self._kept.clear()
        self._constants.clear()

    def launch(
        self, kernel: str, kind: str, blocks: int, threads: int, given: Given, *, L: int = 16, shared: int = 0
    ) -> None:
        """Starts a kernel whose only argument is a struct `kind`. A field that is not given is zero, or null."""
        values: dict[str, int | float] = dict.fromkeys(struct(kind).names or (), 0)
        arrays = []  # which stay where they are until the kernel is launched
        for name, value in given.items():
            if value is not None:
                if not isinstance(value, int | float):
                    arrays.append(value() if isinstance(value, Held) else value)
                    value = self.address(arrays[-1])
                values[name] = value
        self.start(kernel, L, blocks, threads, np.array(tuple(values.values()), struct(kind)), shared)

    def constant(self, key: object, make: Callable[[], np.ndarray]) -> DeviceArray:
        """What `make` returns, on the device: copied once."""
        if key not in self._constants:
            self._constants[key] = self.array(make())
        return self._constants[key]

    def kept(self, host: object, make: Callable[[], T]) -> T:
        """What `make` returns: made once for each object `host` that it belongs to."""
        found = self._kept.get(id(host))
        if found is None or found[0] is not host:
            while len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            found = self._kept[id(host)] = host, make()
        made: T = found[1]
        return made

    def mirror(self, host: object, *arrays: tuple[np.ndarray, npt.DTypeLike]) -> tuple[DeviceArray, ...]:
        """`arrays`, each with a dtype, on the device: copied once for each object `host` that they belong to."""
        return self.kept(host, lambda: tuple(self.array(array, dtype) for array, dtype in arrays))


def short(most: int) -> type[np.signedinteger[Any]]:
    """The shorter integers, where they have room for numbers up to this."""
    return np.int32 if most < 2**31 else np.int64


@cache
def program_of(kernel: str) -> str:
    """The file that a kernel is in."""
    return next(name for name in PROGRAMS if kernel in kernels(name))


class CudaDevice(Device):
    """A GPU, through CuPy. Its memory is a pool of its own, which is given back at the end."""

    def __init__(self, number: int, memory: int | None):
        super().__init__()
        self.cupy = cupy = _import_cupy()
        count = _count_of_devices(cupy)
        if number >= count:
            raise RuntimeError(f"engine='cuda': there is no device {number}; this machine has {count}")
        self.number = number
        self._device = cupy.cuda.Device(number)
        about = self._device.attributes
        self.n_processors = about["MultiProcessorCount"]
        self.shared_per_block = about["MaxSharedMemoryPerBlockOptin"]
        self.shared_per_processor = about["MaxSharedMemoryPerMultiprocessor"]
        if int(self._device.compute_capability) < 80:
            raise RuntimeError(
                f"engine='cuda' needs a GPU of compute capability 8.0 or more (Ampere, 2020), and device {number} "
                f"has {self._device.compute_capability[:-1]}.{self._device.compute_capability[-1]}"
            )
        self.pool = cupy.cuda.MemoryPool()
        with self._device:
            self.capacity = memory or self._device.mem_info[1]
            self._to_host, self._from_host = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        self._functions: dict[tuple[str, int], Cupy] = {}

    def _allocated(self, make: Cupy, *args: Cupy, n_bytes: int = 0) -> Cupy:
        if self.pool.total_bytes() + n_bytes > 0.9 * self.capacity:  # a failed allocation would cost more
            while self.pool.used_bytes() + n_bytes > 0.9 * self.capacity and self.parking.make_room():
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
                if not self.parking.make_room():
                    raise self._too_small(str(error)) from error

    def _too_small(self, why: str) -> MemoryError:
        return MemoryError(
            f"engine='cuda': the memory of device {self.number} is not enough ({why}). Use fewer topics or clusters, a "
            "smaller n_active, smaller batches, or a larger `memory`."
        )

    def array(self, host: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> DeviceArray:
        given = np.ascontiguousarray(host, dtype)
        return self._allocated(self.cupy.asarray, given, n_bytes=given.nbytes)

    def empty(self, shape: Shape, dtype: npt.DTypeLike) -> DeviceArray:
        return self._allocated(self.cupy.empty, shape, dtype, n_bytes=int(np.prod(shape)) * np.dtype(dtype).itemsize)

    def zeros(self, shape: Shape, dtype: npt.DTypeLike) -> DeviceArray:
        return self._allocated(self.cupy.zeros, shape, dtype, n_bytes=int(np.prod(shape)) * np.dtype(dtype).itemsize)

    def fetch(self, array: Cupy) -> np.ndarray:
        with self._device:
            host: np.ndarray = array.get()
        return host

    def copy_out(self, array: Cupy) -> tuple[np.ndarray, object]:
        with self._device:
            host = self._pinned(array.shape, array.dtype)
            self._to_host.wait_event(self.cupy.cuda.get_current_stream().record())
            array.get(stream=self._to_host, out=host, blocking=False)
            return host, self._to_host.record()

    def copy_in(self, host: np.ndarray) -> tuple[DeviceArray, object]:
        array: Cupy = self.empty(host.shape, host.dtype)
        with self._device:
            self._from_host.wait_event(self.cupy.cuda.get_current_stream().record())  # its memory was another's
            array.set(host, stream=self._from_host)
            return array, self._from_host.record()

    def wait(self, token: Cupy) -> None:
        with self._device:
            self.cupy.cuda.get_current_stream().wait_event(token)

    def finish(self, token: Cupy) -> None:
        with self._device:
            token.synchronize()

    def _pinned(self, shape: Shape, dtype: np.dtype) -> np.ndarray:
        """Memory of the host that the device reads and writes beside its kernels."""
        size = int(np.prod(shape))
        memory = self.cupy.cuda.alloc_pinned_memory(max(1, size * dtype.itemsize))
        return np.frombuffer(memory, dtype, size).reshape(shape)

    def copy_to(self, array: Cupy, host: np.ndarray) -> None:
        with self._device:
            if array.flags.c_contiguous:
                array.set(np.ascontiguousarray(host))
            else:
                array[...] = self.array(host)

    def nonzero(self, array: Cupy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        row, column = self._allocated(array.nonzero)
        value = self._allocated(lambda: array[row, column])
        return self.get(row), self.get(column), self.get(value)

    def changes(self, array: Cupy) -> tuple[np.ndarray, np.ndarray]:
        flat = array.ravel()
        places = self._allocated(lambda: flat.nonzero()[0].astype(short(flat.size)))
        values = self._allocated(lambda: flat[places])
        most = int(self._allocated(lambda: abs(values).max())) if len(values) else 0
        return self.get(places), self.get(self._allocated(lambda: values.astype(short(most))))

    def change(self, array: Cupy, places: np.ndarray, values: np.ndarray) -> None:
        flat, at, more = array.ravel(), self.array(places), self.array(values)
        with self._device, self.cupy.cuda.using_allocator(self.pool.malloc):
            flat[at] += more

    def take(self, array: Cupy, ids: npt.ArrayLike, axis: int) -> DeviceArray:
        chosen = self.array(ids, np.int64)
        n_bytes = len(chosen) * array.nbytes // max(array.shape[axis], 1)
        return self._allocated(self.cupy.take, array, chosen, axis, n_bytes=n_bytes)

    def address(self, array: Cupy) -> int:
        return int(array.data.ptr)

    def product(
        self,
        a: DeviceArray,
        b: DeviceArray,
        out: DeviceArray,
        *,
        columns: tuple[slice, slice],
        scale: float,
        is_added: bool,
    ) -> None:
        """By cuBLAS, which counts columns first: its matrices are the transposes of ours."""
        (of_a, of_b), cublas = columns, _cublas_of(self.cupy)
        kind, total, compute = (2, 0, 68) if a.dtype == np.float16 else (1, 1, 70)  # CUDA_R_*, CUBLAS_COMPUTE_*
        numbers = np.array([scale, float(is_added)], out.dtype)
        at_a, at_b = (self.address(x) + x.itemsize * (s.start or 0) for x, s in ((a, of_a), (b, of_b)))
        size, at = of_a.stop - (of_a.start or 0), numbers.ctypes.data
        with self._device:
            cublas.gemmEx(
                self.cupy.cuda.device.get_cublas_handle(),
                *(cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, len(b), len(a), size),
                *(at, at_b, kind, b.shape[1], at_a, kind, a.shape[1]),
                *(at + numbers.itemsize, self.address(out), total, out.shape[1], compute, -1),
            )

    def start(self, kernel: str, L: int, blocks: int, threads: int, args: np.ndarray, shared: int) -> None:
        with self._device:
            function = self._function(kernel, L)
            if shared > 48 * 1024 and function.max_dynamic_shared_size_bytes < shared:
                function.max_dynamic_shared_size_bytes = shared
            function((blocks,), (threads,), (args[()],), shared_mem=shared)

    def _function(self, kernel: str, L: int) -> Cupy:
        if (kernel, L) not in self._functions:
            names = next(names for names in TOGETHER if program_of(kernel) in names)
            with ThreadPoolExecutor(len(names)) as threads:  # the compiler runs without the interpreter's lock
                for found in threads.map(lambda each: self._compiled(each, L), names):
                    self._functions |= found
        return self._functions[kernel, L]

    def _compiled(self, name: str, L: int) -> dict[tuple[str, int], Cupy]:
        """A program through NVRTC, for this architecture; CuPy keeps what it has compiled in its cache on disk."""
        with self._device:
            options = ("-std=c++17", f"-DTOPMIX_L={L}", "--diag-suppress=177")
            module = self.cupy.RawModule(code=PRELUDE + program(name), options=options, backend="nvrtc")
            return {(kernel, L): module.get_function(kernel) for kernel in kernels(name)}

    def close(self) -> None:
        super().close()
        with self._device:
            self.cupy.cuda.get_current_stream().synchronize()
            self.pool.free_all_blocks()


_lane: ContextVar[tuple[int, int]] = ContextVar("lane", default=(0, 1))


@contextmanager
def lane(device: int, number: int, of: int) -> Iterator[None]:
    """Inside, what this thread computes on a device is apart from what other threads do: it has an object, memory and a
    stream of its own, where `of` is more than one."""
    if of == 1:
        yield
        return
    cupy = _import_cupy()
    token = _lane.set((number, of))
    try:
        with cupy.cuda.Device(device), _stream_of(device, number, of):
            yield
    finally:
        _lane.reset(token)


@cache
def _stream_of(device: int, number: int, of: int) -> Cupy:
    """One for each lane: memory that was freed in a stream is used again in this one alone."""
    return _import_cupy().cuda.Stream(non_blocking=True)


def cuda_device(number: int, memory: int | None) -> CudaDevice:
    """One object for each GPU, lane and process: programs are loaded once, and memory that a fit leaves is the next
    one's."""
    return _device_of(number, memory, *_lane.get())


@cache
def _device_of(number: int, memory: int | None, lane: int, of: int) -> CudaDevice:
    device = CudaDevice(number, memory)
    device.capacity //= of
    return device


def _import_cupy() -> ModuleType:
    try:
        import cupy
    except ImportError as error:
        raise ImportError(
            "engine='cuda' needs CuPy, which is not installed: pip install 'topmix[cuda]', or the CuPy of your CUDA "
            "(cupy-cuda12x, cupy-cuda13x)"
        ) from error
    return cupy


def _cublas_of(cupy: ModuleType) -> Cupy:
    try:
        return cupy.cuda.cublas
    except ImportError as error:
        raise ImportError(
            "engine='cuda' needs cuBLAS for mixtures, which CuPy does not find: install the CUDA toolkit, or CuPy with "
            f"its libraries (pip install 'cupy-cuda13x[ctk]') ({error})"
        ) from error


def _count_of_devices(cupy: ModuleType) -> int:
    """How many GPUs there are; where there are none, an error that says what is missing."""
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
    return count
