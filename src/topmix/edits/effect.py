"""What an edit does to the objective and to the prediction of words, before anybody accepts it."""

from __future__ import annotations

from typing import Any, NamedTuple

from topmix.data.corpus import Corpus
from topmix.estimators.merges import sampled
from topmix.estimators.topic_view import view_of
from topmix.metrics import completion_scores

DOCUMENTS = 400  # that the objective looks at
COMPLETED = 200  # whose words are predicted


class Effect(NamedTuple):
    """Nats per token, as they were and as they would be. None where no document has words to look at."""

    objective_before: float | None
    objective_after: float | None
    completion_before: float | None
    completion_after: float | None


def effect_of(before: Any, after: Any, corpus: Corpus, held_out: Corpus | None = None) -> Effect:
    """Scores of two models on the same sample of documents.

    The objective is `score` per token. Completion is the log probability of a fifth of the words of a document, given
    the others: of `held_out` documents where there are some, else of a sample of the corpus.
    """
    scores: list[float | None] = [None] * 4
    if corpus.n_tokens:
        sample = sampled(corpus, DOCUMENTS, 0)
        scores[:2] = [float(model.score(sample)) / float(sample.n_tokens) for model in (before, after)]
    unseen = corpus if held_out is None else held_out
    if unseen.n_tokens:
        sample = sampled(unseen, COMPLETED, 1)
        found = [completion_scores(view_of(model).topic_word, sample, random_state=0) for model in (before, after)]
        if found[0].n_tokens.sum():
            scores[2:] = [of_model.mean for of_model in found]
    return Effect(*scores)
