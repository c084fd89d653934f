"""All scores of a fitted model on given documents, by name. The scores come from `topmix.metrics`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from topmix import metrics
from topmix.data.corpus import Corpus
from topmix.data.rows import Rows
from topmix.models.topics import TopicModel
from topmix.views.model import Model, fitted_of, is_topic_model, view_of

Scores = dict[str, float | None]
COHERENCES = {"npmi": metrics.npmi_coherence, "umass": metrics.umass_coherence, "cv": metrics.cv_coherence}
MEANINGS = {
    "training_documents": "whether the model was fitted on these documents, as they are",
    "n_unknown_tokens": "tokens of words that the model does not know; they are left out of all scores",
    "completion_score": "log probability of a held-out token; higher is better",
    "perplexity": "of the documents from which the topics were inferred; lower is better",
    "log_likelihood": "mean per row; higher is better",
    "npmi": "coherence of the top words, -1 to 1; higher is better",
    "umass": "coherence of the top words, 0 or less; higher is better",
    "cv": "coherence of the top words, 0 to 1; higher is better",
    "diversity": "share of distinct words among the top words of all topics, 0 to 1",
    "duplicate_topics": "topics that nearly equal an earlier topic",
    "empty_topics": "topics (or clusters) with less than one expected token (or row)",
    "largest_share": "share of the largest topic or cluster",
}


def evaluate_topics(
    model: Model,
    corpus: Corpus,
    reference: Corpus | None = None,
    *,
    top_n: int = 10,
    max_docs: int = 2000,
    seed: int = 0,
) -> Scores:
    """Scores of a topic model or a mixture of counts on `corpus`, with the words of the model as columns.

    Coherence counts co-occurrences in `reference`, or in `corpus` if None. At most `max_docs` random documents are used
    for the completion score; it is None if no document can be split. Coherence is left out for a single word.
    """
    view, reference = view_of(model), corpus if reference is None else reference
    if corpus.n_tokens == 0:
        raise ValueError("no word of the documents is known to the model: pass documents with the words of the model")
    result: Scores = {"n_docs": corpus.n_docs, "n_tokens": corpus.n_tokens, "n_topics": view.n_topics}
    if is_topic_model(model):
        chosen = corpus
        if corpus.n_docs > max_docs:
            rows = np.random.default_rng(seed).choice(corpus.n_docs, max_docs, replace=False)
            chosen = corpus[np.sort(rows)]
        scores = metrics.completion_scores(view.topic_word, chosen, random_state=seed)
        result["completion_score"] = scores.mean if scores.n_tokens.sum() else None
        if hasattr(model, "perplexity"):
            result["perplexity"] = float(model.perplexity(corpus))
    else:
        likelihood = np.asarray(model.score_samples(corpus))
        result["log_likelihood"] = float(likelihood.mean())
        result["perplexity"] = float(np.exp(-likelihood.sum() / corpus.n_tokens))
    top_n = min(top_n, len(view.words))
    if top_n >= 2:
        for name, measure in COHERENCES.items():
            result[name] = float(measure(view.topic_word, reference, top_n=top_n))
        result["diversity"] = metrics.topic_diversity(view.topic_word, top_n)
    empty = metrics.empty_topics(view.share * (view.tokens or corpus.n_docs))
    used = np.setdiff1d(np.arange(view.n_topics), empty)
    result["empty_topics"] = len(empty)
    result["duplicate_topics"] = len(metrics.duplicate_topics(view.topic_word[used])) if len(used) else 0
    result["largest_share"] = float(view.share.max())
    return result


def are_training_documents(model: Model, corpus: Corpus) -> bool | None:
    """Whether the documents have the words of the training documents, each as often. None: nearly so, for no word is
    more frequent here, and half of all tokens are here; perhaps training documents that are read without their titles.

    Tokens of a word are shared out among topics, so that the counts of a model sum to those of its documents. Models of
    the stochastic learner have estimates, and are not recognised.
    """
    learned = fitted_of(model).model
    total = learned.words.total if isinstance(learned, TopicModel) else None
    if total is None or total.shape[0] != corpus.n_words:
        return False
    here = np.zeros(corpus.n_words)
    np.add.at(here, corpus.index, corpus.value)
    there = total.counts().sum(axis=1)
    if np.allclose(there, here, rtol=1e-3, atol=0.1):
        return True
    return None if here.sum() >= 0.5 * there.sum() and np.all(here <= 1.001 * there + 0.1) else False


def evaluate_rows(model: Model, X: ArrayLike | Rows) -> Scores:
    """Scores of a mixture of vectors on the rows X."""
    likelihood, weights = np.asarray(model.score_samples(X)), np.asarray(model.weights_)
    return {
        "n_rows": len(likelihood),
        "n_clusters": len(weights),
        "log_likelihood": float(likelihood.mean()),
        "largest_share": float(weights.max()),
    }
