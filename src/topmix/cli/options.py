"""Options and arguments that mean the same in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topmix.data.atomic import check_can_write

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option(help="Random seed: the same seed gives the same result.", min=0, metavar="N")]
Threads = Annotated[
    int | None,
    typer.Option(help="Number of threads; all cores if not given. The result is the same.", min=1, metavar="N"),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `topmix fit -o MODEL` writes it.")]
Documents = Annotated[
    Path,
    typer.Argument(
        metavar="DOCS",
        help="A folder of text files; a CSV, TSV, JSON lines or text file; a saved corpus; any format of counts.",
    ),
]


def check_output(path: Path) -> None:
    """Raises ValueError or OSError before the work begins if the file cannot be written."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file to write")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: the folder {path.absolute().parent} does not exist; make it first")
    check_can_write(path)


def check_output_folder(path: Path) -> None:
    """The same for a folder, which may have to be made."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; give the name of a folder to write")
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.is_dir())
    check_can_write(there / "topmix")
