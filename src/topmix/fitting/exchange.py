"""Exchanges between two sampling sweeps: two topics become one, and another becomes two.

Sampling moves tokens one at a time, and cannot leave a state where one topic of the data is held twice and two others
lie in one. chains/exchange.py finds such exchanges and judges them exactly, on topics of tokens; here the topics of
tokens are gathered from the shards and dealt back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from topmix.chains.exchange import exchange
from topmix.chains.hard_topics import HardTopics
from topmix.data.corpus import Corpus
from topmix.data.shard import Batches

MOST_TOKENS = 10_000_000  # of a corpus: topics of tokens come together in one place
PENALTY = 8.0  # for a topic that a document uses, in nats
# Nats per token that a split must gain: two subjects in one topic gain .3 to .4 (planted ones), the halves of a large
# topic of filler words .04 to .21 (kos), and a reader has nothing from two of those.
DIFFERENCE = 0.25


def exchanged(
    corpus: Corpus, batches: Batches, z: Mapping[int, np.ndarray], K: int, rng: np.random.Generator, threads: int
) -> tuple[np.ndarray, dict[int, np.ndarray]] | None:
    """Counts [V, K] and the tokens' topics of each shard after exchanges, or None where none pays."""
    hard = HardTopics(corpus, K, PENALTY, threads)
    first = first_tokens(corpus)
    places = [tokens_of(first, rows) for rows in batches]
    topics = np.empty(hard.n_tokens, np.uint16)
    for b, where in enumerate(places):
        topics[where] = z[b]
    hard.start(topics)
    if exchange(hard, rng, DIFFERENCE) == 0.0:
        return None
    return hard.word.astype(np.float64), {b: hard.z[where] for b, where in enumerate(places)}


def first_tokens(corpus: Corpus) -> np.ndarray:
    """[documents + 1] where the tokens of each document begin."""
    return np.concatenate([[0], np.cumsum(corpus.value, dtype=np.float64)]).astype(np.int64)[corpus.indptr]


def tokens_of(first: np.ndarray, rows: Any) -> np.ndarray:
    """Where the tokens of these rows lie among all, in their order."""
    begin, length = first[:-1][rows], np.diff(first)[rows]
    return np.repeat(begin - np.concatenate([[0], np.cumsum(length)[:-1]]), length) + np.arange(length.sum())
