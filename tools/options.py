"""The options of the document solver, for C++ and CUDA, from where they are declared: models/topics.py.

python tools/options.py --write      after adding or changing an option
python tools/options.py --check      says what differs, and fails if anything does
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECLARED = ROOT / "src" / "topmix" / "models" / "topics.py"
NATIVE = ROOT / "cpp" / "steps" / "document_option_list.hpp"
CUDA = ROOT / "src" / "topmix" / "cuda" / "kernels" / "document_options.hpp"
HEADER = "// Made by tools/options.py from src/topmix/models/topics.py; do not edit.\n#pragma once\n\n"


def declared() -> list[tuple[str, str, str]]:
    """Type, name and comment of the options that kernels know: numbers, and yes or no."""
    body = DECLARED.read_text().split("class DocumentOptions:")[1].split("    def ")[0]
    return re.findall(r"^    (\w+): (float|int|bool) = [^#\n]*?(?:  # (.*))?$", body, re.MULTILINE)


def native() -> str:
    options = " \\\n".join(f"    OPTION({kind}, {name})" for name, kind, _ in declared())
    return f"{HEADER}// clang-format off\n#define TOPMIX_DOCUMENT_OPTIONS(OPTION) \\\n{options}\n// clang-format on\n"


def cuda() -> str:
    lines = [
        (f"    {'float' if kind == 'float' else 'int'} {name};", f"// {why}" if why else "")
        for name, kind, why in declared()
    ]
    width = max(len(field) for field, _ in lines)
    fields = "".join(f"{field:<{width}}  {why}".rstrip() + "\n" for field, why in lines)
    return f"{HEADER}// clang-format off\nstruct DocumentOptions {{\n{fields}}};\n// clang-format on\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--write", action="store_true")
    how.add_argument("--check", action="store_true")
    args = parser.parse_args()

    differs = False
    for path, fresh in ((NATIVE, native()), (CUDA, cuda())):
        if args.write:
            path.write_text(fresh)
            continue
        stored = path.read_text() if path.exists() else ""
        differs |= stored != fresh
        sys.stdout.writelines(difflib.unified_diff(stored.splitlines(True), fresh.splitlines(True), "stored", "fresh"))
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
