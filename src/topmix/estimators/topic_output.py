"""What a fitted topic model says: of documents, and of itself."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topmix.data.corpus import Corpus
from topmix.data.shard import Shards, in_order, row_sums
from topmix.engines import Engine, Threads
from topmix.estimators.inputs import as_corpus
from topmix.estimators.predictor import Predictor, predictor_of
from topmix.estimators.reading import refuse_iterator
from topmix.estimators.snapshot import snapshot
from topmix.estimators.tables import TopicTablesMixin, stacked
from topmix.estimators.top_words import top_words
from topmix.local.fold_in import FoldedIn, FoldIn
from topmix.models.document_options import DocumentOptions
from topmix.models.topics import TopicModel
from topmix.numerics import dirichlet
from topmix.numerics.threads import use_threads

MADE_WHEN_ASKED = ("components_", "topic_word_")


class TopicOutputMixin(TopicTablesMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """For estimators with `model_`, which say how documents are solved under fixed topics.

    `components_` and `topic_word_` are [K, V] and dense: they are made when somebody asks for them, and then kept.
    """

    model_: TopicModel
    n_jobs: int | None
    random_state: Any

    @abstractmethod
    def _documents(self) -> DocumentOptions: ...

    @abstractmethod
    def _set_model(self, model: TopicModel) -> None: ...

    @cached_property
    def components_(self) -> np.ndarray:
        """[K, V] counts of words in topics, plus the prior."""
        return self._fitted_model("components_").words.pseudo_counts()

    @cached_property
    def topic_word_(self) -> np.ndarray:
        """[K, V] probabilities of words in topics."""
        self._fitted_model("topic_word_")
        return self._topic_word()

    def _topic_word(self) -> np.ndarray:
        return self.model_.words.mean()

    def _fitted_model(self, wanted: str) -> TopicModel:
        if "model_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} has no {wanted} before it is fitted")
        return self.model_

    def _forget_made(self) -> None:
        """For `_set_model`: what was made of the model before."""
        for name in MADE_WHEN_ASKED:
            self.__dict__.pop(name, None)

    def _prior_of_documents(self) -> np.ndarray:
        return self.model_.prior.alpha

    def _engine(self) -> Engine:
        """Who solves new documents."""
        return Threads()

    def fit_transform(
        self, X: Any, y: Any = None, *, normalize: bool = True, **reading: Any
    ) -> np.ndarray | sp.csr_array:
        """`fit`, which takes `reading`, then `transform`."""
        refuse_iterator(X)
        return self.fit(X, **reading).transform(X, normalize=normalize)

    def transform(self, X: Any, *, normalize: bool = True, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Topic proportions of documents, shape (n_samples, n_components).

        normalize=False gives pseudo-counts, tokens plus prior. With sparse_output only the topics that a document uses
        are stored, and what the prior gives to the others is left out: rows sum to a little less than one.
        """
        check_is_fitted(self, "model_")
        return self._transformed(X, normalize, sparse_output)

    def _proportions(self, corpus: Corpus, normalize: bool, sparse_output: bool) -> np.ndarray | sp.csr_array:
        alpha, K = self.model_.prior.alpha, self.model_.n_components
        parts = []
        for documents, folded in self._fold_in(corpus):
            docs, n = folded.docs, documents.n_docs
            counts = sp.csr_array((docs.count.astype(np.float64), docs.topic, docs.indptr), shape=(n, K))
            lengths = row_sums(documents.indptr, documents.value)
            scale = 1.0 / (lengths + alpha.sum()) if normalize else np.ones(n)
            if sparse_output:
                counts.data += alpha[docs.topic]
                counts.data *= np.repeat(scale, np.diff(docs.indptr))
                parts.append(counts)
            else:
                theta = counts.toarray() + alpha
                parts.append(theta / theta.sum(axis=1, keepdims=True) if normalize else theta)
        return stacked(parts)

    def score(self, X: Any, y: Any = None) -> float:
        """A lower bound on the log likelihood of X given the topics, summed over documents.  docs/math.md Eq. (3.13).

        scikit-learn adds the cost of the topics themselves, -KL(q(phi) || p(phi)), the same number for any X.
        Collapsed: a lower bound on the log likelihood at the topics' and the documents' estimated proportions.
        """
        check_is_fitted(self, "model_")
        return sum(folded.bound for _, folded in self._fold_in(as_corpus(self, X, reset=False), want_bound=True))

    def perplexity(self, X: Any, sub_sampling: bool = False) -> float:
        """exp(-score per token): of the documents' own words, after they were seen. Not a held-out measure by itself.

        For a fair comparison of models use topmix.metrics.completion_score on documents that were not trained on, or
        scoring=topmix.metrics.completion_scorer in a search of scikit-learn.
        `sub_sampling` is scikit-learn's, for documents that are a sample; the ratio does not depend on it.
        """
        check_is_fitted(self, "model_")
        corpus = as_corpus(self, X, reset=False)
        return float(np.exp(-self.score(corpus) / max(corpus.n_tokens, 1.0)))

    def predictor(self) -> Predictor:
        """A read-only object that gives the topics of one text at a time, quickly, from any number of threads, with
        the numbers of `transform`. It solves documents on the processor, whatever the engine. `topmix.load_predictor`
        makes it from a file, and lets processes share it."""
        check_is_fitted(self, "model_")
        return predictor_of(self)

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The n most probable words of each topic, best first."""
        check_is_fitted(self, "model_")
        return top_words(self.components_, getattr(self, "feature_names_in_", None), n)

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        check_is_fitted(self, "model_")
        return np.exp(dirichlet.expected_log(self.components_, axis=1))

    @property
    def random_state_(self) -> np.random.RandomState:
        check_is_fitted(self, "model_")
        return check_random_state(self.random_state)

    def _fold_in(self, corpus: Corpus, *, want_bound: bool = False) -> Iterator[tuple[Corpus, FoldedIn]]:
        """Documents under the topics as they are, a shard at a time, by the engine's workers."""
        model = replace(self.model_, documents=self._documents())
        engine, threads = self._engine(), self._threads()
        shards = Shards(corpus, in_order(corpus), keep=not engine.maps_files)
        workers = engine.open(shards, FoldIn(want_bound), threads)
        try:
            model = workers.place(model)
            results = workers.run(model.tables, range(len(shards)))
            for _ in range(len(shards)):
                with use_threads(threads):
                    b, folded, _ = next(results)
                yield corpus[shards.rows[b]], folded
        finally:
            workers.close()

    def _fitted_copy(self, model: TopicModel) -> Self:
        """A fitted copy of the estimator with this model, for callbacks."""
        now = snapshot(self)
        now._set_model(copy.deepcopy(model))
        return now

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_components
