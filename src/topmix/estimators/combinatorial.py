"""Combinatorial topic models as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np

from topmix.base.checks import MOST_POSITIVE, any_number, number_from, one_of, positive_number
from topmix.base.fields import CheckedReader, ModelFileError, Writer
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums
from topmix.estimators.estimator import Started, learned
from topmix.estimators.gibbs import TokenEstimator, checked_topics, read_token_topics
from topmix.io.reading import Reading
from topmix.learn.chains import ALGORITHMS, HardTopics
from topmix.learn.fit import First
from topmix.learn.tokens import Reassignments, TokenPasses
from topmix.models.sparse_counts import Counts
from topmix.results.measures import Fits
from topmix.results.topics import AboutFit, FittedHardTopics, FittedTopics, HardModel


class CombinatorialLDA(Started, TokenEstimator):
    """Topics by combinatorial optimisation: what k-means is to Gaussian mixtures, this is to LDA.

    Every token has one topic. The objective is the sum over tokens of -log psi_zw, the distance to their topic, plus
    `penalty` for each topic that a document uses; psi are the frequencies of words in topics. It is a good start for
    GibbsLDA and LDA.

    Parameters
    ----------
    penalty : float or "auto"
        What each topic that a document uses costs, lambda, in nats. "auto" is log K + log of the mean number of tokens
        in a document: what it costs to write down which topic it is, and how many of the tokens it has.
    algorithm : {"word+refine", "word", "basic"}
        "basic" moves token by token, as DP-means does, and is soon stuck; "word" solves a facility location problem in
        each document, greedily; "word+refine" also moves all tokens that a document has in a topic at once.
    smoothing : float
        Added to every count of a word in a topic in components_, transform and score. The fit has none.
    exchanges : bool
        "word+refine": whether two topics may become one while another becomes two, where that lowers the objective.
    early_smoothing : bool
        "word+refine": whether the first passes assign tokens under smoothed topics, so that they do not freeze.
    max_iter : int
        Passes over the data, at most.
    tol : float
        Stop when a pass lowers the objective by less than this, per token.
    init : None, "random", "documents", array of shape (n_tokens,) or a fitted estimator with token_topics_
        The first topics of the tokens. "documents" gives all tokens of a document the cluster that one pass of k-means
        under the KL divergence puts it in. None is "documents" for "word", and "random" otherwise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Tokens of each word in each topic, plus `smoothing`.
    penalty_ : float
        lambda.
    objective_ : float
        The objective at the end; it never rises. history_ has it for each pass.

    Examples
    --------
    >>> from topmix import CombinatorialLDA, GibbsLDA
    >>> from topmix.data import sample_lda
    >>> corpus = sample_lda(60, 40, 3, doc_length=30, random_state=0).corpus
    >>> start = CombinatorialLDA(3, random_state=0).fit(corpus)
    >>> GibbsLDA(3, init=start, max_iter=5, random_state=0).fit(corpus).n_iter_
    5
    """

    penalty: object = 8.0
    algorithm: str = "word+refine"
    smoothing: float = 0.01
    exchanges: bool = True
    early_smoothing: bool = True
    max_iter: int = 20
    tol: float = 1e-4
    init: object = None

    _mixes = False

    penalty_ = learned[float](lambda f: f.model.penalty)
    model_ = learned[np.ndarray](lambda f: f.model.counts)

    def _chain(
        self, corpus: Corpus, reading: Reading, warm: FittedTopics | None, K: int
    ) -> tuple[First, TokenPasses, float]:
        if warm is not None:
            self._check_warm(warm, K)
        one_of(self.algorithm, ALGORITHMS, "algorithm")
        positive_number(self.smoothing, "smoothing")
        threads, penalty = self._threads(), penalty_for(self.penalty, K, corpus)
        init = self.init if warm is None else warm.token_topics
        if init is None:
            init = "documents" if self.algorithm == "word" else "random"
        if isinstance(init, str):
            one_of(init, ("random", "documents"), "init")
        elif isinstance(init, Fits) and getattr(init, "token_topics_", None) is None:
            raise ValueError(f"init must have token_topics_, one topic per token; this {type(init).__name__} has none")

        def first(rng: np.random.Generator) -> tuple[HardTopics, None]:
            hard = HardTopics(corpus, K, penalty, threads)
            if not isinstance(init, str):
                hard.start(checked_topics(getattr(init, "token_topics_", init), hard.n_tokens, K))
            elif init == "random":
                hard.start(rng.integers(K, size=hard.n_tokens, dtype=np.uint16))
            else:
                from topmix.estimators.multinomial import MultinomialMixture  # here alone

                clusters = MultinomialMixture(
                    min(K, corpus.n_docs), init="documents", topic_word_prior=0.1, n_active=1, max_iter=1, tol=-np.inf,
                    n_jobs=threads, random_state=int(rng.integers(2**31)),
                ).fit(corpus)  # fmt: skip
                n_tokens = row_sums(corpus.indptr, corpus.value).astype(np.int64)
                hard.start(np.repeat(clusters.predict(corpus), n_tokens))
            return hard, None

        passes = Reassignments(self.algorithm, bool(self.exchanges), bool(self.early_smoothing))
        return first, passes, any_number(self.tol, "tol") * max(corpus.n_tokens, 1.0)

    def _value(self, chain: HardTopics, about: AboutFit) -> FittedTopics:
        return FittedHardTopics(**about, model=HardModel(chain.word.copy(), chain.penalty, float(self.smoothing)))

    def assign(self, X: object) -> np.ndarray:
        """A topic for each token of X, in the order of token_topics_, by the algorithm Word under these topics."""
        f, corpus = self._found(), self._read_known(X)
        assert isinstance(f, FittedHardTopics)
        return f.assign(corpus, self._threads())[0].z.astype(np.int32)

    def _write(self, fitted: FittedTopics, out: Writer) -> None:
        assert isinstance(fitted, FittedHardTopics)
        out.value("penalty", fitted.model.penalty)
        Counts().write(out, "words", fitted.model.counts.astype(np.float64))
        super()._write(fitted, out)

    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> FittedTopics:
        raw = np.asarray(Counts().read(file, "words", {"V": file.n_features, "K": K}))
        if not np.all((raw >= 0) & (raw == np.floor(raw)) & (raw < 2**31)):
            raise ModelFileError("array 'words' has entries that are not counts")
        smoothing = positive_number(self.smoothing, "smoothing")
        model = HardModel(raw.astype(np.int32), file.number("penalty", 0.0), smoothing)
        return FittedHardTopics(**about, model=model, token_topics=read_token_topics(file, K))


def penalty_for(given: object, K: int, corpus: Corpus) -> float:
    """lambda, as given or from the data: to say which topic costs log K, and how many of N tokens it has log N."""
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"penalty must be a number or 'auto', got {given!r}")
        n_docs = max(int(np.count_nonzero(np.diff(corpus.indptr))), 1)
        length = max(float(corpus.n_tokens) / n_docs, 1.0)
        return float(np.log(K) + np.log(length))
    return number_from(given, "penalty", 0.0, MOST_POSITIVE)
