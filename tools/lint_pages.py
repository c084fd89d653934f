#!/usr/bin/env python3
"""oxlint on the scripts of the report and of the explorer, joined as a browser gets them. `make lint` runs it.

The files of a page share one scope: a name that one file defines and another uses is neither missing nor unused. Lines
in messages are those of the files.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from topmix.apps.page import EXPLORER, REPORT, asset, joined

ROOT = Path(__file__).parents[1]


def main() -> int:
    return max(lint("report", REPORT), lint("explorer", EXPLORER))


def lint(page: str, names: tuple[str, ...]) -> int:
    texts = [asset(name) for name in names]
    whole = joined(texts)
    above = whole.partition(texts[0])[0].count("\n")
    origins = ["", *[""] * above]  # of each line, which are counted from 1
    for name, text in zip(names, texts):
        origins += [f"{name}:{line}" for line in range(1, text.count("\n") + 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{page}.js"
        path.write_text(whole, encoding="utf-8")
        oxlint = Path(sys.executable).with_name("oxlint")
        command = [oxlint, "--config", ROOT / ".oxlintrc.json", "--format", "unix", path]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in found.stdout.splitlines():
        place = re.search(rf"{page}\.js:(\d+)(:.*)", line)
        print(f"{origins[int(place[1])]}{place[2]}" if place else line)
    print(found.stderr, end="", file=sys.stderr)
    return found.returncode


if __name__ == "__main__":
    sys.exit(main())
