"""Edits of a topic model that can be replayed: each is a function from a model to another one.

model = topmix.edits.rename(topmix.load("model"), 3, "Sailing")
model = topmix.edits.learn(topmix.edits.merge(model, [2, 7]), corpus, passes=5)

None changes the model that it is given. A model remembers its edits in `edits_`, and its file holds them. `script`
writes them as a program, and `replay` makes them again: the result has the same bits.

An edit is a dict, {"do": name, ...arguments}, as JSON holds it. The signatures of the functions below are the table of
edits: logs are checked by it, and programs are printed from it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from topmix.base.checks import are_texts, is_plural, positive_number, whole_number
from topmix.corpus.corpus import Corpus
from topmix.estimators.admixture import AdmixtureEstimator
from topmix.estimators.mixture import MixtureEstimator
from topmix.estimators.topics import TopicEstimator
from topmix.estimators.variational import VariationalTopics
from topmix.estimators.vectors import VectorMixture
from topmix.learn.history import Callback
from topmix.results.completion import DocumentParts, split_types
from topmix.results.edits import sampled
from topmix.results.names import checked_name
from topmix.results.seeds import STRENGTH
from topmix.results.topics import Edit, HardModel

T = TypeVar("T", bound=TopicEstimator | MixtureEstimator)
V = TypeVar("V", bound=VariationalTopics)
C = TypeVar("C", bound=VariationalTopics | VectorMixture)
Function = TypeVar("Function", bound=Callable[..., object])
Model = TopicEstimator | MixtureEstimator
Scores = tuple[float | None, float | None]  # objective and completion, as in `Effect`

LEARN_SETTINGS = {"warm_start": True, "n_init": 1, "tol": 0.0, "max_time": None, "search": None, "verbose": 0}
DOCUMENTS = 400  # that the objective of an effect looks at
COMPLETED = 200  # whose words are predicted
OF_CLUSTERS = ("rename", "merge", "split", "delete", "learn")  # edits of clusters of vectors, too


def can_edit(model: object) -> bool:
    """Whether topics of this model can be merged, split, deleted and learned on. See also `can_edit_words`."""
    is_vectors = isinstance(model, VectorMixture) and model._fitted is not None
    return is_vectors or can_edit_words(model)


def can_edit_words(model: object) -> bool:
    """Whether words can be seeded, banned and pinned, topics frozen, and documents moved: not where clusters are of
    vectors, and words only describe them."""
    return isinstance(model, VariationalTopics) and model._fitted is not None


def _topics(value: object) -> list[int]:
    topics = {whole_number(k, "a topic", least=0) for k in value} if is_plural(value) else set()
    if len(topics) < 2:
        raise ValueError("topics must be a list of two or more different topics")
    return sorted(topics)


def _words(value: object) -> list[str]:
    words = list(value) if is_plural(value) else []
    if not words or not are_texts(words) or "" in words:
        raise ValueError("words must be a list of words")
    return words


CHECKS: dict[str, Callable[..., object]] = {  # of the arguments that are remembered
    "topic": partial(whole_number, parameter="topic", least=0),
    "topics": _topics,
    "document": partial(whole_number, parameter="document", least=0),
    "words": _words,
    "name": checked_name,
    "strength": partial(positive_number, parameter="strength"),
    "passes": partial(whole_number, parameter="passes"),
    "seed": partial(whole_number, parameter="seed", least=0),
}


class Operation:
    """A kind of edit, as the signature of its function says."""

    def __init__(self, function: Callable[..., Any]):
        parameters = inspect.signature(function).parameters
        self.function, self.name, self.of_clusters = function, function.__name__, function.__name__ in OF_CLUSTERS
        self.arguments = {name: parameter for name, parameter in parameters.items() if name in CHECKS}
        self.needs_documents = "corpus" in parameters

    def checked(self, given: Mapping[str, object]) -> Edit:
        """The edit with these arguments, and defaults for the others."""
        edit: Edit = {"do": self.name}
        for name, argument in self.arguments.items():
            value = given.get(name, argument.default)
            if value is argument.empty:
                raise ValueError(f"{self.name} needs {name}")
            edit[name] = value if value is argument.default else CHECKS[name](value)
        return edit

    def check(self, model: object, corpus: object) -> None:
        """Whether this model can be edited so."""
        if self.name != "rename" and not can_edit(model):
            raise ValueError(
                f"topics of a {type(model).__name__} can be renamed; only LDA and HDP can be edited otherwise"
            )
        if not self.of_clusters and not can_edit_words(model):
            possible = ", ".join(name for name, operation in OPERATIONS.items() if operation.of_clusters)
            raise ValueError(f"clusters of vectors can be changed by {possible}, and not by {self.name}")
        if self.needs_documents and corpus is None:
            raise ValueError(f"{self.name} needs the documents")


OPERATIONS: dict[str, Operation] = {}


def _edit(change: Function) -> Function:
    """A function that changes a model becomes one that returns a changed copy, which remembers the edit."""
    operation, signature = Operation(change), inspect.signature(change)

    @wraps(change)
    def edited(*args: object, **kwargs: object) -> object:
        given = signature.bind(*args, **kwargs).arguments
        operation.check(given["model"], given.get("corpus"))
        edit, now = operation.checked(given), copy.copy(given["model"])
        f = now._found()
        is_placed = f.places is not None and not np.isnan(f.places).any()
        if not is_placed and now._has_words():
            now._fitted = replace(f, places=f.view.places)  # topics keep their place on the map
        change(**given | {name: value for name, value in edit.items() if name != "do"} | {"model": now})
        now._fitted = replace(now._found(), edits=(*f.edits, edit))
        return now

    operation.function, OPERATIONS[operation.name] = edited, operation
    return cast(Function, edited)


@_edit
def rename(model: T, topic: int, name: str) -> T:
    """The topic has this name."""
    return model.name_topics({topic: name})


@_edit
def merge(model: C, topics: Iterable[int]) -> C:
    """One topic in the place of the lowest of these; later ones move up."""
    return model.merge_topics([list(topics)])


@_edit
def split(model: C, corpus: object, topic: int, *, seed: int = 0) -> C:
    """Two topics of one, by the documents that have most of it; the second is the last topic."""
    return model.split_topic(corpus, topic, random_state=seed)


@_edit
def delete(model: C, topic: int) -> C:
    """Without this topic; later ones move up. Its tokens go to others when documents are next visited."""
    return model.drop_topics([topic])


@_edit
def seed(model: V, words: Sequence[str], *, topic: int | None = None, strength: float = STRENGTH) -> V:
    """Pulls a topic towards words, or adds one that starts from them. `strength` is a share of the words' tokens."""
    return model.seed_topics([words], topics=None if topic is None else [topic], strength=strength)


