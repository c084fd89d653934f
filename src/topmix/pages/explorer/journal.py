"""The edits of a session in a small file beside the model, MODEL.session, written after each edit.

A server that was killed reads it and makes the edits again: they give the same bits, so this is its last state.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from topmix.data.atomic import atomic_write, remove_unfinished
from topmix.data.paths import file_version, open_whole
from topmix.edits import Edit, checked
from topmix.pages.web import Refused

FORMAT = "topmix-session"


class Journal:
    """`edits` that were made, and `undone` ones that can be made again. Without a path nothing is written."""

    def __init__(self, model: Path | None):
        self.path = None if model is None else model.with_name(model.name + ".session")
        self.edits: list[Edit] = []
        self.undone: list[Edit] = []
        self._base = "" if model is None else _digest(model)
        self._seen = None if self.path is None else file_version(self.path)
        if self.path is not None:
            remove_unfinished(self.path)  # of an explorer that was killed
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def move(self, edits: list[Edit], undone: list[Edit], *, write: bool = True) -> None:
        """These are the edits from now on, once they are in the file."""
        if write and self.path is not None:
            if file_version(self.path) != self._seen:
                raise Refused(f"another explorer has edited this model: {self.path.name} is not what it was")
            text = {"format": FORMAT, "model": self._base, "edits": edits, "undone": undone}
            with atomic_write(self.path) as file:
                file.write(json.dumps(text, ensure_ascii=True, indent=1).encode())
            self._seen = file_version(self.path)
        self.edits, self.undone = list(edits), list(undone)

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
    with open_whole(path) as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()
