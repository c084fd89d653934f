"""Can the tests fail? Breaks the code on purpose, one fault at a time, and runs the tests that are nearest to each.

    python -m tools.mutants                  all of them
    python -m tools.mutants bound file       those with such a word in their name
    python -m tools.mutants --list           their names, and where they are
    python -m tools.mutants --check          only whether each still has its place in the code (tests do this)

A fault is a text and what it becomes. The text is looked for in all of src/topmix and cpp, so that a file may move or
be renamed; where it stands in several, `near` is another text of the file that is meant. A fault whose text is gone is
an error: give it the new text, or think of another one.

Everything happens in a copy of the tracked files (build/mutants), so nothing has to be restored, whatever ends the
script. Faults in cpp/ are compiled there: into the one C++ test that is named, or into a native module.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.faults import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
SUFFIXES = (".py", ".hpp", ".cpp", ".cu", ".js", ".html", ".css")
SECONDS = 900  # for the tests of one fault; a fault that makes them hang is caught as well

# An editable install finds topmix in the working tree before PYTHONPATH is asked.
SITE = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
"""


class Outcome(NamedTuple):
    caught: bool
    said: str


class Stale(Exception):
    """The text of a fault is not in the code, or in several places."""


@cache
def sources() -> dict[str, str]:
    """The text of every file of src/topmix and cpp, by path; C++ tests are not code under test."""
    paths = [p for top in ("src/topmix", "cpp") for p in (ROOT / top).rglob("*") if p.suffix in SUFFIXES]
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return {n: (ROOT / n).read_text(encoding="utf-8") for n in names if not n.startswith("cpp/tests/")}


def place_of(mutant: Mutant) -> str:
    """The path of the one file that has the text once."""
    found = [name for name, text in sources().items() if mutant.old in text and mutant.near in text]
    if len(found) != 1:
        raise Stale(f"{mutant.name}: the text is in {len(found)} files: {', '.join(found) or mutant.old!r}")
    if (n := sources()[found[0]].count(mutant.old)) != 1:
        raise Stale(f"{mutant.name}: the text is {n} times in {found[0]}")
    return found[0]


def stale() -> list[str]:
    """What is wrong with the list; nothing, if every fault can be made."""
    said = []
    for mutant in MUTANTS:
        try:
            place_of(mutant)
        except Stale as problem:
            said.append(str(problem))
        said += [
            f"{mutant.name}: there is no {test.partition('::')[0]}"
            for test in mutant.tests
            if not (ROOT / test.partition("::")[0]).exists()
        ]
    return said


