"""Topics for people: how large each is, its words, and the documents that are most about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topmix.data.corpus import Corpus

# A short document is easily all about one topic. Twenty tokens of anything else are added to each before they are
# compared, so that a long document on a topic comes before a note that happens to use its words.
EXAMPLE_SMOOTHING = 20.0


@dataclass(frozen=True)
class Topic:
    """One topic of a model, in the light of a corpus."""

    topic: int  # its row in components_
    share: float  # of all tokens
    words: list[str]  # most probable first
    documents: list[str]  # names, or numbers where the corpus has no names

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def summarise(model: Any, corpus: Corpus, *, n_words: int = 8, n_documents: int = 2) -> list[Topic]:
    """The topics of a fitted topic model, largest first."""
    shares = model.transform(corpus, sparse_output=True)  # [D, K]
    lengths = np.asarray(corpus.to_scipy().sum(axis=1)).ravel()
    tokens = shares.multiply(lengths[:, None]).tocsc()
    sizes = np.asarray(tokens.sum(axis=0)).ravel()
    smoothed = shares.multiply((lengths / (lengths + EXAMPLE_SMOOTHING))[:, None]).tocsc()
    words = model.top_words(n_words)
    topics = []
    for k in np.argsort(-sizes, kind="stable"):
        entries = slice(smoothed.indptr[k], smoothed.indptr[k + 1])
        best = smoothed.indices[entries][np.argsort(-smoothed.data[entries], kind="stable")[:n_documents]]
        names = [str(d) if corpus.names is None else corpus.names[d] for d in best.tolist()]
        topics.append(Topic(int(k), float(sizes[k] / max(sizes.sum(), 1e-300)), words[k], names))
    return topics
