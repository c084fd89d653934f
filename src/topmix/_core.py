"""The native module: the build for the best instruction set that this processor runs.

The same kernels are compiled several times (CMakeLists.txt); this file picks one, once, at import. Set TOPMIX_ISA to
"avx512", "avx2" or "base" before importing to choose by hand, for instance to compare results across machines.
There is no Python fallback: a slow path that nobody asked for is worse than an error.
"""

from __future__ import annotations

import importlib
import os


def _load() -> tuple[str, dict[str, object]]:
    try:
        base = importlib.import_module("topmix._core_base")
    except ImportError as error:
        raise ImportError(
            "topmix is installed without its native module, which holds all of its kernels. "
            "From a source checkout run `pip install .` (it needs a C++20 compiler); "
            f"otherwise reinstall with `pip install --force-reinstall topmix`. The cause: {error}"
        ) from error
    usable: list[str] = base.supported_isas()
    wanted = os.environ.get("TOPMIX_ISA")
    if wanted and wanted not in usable:
        raise ImportError(f"TOPMIX_ISA={wanted!r}, but this processor runs {', '.join(usable)}")
    for name in [wanted] if wanted else usable:
        try:
            module = importlib.import_module(f"topmix._core_{name}")
        except ModuleNotFoundError:  # a build without this instruction set: the next one is as correct
            if wanted:
                raise ImportError(f"TOPMIX_ISA={wanted!r}, but topmix was built without it") from None
            continue
        return name, {k: v for k, v in vars(module).items() if not k.startswith("__")}
    raise AssertionError("unreachable: base is always built")


isa, _names = _load()
globals().update(_names)
