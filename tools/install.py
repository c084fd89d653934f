"""`pip install`, with a line for each step: compiling takes a minute or two, and pip says nothing meanwhile.

    python tools/install.py .                       whatever `pip install` takes
    python tools/install.py --no-build-isolation --editable .

What pip says in full is in build/install.log, and its end is printed when it fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LOG = Path("build/install.log")
SHOWN_OF_A_FAILURE = 80  # lines

# What a line of pip, CMake or Ninja means to somebody who waits. Other lines mean nothing to them.
Says = Callable[[re.Match[str]], str]
MEANINGS: list[tuple[str, Says]] = [
    (r"Installing build dependencies: started", lambda _: "fetching what compiles topmix"),
    (r"Preparing (editable )?metadata.*: started", lambda _: "looking up what topmix needs"),
    (r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", lambda m: f"needs {m[1]}"),
    (r"Processing .*/([\w.]+?)-\d[^/]*\.whl", lambda m: f"needs {m[1].replace('_', '-')}"),
    (r"Building (?:editable|wheel) for topmix .*: started", lambda _: "preparing to compile"),
    (r"-- topmix: instruction sets (.*)", lambda m: f"compiling the kernels for {m[1].replace(';', ', ')}"),
    (r"\[(\d+)/(\d+)\] Building CXX object .*cmake_pch", lambda m: left(m, "read the headers that all files share")),
    (r"\[(\d+)/(\d+)\] Building CXX object .*?(\w+)\.\w+\.(?:o|gch)$", lambda m: left(m, f"compiled {m[3]}")),
    (r"\[(\d+)/(\d+)\] Linking CXX shared module (\w+)", lambda m: left(m, f"linked {m[3]}")),
    (r"Installing collected packages: (.*)", lambda m: f"installing {m[1].count(',') + 1} packages"),
]


def left(m: re.Match[str], what: str) -> str:
    return f"{what}, {int(m[2]) - int(m[1])} files left"


def meaning(line: str) -> str | None:
    for pattern, says in MEANINGS:
        if found := re.match(pattern, line.strip()):
            return says(found)
    return None


def main(arguments: list[str]) -> int:
    begin = time.monotonic()
    # Without bytecode, which Python makes of what is imported: that of every module takes ten seconds and more.
    command = [sys.executable, "-m", "pip", "install", "--no-compile", "--verbose", "--progress-bar", "off", *arguments]
    LOG.parent.mkdir(exist_ok=True)
    lines: list[str] = []
    said = None
    print(f"{0:4d} s  pip install {' '.join(arguments)}", flush=True)
    with (
        LOG.open("w", encoding="utf-8") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as pip,
    ):
        assert pip.stdout is not None
        for line in pip.stdout:
            log.write(line)
            lines.append(line)
            now = meaning(line)
            if now is not None and now != said:
                print(f"{time.monotonic() - begin:4.0f} s  {now}", flush=True)
                said = now
    if pip.returncode:
        print("".join(lines[-SHOWN_OF_A_FAILURE:]), f"It failed; all of it is in {LOG}.", sep="", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
