"""A topic model that learns for months: each batch once, in bounded memory, and through crashes.

Between two batches everything is in one value (`StreamState`). A batch makes the next one, which is written before it
is used: neither an error nor a kill leaves half a batch.

The number of topics stays: births and mergers need a trial on the whole corpus, which a stream does not have. Topics
that started again from badly explained documents did not help after a planted change, where forgetting does.
"""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from topmix.base.checks import whole_number
from topmix.base.paths import path_of
from topmix.base.threads import use_threads
from topmix.corpus.corpus import Corpus
from topmix.corpus.vectorize import Vectorizer
from topmix.estimators import SUPERVISED
from topmix.estimators.files import NOT_COMPARED, described_parameters
from topmix.estimators.variational import VariationalTopics
from topmix.io.documents import DEFAULTS, for_every_word, read
from topmix.io.reading import How
from topmix.learn.learners import stream_of
from topmix.results.completion import split_types
from topmix.results.edits import keep_words
from topmix.results.view import DataFrame
from topmix.selection.stream_folder import BatchId, BatchRecord, Folder, Lexicon, StreamState, is_id

SCORED = 1000  # documents of a batch, at most: enough for a mean
BLOCK = 1 << 22  # probabilities at a time
LEAST_PROBABILITY = 1e-300
TIMES = 2.0  # a topic has grown, or shrunk, if its share is that many times another
LEAST = 0.2  # of the mean topic: changes of smaller ones are noise
ABSENT = 0.05  # of the mean topic: it was not there


