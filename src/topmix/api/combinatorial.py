"""Combinatorial topic models as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topmix.api.estimator import learned
from topmix.api.multinomial import MultinomialMixture
from topmix.api.odd_data import check_whole_counts
from topmix.api.starts import Fits
from topmix.api.token_topics import ChainStart, TokenEstimator, checked_topics, random_topics, read_token_topics
from topmix.chains.exchange import exchange
from topmix.chains.hard_topics import ALGORITHMS, HardTopics
from topmix.data.corpus import Corpus
from topmix.data.shard import row_sums
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.fitted.documents import placed
from topmix.fitted.topics import FittedTopics, HardModel
from topmix.fitting.history import Callback, Clock, Record
from topmix.fitting.loop import Log
from topmix.parameters.checks import (
    MOST_POSITIVE,
    any_number,
    count_of_components,
    number_from,
    one_of,
    positive_number,
    whole_number,
)
from topmix.read import How
from topmix.stats.sparse_counts import SparseCounts, read_counts, write_counts


class CombinatorialLDA(TokenEstimator):
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
    max_time : float or None
        Seconds for the whole fit, all starts together. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    init : None, "random", "documents", array of shape (n_tokens,) or a fitted estimator with token_topics_
        The first topics of the tokens. "documents" gives all tokens of a document the cluster that one pass of k-means
        under the KL divergence puts it in. None is "documents" for "word", which cannot mend a poor start as refinement
        can, and "random" otherwise.
    warm_start : bool
        Start `fit` from the token topics of the last one.
    n_jobs : int or None
        Threads. None and -1 use all cores. The results are the same for any value. Refinement uses one.
    random_state : int, RandomState or None
    verbose : int or None
        1 shows progress on stderr. None shows a bar on a terminal or in a notebook if the fit takes longer than
        ten seconds. 0 is silent.
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

    _mixes = False

    penalty_ = learned[float](lambda f: f.model.penalty)
    model_ = learned[np.ndarray](lambda f: f.model.counts)

    def __init__(
        self,
        n_components: int = 100,
        *,
        penalty: object = 8.0,
        algorithm: str = "word+refine",
        smoothing: float = 0.01,
        exchanges: bool = True,
        early_smoothing: bool = True,
        max_iter: int = 20,
        tol: float = 1e-4,
        max_time: float | None = None,
        n_init: int = 1,
        init: object = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int | None = None,
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
        self.max_time = max_time
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _fit(self, X: object, y: object, how: How, clock: Clock) -> FittedTopics:
        warm = self._fitted if self._is_warm() else None
        corpus, reading = self._read_whole(X, y, how)
        K, max_iter = count_of_components(self.n_components), whole_number(self.max_iter, "max_iter")
        one_of(self.algorithm, ALGORITHMS, "algorithm")
        smoothing, penalty = positive_number(self.smoothing, "smoothing"), penalty_for(self.penalty, K, corpus)
        least_gain = any_number(self.tol, "tol") * max(corpus.n_tokens, 1.0)

        def begin(rng: np.random.Generator, log: Log) -> ChainStart[HardTopics]:
            hard = HardTopics(corpus, K, penalty, self._threads())
            hard.start(self._first_tokens(hard, rng))
            tried = exchange if self.exchanges else None
            passes = hard.run(self.algorithm, rng, tried, early_smoothing=self.early_smoothing)
            return ChainStart(hard, passes, max_iter, lambda: None, least_gain=least_gain, direction="falls")

        def fitted(hard: HardTopics, history: Sequence[Record]) -> FittedTopics:
            return FittedTopics(
                reading=reading,
                model=HardModel(hard.word.copy(), penalty, smoothing),
                history=tuple(history),
                n_iter=len(history),
                objective=history[-1].objective,
                token_topics=hard.z.astype(np.int32),
                names={} if warm is None else warm.names,
            )

        found = self._course(corpus.n_tokens, corpus.n_words, max_iter, fitted, clock).run(begin, self._rng())
        return replace(fitted(found.model, found.history), converged=found.converged)

    def _first_tokens(self, hard: HardTopics, rng: np.random.Generator) -> np.ndarray:
        """The first topics of the tokens."""
        K, warm = hard.n_components, self._fitted if self._is_warm() else None
        init = self.init if warm is None else self
        if warm is not None:
            self._check_warm(warm)
        if init is None:
            init = "documents" if self.algorithm == "word" else "random"
        if isinstance(init, str):
            starts: dict[str, Callable[[], np.ndarray]] = {
                "random": lambda: random_topics(hard.n_tokens, K, rng),
                "documents": lambda: topics_of_documents(hard.corpus, K, hard.threads, rng),
            }
            return starts[one_of(init, starts, "init")]()
        topics = getattr(init, "token_topics_", None) if isinstance(init, Fits) else init
        if topics is None:
            raise ValueError(f"init must have token_topics_, one topic per token; this {type(init).__name__} has none")
        return checked_topics(topics, hard.n_tokens, K)

    def assign(self, X: object) -> np.ndarray:
        """A topic for each token of X, in the order of token_topics_, by the algorithm Word under these topics."""
        f, corpus = self._found(), self._read_known(X)
        assert isinstance(f.model, HardModel)
        return placed(f.model, corpus, self._threads())[0].z.astype(np.int32)

    def _read_known(self, X: object, metadata: object = None) -> Corpus:
        corpus = super()._read_known(X, metadata)
        check_whole_counts(corpus, type(self).__name__)
        return corpus

    def _parts(self, X: object, metadata: object = None) -> Iterator[Corpus]:
        for corpus in super()._parts(X, metadata):
            check_whole_counts(corpus, type(self).__name__)
            yield corpus

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        assert isinstance(fitted.model, HardModel)
        assert fitted.token_topics is not None
        out.value("penalty", fitted.model.penalty)
        write_counts(out.at("words"), fitted.model.counts.astype(np.float64))
        out.array("token_topics", fitted.token_topics.astype(np.uint16))

    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> FittedTopics:
        found = read_counts(file.at("words"), file.n_features, K)
        raw = found.toarray() if isinstance(found, SparseCounts) else found
        if not np.all((raw >= 0) & (raw == np.floor(raw)) & (raw < 2**31)):
            raise ModelFileError("array 'words.raw' has entries that are not counts")
        smoothing = positive_number(self.smoothing, "smoothing")
        model = HardModel(raw.astype(np.int32), file.number("penalty", 0.0), smoothing)
        return FittedTopics(**about, model=model, token_topics=read_token_topics(file, K))


def topics_of_documents(corpus: Corpus, K: int, threads: int, rng: np.random.Generator) -> np.ndarray:
    """One topic for all tokens of a document: its cluster after one pass of k-means."""
    how: dict[str, Any] = {"init": "documents", "topic_word_prior": 0.1, "n_active": 1, "max_iter": 1, "tol": -np.inf}
    seed = int(rng.integers(2**31))
    clusters = MultinomialMixture(min(K, corpus.n_docs), random_state=seed, n_jobs=threads, **how).fit(corpus)
    return np.repeat(clusters.predict(corpus), row_sums(corpus.indptr, corpus.value).astype(np.int64))


def penalty_for(given: object, K: int, corpus: Corpus) -> float:
    """lambda, as given or from the data: to say which topic costs log K, and how many of N tokens it has log N."""
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"penalty must be a number or 'auto', got {given!r}")
        n_docs = max(int(np.count_nonzero(np.diff(corpus.indptr))), 1)
        length = max(float(corpus.n_tokens) / n_docs, 1.0)
        return float(np.log(K) + np.log(length))
    return number_from(given, "penalty", 0.0, MOST_POSITIVE)