@_edit
def ban(model: V, topic: int, words: Sequence[str]) -> V:
    """Keeps words out of a topic, also while it learns on."""
    return model.ban_words(topic, words)


@_edit
def pin(model: V, topic: int, words: Sequence[str]) -> V:
    """Keeps words in a topic and out of all others, also while the model learns on."""
    return model.pin_words(topic, words)


@_edit
def move(model: V, corpus: object, document: int, topic: int) -> V:
    """Puts all tokens of a document into one topic. It stays there while the model learns on if it fits."""
    return model.move_document(corpus, document, topic)


@_edit
def freeze(model: V, topic: int) -> V:
    """The words of the topic stay as they are while the model learns on."""
    return model.freeze_topics([topic])


@_edit
def unfreeze(model: V, topic: int) -> V:
    """The topic learns again."""
    return model.unfreeze_topics([topic])


def learn(model: C, corpus: object, *, passes: int, seed: int = 0, callbacks: Sequence[Callback] = ()) -> C:
    """Learns on from the topics as they are. The number of topics stays. A callback may end it before: the edit that
    is remembered has the passes that were made."""
    operation, now, before = OPERATIONS["learn"], copy.copy(model), model._found()
    operation.check(model, corpus)
    edit = operation.checked({"passes": passes, "seed": seed})
    given = now.get_params(deep=False)
    asked: dict[str, object] = {**LEARN_SETTINGS, "max_iter": edit["passes"], "random_state": edit["seed"]}
    if isinstance(model, MixtureEstimator):
        asked["tol"] = -np.inf  # all passes, no search, and no warning that they did not converge
    now.set_params(**{name: value for name, value in asked.items() if name in given}, callbacks=list(callbacks))
    f = now.fit(corpus)._found()
    now.set_params(**{name: given[name] for name in (*asked, "callbacks") if name in given})
    past, spent = len(before.history), before.history[-1].seconds if before.history else 0.0
    later = (replace(r, n_pass=past + n, seconds=spent + r.seconds) for n, r in enumerate(f.history, 1))
    edits = (*before.edits, edit | {"passes": len(f.history)})
    now._fitted = replace(f, history=(*before.history, *later), edits=edits, names=before.names)
    return now


OPERATIONS["learn"] = Operation(learn)


def checked(edit: object) -> Edit:
    """The edit with every argument checked and no other. Raises ValueError."""
    if not isinstance(edit, dict) or edit.get("do") not in list(OPERATIONS):
        raise ValueError(f"an edit is one of {', '.join(OPERATIONS)}, got {str(edit)[:60]!r}")
    operation = OPERATIONS[edit["do"]]
    if unknown := set(edit) - {"do", *operation.arguments}:
        raise ValueError(f"{edit['do']} has no argument {', '.join(sorted(map(str, unknown)))[:60]}")
    return operation.checked(edit)


