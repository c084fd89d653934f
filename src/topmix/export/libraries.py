"""Fitted topic models as objects of other libraries, which can use and train them further."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topmix.data.atomic import atomic_write, check_plain_file
from topmix.data.corpus import Corpus
from topmix.fitted.topics import FittedTopics
from topmix.models.topics import TopicModel
from topmix.numerics import dirichlet
from topmix.views.model import Model, ModelView, fitted_of, proportions, view_of

if TYPE_CHECKING:
    from gensim.models import LdaModel
    from sklearn.decomposition import LatentDirichletAllocation


def to_sklearn(model: Model) -> LatentDirichletAllocation:
    """A fitted LatentDirichletAllocation with the same topics and priors.

    scikit-learn has one alpha and one eta for all topics: unequal priors are replaced by their mean. Its `transform` is
    variational, so its proportions differ a little.
    """
    from sklearn.decomposition import LatentDirichletAllocation  # a third of a second, which pages do without

    fitted, alpha, eta = _topics_and_priors(model)
    components = fitted.components.copy()
    lda = LatentDirichletAllocation(
        n_components=len(components), doc_topic_prior=float(alpha.mean()), topic_word_prior=float(eta.mean()),
        random_state=model.random_state if isinstance(model.random_state, int) else None,
    )  # fmt: skip
    lda.components_ = components
    lda.exp_dirichlet_component_ = np.exp(dirichlet.expected_log(components, axis=1))
    lda.doc_topic_prior_, lda.topic_word_prior_ = float(alpha.mean()), float(eta.mean())
    lda.n_features_in_ = components.shape[1]  # no feature names: scikit-learn would warn for each matrix
    lda.n_iter_, lda.n_batch_iter_ = fitted.n_iter, fitted.n_updates
    lda.bound_ = np.nan if fitted.bound is None else fitted.bound
    lda.random_state_ = np.random.RandomState(0)
    return lda


def to_gensim(model: Model) -> LdaModel:
    """A gensim LdaModel with the same topics and priors. Its Dictionary has the same word ids."""
    try:
        from gensim.corpora import Dictionary
        from gensim.models import LdaModel
    except ImportError as error:
        raise ImportError("to_gensim needs gensim: pip install gensim") from error
    fitted, alpha, eta = _topics_and_priors(model)
    dictionary = Dictionary()
    dictionary.token2id = {word: v for v, word in enumerate(fitted.words)}
    dictionary.id2token = dict(enumerate(fitted.words))
    prior = eta[0] if np.all(eta == eta[0]) else eta  # [V] if all topics have the same prior, else [K, V]
    lda = LdaModel(id2word=dictionary, num_topics=fitted.n_topics, alpha=alpha, eta=prior, dtype=np.float64)
    lda.state.sstats = fitted.components - prior
    lda.sync_state()
    return lda


def to_pyldavis(model: Model, corpus: object) -> dict[str, object]:
    """The arguments of pyLDAvis.prepare: `pyLDAvis.prepare(**to_pyldavis(model, corpus))`. `corpus` are documents, a
    Corpus or what `fit` of the model takes.

    Empty documents are left out, because pyLDAvis refuses them. With sort_topics=False, topic k + 1 of pyLDAvis is
    topic k of the model.
    """
    view, (documents, _) = view_of(model), ModelView(model).read(corpus)
    if documents is None:
        raise ValueError("pyLDAvis needs documents: pass a corpus")
    X = documents.to_scipy()
    lengths = np.asarray(X.sum(axis=1)).ravel()
    if not lengths.any():
        raise ValueError("all documents are empty, but pyLDAvis needs documents with words")
    kept = documents[np.flatnonzero(lengths > 0)]
    return {
        "topic_term_dists": view.topic_word,
        "doc_topic_dists": proportions(model, kept),
        "doc_lengths": lengths[lengths > 0],
        "vocab": view.words,
        "term_frequency": np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1e-3),  # pyLDAvis divides by it
    }


def save_sklearn(model: Model, path: Path, corpus: Corpus | None = None) -> None:
    import joblib

    with atomic_write(path) as file:
        joblib.dump(to_sklearn(model), file)


def save_gensim(model: Model, path: Path, corpus: Corpus | None = None) -> None:
    check_plain_file(path)  # gensim writes others beside it
    to_gensim(model).save(str(path))


def _topics_and_priors(model: Model) -> tuple[FittedTopics, np.ndarray, np.ndarray]:
    """What was learned, alpha [K], eta [K, V]."""
    fitted = fitted_of(model)
    if not isinstance(fitted, FittedTopics) or not isinstance(fitted.model, TopicModel):
        raise ValueError(f"a {type(model).__name__} has no topic proportions of documents: pass LDA, HDP or GibbsLDA")
    return fitted, np.array(fitted.alpha), np.broadcast_to(fitted.model.words.eta.T, fitted.components.shape)
