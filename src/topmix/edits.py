"""Edits of a topic model that can be replayed: each is a function from a model to another one.

import topmix
model = topmix.load("model")
model = topmix.edits.rename(model, 3, "Sailing")
model = topmix.edits.merge(model, [2, 7])
model = topmix.edits.learn(model, corpus, passes=5)
model.save("edited")

None changes the model that it is given. A model remembers its edits in `edits_`, and its file holds them. `script`
writes them as a program like this one, and `replay` makes them again: the result has the same bits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from topmix.api.admixture import AdmixtureEstimator
from topmix.api.mixture import MixtureEstimator
from topmix.api.topics import TopicEstimator
from topmix.api.variational import VariationalTopics
from topmix.api.vectors import VectorMixture
from topmix.data.corpus import Corpus
from topmix.fitted.edits import sampled
from topmix.fitted.names import checked_name
from topmix.fitted.seeds import STRENGTH
from topmix.fitted.topics import Edit
from topmix.fitting.history import Callback
from topmix.metrics import completion_scores
from topmix.parameters.checks import positive_number, whole_number

__all__ = [
    "OPERATIONS",
    "Edit",
    "Effect",
    "Numbering",
    "apply",
    "ban",
    "can_edit",
    "can_edit_words",
    "checked",
    "delete",
    "effect_of",
    "freeze",
    "learn",
    "merge",
    "move",
    "numbering",
    "pin",
    "rename",
    "replay",
    "scores_of",
    "script",
    "seed",
    "split",
    "unfreeze",
]

T = TypeVar("T", bound=TopicEstimator | MixtureEstimator)
V = TypeVar("V", bound=VariationalTopics)
C = TypeVar("C", bound=VariationalTopics | VectorMixture)

CLUSTERS = ("rename", "merge", "split", "delete", "learn")  # edits of clusters of vectors
LEARN_SETTINGS = {"warm_start": True, "n_init": 1, "tol": 0.0, "max_time": None, "search": None, "verbose": 0}
DOCUMENTS = 400  # that the objective looks at, before an edit is accepted
COMPLETED = 200  # whose words are predicted


def can_edit(model: object) -> bool:
    """Whether topics of this model can be merged, split, deleted and learned on. See also `can_edit_words`."""
    if isinstance(model, VectorMixture):
        return model._fitted is not None and not isinstance(model, AdmixtureEstimator)
    return can_edit_words(model)


def can_edit_words(model: object) -> bool:
    """Whether words can be seeded, banned and pinned, topics frozen, and documents moved: not where clusters are of
    vectors, and words only describe them."""
    return isinstance(model, VariationalTopics) and model._fitted is not None


def rename(model: T, topic: int, name: str) -> T:
    """The topic has this name."""
    edit = {"do": "rename", "topic": int(topic), "name": checked_name(name)}
    return _made(model, edit, lambda now: now.name_topics({int(topic): name}))


def merge(model: C, topics: Iterable[int]) -> C:
    """One topic in the place of the lowest of these; later ones move up."""
    group = sorted({int(k) for k in topics})
    return _made(model, {"do": "merge", "topics": group}, lambda now: now.merge_topics([group]))


def split(model: C, corpus: object, topic: int, *, seed: int = 0) -> C:
    """Two topics of one, by the documents that have most of it; the second is the last topic."""
    edit = {"do": "split", "topic": int(topic), "seed": int(seed)}
    return _made(model, edit, lambda now: now.split_topic(corpus, int(topic), random_state=int(seed)))


def delete(model: C, topic: int) -> C:
    """Without this topic; later ones move up. Its tokens go to others when documents are next visited."""
    return _made(model, {"do": "delete", "topic": int(topic)}, lambda now: now.drop_topics([int(topic)]))


def seed(model: V, words: Sequence[str], *, topic: int | None = None, strength: float = STRENGTH) -> V:
    """Pulls a topic towards words, or adds one that starts from them. `strength` is a share of the words' tokens."""
    of, where = list(words), None if topic is None else [int(topic)]
    edit = {"do": "seed", "words": of, "topic": None if topic is None else int(topic), "strength": float(strength)}
    return _made(model, edit, lambda now: now.seed_topics([of], topics=where, strength=strength))


def ban(model: V, topic: int, words: Sequence[str]) -> V:
    """Keeps words out of a topic, also while it learns on."""
    of = list(words)
    edit = {"do": "ban", "topic": int(topic), "words": of}
    return _made(model, edit, lambda now: now.ban_words(int(topic), of))


def pin(model: V, topic: int, words: Sequence[str]) -> V:
    """Keeps words in a topic and out of all others, also while the model learns on."""
    of = list(words)
    edit = {"do": "pin", "topic": int(topic), "words": of}
    return _made(model, edit, lambda now: now.pin_words(int(topic), of))


def move(model: V, corpus: object, document: int, topic: int) -> V:
    """Puts all tokens of a document into one topic. It stays there while the model learns on if it fits."""
    edit = {"do": "move", "document": int(document), "topic": int(topic)}
    return _made(model, edit, lambda now: now.move_document(corpus, int(document), int(topic)))


