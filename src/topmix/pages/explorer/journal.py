"""The edits of a session in a small file beside the model, MODEL.session, written after each edit.

A server that was killed reads it and makes the edits again: they give the same bits, so this is its last state.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from topmix.data.atomic import atomic_write
from topmix.edits import Edit, checked

FORMAT = "topmix-session"


class Journal:
    """`edits` that were made, and `undone` ones that can be made again. Without a path nothing is written."""

    def __init__(self, model: Path | None):
        self.path = None if model is None else model.with_name(model.name + ".session")
        self.edits: list[Edit] = []
        self.undone: list[Edit] = []
        self._base = "" if model is None else _digest(model)
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def write(self) -> None:
        if self.path is None:
            return
        text = {"format": FORMAT, "model": self._base, "edits": self.edits, "undone": self.undone}
        with atomic_write(self.path) as file:
            file.write(json.dumps(text, ensure_ascii=True, indent=1).encode())

    def _read(self, path: Path) -> None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["format"] != FORMAT:
                raise ValueError("it is no session")
            base, edits, undone = found["model"], found["edits"], found["undone"]
            self.edits, self.undone = [checked(edit) for edit in edits], [checked(edit) for edit in undone]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path}: not a session of the explorer ({error}); move it away to begin anew") from error
        if base != self._base:
            raise ValueError(f"{path}: holds edits of another model than the one beside it; move it away to begin anew")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
