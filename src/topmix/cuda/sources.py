"""The CUDA C++ files of the package: read, joined, and their structs understood."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import numpy as np

# Programs that are used together, and so compiled together.
TOGETHER = (
    ("table.cu", "word_total.cu", "gather.cu"),
    ("solve_short.cu", "solve_middle.cu", "solve_long.cu"),
    ("solve_giant.cu",),
    ("extra_short.cu", "extra_middle.cu", "extra_long.cu"),
    ("extra_giant.cu",),
    ("sample.cu",),
    ("own.cu",),
    ("merged.cu",),
    ("gibbs.cu",),
    ("features.cu", "top.cu", "segments.cu", "moments.cu", "gaussian.cu"),
    ("row_words.cu",),
    ("groups.cu",),
)
PROGRAMS = tuple(name for names in TOGETHER for name in names)
PRELUDE = """\
extern __shared__ __align__(16) unsigned char shared_memory[];
#define DYNAMIC_SHARED(type, name) type* const name = reinterpret_cast<type*>(shared_memory)
#define NOINLINE __noinline__
/// Half precision without its header, which NVRTC would have to find.
__device__ inline unsigned half_bits(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
__device__ inline float half_value(unsigned bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)bits));
    return x;
}
"""

_INCLUDE = re.compile(r'^#include "(\w+\.hpp)"\n', re.MULTILINE)
_NUMBER = {"int": "i4", "float": "f4", "double": "f8", "i64": "i8", "u32": "u4", "u64": "u8"}


def _read(name: str) -> str:
    return (files("topmix.cuda") / "kernels" / name).read_text(encoding="utf-8")


# The file that each struct of arguments is in.
STRUCTS = {
    kind: name
    for name in ("arguments.hpp", "mixture_arguments.hpp", "document_options.hpp")
    for kind in re.findall(r"^struct (\w+)", _read(name), re.MULTILINE)
}


@cache
def program(name: str) -> str:
    """One file with every file that it includes, each once: a compiled program is cached by this text."""
    text, seen = _read(name), set[str]()
    while line := _INCLUDE.search(text):
        file = "" if line[1] in seen else _read(line[1]).replace("#pragma once\n", "")
        seen.add(line[1])
        text = text[: line.start()] + file + text[line.end() :]
    return text


@cache
def struct(name: str) -> np.dtype:
    """The layout of a struct of arguments; pointers are addresses."""
    body = re.search(rf"struct {name}(?: : (\w+))? {{\n(.*?)\n}};", _read(STRUCTS[name]), re.DOTALL)
    assert body, name
    fields = list(struct(body[1]).descr) if body[1] else []
    for line in body[2].splitlines():
        parts = re.match(r"\s*(?:const )?([\w ]+?)\s*(\*?)\s*(\w+);", line)
        assert parts, line
        kind, pointer, field = parts.groups()
        fields.append((field, "u8" if pointer else _NUMBER[kind]))
    return np.dtype(fields, align=True)


def kernels(name: str) -> list[str]:
    """The kernels that a program has."""
    return re.findall(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(', _read(name))


@cache
def program_of(kernel: str) -> str:
    """The file that a kernel is in."""
    return next(name for name in PROGRAMS if kernel in kernels(name))


@cache
def struct_of(kernel: str) -> str:
    """The struct that a kernel takes."""
    text = program(program_of(kernel))
    return next(name for name in STRUCTS if f"{kernel}({name} a)" in text)
