"""Which words a stream knows: they are admitted when enough documents had them, and the rarest retire.

Counts are of documents, and fade with the half-life of the stream. Words that wait for admission are counted in bounded
memory: where there are more than `most`, the count of the first one too many is subtracted from all, and who has
nothing left is dropped (Misra and Gries 1982, in the form of Agarwal et al. 2012). A count is then too small by at most
the entries seen / (most + 1), so that a word that is frequent enough is never missed for long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from topmix.data.corpus import Corpus


class Change(NamedTuple):
    words: Words  # afterwards
    kept: np.ndarray  # [words before] bool, of the model's columns
    admitted: list[str]


@dataclass(frozen=True)
class Words:
    names: list[str] = field(default_factory=list)  # of the model, in the order of its columns
    documents: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [words] that had each, faded
    waiting: dict[str, float] = field(default_factory=dict)  # words that are not in the model -> documents, faded

    def unknown(self, corpus: Corpus) -> float:
        """The share of tokens whose words are not in the model."""
        known = set(self.names)
        is_new = np.array([word not in known for word in corpus.vocabulary or ()], dtype=bool)
        return float(corpus.value[is_new[corpus.index]].sum(dtype=np.float64)) / max(float(corpus.n_tokens), 1e-300)

    def seen(self, corpus: Corpus, fade: float, admit: float, most: int) -> Change:
        """After a batch. `fade` is what is left of the counts of the past."""
        column = {word: v for v, word in enumerate(self.names)}
        had = np.bincount(corpus.index, minlength=corpus.n_words)
        documents = self.documents * fade
        waiting = {word: n * fade for word, n in self.waiting.items()}
        admitted, counts = [], []
        for word, n in zip(corpus.vocabulary or (), had.tolist()):
            if not n:
                continue
            if (v := column.get(word)) is not None:
                documents[v] += n
            elif (now := waiting.pop(word, 0.0) + n) >= admit:
                admitted.append(word)
                counts.append(now)
            else:
                waiting[word] = now
        every, kept = np.append(documents, counts), np.ones(len(self.names) + len(admitted), dtype=bool)
        if len(every) > most:
            kept[np.argsort(-every, kind="stable")[most:]] = False
        stay, enter = kept[: len(self.names)], kept[len(self.names) :]
        admitted = [word for word, enters in zip(admitted, enter.tolist()) if enters]
        names = [word for word, stays in zip(self.names, stay.tolist()) if stays] + admitted
        return Change(Words(names, every[kept], bounded(waiting, most)), stay, admitted)


def bounded(counts: dict[str, float], most: int) -> dict[str, float]:
    """At most so many of them, the largest, each less what the first one too many has."""
    if len(counts) <= most:
        return counts
    cut = float(np.partition(np.fromiter(counts.values(), float, len(counts)), -most - 1)[-most - 1])
    return {word: n - cut for word, n in counts.items() if n > cut}
