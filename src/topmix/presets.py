"""The algorithms of some papers as they were published: ordinary estimators, with the settings of the paper.

The defaults of the estimators are what measured best here, and often differ from the papers. Use a preset to repeat a
paper, or to compare with it; docs/papers.md has the results beside the published ones. Every other parameter can be
set afterwards: `sparse_lda(200).set_params(max_iter=50, random_state=0)`.

A setting that a paper does not give is named in the docstring.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topmix.api import HDP, LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture
from topmix.chains import Sequential
from topmix.inference import CVB0, SCVB0, Variational
from topmix.learners import Asynchronous, Batch, Learner, Memoized, Stochastic

__all__ = [
    "batch_vb",
    "cvb0",
    "esvi_gmm",
    "esvi_lda",
    "gibbs",
    "gsdmm",
    "restarted_hdp",
    "scvb0",
    "sparse_gmm",
    "sparse_lda",
    "stochastic_vb",
    "word_refine",
]

RESTARTS = 5  # the smallest topics of a document that it is tried without (Hughes, Kim & Sudderth 2015)
FOREVER: dict[str, Any] = {"tol": -np.inf}  # papers stop after passes or time, never by a tolerance


def sparse_lda(
    n_components: int,
    n_active: int | None = 8,
    *,
    learner: str = "memoized",
    batch_size: int | None = None,
    restarts: int = RESTARTS,
    cold: bool = True,
) -> LDA:
    """L-sparse LDA: Algorithm 2 of Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors, 2016.

    Each word keeps its L best topics *while* a document is solved (their Appendix D.3: chosen in the first five
    iterations and every tenth), every visit starts cold, restarts are always tried, a document ends after 100
    iterations or when no count changes by .05 (D.2). alpha = 0.5 in all, eta = 0.1. Topics start from K documents that
    k-means++ chose under the Bregman divergence of words (section 6). `n_active=None` is their dense baseline.

    `learner` is "memoized" (MVI) or "stochastic" (SVI), whose rate is (delta + t)^-kappa: they choose delta from 1 and
    10 and kappa from .55 and .65 on validation data; here 10 and .65. They have 5 batches for NIPS and Wikipedia and
    200 for the New York Times: set `batch_size`. Between two selections only the chosen topics are weighed; a topic
    that no word chose is gone.
    """
    learners: dict[str, Learner] = {
        "memoized": Memoized(batch_size),
        "stochastic": Stochastic(batch_size, offset=10.0, decay=0.65),
    }
    inference = Variational(
        min_topic_mass=0.0,
        restarts=restarts,
        cold_visits=None if cold else 1,
        selection="often",
        max_doc_update_iter=100,
        doc_tol=0.05,
    )
    return LDA(
        n_components,
        n_active=n_active,
        inference=inference,
        learner=learners[learner],
        doc_topic_prior=0.5 / n_components,
        topic_word_prior=0.1,
        init="documents",
        **FOREVER,
    )


def sparse_gmm(
    n_components: int, n_active: int | None = 16, *, learner: str = "memoized", batch_size: int | None = None
) -> GaussianMixture:
    """L-sparse Gaussian mixture: Algorithm 1 of Hughes & Sudderth (2016), for image patches (their section 4).

    Zero mean, full covariances, alpha = 10 in all. They have 100 batches; the rate of SVI and the first clusters are
    not given for mixtures: here (1 + t)^-.65 and the library's start. `covariances_` is scikit-learn's estimate; the
    paper's E[Sigma] has nu - D - 1 in the place of nu.
    """
    learners: dict[str, Learner] = {
        "memoized": Memoized(batch_size),
        "stochastic": Stochastic(batch_size, offset=1.0, decay=0.65),
    }
    return GaussianMixture(
        n_components,
        zero_mean=True,
        n_active=n_active,
        learner=learners[learner],
        weight_concentration_prior=10.0 / n_components,
        **FOREVER,
    )


def scvb0(n_components: int, *, batch_size: int = 100) -> LDA:
    """SCVB0: Algorithm 2 of Foulds et al., Stochastic Collapsed Variational Bayesian Inference for LDA (2013).

    Dense, one burn-in pass over each document, minibatches of 100 documents, rates 10 / (1000 + t)^.9 for topics and
    1 / (10 + t)^.9 for documents, alpha = .1, eta = .01 (section 4.1). Topics start at random.
    """
    return LDA(
        n_components,
        n_active=None,
        inference=SCVB0(doc_burn_in=1, doc_scale=1.0, doc_offset=10.0, doc_decay=0.9),
        learner=Stochastic(batch_size, scale=10.0, offset=1000.0, decay=0.9),
        doc_topic_prior=0.1,
        topic_word_prior=0.01,
        init="random",
        **FOREVER,
    )


def cvb0(n_components: int, *, batch_size: int = 100) -> LDA:
    """CVB0: Eq. (3) of Foulds et al. (2013), after Asuncion et al. (2009); docs/math.md Eq. (3.5c).

    Every word keeps all its topics and is left out of all three counts when it is updated. The counts of a document
    follow every word, those of topics every `batch_size` documents; with fewer it learns no more in a pass.
    alpha = .1 and eta = .01 as in `scvb0`. Topics start at random.
    """
    return LDA(
        n_components,
        n_active=None,
        inference=CVB0(doc_burn_in=0),
        learner=Memoized(batch_size),
        doc_topic_prior=0.1,
        topic_word_prior=0.01,
        init="random",
        **FOREVER,
    )


def stochastic_vb(n_components: int, iterations: int = 1, offset: float = 0.0, *, batch_size: int = 100) -> LDA:
    """SVB-Bx-Oy of Foulds et al. (2013), after Hoffman et al. (2010): x iterations per document, priors raised by y.

    The other settings are those of `scvb0`. Dense, every visit from the words alone.
    """
    inference = Variational(min_topic_mass=0.0, cold_visits=None, max_doc_update_iter=iterations, doc_tol=0.0)
    return LDA(
        n_components,
        n_active=None,
        inference=inference,
        learner=Stochastic(batch_size, scale=10.0, offset=1000.0, decay=0.9),
        doc_topic_prior=0.1 + offset,
        topic_word_prior=0.01 + offset,
        init="random",
        **FOREVER,
    )


def batch_vb(n_components: int, doc_topic_prior: float = 0.1, topic_word_prior: float = 0.01) -> LDA:
    """Variational Bayes over all documents (Blei et al. 2003), the baseline of four of the papers.

    Dense, documents solved from their words alone in every pass, at most 100 iterations or until no count changes by
    .05. The priors are those of Foulds et al. (2013) unless given. Topics start at random.
    """
    return LDA(
        n_components,
        n_active=None,
        inference=Variational(min_topic_mass=0.0, cold_visits=None, doc_tol=0.05),
        learner=Batch(),
        doc_topic_prior=doc_topic_prior,
        topic_word_prior=topic_word_prior,
        init="random",
        **FOREVER,
    )


def esvi_lda(n_components: int, n_active: int | None = None, *, workers: int = 1) -> LDA:
    """ESVI-LDA: Algorithm 5 of Zhang et al., Extreme Stochastic Variational Inference (2019); with `n_active` -TOPK.

    Words travel between workers and re-solve all K topics of a token; no learning rate, no opening passes. With TOPK
    the C best are kept and the others share the rest evenly, each having the mean of what it would have had. Here
    several words travel together in a block, and the tokens of a word in one document are solved at once; with
    `learner__per_token=True` neither is so. Priors and the start are not given: alpha = .5 / K, eta = .03 and a random
    start.
    """
    return LDA(
        n_components,
        n_active=n_active,
        inference=Variational(),
        learner=Asynchronous(workers=workers, tail="mean", warm_up=0),
        init="random",
        **FOREVER,
    )


def esvi_gmm(n_components: int, n_active: int | None = None, *, workers: int = 1) -> GaussianMixture:
    """ESVI-GMM: Algorithms 3 and 4 of Zhang et al. (2019). alpha = 5, beta = 1 (their Appendix E); k-means++ start.

    Their prior means are 0: standardise the data. Their prior of covariances is tuned; ours is the library's default.
    """
    return GaussianMixture(
        n_components,
        n_active=n_active,
        learner=Asynchronous(workers=workers),
        weight_concentration_prior=5.0,
        mean_precision_prior=1.0,
        init_params="k-means++",
        **FOREVER,
    )


def restarted_hdp(n_components: int, *, restarts: int = RESTARTS) -> HDP:
    """Topics of an HDP with sparsity-promoting restarts: Hughes, Kim & Sudderth (2015), sections 3 and 4.1.

    Truncated at K, dense, each document from its words alone, then tried without its five smallest topics. The moves
    that change the number of topics are not on the page that we have: `HDP(inference="variational")` has ours.
    """
    inference = Variational(min_topic_mass=0.0, restarts=restarts, cold_visits=None, doc_tol=0.05)
    return HDP(n_components, n_active=None, inference=inference, search=None, **FOREVER)


def word_refine(n_components: int, penalty: float = 8.0, *, algorithm: str = "word+refine") -> CombinatorialLDA:
    """Algorithms 1 to 3 of Jiang, Sra & Kulis, Combinatorial Topic Models using Small-Variance Asymptotics (2016).

    "basic" is their Algorithm 1, "word" has Algorithm 2 for its assignments (20 passes), "word+refine" also Algorithm 3
    (10 passes). Tokens start in random topics. No exchanges of topics and no smoothing, which are ours.
    """
    passes = {"basic": 20, "word": 20, "word+refine": 10}
    return CombinatorialLDA(
        n_components,
        penalty=penalty,
        algorithm=algorithm,
        exchanges=False,
        early_smoothing=False,
        init="random",
        max_iter=passes[algorithm],
        **FOREVER,
    )


def gibbs(n_components: int, doc_topic_prior: float, topic_word_prior: float) -> GibbsLDA:
    """The collapsed Gibbs sampler that Jiang, Sra & Kulis (2016) compare with: Griffiths & Steyvers (2004).

    The exact chain from random topics, without annealing: 3,000 sweeps of burn-in, then ten samples, 30 sweeps apart.
    """
    return GibbsLDA(
        n_components,
        sampler=Sequential(annealing=0),
        doc_topic_prior=doc_topic_prior,
        topic_word_prior=topic_word_prior,
        max_iter=3300,
        burn_in=3000,
        thin=30,
        init="random",
    )


def gsdmm(
    n_components: int, weight_concentration_prior: float = 0.1, topic_word_prior: float = 0.1
) -> MultinomialMixture:
    """GSDMM, clusters of short texts: Yin & Wang, A Dirichlet Multinomial Mixture Model-based Approach (2014).

    Documents start in random clusters and then go from one to another, 30 times, by collapsed Gibbs sampling; alpha and
    beta are .1. K is the most clusters that there can be: a cluster that its documents have left stays nearly empty, so
    take more than you expect. A few passes of hard assignment follow, which are ours. With more than a million entries
    (about 170,000 titles) the sampler has a sample of the documents, and the passes have all of them. The defaults of
    `MultinomialMixture`, the same model from a better start, agree more with classes here (docs/choosing.md).
    """
    return MultinomialMixture(
        n_components,
        n_active=1,
        weight_concentration_prior=weight_concentration_prior,
        topic_word_prior=topic_word_prior,
        init="random",
    )