def prepare() -> None:
    """A copy of the tracked files as they are now, with the native modules that are in use."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in os.fsdecode(listed).split("\0") if name and (ROOT / name).is_file()]
    for name in names:
        to = TREE / name
        if to.exists() and to.read_bytes() == (ROOT / name).read_bytes():
            continue  # its time stays, and with it what was compiled of it
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to)
    kept = {TREE / name for name in names}
    for path in [p for top in ("src", "cpp", "tests") for p in (TREE / top).rglob("*") if p.is_file()]:
        if path not in kept and path.suffix != ".so":
            path.unlink()
    (WORK / "site").mkdir(exist_ok=True)
    (WORK / "site" / "sitecustomize.py").write_text(SITE)
    install(modules_in_use())


@cache
def modules_in_use() -> tuple[Path, ...]:
    """The files of the native modules that are installed here."""
    code = "import topmix._cpu; print(topmix._cpu.__file__)"
    found = subprocess.run([sys.executable, "-c", code], cwd=WORK, capture_output=True, text=True, check=True)
    return tuple(Path(found.stdout.strip()).parent.glob("_c*.so"))


def install(modules: Iterable[Path]) -> None:
    for old in (TREE / "src" / "topmix").glob("_c*.so"):
        old.unlink()
    for module in modules:
        shutil.copy(module, TREE / "src" / "topmix" / module.name)


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(WORK / "site"), str(TREE / "src"), str(TREE)])
    return os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run(command: list[str], seconds: float = SECONDS) -> tuple[int, str]:
    """Status and output. One that does not end in time has status 1."""
    try:
        done = subprocess.run(
            command, cwd=TREE, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, f"not over after {seconds:.0f} s"
    return done.returncode, done.stdout


def configure(folder: str, *settings: str) -> None:
    where = WORK / folder
    if not (where / "build.ninja").exists():
        status, said = run(["cmake", "-S", ".", "-B", str(where), "-G", "Ninja", *settings])
        if status:
            raise RuntimeError(f"cmake: {said}")


def fails_natively(test: str) -> Outcome:
    """Whether a C++ test fails, or does not compile."""
    flags = "-Og -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    configure("native", "-DTOPMIX_NATIVE_TESTS=ON", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={flags}")
    name = f"{Path(test).stem}_base"
    status, said = run(["cmake", "--build", str(WORK / "native"), "--target", name])
    if not status:
        status, said = run([str(WORK / "native" / "cpp" / "tests" / name)])
    return Outcome(status != 0, last_line(said))


def build_module() -> None:
    """The native module of the tree as it is, in the place of the one that was there."""
    where = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(where, capture_output=True, text=True, check=True)
    configure(
        "module", "-DCMAKE_BUILD_TYPE=Release", "-DTOPMIX_ISAS=native", f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dnanobind_DIR={nanobind.stdout.strip()}",
    )  # fmt: skip
    built, out = str(WORK / "module"), str(WORK / "out")
    for command in (["--build", built], ["--install", built, "--prefix", out]):
        status, said = run(["cmake", *command], seconds=3600)
        if status:
            raise RuntimeError(f"cmake {command[0]}: {said}")
    install((WORK / "out").rglob("_c*.so"))


def fails(tests: tuple[str, ...]) -> Outcome:
    status, said = run([sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests])
    if status < 0:
        return Outcome(True, f"the tests were ended by signal {-status}")
    if status not in (0, 1):  # no such test, for instance
        raise RuntimeError(f"pytest {' '.join(tests)} ended with {status}:\n{said[-3000:]}")
    failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Outcome(status == 1, (failed or [last_line(said)])[0])


def last_line(said: str) -> str:
    return (said.strip().splitlines() or [""])[-1][:150]


def attempt(mutant: Mutant) -> Outcome:
    """The fault is made, tests run, and the tree is as before."""
    path = TREE / place_of(mutant)
    before = path.read_text(encoding="utf-8")
    in_cpp = path.is_relative_to(TREE / "cpp")
    compiled = tuple(test for test in mutant.tests if test.endswith(".cpp"))
    others = tuple(test for test in mutant.tests if test not in compiled)
    path.write_text(before.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        for test in compiled:
            if (outcome := fails_natively(test)).caught:
                return outcome
        if not others:
            return outcome
        if in_cpp:
            build_module()
        return fails(others)
    finally:
        path.write_text(before, encoding="utf-8")
        if in_cpp and others:
            install(modules_in_use())


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="*", help="only faults with one of these in their name")
    p.add_argument("--list", action="store_true", help="print them, and where they are")
    p.add_argument("--check", action="store_true", help="only look whether each can be made")
    a = p.parse_args(argv)
    if problems := stale():
        print("\n".join(problems), file=sys.stderr)
        return 2
    chosen = [m for m in MUTANTS if not a.words or any(word in m.name for word in a.words)]
    if a.list or a.check:
        print("\n".join(f"{m.name:<60} {place_of(m)}" for m in chosen))
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    prepare()
    survived = []
    for mutant in chosen:
        begin = time.monotonic()
        outcome = attempt(mutant)
        word, seconds = "caught  " if outcome.caught else "SURVIVED", time.monotonic() - begin
        print(f"{word} {mutant.name} ({seconds:.0f} s)", flush=True)
        print(f"         {outcome.said}", flush=True)
        survived += [] if outcome.caught else [mutant.name]
    print(f"{len(chosen) - len(survived)} of {len(chosen)} faults were caught")
    for name in survived:
        print(f"  not: {name}")
    return int(bool(survived))


if __name__ == "__main__":
    sys.exit(main())
