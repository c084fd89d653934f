"""Edits of a topic model that can be replayed: each is a function from a model to another one."""

from topmix.results.topics import Edit
from topmix.selection.edits import (
    OPERATIONS,
    Effect,
    Numbering,
    apply,
    ban,
    can_edit,
    can_edit_words,
    checked,
    delete,
    effect_of,
    freeze,
    learn,
    merge,
    move,
    numbering,
    pin,
    rename,
    replay,
    script,
    seed,
    split,
    unfreeze,
)

__all__ = [
    "OPERATIONS", "Edit", "Effect", "Numbering", "apply", "ban", "can_edit", "can_edit_words", "checked", "delete",
    "effect_of", "freeze", "learn", "merge", "move", "numbering", "pin", "rename", "replay", "script", "seed",
    "split", "unfreeze",
]  # fmt: skip