class Stream:
    """Learns from one batch of documents after another, for ever.

    Each batch is one `partial_fit` of the estimator, whose `Stochastic(half_life=...)` says how fast it forgets. What a
    stream adds: a batch with an id is learned once, also if it is sent again after a crash; words enter the model when
    they are frequent enough, and the rarest leave; each batch is scored before it is learned, and what changed is
    reported; and all of it is kept in a folder from which another process continues with the same bits.

    Parameters
    ----------
    estimator : LDA or HDP
        Its parameters are those of the model; `random_state` should be a number. A fitted one, which knows its words by
        name, is continued.
    path : path or None
        A folder for the model and the state of the stream. If it has a stream, that one is continued: its estimator
        must have had the same parameters, except those that change nothing of what is learned. One process at a time
        may write there: from its first batch on until it ends or deletes the stream, while others may look and get
        InUseError where they learn. None keeps nothing.
    admit : int
        A word enters the model in the batch in which so many documents had it, since it was last unknown.
    max_words : int
        Words of the model, and as many that wait to be admitted. If there are more, those leave that the fewest
        documents had.
    vectorizer : topmix.data.Vectorizer or None
        Cuts texts into words; its min_df, max_df and max_features are not used. None leaves out English stop words, if
        the texts of the first batch are English.
    remember : int
        Ids and records of so many last batches are kept.
    save_every : int
        Batches between two writings of the folder. After a crash, those since the last one have to be sent again.

    Examples
    --------
    >>> from topmix import LDA, Stream
    >>> stream = Stream(LDA(2, random_state=0), admit=2)
    >>> record = stream.learn(["wind sail boat"] * 20 + ["rook bishop board"] * 20, id="monday")
    >>> stream.learn(["wind sail boat"] * 20, id="monday") is None
    True
    >>> "monday" in stream, stream.n_documents, stream.model.n_features_in_
    (True, 40, 6)
    """

    def __init__(
        self,
        estimator: VariationalTopics,
        path: str | os.PathLike[str] | None = None,
        *,
        admit: int = 5,
        max_words: int = 50_000,
        vectorizer: Vectorizer | None = None,
        remember: int = 10_000,
        save_every: int = 1,
    ):
        if not isinstance(estimator, VariationalTopics):
            raise ValueError(f"a stream needs an LDA or an HDP, got {estimator!r:.200}")
        if type(estimator).__name__ in SUPERVISED:
            raise ValueError(f"a stream learns from documents alone, and {type(estimator).__name__} needs y")
        if vectorizer is not None and not isinstance(vectorizer, Vectorizer):
            raise ValueError(f"vectorizer must be a topmix.data.Vectorizer or None, got {vectorizer!r:.200}")
        self.estimator, self.vectorizer = estimator, vectorizer
        self.path = None if path is None else path_of(path)
        self.admit, self.max_words = whole_number(admit, "admit"), whole_number(max_words, "max_words")
        self.remember, self.save_every = whole_number(remember, "remember"), whole_number(save_every, "save_every")
        self._half_life = stream_of(estimator._learner()).half_life
        self._folder = None if self.path is None else Folder(self.path)
        kept, f = None if self._folder is None else self._folder.read(estimator.engine), estimator._fitted
        if kept is not None:
            given = estimator.get_params(deep=False)
            was, now = (described_parameters(each) for each in (kept.model.get_params(deep=False), given))
            for name in now:
                if was.get(name) != now[name]:
                    raise ValueError(
                        f"{self.path} has a stream of another model: {name} was {was.get(name)!r} and is "
                        f"{now[name]!r}. Use another folder, or the same parameters."
                    )
            kept.model.set_params(**{name: given[name] for name in NOT_COMPARED if name in given})
            kept = replace(kept, ids=kept.ids[-self.remember :], records=kept.records[-self.remember :])
        elif f is None:
            kept = StreamState(clone(estimator))
        elif f.reading.words is None:
            raise ValueError("the estimator does not know its words by name: fit it on texts, or on a Corpus with them")
        else:
            tokens = f.components.sum(axis=0)  # no fewer than documents
            kept = StreamState(copy.copy(estimator), words=Lexicon(list(f.words), tokens))
        self._kept = kept
        self._ids = dict.fromkeys(self._kept.ids)

    @property
    def model(self) -> VariationalTopics:
        """The fitted estimator as it is now. It stays as it is when the stream goes on."""
        if self._kept.model._fitted is None:
            raise ValueError("this stream has learned nothing yet: call learn")
        return copy.copy(self._kept.model)

    @property
    def n_batches(self) -> int:
        return self._kept.n_batches

    @property
    def n_documents(self) -> int:
        return self._kept.n_documents

    def __contains__(self, id: BatchId) -> bool:
        """Whether a batch of this id was learned, as far as ids are remembered."""
        return id in self._ids

    def learn(self, batch: object, id: BatchId | None = None) -> BatchRecord | None:
        """Learns from texts, in any form that `fit` reads, or from a Corpus with a vocabulary, and says what they were
        like. None: a batch of this id was learned before, and nothing is done. It succeeds, or the stream stays as it
        was.
        """
        if id is not None and not is_id(id):
            raise ValueError(f"the id of a batch is a string or an integer, got {id!r:.60}")
        if id is not None and id in self._ids:
            return None
        if self._folder is not None:
            self._folder.claim()
        before, corpus = self._kept, self._counted(batch)
        known = before.model._fitted
        fade = 1.0 if self._half_life is None else 0.5 ** (corpus.n_docs / self._half_life)
        words, stay, admitted = before.words.seen(corpus, fade, self.admit, self.max_words)
        if not words.names:
            raise ValueError(f"no word is in {self.admit} documents of the first batch: send more, or reduce admit=")
        model = copy.copy(before.model) if known is None or stay.all() else before.model._with(keep_words(known, stay))
        now = model.partial_fit(corpus.in_words(words.names).corpus)._found()
        record = BatchRecord(
            batch=before.n_batches + 1,
            id=id,
            documents=corpus.n_docs,
            tokens=float(corpus.n_tokens),
            unknown=before.words.unknown(corpus),
            score=float("nan") if known is None else score(before.model, corpus.in_words(before.words.names).corpus),
            admitted=admitted,
            retired=int((~stay).sum()),
            words=len(words.names),
            **({} if known is None or now.last_sizes is None else changes(known.topics.weights(), now.last_sizes)),
        )
        ids = [*before.ids, id][-self.remember :] if id is not None else before.ids
        records = [*before.records, record][-self.remember :]
        kept = StreamState(model, record.batch, before.n_documents + corpus.n_docs, words, ids, records)
        if self._folder is not None and kept.n_batches % self.save_every == 0:
            self._folder.write(kept)
        self._kept, self._ids = kept, dict.fromkeys(ids)
        return record

    def score(self, batch: object) -> float:
        """Nats per token that some of these documents hold out, as in the records, and nothing is learned. Words that
        the model does not have are left out."""
        return score(self.model, self._counted(batch).in_words(self._kept.words.names).corpus)

    def info(self) -> DataFrame:
        """One row per batch, the last ones, as a DataFrame: the fields of `BatchRecord`."""
        names, records = BatchRecord.__slots__, [record.to_dict() for record in self._kept.records]
        return self._kept.model._frame({name: [record[name] for record in records] for name in names})

    def save(self) -> None:
        """Writes the folder now, whatever `save_every` says."""
        if self._folder is None:
            raise ValueError("this stream has no folder: make it with path=")
        if not self.n_batches:
            raise ValueError("this stream has learned nothing yet: call learn")
        self._folder.write(self._kept)

    def _counted(self, batch: object) -> Corpus:
        f, vectorizer = self._kept.model._fitted, self.vectorizer or Vectorizer(**DEFAULTS)
        if f is not None and f.reading.tokenizer is not None:
            vectorizer = Vectorizer.from_dict(dict(f.reading.tokenizer), tokenizer=vectorizer.tokenizer)
        how, model = How(vectorizer=for_every_word(vectorizer)), self.estimator
        with use_threads(model._threads()):
            corpus, _ = read(batch, how, owner="Stream", engine=model._engine())
        if corpus.vocabulary is None:
            raise ValueError(
                "a batch of a stream is a list of texts, or a Corpus with a vocabulary, because words are known by "
                f"name; got {type(batch).__name__}"
            )
        if len(set(corpus.vocabulary)) < corpus.n_words:
            raise ValueError("a word is in the vocabulary of the batch twice, and words are known by name")
        return corpus