def apply(model: T, edit: Edit, corpus: object = None) -> T:
    """The model after one edit. `corpus` are the documents, which `split`, `move` and `learn` look at."""
    arguments = checked(edit)
    operation = OPERATIONS[arguments.pop("do")]
    documents = {"corpus": corpus} if operation.needs_documents else {}
    edited: T = operation.function(model, **documents, **arguments)
    return edited


def replay(model: T, edits: Iterable[Edit], corpus: object = None) -> T:
    """The model after all edits, one after another."""
    for edit in edits:
        model = apply(model, edit, corpus)
    return model


HEAD = '''"""Edits of a topic model. Run it with the model as it was, its documents, and the file to write:

python edits.py MODEL {documents} EDITED

{about}
The result has the same bits as the edited model.
"""

import sys
{imports}
import topmix

path, *documents, edited = sys.argv[1:]
model = topmix.load(path)
corpus = model.counts({counts})

'''
ABOUT_TEXTS = "TEXTS, where there were some, is the file of their texts."


def script(edits: Iterable[Edit], model: object = None) -> str:
    """The edits of a model as a Python program, with one line per edit. Without the model it is one of words."""
    documents, about = "DOCUMENTS", "DOCUMENTS is what the model was fitted on, as `model.counts` reads it."
    imports, counts = "", "*documents"
    if isinstance(model, AdmixtureEstimator):
        documents, about = "VECTORS GROUPS [TEXTS]", f"VECTORS and GROUPS are .npy files. {ABOUT_TEXTS}"
        imports, counts = "\nimport numpy as np", "documents[0], np.load(documents[1]), *documents[2:]"
    elif isinstance(model, VectorMixture):
        documents, about = "VECTORS [TEXTS]", f"VECTORS is a .npy file. {ABOUT_TEXTS}"
    lines = [HEAD.format(documents=documents, about=about, imports=imports, counts=counts)]
    for edit in map(checked, edits):
        operation = OPERATIONS[edit["do"]]
        given = ["model", "corpus"] if operation.needs_documents else ["model"]
        for name, argument in operation.arguments.items():
            given.append(f"{name}=" * (argument.kind == argument.KEYWORD_ONLY) + repr(edit[name]))
        lines.append(f"model = topmix.edits.{operation.name}({', '.join(given)})\n")
    return "".join(lines) + "\nmodel.save(edited)\n"


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
            numbers = edit | {"topics": [ids[k] for k in edit["topics"]]} if "topics" in edit else edit
            topic = edit.get("topic")
            said.append(numbers if topic is None else numbers | {"topic": ids[topic]})
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


class Effect(NamedTuple):
    """Nats per token, as they were and as they would be. None where no document has words to look at."""

    objective_before: float | None
    completion_before: float | None
    objective_after: float | None
    completion_after: float | None


def effect_of(before: Model, after: Model, corpus: Corpus, held_out: Corpus | None = None) -> Effect:
    """Scores of two models on the same sample of documents. The objective is `score` per token; of clusters of vectors,
    per document. Completion is the log probability of a fifth of the words of a document, given the others: of
    `held_out` documents where there are some, else of a sample of the corpus."""
    scorer = EditScorer(corpus, held_out)
    return Effect(*scorer.scores(before), *scorer.scores(after))


class EditScorer:
    """Remembers the sample of documents that models are scored by."""

    def __init__(self, corpus: Corpus, held_out: Corpus | None = None):
        self.corpus, self._unseen = corpus, corpus if held_out is None else held_out

    @cached_property
    def _sample(self) -> Corpus:
        return sampled(self.corpus, DOCUMENTS, 0)

    @cached_property
    def _parts(self) -> DocumentParts:
        """Of the held-out documents: words that are given, and words that are predicted."""
        return DocumentParts.of(*split_types(sampled(self._unseen, COMPLETED, 1), random_state=0))

    def scores(self, model: Model) -> Scores:
        """Of one model; clusters of vectors have no completion."""
        if isinstance(model, MixtureEstimator):
            return float(model.score(self._sample)), None
        objective = completion = None
        if self.corpus.n_tokens:
            objective = float(model.score(self._sample)) / float(self._sample.n_tokens)
        if self._unseen.n_tokens:
            f, words = model._found(), self._parts.words
            is_sampled = isinstance(f.model, HardModel) or f.token_topics is not None
            table = np.ascontiguousarray(f.topic_word[:, words].T) if is_sampled else f.topics.words.mean_of(words)
            found = self._parts.scores(table)
            completion = found.mean if found.n_tokens.sum() else None
        return objective, completion
