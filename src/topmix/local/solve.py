"""One call of the native document solver: the documents of a shard under the tables of a topic model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.models.topics import TopicTables
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
) -> Solved:
    """Each document to its topics, each of its words to its L best.  docs/math.md Eqs. (3.5)-(3.9).

    Documents start from their words alone, or from counts: those of their last visit, or dense [documents, K]. `last`
    is that visit where the topics' counts contain it and own tokens are discounted.
    """
    dense = np.ascontiguousarray(start, np.float32) if isinstance(start, np.ndarray) else None
    from_docs = start if isinstance(start, DocTopics) else DocTopics(None, None, None)  # type: ignore[arg-type]
    words, docs, entropy, effort = _core.topics_step(
        shard.indptr,
        shard.index,
        shard.value,
        shard.starts,
        shard.order,
        tables.words.table,
        tables.prior.alpha.astype(np.float32),
        tables.documents.native(tables.posterior, tables.words.table.shape[1]),
        from_docs.indptr,
        from_docs.topic,
        from_docs.count,
        dense,
        None if last is None else (last.indptr, last.topic, last.count, *tables.words[1:]),
        want_words,
        threads(),
        scratch,
    )
    return Solved(WordStats(shard.cols, *words), DocTopics(*docs), entropy, effort)
