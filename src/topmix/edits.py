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
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np

from topmix.allocations.document_prior import DocumentPrior
from topmix.api.admixture import AdmixtureEstimator
from topmix.api.mixture import MixtureEstimator
from topmix.api.topics import TopicEstimator
from topmix.api.variational import VariationalTopics
from topmix.api.vectors import VectorMixture
from topmix.data.corpus import Corpus
from topmix.engines import Cuda
from topmix.engines.resident import Resident
from topmix.fitted.edits import sampled
from topmix.fitted.names import checked_name
from topmix.fitted.seeds import STRENGTH
from topmix.fitted.topics import Edit, HardModel
from topmix.fitting.history import Callback, Record
from topmix.fitting.view import PassView
from topmix.metrics.completion import Parts, parts_of, predict_parts
from topmix.metrics.splits import split_types
from topmix.parameters.checks import positive_number, whole_number

__all__ = [
    "OPERATIONS",
    "Desk",
    "Edit",
    "Effect",
    "Numbering",
    "Tried",
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
R = TypeVar("R")
C = TypeVar("C", bound=VariationalTopics | VectorMixture)

CLUSTERS = ("rename", "merge", "split", "delete", "learn")  # edits of clusters of vectors
LEARN_SETTINGS = {"warm_start": True, "n_init": 1, "tol": 0.0, "max_time": None, "search": None, "verbose": 0}
DOCUMENTS = 400  # that the objective looks at, before an edit is accepted
COMPLETED = 200  # whose words are predicted
LEARNED_ON = ("merge", "split", "delete", "seed", "move")  # edits after which a GPU learns on before they are shown
MOST_PASSES, SETTLED = 20, 1e-3  # of that: until a pass changes the objective by less per token
KEPT = 3  # models that a device has beside those in memory


def can_edit(model: object) -> bool:
    """Whether topics of this model can be merged, split, deleted and learned on. See also `can_edit_words`."""
    is_vectors = isinstance(model, VectorMixture) and model._fitted is not None
    return is_vectors or can_edit_words(model)


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
    asked: dict[str, Any] = {**LEARN_SETTINGS, "max_iter": whole_number(passes, "passes"), "random_state": int(seed)}
    if isinstance(model, MixtureEstimator):
        asked["tol"] = -np.inf  # all passes, no search, and no warning that they did not converge
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


HEAD = '''"""Edits of a topic model. Run it with the model as it was, {needs}, and the file to write:

python edits.py MODEL {usage}

{what} The result has the same bits as the edited model.
"""

import sys
{imports}
import topmix

{given} = sys.argv[1:]
model = topmix.load(path)
corpus = model.counts({counts})
'''
TEXTS = "TEXTS, where there were some, is the file of their texts."
OF_WORDS = {
    "needs": "the documents",
    "usage": "DOCS EDITED",
    "what": "DOCS is what the model was fitted on, as `model.counts` reads it.",
    "imports": "",
    "given": "path, documents, edited",
    "counts": "documents",
}
OF_VECTORS = {
    "needs": "the vectors",
    "usage": "VECTORS EDITED [TEXTS]",
    "what": f"VECTORS is a .npy file of what the model was fitted on.\n{TEXTS}",
    "imports": "",
    "given": "path, vectors, edited, *texts",
    "counts": "vectors, *texts",
}
OF_GROUPS = {
    "needs": "the vectors and their groups",
    "usage": "VECTORS GROUPS EDITED [TEXTS]",
    "what": f"VECTORS and GROUPS are .npy files of what the model was fitted on, and of each row's group.\n{TEXTS}",
    "imports": "\nimport numpy as np\n",
    "given": "path, vectors, groups, edited, *texts",
    "counts": "vectors, np.load(groups), *texts",
}


def script(edits: Iterable[Edit], model: object = None) -> str:
    """The edits of a model as a Python program, with one line per edit. Without the model it is one of words."""
    lines, of = [], OF_VECTORS if isinstance(model, VectorMixture) else OF_WORDS
    head = HEAD.format(**(OF_GROUPS if isinstance(model, AdmixtureEstimator) else of))
    for edit in edits:
        edit = checked(edit)
        documents = "corpus, " if OPERATIONS[edit["do"]].needs_documents else ""
        first = ["words"] if edit["do"] == "seed" else [
            name for name in ("document", "topic", "topics", "words", "name") if name in edit
        ]  # fmt: skip
        given = [repr(edit[name]) for name in first]
        given += [f"{name}={value!r}" for name, value in edit.items() if name not in ("do", *first)]
        lines.append(f"model = topmix.edits.{edit['do']}(model, {documents}{', '.join(given)})\n")
    return head + "\n" + "".join(lines) + "\nmodel.save(edited)\n"


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


Scores = tuple[float | None, float | None]  # objective and completion, as in `Effect`


def effect_of(before: T, after: T, corpus: Corpus, held_out: Corpus | None = None) -> Effect:
    """Scores of two models on the same sample of documents, before anybody accepts an edit.

    The objective is `score` per token; of clusters of vectors, per document. Completion is the log probability of a
    fifth of the words of a document, given the others: of `held_out` documents where there are some, else of a sample
    of the corpus.
    """
    desk = Desk(corpus, held_out)
    (a, b), (c, d) = desk.scores(before), desk.scores(after)
    return Effect(a, c, b, d)


def scores_of(
    model: TopicEstimator | MixtureEstimator, corpus: Corpus, held_out: Corpus | None = None
) -> tuple[float | None, float | None]:
    """The two scores of `effect_of` for one model: objective and completion, which clusters of vectors do not have."""
    return Desk(corpus, held_out).scores(model)


class Tried(NamedTuple):
    """A model after an edit that nobody has accepted yet."""

    edits: list[Edit]  # the edit, and learning on where that takes moments
    model: Any
    scores: Scores


class Desk:
    """Where edits of one corpus are tried: `tried` says what an edit would do.

    It remembers the sample of documents that models are scored by. With engine="cuda" the documents and the topics stay
    on the device, and the model learns on after the edit until passes change little: a pass takes a moment there.
    """

    def __init__(self, corpus: Corpus, held_out: Corpus | None = None):
        self.corpus = corpus
        self._unseen = corpus if held_out is None else held_out
        self._resident: Resident | None = None
        self._twins: list[tuple[object, Any]] = []  # what was fitted, and the model on the device: the last ones used
        self._known: list[tuple[object, Scores]] = []  # the same with scores
        self._using = threading.RLock()  # the device

    @cached_property
    def sample(self) -> Corpus:
        return sampled(self.corpus, DOCUMENTS, 0)

    @cached_property
    def _parts(self) -> Parts:
        """Of the held-out documents: words that are given, and words that are predicted."""
        return parts_of(*split_types(sampled(self._unseen, COMPLETED, 1), random_state=0))

    def scores(self, model: TopicEstimator | MixtureEstimator) -> Scores:
        """Objective and completion of a model; clusters of vectors have no completion."""
        if isinstance(model, MixtureEstimator):
            return float(model.score(self.sample)), None
        objective = completion = None
        if self.corpus.n_tokens:
            objective = float(model.score(self.sample)) / float(self.sample.n_tokens)
        if self._unseen.n_tokens:
            f = model._found()
            is_sampled = isinstance(f.model, HardModel) or f.token_topics is not None
            words = self._parts.words
            table = np.ascontiguousarray(f.topic_word[:, words].T) if is_sampled else f.topics.words.mean_of(words)
            found = predict_parts(table, self._parts, engine=self._resident if model.engine is self._resident else None)
            completion = found.mean if found.n_tokens.sum() else None
        return objective, completion

    def before(self, model: TopicEstimator | MixtureEstimator) -> Scores:
        """What `tried` is compared with: the scores of the model as it is, or as it would be if it learned on."""
        with self.at(model):
            f = model._found()
            scores = _last_used(self._known, f)
            if scores is None:
                scores = self._scored(model, None).scores
                self._known.append((f, scores))
            return scores

    def tried(self, model: T, edit: Edit) -> Tried:
        """The model after an edit, and its scores. `accepted` makes it one to keep."""
        with self.at(model):
            return self._scored(model, checked(edit))

    @contextmanager
    def at(self, model: TopicEstimator | MixtureEstimator) -> Iterator[None]:
        """Inside, what was tried can be looked at where it is, and nobody else tries an edit."""
        with self._using, model._engine().lane(1, 2):  # documents of other models may be visited meanwhile
            yield

    def here(self, model: T) -> T:
        """The model where it is quickest to work with, inside of `at`."""
        return self._placed(model) if self._learns_on(model, None) else model

    def shares(self, model: TopicEstimator | MixtureEstimator, X: Corpus) -> np.ndarray:
        """[documents, K] topics of documents, under a model that is known here."""
        with self.at(model):
            where = self.here(model)
            mixes = isinstance(where, TopicEstimator | AdmixtureEstimator)
            return np.asarray(where.transform(X) if mixes else where.predict_proba(X))

    def accepted(self, tried: Tried) -> Any:
        """The model that was tried, in the memory of this process."""
        model = tried.model
        with self._using:
            if isinstance(model, VariationalTopics) and model.engine is self._resident:
                f = model._found()
                kept = copy.copy(model).set_params(engine=model.engine.engine)
                kept._fitted = replace(f, model=f.topics.on_host())
                self._twins.append((kept._fitted, model))
                model = kept
            self._known.append((model._found(), tried.scores))
            return model

    def close(self) -> None:
        """Gives the device back."""
        with self._using:
            self._twins, self._known = [], []
            if self._resident is not None:
                self._resident.close()
                self._resident = None

    def _scored(self, model: T, edit: Edit | None) -> Tried:
        if not self._learns_on(model, edit):
            after = model if edit is None else apply(model, edit, self.corpus)
            return Tried([] if edit is None else [edit], after, self.scores(after))
        now = self._placed(model)
        n = len(now._found().edits)
        now = now if edit is None else apply(now, edit, self.corpus)
        now = learn(now, self.corpus, passes=MOST_PASSES, callbacks=[Settling(self.corpus.n_tokens)])
        return Tried(list(now._found().edits[n:]), now, self.scores(now))

    def _learns_on(self, model: TopicEstimator | MixtureEstimator, edit: Edit | None) -> TypeGuard[VariationalTopics]:
        """Whether that takes moments: with a GPU, where it has kernels for the edited model."""
        if not (isinstance(model, VariationalTopics) and isinstance(model._engine(), Cuda)):
            return False
        f = model._found()
        is_plain = isinstance(f.topics.prior, DocumentPrior) and f.topics.words.held is None and f.versions is None
        return is_plain and (edit is None or edit["do"] in LEARNED_ON)

    def _placed(self, model: V) -> V:
        """The model on the device."""
        f = model._found()
        twin = _last_used(self._twins, f)
        if twin is not None:
            assert isinstance(twin, type(model))
            if f.places is not None and np.isnan(f.places).any():
                twin._fitted = replace(twin._found(), places=f.view.places)
            return twin
        engine = model._engine()
        assert isinstance(engine, Cuda)
        if self._resident is None:
            self._resident = Resident(engine, [self.corpus, self.sample])
        now = copy.copy(model).set_params(engine=self._resident)
        now._fitted = replace(f, model=self._resident.placed(f.topics), places=f.view.places)
        self._twins.append((f, now))
        return now


def _last_used(kept: list[tuple[object, R]], key: object) -> R | None:
    """What belongs to this object; the last few of all that were asked for are kept."""
    found = [pair for pair in kept if pair[0] is key]
    kept[:] = [pair for pair in kept if pair[0] is not key][-KEPT:] + found
    return found[0][1] if found else None


class Settling:
    """A callback that ends learning when a pass changes the objective little."""

    def __init__(self, n_tokens: float):
        self.least, self.last = SETTLED * max(n_tokens, 1.0), -np.inf

    def __call__(self, record: Record, view: PassView) -> bool:
        gain, self.last = record.objective - self.last, record.objective
        return record.n_pass > 2 and abs(gain) < self.least


def _made(model: T, edit: Edit, change: Callable[[T], object]) -> T:
    """A copy of the model, changed, that remembers the edit."""
    now = copy.copy(model)
    f = now._found()
    is_placed = f.places is not None and not np.isnan(f.places).any()
    if not is_placed and now._has_words():
        now._fitted = replace(f, places=f.view.places)  # topics keep their place on the map
    change(now)
    now._fitted = replace(now._found(), edits=(*model._found().edits, edit))
    return now
