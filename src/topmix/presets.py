"""The algorithms of some papers as they were published: ordinary estimators, with the settings of the paper.

Use a preset to repeat a paper, or to compare with it; docs/papers.md has the results beside the published ones. Every
other parameter can be set afterwards: `sparse_lda(200).set_params(max_iter=50, random_state=0)`.
"""

from __future__ import annotations

import numpy as np

from topmix.estimators import HDP, LDA, CombinatorialLDA, GaussianMixture, GibbsLDA, MultinomialMixture
from topmix.estimators.declared import Settings
from topmix.learn.asynchronous import Asynchronous
from topmix.learn.learners import Batch, Learner, Memoized, Stochastic
from topmix.learn.tokens import Sequential
from topmix.steps.inference import CVB0, SCVB0, Variational

__all__ = [
    "batch_vb", "cvb0", "esvi_gmm", "esvi_lda", "gibbs", "gsdmm", "restarted_hdp", "scvb0", "sparse_gmm",
    "sparse_lda", "stochastic_vb", "word_refine",
]  # fmt: skip

RESTARTS = 5  # the smallest topics of a document that it is tried without (Hughes, Kim & Sudderth 2015)
FOREVER: Settings = {"tol": -np.inf}  # papers stop after passes or time, never by a tolerance
DENSE: Settings = FOREVER | {"n_active": None, "init": "random"}
FOULDS: Settings = DENSE | {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}  # section 4.1 of the paper


def _sparse_learner(learner: str, batch_size: int | None, offset: float) -> Learner:
    return {"memoized": Memoized(batch_size), "stochastic": Stochastic(batch_size, offset=offset, decay=0.65)}[learner]


def sparse_lda(
    n_components: int, n_active: int | None = 8, *, learner: str = "memoized", batch_size: int | None = None,
    restarts: int = RESTARTS, cold: bool = True,
) -> LDA:  # fmt: skip
    """L-sparse LDA: Algorithm 2 of Hughes & Sudderth, Fast Learning of Clusters and Topics via Sparse Posteriors, 2016.

    Each word keeps its L best topics while a document is solved, every visit starts cold, and restarts are always
    tried (their Appendix D); `n_active=None` is their dense baseline. `learner` is "memoized" (MVI) or "stochastic"
    (SVI), with the rate (10 + t)^-.65; they have 5 batches for NIPS and Wikipedia and 200 for the New York Times.
    """
    inference = Variational(
        min_topic_mass=0.0, restarts=restarts, cold_visits=None if cold else 1, selection="often",
        max_doc_update_iter=100, doc_tol=0.05,
    )  # fmt: skip
    return LDA(
        n_components,
        n_active=n_active,
        inference=inference,
        learner=_sparse_learner(learner, batch_size, 10.0),
        doc_topic_prior=0.5 / n_components,
        topic_word_prior=0.1,
        init="documents",
        **FOREVER,
    )


def sparse_gmm(
    n_components: int, n_active: int | None = 16, *, learner: str = "memoized", batch_size: int | None = None
) -> GaussianMixture:
    """L-sparse Gaussian mixture: Algorithm 1 of Hughes & Sudderth (2016), for image patches (their section 4).

    Zero mean, full covariances, alpha = 10 in all; they have 100 batches. Not given are the rate of SVI, here
    (1 + t)^-.65, the first clusters and the Wishart prior, here the library's.
    """
    return GaussianMixture(
        n_components,
        objective="vb",
        zero_mean=True,
        n_active=n_active,
        learner=_sparse_learner(learner, batch_size, 1.0),
        weight_concentration_prior=10.0 / n_components,
        **FOREVER,
    )


def scvb0(n_components: int, *, batch_size: int = 100) -> LDA:
    """SCVB0: Algorithm 2 of Foulds et al., Stochastic Collapsed Variational Bayesian Inference for LDA (2013).

    The settings are those of section 4.1; topics start at random.
    """
    inference = SCVB0(doc_burn_in=1, doc_scale=1.0, doc_offset=10.0, doc_decay=0.9)
    learner = Stochastic(batch_size, scale=10.0, offset=1000.0, decay=0.9)
    return LDA(n_components, inference=inference, learner=learner, **FOULDS)


def cvb0(n_components: int, *, batch_size: int = 100) -> LDA:
    """CVB0: Eq. (3) of Foulds et al. (2013), after Asuncion et al. (2009); docs/math.md Eq. (3.5c).

    The counts of a document follow every word, those of topics every `batch_size` documents. Priors are those of
    `scvb0`, and topics start at random.
    """
    return LDA(n_components, inference=CVB0(doc_burn_in=0), learner=Memoized(batch_size), **FOULDS)


