"""`topmix eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console

from topmix.apps.command import options
from topmix.apps.command.command import app_of, print_json, tell
from topmix.apps.command.documents import READ_GROUPS, read_data
from topmix.apps.command.models import load_model
from topmix.corpus.corpus import Corpus
from topmix.estimators.topics import TopicEstimator
from topmix.models.topics import TopicModel
from topmix.results.coherence import cv_coherence, npmi_coherence, umass_coherence
from topmix.results.completion import completion_scores
from topmix.results.measures import duplicate_topics, empty_topics, topic_diversity
from topmix.selection.result import plain_table
from topmix.selection.views import Model, fitted_of, view_of

Scores = dict[str, float | None]
COHERENCES = {"npmi": npmi_coherence, "umass": umass_coherence, "cv": cv_coherence}
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


def evaluate(
    model: options.ModelFile,
    source: options.Documents,
    groups: options.GroupOfRows = None,
    reference: Annotated[
        Path | None, options.docs(help="Documents for coherence, such as those of the fit; DOCS if not given.")
    ] = None,
    words: options.Words = 10,
    max_docs: Annotated[int, options.number(help="Documents of the completion score, at most.", min=1)] = 2000,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
    **settings: object,
) -> None:
    """Score a model on documents, preferably ones it was not fitted on.

    Compare models by the completion score: the log probability of a document's held-out words, given its other words.
    Coherence measures whether the words of a topic occur together, and diversity whether topics differ.

    \b
    topmix eval model held_out/
    topmix eval model held_out/ --reference docs/ --json
    """
    found = load_model(model, threads)
    with Console(stderr=True).status(f"Scoring {model} ..."):
        data = read_data(found, source, settings, groups=groups)
        if isinstance(data.X, Corpus):
            other = data.X if reference is None else read_data(found, reference, settings).X
            assert isinstance(other, Corpus)
            result = evaluate_topics(found, data.X, other, top_n=words, max_docs=max_docs, seed=seed)
            # Tokens of a word are shared out among topics, so that the counts of a model sum to those of its documents.
            # The stochastic learner has estimates, so its documents are not recognised.
            learned, is_training = fitted_of(found).model, False
            if isinstance(learned, TopicModel) and (total := learned.words.total).shape[0] == data.X.n_words:
                here = np.zeros(data.X.n_words)
                np.add.at(here, data.X.index, data.X.value)
                is_training = np.allclose(total.counts().sum(axis=1), here, rtol=1e-3, atol=0.1)
            result = {"training_documents": is_training, "n_unknown_tokens": data.n_unknown, **result}
            if is_training:
                tell("warning: the model was fitted on these documents, so its scores are better than on new ones")
        else:
            likelihood = np.asarray(found.score_samples(data.X))
            largest = float(np.max(found.weights_))
            result = {"n_rows": len(likelihood), "n_clusters": len(found.weights_)}
            result |= {"log_likelihood": float(likelihood.mean()), "largest_share": largest}
            if data.X.groups is not None:
                result["completion_score"] = found.completion_score(data.X)
    if as_json:
        print_json({"model": str(model), "estimator": type(found).__name__, **result})
        return
    table = plain_table()
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("meaning", style="dim")
    for name, value in result.items():
        if value is None or isinstance(value, bool):
            text = {None: "-", True: "yes", False: "no"}[value]
        else:
            text = f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
        table.add_row(name.replace("_", " "), text, MEANINGS.get(name, ""))
    Console().print(table)


def evaluate_topics(
    model: Model, corpus: Corpus, reference: Corpus | None = None, top_n: int = 10, max_docs: int = 2000, seed: int = 0
) -> Scores:
    """Scores of a topic model or a mixture of counts on `corpus`, with the words of the model as columns: coherence
    where two words occur together in `reference` (or `corpus`), and the completion score of at most `max_docs` random
    documents, which is None if no document can be split."""
    view, reference = view_of(model), corpus if reference is None else reference
    if corpus.n_tokens == 0:
        raise ValueError("no word of the documents is known to the model: pass documents with the words of the model")
    result: Scores = {"n_docs": corpus.n_docs, "n_tokens": corpus.n_tokens, "n_topics": view.n_topics}
    if isinstance(model, TopicEstimator):
        chosen = corpus
        if corpus.n_docs > max_docs:
            rows = np.random.default_rng(seed).choice(corpus.n_docs, max_docs, replace=False)
            chosen = corpus[np.sort(rows)]
        scores = completion_scores(view.topic_word, chosen, random_state=seed)
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
        result["diversity"] = topic_diversity(view.topic_word, top_n)
    empty = empty_topics(view.share * (view.tokens or corpus.n_docs))
    used = np.setdiff1d(np.arange(view.n_topics), empty)
    result["empty_topics"] = len(empty)
    result["duplicate_topics"] = len(duplicate_topics(view.topic_word[used])) if len(used) else 0
    result["largest_share"] = float(view.share.max())
    return result


eval_app = app_of(evaluate, flags=READ_GROUPS)
