"""Empty stand-ins of the system's libraries that know only the symbols of an older Linux, to link wheels against.

    python old_libraries.py manylinux_2_28 x86_64 FOLDER [--compiler g++]

A program that was linked here asks for the newest version of each symbol, and an older system has not got it. The
linker takes what the library in front of it offers, so it is shown libraries in which nothing is newer than the
policy allows (auditwheel has the list): each symbol in its latest version that is old enough. What libstdc++ has
gained since is then taken from the compiler's static library, into the module itself. This is how Red Hat's newer
compilers make programs for its older systems, and one g++ serves both processors. The objects are not touched: they
are those of any other build. libstdc++ itself stays the system's, so exceptions can cross from one module to another.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import auditwheel.policy
from elftools.elf.elffile import ELFFile

LIBRARIES = ("libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6")
# Threads were a library of their own before glibc 2.34. Empty here: its symbols are in libc.so.6, and only its name
# must be among those that the loader opens.
EMPTY = ("libpthread.so.0",)

# glibc 2.32 and later say here that there is one thread. Headers of libstdc++ ask; "several" is always right.
COMPATIBILITY = 'extern "C" { __attribute__((visibility("hidden"))) char __libc_single_threaded = 0; }\n'


def allowed_versions(policy: str, arch: str) -> set[str]:
    """As they are written beside symbols: GLIBC_2.28, GLIBCXX_3.4.24, ..."""
    file = Path(auditwheel.policy.__file__).with_name("manylinux-policy.json")
    found = [p for p in json.loads(file.read_text()) if policy in (p["name"], *p["aliases"])]
    if not found or arch not in found[0]["symbol_versions"]:
        raise SystemExit(f"auditwheel knows no policy {policy} for {arch}")
    return {f"{name}_{v}" for name, versions in found[0]["symbol_versions"][arch].items() for v in versions}


def _order(version: str) -> tuple[int, ...]:
    numbers = version.rpartition("_")[2].split(".")
    return tuple(int(n) for n in numbers) if all(n.isdecimal() for n in numbers) else ()


def old_symbols(library: Path, allowed: set[str]) -> dict[str, tuple[str, str]]:
    """name -> (its latest allowed version, its type)"""
    chosen: dict[str, tuple[str, str]] = {}
    with library.open("rb") as file:
        elf = ELFFile(file)
        names = {
            version["vd_ndx"]: next(parts).name
            for version, parts in elf.get_section_by_name(".gnu.version_d").iter_versions()
        }
        versions = elf.get_section_by_name(".gnu.version")
        for n, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            index = versions.get_symbol(n)["ndx"]
            version = names.get(index & 0x7FFF if isinstance(index, int) else index)
            if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") or version not in allowed:  # SHN_ABS: the versions' names
                continue
            old = chosen.get(symbol.name)
            if old is None or _order(old[0]) < _order(version):
                chosen[symbol.name] = version, symbol["st_info"]["type"]
    return chosen


def write_stub(name: str, symbols: dict[str, tuple[str, str]], folder: Path, compiler: str) -> None:
    kinds = {"STT_OBJECT": "object", "STT_TLS": "tls_object"}
    lines = []
    for symbol, (_, kind) in symbols.items():
        section = '.section .tdata,"awT"' if kind == "STT_TLS" else ".data"
        lines += [
            section,
            f'.globl "{symbol}"',
            f'.type "{symbol}", %{kinds.get(kind, "function")}',
            f'"{symbol}": .byte 0',
        ]
    source, script = folder / f"{name}.s", folder / f"{name}.map"
    source.write_text("\n".join(lines) + "\n")
    by_version: dict[str, list[str]] = {}
    for symbol, (version, _) in symbols.items():
        by_version.setdefault(version, []).append(symbol)
    script.write_text(
        "".join(f"{v} {{ global: {' '.join(f'{s};' for s in names)} }};\n" for v, names in by_version.items())
    )
    command = [compiler, "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", folder / name, source]
    subprocess.run([*command, *([f"-Wl,--version-script,{script}"] if symbols else [])], check=True)


def where(compiler: str, name: str) -> Path:
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if "/" not in found:
        raise SystemExit(f"{compiler} has no {name}")
    return Path(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("arch")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compiler", default="g++")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    allowed = allowed_versions(given.policy, given.arch)
    for name in LIBRARIES:
        write_stub(name, old_symbols(where(given.compiler, name), allowed), given.folder, given.compiler)
    for name in EMPTY:
        write_stub(name, {}, given.folder, given.compiler)
    source = given.folder / "compatibility.cpp"
    source.write_text(COMPATIBILITY)
    subprocess.run([given.compiler, "-O2", "-fPIC", "-c", source, "-o", source.with_suffix(".o")], check=True)


if __name__ == "__main__":
    main()