def stochastic_vb(n_components: int, iterations: int = 1, offset: float = 0.0, *, batch_size: int = 100) -> LDA:
    """SVB-Bx-Oy of Foulds et al. (2013), after Hoffman et al. (2010): x iterations per document, priors raised by y.

    The other settings are those of `scvb0`.
    """
    inference = Variational(min_topic_mass=0.0, cold_visits=None, max_doc_update_iter=iterations, doc_tol=0.0)
    learner = Stochastic(batch_size, scale=10.0, offset=1000.0, decay=0.9)
    raised = {name: FOULDS[name] + offset for name in ("doc_topic_prior", "topic_word_prior")}
    return LDA(n_components, inference=inference, learner=learner, **FOULDS | raised)


def batch_vb(n_components: int, doc_topic_prior: float = 0.1, topic_word_prior: float = 0.01) -> LDA:
    """Variational Bayes over all documents (Blei et al. 2003), the baseline of four of the papers.

    Every visit to a document starts from its words alone. Priors are those of Foulds et al. (2013) unless given.
    """
    inference = Variational(min_topic_mass=0.0, cold_visits=None, doc_tol=0.05)
    return LDA(
        n_components,
        inference=inference,
        learner=Batch(),
        doc_topic_prior=doc_topic_prior,
        topic_word_prior=topic_word_prior,
        **DENSE,
    )


def esvi_lda(n_components: int, n_active: int | None = None, *, workers: int = 1) -> LDA:
    """ESVI-LDA: Algorithm 5 of Zhang et al., Extreme Stochastic Variational Inference (2019); with `n_active` -TOPK.

    Here several words travel together, and the tokens of a word in one document are solved at once; with
    `learner__per_token=True` neither is so. Not given are the priors and the start: alpha = .5 / K, eta = .03, random.
    """
    learner = Asynchronous(workers=workers, tail="mean", warm_up=0)
    return LDA(n_components, inference=Variational(), learner=learner, **DENSE | {"n_active": n_active})


def esvi_gmm(
    n_components: int, n_active: int | None = None, *, workers: int = 1, n_features: int | None = None,
    nu0: float | None = None, W0: float | None = None,
) -> GaussianMixture:  # fmt: skip
    """ESVI-GMM: Algorithms 3 and 4 of Zhang et al. (2019). alpha = 5, beta = 1 (their Appendix E); k-means++ start.

    Prior means are 0 where `n_features` is given, else the mean of the data. `nu0` and `W0` times the identity are the
    Wishart prior, which the paper tunes: 300,000 and .1 for its toy and AP, 500,000 and .5 for NIPS and the New York
    Times. None is the library's.
    """
    if W0 is not None and n_features is None:
        raise ValueError("W0 is of a matrix with n_features columns: give n_features too")
    return GaussianMixture(
        n_components,
        objective="vb",
        n_active=n_active,
        learner=Asynchronous(workers=workers),
        weight_concentration_prior=5.0,
        mean_prior=None if n_features is None else np.zeros(n_features),
        mean_precision_prior=1.0,
        degrees_of_freedom_prior=nu0,
        covariance_prior=None if W0 is None or n_features is None else np.eye(n_features) / W0,
        init_params="k-means++",
        **FOREVER,
    )


def restarted_hdp(n_components: int, *, restarts: int = RESTARTS) -> HDP:
    """Topics of an HDP with sparsity-promoting restarts: Hughes, Kim & Sudderth (2015), sections 3 and 4.1.

    Each document is tried without its five smallest topics. The paper's moves of the number of topics are not here:
    `HDP(inference="variational")` has ours.
    """
    inference = Variational(min_topic_mass=0.0, restarts=restarts, cold_visits=None, doc_tol=0.05)
    return HDP(n_components, n_active=None, inference=inference, search=None, **FOREVER)


def word_refine(n_components: int, penalty: float = 8.0, *, algorithm: str = "word+refine") -> CombinatorialLDA:
    """Algorithms 1 to 3 of Jiang, Sra & Kulis, Combinatorial Topic Models using Small-Variance Asymptotics (2016).

    "basic" is Algorithm 1, "word" has Algorithm 2 for its assignments, and "word+refine" also Algorithm 3. Tokens start
    in random topics, and there are no exchanges and no smoothing, which are ours.
    """
    return CombinatorialLDA(
        n_components,
        penalty=penalty,
        algorithm=algorithm,
        exchanges=False,
        early_smoothing=False,
        init="random",
        max_iter={"basic": 20, "word": 20, "word+refine": 10}[algorithm],
        **FOREVER,
    )


def gibbs(n_components: int, doc_topic_prior: float, topic_word_prior: float) -> GibbsLDA:
    """The collapsed Gibbs sampler that Jiang, Sra & Kulis (2016) compare with: Griffiths & Steyvers (2004).

    3,000 sweeps of burn-in from random topics, then ten samples, 30 sweeps apart.
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

    K is the most clusters that there can be, so take more than you expect. The 30 sweeps of Gibbs sampling are the
    start here, and see a sample of the documents where these have more than a million entries; a few passes of hard
    assignment over all of them follow, which are ours.
    """
    return MultinomialMixture(
        n_components,
        n_active=1,
        weight_concentration_prior=weight_concentration_prior,
        topic_word_prior=topic_word_prior,
        init="random",
    )
