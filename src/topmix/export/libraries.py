"""Fitted topic models as objects of other libraries, which can use and train them further."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import LatentDirichletAllocation

from topmix.data.atomic import atomic_write
from topmix.data.corpus import Corpus
from topmix.numerics import dirichlet
from topmix.views.model import learned, proportions, view_of, word_names

if TYPE_CHECKING:
    from gensim.models import LdaModel


def to_sklearn(model: BaseEstimator) -> LatentDirichletAllocation:
    """A fitted LatentDirichletAllocation with the same topics and priors.

    scikit-learn has one alpha and one eta for all topics: unequal priors are replaced by their mean. Its `transform` is
    variational, so its proportions differ a little.
    """
    components, alpha, eta = _counts_and_priors(model)
    lda = LatentDirichletAllocation(
        n_components=len(components), doc_topic_prior=float(alpha.mean()), topic_word_prior=float(eta.mean()),
        random_state=model.random_state if isinstance(model.random_state, int) else None,
    )  # fmt: skip
    lda.components_ = components
    lda.exp_dirichlet_component_ = np.exp(dirichlet.expected_log(components, axis=1))
    lda.doc_topic_prior_, lda.topic_word_prior_ = float(alpha.mean()), float(eta.mean())
    lda.n_features_in_ = components.shape[1]  # no feature names: scikit-learn would warn for each matrix
    lda.n_iter_ = int(learned(model, "n_iter_", 1))
    lda.n_batch_iter_ = int(learned(model, "n_batch_iter_", lda.n_iter_))
    lda.bound_ = float(learned(model, "bound_", np.nan))
    lda.random_state_ = np.random.RandomState(0)
    return lda


def to_gensim(model: BaseEstimator) -> LdaModel:
    """A gensim LdaModel with the same topics and priors. Its Dictionary has the same word ids."""
    try:
        from gensim.corpora import Dictionary
        from gensim.models import LdaModel
    except ImportError as error:
        raise ImportError("to_gensim needs gensim: pip install gensim") from error
    components, alpha, eta = _counts_and_priors(model)
    words = word_names(model, components.shape[1])
    dictionary = Dictionary()
    dictionary.token2id = {word: v for v, word in enumerate(words)}
    dictionary.id2token = dict(enumerate(words))
    prior = eta[0] if np.all(eta == eta[0]) else eta  # [V] if all topics have the same prior, else [K, V]
    lda = LdaModel(id2word=dictionary, num_topics=len(components), alpha=alpha, eta=prior, dtype=np.float64)
    lda.state.sstats = components - prior
    lda.sync_state()
    return lda


def to_pyldavis(model: BaseEstimator, corpus: Corpus) -> dict[str, object]:
    """The arguments of pyLDAvis.prepare: `pyLDAvis.prepare(**to_pyldavis(model, corpus))`.

    Empty documents are left out, because pyLDAvis refuses them. With sort_topics=False, topic k + 1 of pyLDAvis is
    topic k of the model.
    """
    view = view_of(model)
    X = corpus.to_scipy()
    lengths = np.asarray(X.sum(axis=1)).ravel()
    if not lengths.any():
        raise ValueError("all documents are empty, but pyLDAvis needs documents with words")
    kept = corpus[np.flatnonzero(lengths > 0)]
    return {
        "topic_term_dists": view.topic_word,
        "doc_topic_dists": proportions(model, kept),
        "doc_lengths": lengths[lengths > 0],
        "vocab": view.words,
        "term_frequency": np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1e-3),  # pyLDAvis divides by it
    }


def save_sklearn(model: BaseEstimator, path: Path, corpus: Corpus | None = None) -> None:
    import joblib

    with atomic_write(path) as file:
        joblib.dump(to_sklearn(model), file)


def save_gensim(model: BaseEstimator, path: Path, corpus: Corpus | None = None) -> None:
    to_gensim(model).save(str(path))


def _counts_and_priors(model: BaseEstimator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """components [K, V], alpha [K], eta [K, V]."""
    view_of(model)  # refuses what has no topics of words
    components, alpha = np.array(model.components_, dtype=np.float64), learned(model, "doc_topic_prior_")
    if alpha is None:
        raise ValueError(f"a {type(model).__name__} has no topic proportions of documents: pass LDA, HDP or GibbsLDA")
    K, V = components.shape
    eta = np.asarray(model.topic_word_prior_, dtype=np.float64)
    eta = eta[:, None] if eta.shape == (K,) and K != V else eta
    return components, np.array(np.broadcast_to(alpha, (K,)), dtype=np.float64), np.broadcast_to(eta, (K, V))
