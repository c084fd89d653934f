"""One call of the native document solver: the documents of a shard under the tables of a topic model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.models.topics import LocalPrior, TopicTables
from topmix.numerics.threads import threads
from topmix.stats import WordStats


class Solved(NamedTuple):
    words: WordStats  # empty unless wanted
    docs: DocTopics
    entropy: float
    effort: tuple[int, int, int]  # iterations, restarts tried, restarts accepted


def solve(
    shard: Shard,
    tables: TopicTables,
    scratch: _core.TopicScratch,
    *,
    start: DocTopics | np.ndarray | None = None,
    last: DocTopics | None = None,
    want_words: bool = True,
    prior: LocalPrior | None = None,
) -> Solved:
    """Each document to its topics, each of its words to its L best.  docs/math.md Eqs. (3.5)-(3.9).

    Documents start from their words alone, or from counts: those of their last visit, or dense [documents, K]. `last`
    is that visit where the topics' counts contain it and own tokens are discounted. `prior` is that of the documents,
    where the caller has it.
    """
    prior = prior or tables.prior_of(shard)
    words, docs, entropy, effort = _core.topics_step(
        shard.native,
        tables.words.table,
        prior.alpha.astype(np.float32),
        tables.document_options.native(tables.posterior, tables.words.table.shape[1]),
        None if start is None else _start(start),
        None if last is None else _core.LastVisit((last.indptr, last.topic, last.count), tables.words),
        want_words,
        threads(),
        scratch,
        prior.own(),
        prior.responses(),
    )
    return Solved(WordStats(shard.cols, *words), DocTopics(*docs), entropy, effort)


def _start(counts: DocTopics | np.ndarray) -> _core.Start:
    if isinstance(counts, DocTopics):
        return _core.Start((counts.indptr, counts.topic, counts.count))
    return _core.Start(np.ascontiguousarray(counts, np.float32))
