"""The log of edits as a Python program that makes them again."""

from __future__ import annotations

from collections.abc import Iterable

from topmix.edits.operations import OPERATIONS, Edit, checked

HEAD = '''"""Edits of a topic model. Run it with the model as it was, the documents, and the file to write:

python edits.py MODEL DOCS EDITED

DOCS is what the model was fitted on, as `model.counts` reads it. The result has the same bits as the edited model.
"""

import sys

import topmix

path, documents, edited = sys.argv[1:]
model = topmix.load(path)
corpus = model.counts(documents)
'''


def script(edits: Iterable[Edit]) -> str:
    """A program with one line per edit."""
    lines = []
    for edit in edits:
        edit = checked(edit)
        documents = "corpus, " if OPERATIONS[edit["do"]][1] else ""
        first = [
            name for name in ("document", "topic", "topics", "words", "name") if name in edit and edit["do"] != "seed"
        ]
        if edit["do"] == "seed":
            first = ["words"]
        given = [repr(edit[name]) for name in first]
        given += [f"{name}={value!r}" for name, value in edit.items() if name not in ("do", *first)]
        lines.append(f"model = topmix.edits.{edit['do']}(model, {documents}{', '.join(given)})\n")
    return HEAD + "\n" + "".join(lines) + "\nmodel.save(edited)\n"