def freeze(model: V, topic: int) -> V:
    """The words of the topic stay as they are while the model learns on."""
    return _made(model, {"do": "freeze", "topic": int(topic)}, lambda now: now.freeze_topics([int(topic)]))


def unfreeze(model: V, topic: int) -> V:
    """The topic learns again."""
    return _made(model, {"do": "unfreeze", "topic": int(topic)}, lambda now: now.unfreeze_topics([int(topic)]))


def learn(model: C, corpus: object, *, passes: int, seed: int = 0, callbacks: Sequence[Callback] = ()) -> C:
    """Learns on from the topics as they are. The number of topics stays. A callback may end it before: the edit that
    is remembered has the passes that were made."""
    now, before = copy.copy(model), model._found()
    given = now.get_params(deep=False)
    asked = {**LEARN_SETTINGS, "max_iter": whole_number(passes, "passes"), "random_state": int(seed)}
    if isinstance(model, MixtureEstimator):
        asked["tol"] = -1.0  # all passes, and no warning that they did not converge
    now.set_params(**{name: value for name, value in asked.items() if name in given}, callbacks=list(callbacks))
    f = now.fit(corpus)._found()
    now.set_params(**{name: given[name] for name in (*asked, "callbacks") if name in given})
    past, spent = len(before.history), before.history[-1].seconds if before.history else 0.0
    later = (replace(r, n_pass=past + n, seconds=spent + r.seconds) for n, r in enumerate(f.history, 1))
    edit = {"do": "learn", "passes": len(f.history), "seed": int(seed)}
    now._fitted = replace(f, history=(*before.history, *later), edits=(*before.edits, edit), names=before.names)
    return now


class Operation(NamedTuple):
    function: Callable[..., Any]
    fields: dict[str, Callable[[Any], Any]]  # arguments, and how each is checked
    needs_documents: bool = False
    defaults: dict[str, Any] = {}  # noqa: RUF012  (never written to)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"a topic, document or seed must be a whole number, 0 or more, got {str(value)[:40]!r}")
    return int(value)


def _topics(value: Any) -> list[int]:
    if not isinstance(value, list | tuple) or len({_whole(k) for k in value}) < 2:
        raise ValueError("topics must be a list of two or more different topics")
    return [int(k) for k in value]


def _words(value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(word, str) and word for word in value):
        raise ValueError("words must be a list of words")
    return list(value)


TOPIC: dict[str, Callable[[Any], Any]] = {"topic": _whole}
OPERATIONS: dict[str, Operation] = {
    "rename": Operation(rename, TOPIC | {"name": checked_name}),
    "merge": Operation(merge, {"topics": _topics}),
    "split": Operation(split, TOPIC | {"seed": _whole}, True, {"seed": 0}),
    "delete": Operation(delete, TOPIC),
    "seed": Operation(
        seed,
        {
            "words": _words,
            "topic": lambda v: None if v is None else _whole(v),
            "strength": lambda v: positive_number(v, "strength"),
        },
        defaults={"topic": None, "strength": STRENGTH},
    ),
    "ban": Operation(ban, TOPIC | {"words": _words}),
    "pin": Operation(pin, TOPIC | {"words": _words}),
    "move": Operation(move, {"document": _whole, "topic": _whole}, True),
    "freeze": Operation(freeze, TOPIC),
    "unfreeze": Operation(unfreeze, TOPIC),
    "learn": Operation(learn, {"passes": lambda v: whole_number(v, "passes"), "seed": _whole}, True, {"seed": 0}),
}


def checked(edit: Any) -> Edit:
    """The edit with every argument checked and no other. Raises ValueError."""
    if not isinstance(edit, dict) or not isinstance(edit.get("do"), str) or edit["do"] not in OPERATIONS:
        raise ValueError(f"an edit is one of {', '.join(OPERATIONS)}, got {str(edit)[:60]!r}")
    operation = OPERATIONS[edit["do"]]
    if unknown := set(edit) - {"do", *operation.fields}:
        raise ValueError(f"{edit['do']} has no argument {', '.join(sorted(map(str, unknown)))[:60]}")
    found: Edit = {"do": edit["do"]}
    for name, check in operation.fields.items():
        if name not in edit and name not in operation.defaults:
            raise ValueError(f"{edit['do']} needs {name}")
        found[name] = check(edit.get(name, operation.defaults.get(name)))
    return found


def apply(model: T, edit: Edit, corpus: object = None, **more: object) -> T:
    """The model after one edit. `corpus` are the documents, which `split`, `move` and `learn` look at."""
    edit = checked(edit)
    operation = OPERATIONS[edit["do"]]
    if edit["do"] != "rename" and not can_edit(model):
        raise ValueError(f"topics of a {type(model).__name__} can be renamed; only LDA and HDP can be edited otherwise")
    if edit["do"] not in CLUSTERS and not can_edit_words(model):
        raise ValueError(f"clusters of vectors can be changed by {', '.join(CLUSTERS)}, and not by {edit['do']}")
    if operation.needs_documents and corpus is None:
        raise ValueError(f"{edit['do']} needs the documents")
    arguments = {name: value for name, value in edit.items() if name != "do"}
    edited: T = operation.function(model, *([corpus] if operation.needs_documents else []), **arguments, **more)
    return edited


