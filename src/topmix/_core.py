"""The native module: the build for the best instruction set that this processor runs.

A wheel holds the same kernels compiled several times, an install from source once, for the machine that compiled them
(CMakeLists.txt); this file picks one, once, at import. Set TOPMIX_ISA to "avx512", "avx2" or "base" before importing
to choose by hand, for instance to compare results across machines. There is no Python fallback: a slow path that
nobody asked for is worse than an error.
"""

from __future__ import annotations

import importlib
import importlib.util
import os


def _load() -> tuple[str, list[str], dict[str, object]]:
    try:
        usable: list[str] = importlib.import_module("topmix._cpu").supported_isas()
        built = [isa for isa in ("avx512", "avx2", "base") if importlib.util.find_spec(f"topmix._core_{isa}")]
        if not built:
            raise ImportError("there is no topmix._core_base, _core_avx2 or _core_avx512")
    except ImportError as error:
        raise ImportError(
            "topmix is installed without its native module, which holds all of its kernels. "
            "From a source checkout run `pip install .` (it needs a C++20 compiler); "
            f"otherwise reinstall with `pip install --force-reinstall topmix`. The cause: {error}"
        ) from error
    wanted = os.environ.get("TOPMIX_ISA")
    if wanted and wanted not in usable:
        raise ImportError(f"TOPMIX_ISA={wanted!r}, but this processor runs {', '.join(usable)}")
    if wanted and wanted not in built:
        raise ImportError(f"TOPMIX_ISA={wanted!r}, but topmix was built without it")
    isa = wanted or next((isa for isa in usable if isa in built), None)
    if isa is None:  # to open it anyway would end the process with SIGILL
        raise ImportError(
            f"this topmix was compiled on another machine, for processors with {' or '.join(built)}; "
            f"this processor runs {', '.join(usable)}. Compile it here (`pip install --force-reinstall --no-deps .` "
            "in the source), or for all processors there (`pip install . -Ccmake.define.TOPMIX_ISAS=all`)"
        )
    module = importlib.import_module(f"topmix._core_{isa}")
    return isa, usable, {k: v for k, v in vars(module).items() if not k.startswith("__")}


isa, _usable, _names = _load()
globals().update(_names)


def supported_isas() -> list[str]:
    """Instruction sets that this processor runs, best first."""
    return list(_usable)
