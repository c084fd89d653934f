"""Combinatorial topic models as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from topmix import _core
from topmix.chains.exchange import exchange
from topmix.chains.hard_topics import ALGORITHMS, HardTopics, place
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.estimators.all_or_nothing import all_or_nothing
from topmix.estimators.components import ComponentParameters, threads_of
from topmix.estimators.inputs import as_corpus
from topmix.estimators.multinomial import MultinomialMixture
from topmix.estimators.odd_data import warn_of_odd_data
from topmix.estimators.reading import Reading, refuse_iterator
from topmix.estimators.saving import SaveMixin
from topmix.estimators.snapshot import snapshot
from topmix.estimators.tables import TopicTablesMixin
from topmix.estimators.token_topics import check_whole_counts, checked_topics, random_topics, read_token_topics
from topmix.estimators.top_words import top_words
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.fitting.history import Callback, Clock, Record
from topmix.fitting.passes import Log, Stopping, run_passes
from topmix.fitting.progress import shown
from topmix.parameters.checks import (
    MOST_POSITIVE,
    any_number,
    count_of_components,
    number_from,
    one_of,
    positive_number,
    whole_number,
)
from topmix.stats.sparse_counts import SparseCounts, read_counts, write_counts


class CombinatorialLDA(
    TopicTablesMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SaveMixin, ComponentParameters, BaseEstimator
):
    """Topics by combinatorial optimisation: what k-means is to Gaussian mixtures, this is to LDA.

    Every token has one topic. The objective is the sum over tokens of -log psi_zw, the distance to their topic, plus
    `penalty` for each topic that a document uses; psi are the frequencies of words in topics. A few passes are enough,
    which makes it a good start for GibbsLDA and LDA.

    Parameters
    ----------
    n_components : int
        Number of topics, K.
    penalty : float or "auto"
        What each topic that a document uses costs, lambda, in nats. A document opens a topic that brings its tokens
        nearer by more than this, in all. "auto" is log K + log of the mean number of tokens in a document: what it
        costs to write down which topic it is, and how many of the tokens it has.
    algorithm : {"word+refine", "word", "basic"}
        "basic" moves token by token, as DP-means does, and is soon stuck; "word" solves a facility location problem in
        each document, greedily; "word+refine" also moves all tokens that a document has in a topic at once.
    smoothing : float
        Added to every count of a word in a topic when topics meet documents they were not fitted to: in components_,
        transform and score. The objective of the fit has none.
    exchanges : bool
        "word+refine": whether two topics may become one while another becomes two, every third pass, where that lowers
        the objective. The paper has no exchanges.
    early_smoothing : bool
        "word+refine": whether the first passes assign tokens under smoothed topics, so that they do not freeze. The
        paper has none.
    max_iter : int
        Passes over the data, at most.
    tol : float
        Stop when a pass lowers the objective by less than this, per token.
    init : None, "random", "documents", array of shape (n_tokens,) or a fitted estimator with token_topics_
        The first topics of the tokens. "documents" gives all tokens of a document the cluster that one pass of k-means
        under the KL divergence puts it in. None is "documents" for "word", which cannot mend a poor start as refinement
        can, and "random" otherwise.
    warm_start : bool
        Start `fit` from the token topics of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores. The results are the same for any value. Refinement uses one.
    random_state : int, RandomState or None
    verbose : int
        1 shows progress on stderr.
    callbacks : list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    token_topics_ : ndarray of shape (n_tokens,)
        The topic of each token: row by row, columns sorted, repeated by count.
    components_ : ndarray of shape (n_components, n_features)
        Tokens of each word in each topic, plus `smoothing`.
    topic_word_ : ndarray of shape (n_components, n_features)
        Probabilities of words in topics; rows sum to one.
    penalty_ : float
        lambda.
    objective_ : float
        The objective at the end; it never rises. history_ has it for each pass.
    history_, n_iter_, converged_, n_features_in_, feature_names_in_ : as for LDA.

    Examples
    --------
    >>> from topmix import CombinatorialLDA, GibbsLDA
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus
    >>> start = CombinatorialLDA(3, random_state=0).fit(corpus)
    >>> GibbsLDA(3, init=start, max_iter=5, random_state=0).fit(corpus).n_iter_
    5
    """

    _saved_attributes = ("n_iter_", "converged_", "objective_", "penalty_")

    def __init__(
        self,
        n_components: int = 100,
        *,
        penalty: Any = 8.0,
        algorithm: str = "word+refine",
        smoothing: float = 0.01,
        exchanges: bool = True,
        early_smoothing: bool = True,
        max_iter: int = 20,
        tol: float = 1e-4,
        init: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: list[Callback] | None = None,
    ):
        self.n_components = n_components
        self.penalty = penalty
        self.algorithm = algorithm
        self.smoothing = smoothing
        self.exchanges = exchanges
        self.early_smoothing = early_smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        text: str | Sequence[str] | None = None,
        vectorizer: Any = None,
        feature_names: Sequence[str] | None = None,
        layer: str | None = None,
    ) -> Self:
        """Learns the topics of X: texts, or whole counts of shape (n_samples, n_features). `LDA.fit` says
        what X may be, and what the other arguments mean."""
        clock = Clock()
        warm = self.warm_start and hasattr(self, "model_")
        reading = Reading(text, vectorizer, feature_names, layer)
        corpus = as_corpus(self, X, reset=not warm, reading=reading)
        check_whole_counts(corpus, type(self).__name__)
        warn_of_odd_data(corpus, count_of_components(self.n_components))
        one_of(self.algorithm, ALGORITHMS, "algorithm")
        positive_number(self.smoothing, "smoothing")
        K, max_iter = count_of_components(self.n_components), whole_number(self.max_iter, "max_iter")
        penalty = penalty_for(self.penalty, K, corpus)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        hard = HardTopics(corpus, K, penalty, threads_of(self))
        self._start(hard, warm, rng)
        history: list[Record] = []
        self.history_ = history  # now, so that an interrupted fit has it too
        with shown(self.verbose, max_iter, corpus.n_tokens, type(self).__name__) as display:
            log = Log(clock, self._fitted_copy, [*(self.callbacks or ()), *display], history)
            stopping = Stopping(max_iter, any_number(self.tol, "tol") * max(corpus.n_tokens, 1.0), "falls")
            tried = exchange if self.exchanges else None
            passes = hard.run(self.algorithm, rng, tried, early_smoothing=self.early_smoothing)
            _, converged = run_passes(passes, stopping, log)
        self.n_iter_, self.converged_, self.penalty_ = len(history), converged, penalty
        self.objective_ = history[-1].objective
        self.token_topics_ = hard.z.astype(np.int32)
        self._set_counts(hard.word)
        return self

    def transform(self, X: Any, *, normalize: bool = True, sparse_output: bool = False) -> np.ndarray | sp.csr_array:
        """Shares of topics in documents, shape (n_samples, n_components), by the algorithm Word under these topics.

        normalize=False gives tokens. A document without words has none, or with normalize equal shares.
        """
        check_is_fitted(self, "model_")
        return self._transformed(X, normalize, sparse_output)

    def _proportions(self, corpus: Corpus, normalize: bool, sparse_output: bool) -> np.ndarray | sp.csr_array:
        hard, _ = self._place(corpus)
        K = hard.n_components
        indptr, topic, count = _core.document_topics(hard.tokens, hard.z, K, hard.threads)
        counts = sp.csr_array((count.astype(np.float64), topic.astype(np.int32), indptr), shape=(hard.n_docs, K))
        sums = np.asarray(counts.sum(axis=1)).ravel()
        if normalize:
            counts.data /= np.repeat(sums, np.diff(indptr))
        if sparse_output:
            return counts
        dense = counts.toarray()
        if normalize:
            dense[sums == 0] = 1.0 / K
        return dense

    def fit_transform(
        self, X: Any, y: Any = None, *, normalize: bool = True, **reading: Any
    ) -> np.ndarray | sp.csr_array:
        """`fit`, which takes `reading`, then `transform`."""
        refuse_iterator(X)
        return self.fit(X, **reading).transform(X, normalize=normalize)

    def _prior_of_documents(self) -> np.ndarray:
        return np.zeros(len(self.components_))  # documents have no topics but those of their tokens

    def assign(self, X: Any) -> np.ndarray:
        """A topic for each token of X, in the order of token_topics_, by the algorithm Word under these topics."""
        return self._place(X)[0].z.astype(np.int32)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the objective of X under these topics, so that more is better: log psi of its tokens, less the penalty
        for the topics that documents use. Tokens are placed by the algorithm Word."""
        return -self._place(X)[1]

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The n most probable words of each topic, best first."""
        check_is_fitted(self, "model_")
        return top_words(self.components_, getattr(self, "feature_names_in_", None), n)

    def _start(self, hard: HardTopics, warm: bool, rng: np.random.Generator) -> None:
        K = hard.n_components
        init = self if warm else self.init
        if warm and self.model_.shape[1] != K:
            raise ValueError(f"warm_start keeps {self.model_.shape[1]} topics, but n_components is now {K}")
        if init is None:
            init = "documents" if self.algorithm == "word" else "random"
        if isinstance(init, str):
            starts: dict[str, Callable[[], np.ndarray]] = {
                "random": lambda: random_topics(hard.n_tokens, K, rng),
                "documents": lambda: topics_of_documents(hard.corpus, K, hard.threads, rng),
            }
            hard.start(starts[one_of(init, starts, "init")]())
            return
        topics = getattr(init, "token_topics_", None) if hasattr(init, "fit") else init
        if topics is None:
            raise ValueError(f"init must have token_topics_, one topic per token; this {type(init).__name__} has none")
        hard.start(checked_topics(topics, hard.n_tokens, K))

    def _place(self, X: Any) -> tuple[HardTopics, float]:
        check_is_fitted(self, "model_")
        corpus = as_corpus(self, X, reset=False)
        check_whole_counts(corpus, type(self).__name__)
        return place(corpus, self.model_, self.penalty_, float(self.smoothing), threads_of(self))

    def _set_counts(self, word: np.ndarray) -> None:
        self.model_ = word  # [V, K]
        self.components_ = np.ascontiguousarray(word.T) + float(self.smoothing)
        self.topic_word_ = self.components_ / self.components_.sum(axis=1, keepdims=True)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _fitted_copy(self, hard: HardTopics) -> Self:
        """A fitted copy with the topics of this moment, for callbacks."""
        now = snapshot(self)
        now.penalty_, now.token_topics_ = hard.penalty, hard.z.astype(np.int32)
        now._set_counts(hard.word.copy())
        return now

    def _write(self, out: Writer) -> None:
        out.value("n_components", self.model_.shape[1])
        write_counts(out.at("words"), self.model_.astype(np.float64))
        out.array("token_topics", self.token_topics_.astype(np.uint16))

    def _read(self, file: CheckedReader, K: int) -> None:
        found = read_counts(file.at("words"), file.n_features, K)
        raw = found.toarray() if isinstance(found, SparseCounts) else found
        if not np.all((raw >= 0) & (raw == np.floor(raw)) & (raw < 2**31)):
            raise ModelFileError("array 'words.raw' has entries that are not counts")
        positive_number(self.smoothing, "smoothing")
        if not 0 <= getattr(self, "penalty_", -1.0) < np.inf:
            raise ModelFileError("has no penalty_ that is a number and not negative")
        self.token_topics_ = read_token_topics(file, K)
        self._set_counts(raw.astype(np.int32))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # counts are whole: scikit-learn's checks then round theirs
        return tags


def topics_of_documents(corpus: Corpus, K: int, threads: int, rng: np.random.Generator) -> np.ndarray:
    """One topic for all tokens of a document: its cluster after one pass of k-means."""
    how: dict[str, Any] = {"n_active": 1, "max_iter": 1, "tol": -np.inf, "n_jobs": threads}
    clusters = MultinomialMixture(min(K, corpus.n_docs), random_state=int(rng.integers(2**31)), **how).fit(corpus)
    return np.repeat(clusters.predict(corpus), row_sums(corpus.indptr, corpus.value).astype(np.int64))


def penalty_for(given: Any, K: int, corpus: Corpus) -> float:
    """lambda, as given or from the data: to say which topic costs log K, and how many of N tokens it has log N."""
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"penalty must be a number or 'auto', got {given!r}")
        n_docs = max(int(np.count_nonzero(np.diff(corpus.indptr))), 1)
        length = max(float(corpus.n_tokens) / n_docs, 1.0)
        return float(np.log(K) + np.log(length))
    return number_from(given, "penalty", 0.0, MOST_POSITIVE)