def replay(model: T, edits: Iterable[Edit], corpus: object = None) -> T:
    """The model after all edits, one after another."""
    for edit in edits:
        model = apply(model, edit, corpus)
    return model


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
    """The edits as a Python program, with one line per edit."""
    lines = []
    for edit in edits:
        edit = checked(edit)
        documents = "corpus, " if OPERATIONS[edit["do"]].needs_documents else ""
        first = ["words"] if edit["do"] == "seed" else [
            name for name in ("document", "topic", "topics", "words", "name") if name in edit
        ]  # fmt: skip
        given = [repr(edit[name]) for name in first]
        given += [f"{name}={value!r}" for name, value in edit.items() if name not in ("do", *first)]
        lines.append(f"model = topmix.edits.{edit['do']}(model, {documents}{', '.join(given)})\n")
    return HEAD + "\n" + "".join(lines) + "\nmodel.save(edited)\n"


class Numbering(NamedTuple):
    """Numbers that stay with topics through edits: those that they had before the first edit, and higher ones for
    topics that came later. The row of a topic in `components_` changes where one before it goes."""

    ids: list[int]  # of the topics as they are now
    became: dict[int, int | None]  # of topics that are gone: the one that they were merged into, None if deleted
    edits: list[Edit]  # with these numbers in the place of rows


def numbering(model: TopicEstimator | MixtureEstimator) -> Numbering:
    """The numbers of the topics of an edited model."""
    made, K = model._found().edits, model._found().n_topics
    try:
        edits = [checked(edit) for edit in made]
        ids = list(range(K - sum(map(_gained, edits))))
        last, became, said = len(ids), dict[int, int | None](), list[Edit]()
        for edit in edits:
            said.append(edit | {name: _numbers(ids, edit[name]) for name in ("topic", "topics") if name in edit})
            if _gained(edit) > 0:
                ids.append(last)
                last += 1
            elif edit["do"] in ("merge", "delete"):
                into, *gone = sorted(set(edit["topics"])) if edit["do"] == "merge" else (None, edit["topic"])
                became |= {ids[k]: None if into is None else ids[into] for k in gone}
                ids = [n for k, n in enumerate(ids) if k not in gone]
    except (IndexError, ValueError):  # topics were changed between edits that were remembered
        return Numbering(list(range(K)), {}, list(made))
    return Numbering(ids, became, said)


def _gained(edit: Edit) -> int:
    """How many topics more there are after an edit."""
    if edit["do"] == "merge":
        return 1 - len(set(edit["topics"]))
    return {"split": 1, "delete": -1, "seed": int(edit.get("topic") is None)}.get(edit["do"], 0)


def _numbers(ids: list[int], rows: int | list[int] | None) -> int | list[int] | None:
    return rows if rows is None else ids[rows] if isinstance(rows, int) else [ids[k] for k in rows]


class Effect(NamedTuple):
    """Nats per token, as they were and as they would be. None where no document has words to look at."""

    objective_before: float | None
    objective_after: float | None
    completion_before: float | None
    completion_after: float | None


def effect_of(before: T, after: T, corpus: Corpus, held_out: Corpus | None = None) -> Effect:
    """Scores of two models on the same sample of documents, before anybody accepts an edit.

    The objective is `score` per token; of clusters of vectors, per document. Completion is the log probability of a
    fifth of the words of a document, given the others: of `held_out` documents where there are some, else of a sample
    of the corpus.
    """
    (a, b), (c, d) = scores_of(before, corpus, held_out), scores_of(after, corpus, held_out)
    return Effect(a, c, b, d)


def scores_of(
    model: TopicEstimator | MixtureEstimator, corpus: Corpus, held_out: Corpus | None = None
) -> tuple[float | None, float | None]:
    """The two scores of `effect_of` for one model: objective and completion."""
    objective = completion = None
    if isinstance(model, MixtureEstimator):
        return float(model.score(sampled(corpus, DOCUMENTS, 0))), None
    if corpus.n_tokens:
        sample = sampled(corpus, DOCUMENTS, 0)
        objective = float(model.score(sample)) / float(sample.n_tokens)
    unseen = corpus if held_out is None else held_out
    if unseen.n_tokens:
        found = completion_scores(model.topic_word_, sampled(unseen, COMPLETED, 1), random_state=0)
        completion = found.mean if found.n_tokens.sum() else None
    return objective, completion


def _made(model: T, edit: Edit, change: Callable[[T], object]) -> T:
    """A copy of the model, changed, that remembers the edit."""
    now = copy.copy(model)
    now._fitted = replace(now._found(), places=now._found().view.places)  # topics keep their place on the map
    change(now)
    now._fitted = replace(now._found(), edits=(*model._found().edits, edit))
    return now
