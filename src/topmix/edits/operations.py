"""The edits themselves. None changes the model that it is given; each returns another that remembers the edit."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topmix.estimators.editing import EditMixin
from topmix.estimators.names import checked_name
from topmix.fitting.history import Callback, passes_made
from topmix.parameters.checks import positive_number, whole_number

Edit = dict[str, Any]  # {"do": one of OPERATIONS, ...its arguments}, as JSON holds it
LEARN_SETTINGS = {"warm_start": True, "n_init": 1, "tol": 0.0, "max_time": None, "search": None, "verbose": 0}


def can_edit(model: Any) -> bool:
    """Whether topics of this model can be merged, split, deleted, seeded and learned on."""
    return isinstance(model, EditMixin) and hasattr(model, "model_")


def rename(model: Any, topic: int, name: str) -> Any:
    """The topic has this name."""
    now = _copy(model, {"do": "rename", "topic": int(topic), "name": checked_name(name)})
    return now.name_topics({int(topic): name})


def merge(model: Any, topics: Iterable[int]) -> Any:
    """One topic in the place of the lowest of these; later ones move up."""
    group = sorted({int(k) for k in topics})
    return _copy(model, {"do": "merge", "topics": group}).merge_topics([group])


def split(model: Any, corpus: Any, topic: int, *, seed: int = 0) -> Any:
    """Two topics of one, by the documents that have most of it; the second is the last topic."""
    now = _copy(model, {"do": "split", "topic": int(topic), "seed": int(seed)})
    return now.split_topic(corpus, int(topic), random_state=int(seed))


def delete(model: Any, topic: int) -> Any:
    """Without this topic; later ones move up. Its tokens go to others when documents are next visited."""
    return _copy(model, {"do": "delete", "topic": int(topic)}).drop_topics([int(topic)])


def seed(model: Any, words: Sequence[str], *, topic: int | None = None, strength: float = 0.3) -> Any:
    """Pulls a topic towards words, or adds one that starts from them. `strength` is a share of the words' tokens."""
    of = list(words)
    edit = {"do": "seed", "words": of, "topic": None if topic is None else int(topic), "strength": float(strength)}
    return _copy(model, edit).seed_topics([of], topics=None if topic is None else [int(topic)], strength=strength)


def ban(model: Any, topic: int, words: Sequence[str]) -> Any:
    """Keeps words out of a topic, also while it learns on."""
    of = list(words)
    return _copy(model, {"do": "ban", "topic": int(topic), "words": of}).ban_words(int(topic), of)


def pin(model: Any, topic: int, words: Sequence[str]) -> Any:
    """Keeps words in a topic and out of all others, also while the model learns on."""
    of = list(words)
    return _copy(model, {"do": "pin", "topic": int(topic), "words": of}).pin_words(int(topic), of)


def move(model: Any, corpus: Any, document: int, topic: int) -> Any:
    """Puts all tokens of a document into one topic. It stays there while the model learns on if it fits."""
    now = _copy(model, {"do": "move", "document": int(document), "topic": int(topic)})
    return now.move_document(corpus, int(document), int(topic))


def freeze(model: Any, topic: int) -> Any:
    """The words of the topic stay as they are while the model learns on."""
    return _copy(model, {"do": "freeze", "topic": int(topic)}).freeze_topics([int(topic)])


def unfreeze(model: Any, topic: int) -> Any:
    """The topic learns again."""
    return _copy(model, {"do": "unfreeze", "topic": int(topic)}).unfreeze_topics([int(topic)])


def learn(model: Any, corpus: Any, *, passes: int, seed: int = 0, callbacks: Sequence[Callback] = ()) -> Any:
    """Learns on from the topics as they are. The number of topics stays. A callback may end it before: the edit that
    is remembered has the passes that were made."""
    now = _copy(model, {})
    given = now.get_params(deep=False)
    asked = {**LEARN_SETTINGS, "max_iter": whole_number(passes, "passes"), "random_state": int(seed)}
    before = list(getattr(model, "history_", []))
    now.set_params(**{name: value for name, value in asked.items() if name in given}, callbacks=list(callbacks))
    now.fit(corpus)
    now.set_params(**{name: given[name] for name in (*asked, "callbacks") if name in given})
    made = passes_made(now.history_)
    spent = before[-1].seconds if before else 0.0
    now.history_ = before + [
        replace(r, n_pass=len(before) + n, seconds=spent + r.seconds) for n, r in enumerate(now.history_, 1)
    ]
    now.edits_ = [*getattr(model, "edits_", []), {"do": "learn", "passes": made, "seed": int(seed)}]
    now.names_ = dict(getattr(model, "names_", {}))
    return now


