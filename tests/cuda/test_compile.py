"""Every kernel compiles for every architecture, with NVRTC, which needs no GPU."""

import ctypes
import importlib.util
import itertools
import sys
from functools import cache
from pathlib import Path

import pytest

from topmix.cuda.sources import PRELUDE, PROGRAMS, STRUCTS, program, struct

OPTIONS = ["-std=c++17", "-DTOPMIX_L=16", "--diag-suppress=177"]
# What differs between architectures is in all of these; the other solvers are the first one with other sizes, or more.
COMPLETE = [name for name in PROGRAMS if not name.startswith(("solve", "extra")) or name == "solve_short.cu"]


@cache
def nvrtc() -> ctypes.CDLL:
    if sys.platform == "darwin":
        pytest.skip("NVRTC has no package for this platform")
    found = importlib.util.find_spec("nvidia.cuda_nvrtc")
    assert found, "pip install --group test"
    folder = Path(next(iter(found.submodule_search_locations or [])))
    (library,) = [*folder.glob("lib/libnvrtc.so.*[0-9]"), *folder.glob("bin/nvrtc64_*_0.dll")][:1]
    return ctypes.CDLL(str(library))


def compiled(text: str, *options: str) -> str:
    """The compiler's log; fails where there is an error."""
    lib, handle, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    assert lib.nvrtcCreateProgram(ctypes.byref(handle), text.encode(), b"kernel.cu", 0, None, None) == 0
    given = [option.encode() for option in (*OPTIONS, *options)]
    status = lib.nvrtcCompileProgram(handle, len(given), (ctypes.c_char_p * len(given))(*given))
    lib.nvrtcGetProgramLogSize(handle, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(handle, log)
    lib.nvrtcDestroyProgram(ctypes.byref(handle))
    assert status == 0, log.value.decode()
    return log.value.decode()


# What the host compiler takes, as in emulated.py, NVRTC nearly always takes too.
FEW = [("solve_short.cu", "sm_90"), ("gibbs.cu", "sm_90"), ("groups.cu", "sm_90")]
MORE = [case for case in itertools.product(COMPLETE, ("sm_80", "sm_90", "sm_100")) if case not in FEW]


@pytest.mark.parametrize(
    ("name", "architecture"), [*FEW, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)]
)
def test_a_program_compiles_without_a_warning(name, architecture):
    assert compiled(PRELUDE + program(name), f"-arch={architecture}") == ""


@pytest.mark.slow  # five seconds each
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in COMPLETE])
def test_the_other_solvers_compile(name):
    assert compiled(PRELUDE + program(name), "-arch=compute_80") == ""


def test_structs_have_the_size_that_python_reads():
    """Their fields are compared in emulated.py."""
    checks = "".join(f"static_assert(sizeof({kind}) == {struct(kind).itemsize});\n" for kind in STRUCTS)
    assert compiled(PRELUDE + program("row_words.cu") + checks, "-arch=compute_80") == ""


def test_an_error_in_a_kernel_is_found():
    with pytest.raises(AssertionError, match="undefined_name"):
        compiled(PRELUDE + program("table.cu") + "__global__ void broken() { undefined_name; }", "-arch=sm_90")
