"""Installs this machine's wheel where there is no compiler, and runs the tests from there.

    python tools/wheels/check.py [tests/test_top_l.py ...]        all tests where none are named

The environment is bare: a PATH with the system's programs but without its compilers, and nothing of the source tree
but the tests. Arguments go to pytest.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHERE = "import topmix, topmix._core as c; print(topmix.__file__, c.isa)"
NO_COMPILER = "import shutil, sys; sys.exit(any(map(shutil.which, ('c++', 'g++', 'clang++', 'cc', 'gcc', 'cmake'))))"

# Also with a prefix or a version: aarch64-linux-gnu-g++-12.
COMPILERS = re.compile(
    r"(.*-)?(cc|c\+\+|c89|c99|gcc|g\+\+|clang|clang\+\+|cpp|ld|as|cmake|ninja|make|nvcc|ccache|zig)(-[\d.]+)?"
)


def main() -> int:
    wheels = sorted((ROOT / "dist").glob(f"topmix-*_{platform.machine()}.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"dist has {len(wheels)} wheels for {platform.machine()}; `make wheel` makes one")
    venv = ROOT / "build" / "wheels" / "check"
    python = venv / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
    subprocess.run([*pip, wheels[0], "--group", f"{ROOT / 'pyproject.toml'}:test"], check=True)

    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CC", "CXX")}
    env["PATH"] = f"{venv / 'bin'}{os.pathsep}{programs(ROOT / 'build' / 'wheels' / 'programs')}"
    subprocess.run([python, "-c", NO_COMPILER], check=True, env=env)
    there = subprocess.run([python, "-c", WHERE], check=True, env=env, cwd=venv, capture_output=True, text=True).stdout
    if not Path(there.split()[0]).is_relative_to(venv):
        raise SystemExit(f"the tests would see {there}")
    print(f"{wheels[0].name}: {there.strip()}", flush=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or ["tests"])]
    return subprocess.run(command, env=env, cwd=ROOT, check=False).returncode


def programs(folder: Path) -> Path:
    """A folder with links to the programs on PATH, except for those that build others. Libraries ask for `cat`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in sorted(place.iterdir()) if place.is_dir() else ():
            link = folder / program.name
            is_python = program.name.startswith(("python", "pip"))  # there is one, in the environment
            if not (is_python or link.is_symlink() or COMPILERS.fullmatch(program.name)):
                link.symlink_to(program.resolve())
    return folder


if __name__ == "__main__":
    sys.exit(main())
