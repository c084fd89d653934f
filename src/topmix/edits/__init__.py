"""Edits of a topic model that can be replayed: each is a function from a model to another one.

import topmix
model = topmix.load("model")
model = topmix.edits.rename(model, 3, "Sailing")
model = topmix.edits.merge(model, [2, 7])
model = topmix.edits.learn(model, corpus, passes=5)
model.save("edited")

A model remembers its edits in `edits_`, and its file holds them. `script` writes them as a program like this one, and
`replay` makes them again: the result has the same bits.
"""

from __future__ import annotations

from topmix.edits.effect import Effect, effect_of
from topmix.edits.operations import (
    OPERATIONS,
    apply,
    ban,
    can_edit,
    checked,
    delete,
    freeze,
    learn,
    merge,
    move,
    pin,
    rename,
    replay,
    seed,
    split,
    unfreeze,
)
from topmix.edits.program import script

__all__ = [
    "OPERATIONS",
    "Effect",
    "apply",
    "ban",
    "can_edit",
    "checked",
    "delete",
    "effect_of",
    "freeze",
    "learn",
    "merge",
    "move",
    "pin",
    "rename",
    "replay",
    "script",
    "seed",
    "split",
    "unfreeze",
]
