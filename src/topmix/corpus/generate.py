"""Documents drawn from the generative model of LDA, with the true parameters.

    φ_k ~ Dir(η),   θ_d ~ Dir(α),   z_di ~ θ_d,   w_di ~ φ_{z_di}

The sampler works topic by topic. It draws the tokens per topic, n_d ~ Mult(N_d, θ_d). Then one inverse-CDF search in
φ_k draws all words of topic k in all documents. Memory holds D × K, K × V and the tokens, but never D × V.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topmix.base.checks import prior_of
from topmix.corpus.corpus import Corpus

RandomState = int | np.random.Generator | np.random.RandomState | None


class LdaSample(NamedTuple):
    """A sampled corpus and the parameters that it was sampled from."""

    corpus: Corpus
    topic_word: np.ndarray  # [K, V] φ
    doc_topic: np.ndarray  # [D, K] θ
    assignments: np.ndarray  # [tokens] z, int32: in order of rows, then words; one per token


def sample_lda(
    n_docs: int = 1000,
    n_words: int = 1000,
    n_topics: int = 10,
    *,
    doc_length: float = 100,
    doc_topic_prior: float | npt.ArrayLike = 0.1,
    topic_word_prior: float | npt.ArrayLike = 0.05,
    topic_word: npt.ArrayLike | None = None,
    topic_sizes: npt.ArrayLike | None = None,
    length_distribution: str = "poisson",
    random_state: RandomState = None,
) -> LdaSample:
    """Documents drawn from LDA, with the true φ, θ and z.

    Parameters
    ----------
    doc_length : float
        Tokens per document, N_d: the mean of a Poisson distribution, or the exact number.
    doc_topic_prior : float or [K]
        α, per topic.
    topic_word_prior : float or [V]
        η, per word. Small values give topics with few words.
    topic_word : [K, V] or None
        Given topics instead of random ones; rows are normalised. Its shape then sets n_topics and n_words.
    topic_sizes : [K] or None
        Expected shares of the topics, up to scale. α becomes proportional to them and keeps its sum. For instance,
        1 / (1 + k) gives a few large topics and many small ones.
    length_distribution : {"poisson", "fixed"}
        Whether the lengths are Poisson with the mean doc_length, or all equal to doc_length.
    random_state : int, Generator, RandomState or None
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = np.random.default_rng(random_state.randint(2**31, size=4))
    rng = np.random.default_rng(random_state)
    for name, size in {"n_docs": n_docs, "n_words": n_words, "n_topics": n_topics}.items():
        if size < 1 and (topic_word is None or name == "n_docs"):
            raise ValueError(f"{name}={size}: pass at least 1")
    if topic_word is None:
        phi = rng.dirichlet(prior_of(topic_word_prior, "topic_word_prior", n_words), size=n_topics)
    else:
        phi = np.array(topic_word, dtype=np.float64)
        if phi.ndim != 2 or 0 in phi.shape:
            raise ValueError(f"topic_word has the shape {phi.shape}; it must have the shape (topics, words)")
        if not np.all(phi >= 0) or not np.all(np.isfinite(phi)) or not np.all(phi.sum(axis=1) > 0):
            raise ValueError("topic_word must be finite and not negative, and every row must have a positive entry")
        phi /= phi.sum(axis=1, keepdims=True)
        n_topics, n_words = phi.shape
    alpha = prior_of(doc_topic_prior, "doc_topic_prior", n_topics)
    if topic_sizes is not None:
        sizes = prior_of(topic_sizes, "topic_sizes", n_topics)
        alpha = alpha.sum() * sizes / sizes.sum()
    if length_distribution not in ("poisson", "fixed"):
        raise ValueError(f'length_distribution={length_distribution!r}: choose "poisson" or "fixed"')
    if not doc_length > 0:
        raise ValueError(f"doc_length={doc_length}: pass a positive length")
    if length_distribution == "fixed" and doc_length != int(doc_length):
        raise ValueError(f'doc_length={doc_length}: pass a whole number with length_distribution="fixed"')
    if length_distribution == "poisson":
        lengths = rng.poisson(doc_length, n_docs)
    else:
        lengths = np.full(n_docs, int(doc_length))

    theta = rng.dirichlet(alpha, size=n_docs)
    theta /= theta.sum(axis=1, keepdims=True)
    n_dk = rng.multinomial(lengths, theta)
    docs, words = [], []
    for k, weights in enumerate(phi):
        cdf = np.cumsum(weights)
        docs.append(np.repeat(np.arange(n_docs), n_dk[:, k]))
        # u < cdf[-1], and "right" skips words of weight 0: no word of probability 0 is drawn.
        u = np.minimum(rng.random(len(docs[k])) * cdf[-1], np.nextafter(cdf[-1], 0))
        words.append(np.searchsorted(cdf, u, side="right"))
    topic = np.repeat(np.arange(n_topics), n_dk.sum(axis=0))

    cell = np.concatenate(docs) * n_words + np.concatenate(words)
    cells, count = np.unique(cell, return_counts=True)
    indptr = np.searchsorted(cells, np.arange(n_docs + 1, dtype=np.int64) * n_words)
    vocabulary = [f"word{v:0{len(str(n_words - 1))}d}" for v in range(n_words)]
    corpus = Corpus(indptr, cells % n_words, count, n_words, vocabulary)
    return LdaSample(corpus, phi, theta, topic[np.argsort(cell, kind="stable")].astype(np.int32))