def changes(before: np.ndarray, sizes: np.ndarray) -> dict[str, Any]:
    """How far topics with these tokens [K] in a batch are from their shares [K] of the past, and which of them changed
    most."""
    now = sizes / max(float(sizes.sum()), 1e-300)
    is_large, was_large = now * len(now) > LEAST, before * len(now) > LEAST
    found = {
        "grown": is_large & (now > TIMES * before),
        "shrunk": was_large & (now < before / TIMES),
        "appeared": is_large & (before * len(now) < ABSENT),
    }
    distance = 0.5 * float(np.abs(now - before).sum())
    return {"drift": distance} | {name: tuple(np.flatnonzero(which).tolist()) for name, which in found.items()}


def score(model: VariationalTopics, corpus: Corpus) -> float:
    """Nats per token of held-out words: `completion_score`, where the model itself finds the topics of documents, which
    is much faster. NaN where no document has two words."""
    rows = np.unique(np.linspace(0, corpus.n_docs - 1, min(SCORED, corpus.n_docs)).astype(np.int64))
    seen, held_out = split_types(corpus[rows])
    if not held_out.nnz:
        return float("nan")
    theta = model.transform(Corpus.from_scipy(seen))
    document = np.repeat(np.arange(len(rows)), np.diff(held_out.indptr))
    total, topics = 0.0, model.topic_word_.T
    for part in np.array_split(np.arange(held_out.nnz), -(-held_out.nnz * len(topics.T) // BLOCK)):
        p = np.einsum("nk,nk->n", theta[document[part]], topics[held_out.indices[part]])
        total += float(held_out.data[part] @ np.log(np.maximum(p, LEAST_PROBABILITY)))
    return total / float(held_out.data.sum())