OPERATIONS: dict[str, tuple[Callable[..., Any], bool]] = {  # name: (function, whether it needs the documents)
    "rename": (rename, False),
    "merge": (merge, False),
    "split": (split, True),
    "delete": (delete, False),
    "seed": (seed, False),
    "ban": (ban, False),
    "pin": (pin, False),
    "move": (move, True),
    "freeze": (freeze, False),
    "unfreeze": (unfreeze, False),
    "learn": (learn, True),
}
FIELDS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "rename": {"topic": lambda v: _whole(v, "topic"), "name": checked_name},
    "merge": {"topics": lambda v: _topics(v)},
    "split": {"topic": lambda v: _whole(v, "topic"), "seed": lambda v: _whole(v, "seed")},
    "delete": {"topic": lambda v: _whole(v, "topic")},
    "seed": {
        "words": lambda v: _words(v),
        "topic": lambda v: None if v is None else _whole(v, "topic"),
        "strength": lambda v: positive_number(v, "strength"),
    },
    "ban": {"topic": lambda v: _whole(v, "topic"), "words": lambda v: _words(v)},
    "pin": {"topic": lambda v: _whole(v, "topic"), "words": lambda v: _words(v)},
    "move": {"document": lambda v: _whole(v, "document"), "topic": lambda v: _whole(v, "topic")},
    "freeze": {"topic": lambda v: _whole(v, "topic")},
    "unfreeze": {"topic": lambda v: _whole(v, "topic")},
    "learn": {"passes": lambda v: whole_number(v, "passes"), "seed": lambda v: _whole(v, "seed")},
}
DEFAULTS: dict[str, Any] = {"seed": 0, "topic": None, "strength": 0.3}


def checked(edit: Any) -> Edit:
    """The edit with every argument checked and no other. Raises ValueError."""
    if not isinstance(edit, dict) or edit.get("do") not in FIELDS:
        raise ValueError(f"an edit is one of {', '.join(FIELDS)}, got {str(edit)[:60]!r}")
    fields = FIELDS[edit["do"]]
    if unknown := set(edit) - {"do", *fields}:
        raise ValueError(f"{edit['do']} has no argument {', '.join(sorted(map(str, unknown)))[:60]}")
    found: Edit = {"do": edit["do"]}
    for name, check in fields.items():
        if name not in edit and (name not in DEFAULTS or (name == "topic" and edit["do"] != "seed")):
            raise ValueError(f"{edit['do']} needs {name}")
        found[name] = check(edit.get(name, DEFAULTS.get(name)))
    return found


def apply(model: Any, edit: Edit, corpus: Any = None, **more: Any) -> Any:
    """The model after one edit. `corpus` are the documents, which `split`, `move` and `learn` look at."""
    edit = checked(edit)
    function, needs_documents = OPERATIONS[edit["do"]]
    if edit["do"] != "rename" and not can_edit(model):
        raise ValueError(f"topics of a {type(model).__name__} can be renamed; only LDA and HDP can be edited otherwise")
    if needs_documents and corpus is None:
        raise ValueError(f"{edit['do']} needs the documents")
    arguments = {name: value for name, value in edit.items() if name != "do"}
    return function(model, *([corpus] if needs_documents else []), **arguments, **more)


def replay(model: Any, edits: Iterable[Edit], corpus: Any = None) -> Any:
    """The model after all edits, one after another."""
    for edit in edits:
        model = apply(model, edit, corpus)
    return model


def _copy(model: Any, edit: Edit) -> Any:
    now = copy.copy(model)
    now.edits_ = [*getattr(model, "edits_", []), edit]
    return now


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, got {str(value)[:40]!r}")
    return int(value)


def _topics(value: Any) -> list[int]:
    if not isinstance(value, list | tuple) or len({_whole(k, "topic") for k in value}) < 2:
        raise ValueError("topics must be a list of two or more different topics")
    return [int(k) for k in value]


def _words(value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(word, str) and word for word in value):
        raise ValueError("words must be a list of words")
    return list(value)
