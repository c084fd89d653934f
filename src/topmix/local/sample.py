"""The local step of topic models by sampling: every token of a shard is drawn again.  docs/math.md, section 3.7."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topmix import _core
from topmix.allocations.doc_topics import DocTopics
from topmix.data.shard import Shard
from topmix.models.document_options import Sampling
from topmix.models.topics import LocalPrior, TopicTables
from topmix.numerics.threads import threads
from topmix.stats import WordStats


class Sampled(NamedTuple):
    words: WordStats
    docs: DocTopics
    z: np.ndarray  # [tokens] uint16
    moved: int  # tokens with another topic than before


def sample(
    shard: Shard,
    tables: TopicTables,
    sampling: Sampling,
    z: np.ndarray | None,
    docs: DocTopics | None,
    prior: LocalPrior | None = None,
) -> Sampled:
    """Each token again, given all others; or, where tokens have no topics z yet, given those of their documents."""
    prior = prior or tables.prior_of(shard)
    scale = 1.0 if sampling.concentration is None else sampling.concentration / prior.alpha.sum()
    alpha = prior.alpha * scale
    given = None
    if z is None:
        docs = docs or DocTopics(np.zeros(shard.n_rows + 1, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.float32))
        given = (docs.indptr, docs.topic, docs.count)
    drawn = np.zeros(int(shard.lengths.sum()), np.uint16) if z is None else z.copy()
    words, found, moved = _core.sample_step(
        shard.word_order,
        tables.words,
        alpha.astype(np.float32),
        given,
        sampling.seed,
        sampling.sweep,
        shard.number << 32,
        threads(),
        drawn,
        prior.own(scale),
    )
    return Sampled(WordStats(shard.cols, *words), DocTopics(*found), drawn, moved)
