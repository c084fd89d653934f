"""Topics of single cells, in the words of that field: AnnData in and out, and pycisTopic's MALLET step without Java.

topmix.sc.lda(adata, 20, layer="counts")                    # writes obsm, varm, obs and uns
models = topmix.sc.run_cgs_models_mallet(cistopic_obj, n_topics=[20, 40])
regions = topmix.sc.binarize(models[0].topic_region)        # regions of each topic, by Otsu's threshold
topmix.sc.write_bed(regions, "beds")                        # for enrichment
"""

from __future__ import annotations

import math
import pickle
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from topmix.api import LDA
from topmix.inference import Collapsed
from topmix.learners import Stochastic
from topmix.metrics import umass_coherence

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

BINS = 256  # of the histogram that Otsu's method cuts
BEST_WORDS = 20  # regions of a topic whose coherence is measured
DENSE = 32  # topics; with more, a region in a cell keeps the 16 that explain it best
STOCHASTIC, BATCHES = 2, 32  # passes at most, and updates in each of them
TOL = 0.003


def lda(adata: AnnData, n_topics: int = 100, *, layer: str | None = None, key: str = "topics", **settings: Any) -> LDA:
    """Topics of cells, written into an AnnData.

    Proportions of topics in cells go to `obsm["X_topics"]`, probabilities of genes or regions to `varm["topics"]`, the
    main topic of each cell to `obs["topics"]`, names and shares of topics to `uns["topics"]`.

    Parameters
    ----------
    adata : AnnData
        Cells by genes, or by regions. It is changed.
    n_topics : int
        Number of topics.
    layer : str or None
        The layer with the counts; None is X. Topics are of counts, not of normalised numbers.
    key : str
        What the results are called.
    **settings
        Parameters of `topmix.LDA`, such as `random_state`.

    Returns
    -------
    LDA
        The fitted model.
    """
    model = LDA(n_topics, **settings).fit(adata, layer=layer)
    model.annotate(adata, key=key)
    return model


class Accessibility(Protocol):
    """What is used of a CistopicObject."""

    binary_matrix: sp.spmatrix  # [regions, cells]
    region_names: Sequence[str]
    cell_names: Sequence[str]


@dataclass
class CistopicLDAModel:
    """One model, in the fields that pycisTopic documents for its class of the same name.

    Topics are Topic1, Topic2 and so on. `metrics` compares models, `coherence`, `marg_topic` and `topic_ass` topics;
    `cell_topic` is [topics, cells], `topic_region` [regions, topics], `parameters` says how it was made. `lda` is the
    estimator itself, which pycisTopic does not have.
    """

    metrics: pd.DataFrame
    coherence: pd.DataFrame
    marg_topic: pd.DataFrame
    topic_ass: pd.DataFrame
    cell_topic: pd.DataFrame
    topic_region: pd.DataFrame
    parameters: pd.DataFrame
    lda: LDA
    cell_topic_harmony: list[object] = field(default_factory=list)

    @property
    def n_cells(self) -> int:
        return int(self.cell_topic.shape[1])

    @property
    def n_regions(self) -> int:
        return int(self.topic_region.shape[0])

    @property
    def n_topic(self) -> int:
        return int(self.cell_topic.shape[0])

    def __str__(self) -> str:
        return f"CistopicLDAModel with {self.n_topic} topics, {self.n_cells} cells and {self.n_regions} regions"


def run_cgs_models_mallet(
    cistopic_obj: Accessibility,
    n_topics: Sequence[int],
    n_cpu: int = 1,
    n_iter: int = 150,
    random_state: int = 555,
    alpha: float = 50.0,
    alpha_by_topic: bool = True,
    eta: float = 0.1,
    eta_by_topic: bool = False,
    top_topics_coh: int = 5,
    tmp_path: str | None = None,
    save_path: str | None = None,
    reuse_corpus: bool = False,
    mallet_path: str | None = None,
) -> list[CistopicLDAModel]:
    """In the place of the function of this name in `pycisTopic.lda_models`: the same arguments and results, no Java.

    Parameters
    ----------
    cistopic_obj : CistopicObject
        With `binary_matrix` [regions, cells], `region_names` and `cell_names`.
    n_topics : sequence of int
        A model is learned for each.
    n_cpu : int
        Threads. The result is the same for any number.
    n_iter : int
        Passes over all cells, at most: one or two are stochastic, more are memoized, until they change little.
    random_state : int
        Seed.
    alpha, alpha_by_topic, eta, eta_by_topic
        Priors of cells on topics and of topics on regions, divided by the number of topics where so asked.
    top_topics_coh : int
        Topics whose coherence is the model's: the best ones.
    tmp_path, reuse_corpus, mallet_path
        Not used; there are no files and there is no MALLET.
    save_path : str or None
        Folder for a pickle of each model, TopicN.pkl.
    """
    counts = sp.csr_matrix(cistopic_obj.binary_matrix.T, dtype=np.float32)  # which a corpus shares
    regions, cells = [str(name) for name in cistopic_obj.region_names], [str(name) for name in cistopic_obj.cell_names]
    made = []
    for n in n_topics:
        asked = {"package": "topmix", "n_topics": n, "n_iter": n_iter, "random_state": random_state, "alpha": alpha,
                 "alpha_by_topic": alpha_by_topic, "eta": eta, "eta_by_topic": eta_by_topic,
                 "top_topics_coh": top_topics_coh}  # fmt: skip
        start = time.perf_counter()
        quick = n_iter <= STOCHASTIC
        model = LDA(
            n,
            n_active=None if n <= DENSE else 16,
            doc_topic_prior=alpha / n if alpha_by_topic else alpha,
            topic_word_prior=eta / n if eta_by_topic else eta,
            inference=Collapsed(sweeps=0),
            learner=Stochastic(batch_size=max(len(cells) // BATCHES, 1), offset=1.0) if quick else "memoized",
            max_iter=n_iter,
            tol=-1.0 if quick else TOL,
            random_state=random_state,
            n_jobs=n_cpu,
        ).fit(counts, feature_names=regions)
        one = _described(model, counts, cells, regions, asked | {"time": time.perf_counter() - start}, top_topics_coh)
        if save_path is not None:
            Path(save_path).mkdir(parents=True, exist_ok=True)
            with open(Path(save_path) / f"Topic{n}.pkl", "wb") as file:
                pickle.dump(one, file)
        made.append(one)
    return made


def _described(
    model: LDA, counts: sp.csr_matrix, cells: list[str], regions: list[str], asked: dict[str, object], n_best: int
) -> CistopicLDAModel:
    import pandas as pd

    phi, theta = np.asarray(model.topic_word_, np.float64), np.asarray(model.transform(counts), np.float64)
    names, lengths = [f"Topic{k + 1}" for k in range(len(phi))], np.asarray(counts.sum(axis=1)).ravel()
    coherence = np.asarray(umass_coherence(model, counts, top_n=min(BEST_WORDS, len(regions)), per_topic=True))
    alpha, eta = float(np.mean(model.doc_topic_prior_)), float(np.mean(model.topic_word_prior_))
    of_cells = np.maximum(theta * (lengths[:, None] + alpha * len(phi)) - alpha, 0.0)
    of_regions = np.maximum(np.asarray(model.components_, np.float64) - eta, 0.0)
    metrics = {
        "Arun_2010": arun(phi, theta, lengths),
        "Cao_Juan_2009": cao_juan(phi),
        "Mimno_2011": float(np.mean(np.sort(coherence)[-n_best:])),
        "loglikelihood": log_likelihood(of_regions, of_cells, alpha, eta),
    }
    numbered = {"Topic": np.arange(1.0, len(phi) + 1)}
    return CistopicLDAModel(
        pd.DataFrame(metrics, index=["Metric"]),
        pd.DataFrame(numbered | {"Mimno_2011": coherence}),
        pd.DataFrame(numbered | {"Marg_Topic": lengths @ theta / lengths.sum()}),
        pd.DataFrame(numbered | {"Assignments": of_cells.sum(axis=0)}),
        pd.DataFrame(theta.T, index=names, columns=cells),
        pd.DataFrame(phi.T, index=regions, columns=names),
        pd.DataFrame({"Parameter": asked}),
        model,
    )


def arun(phi: np.ndarray, theta: np.ndarray, lengths: np.ndarray) -> float:
    """Arun et al. (2010): the symmetric divergence between singular values of topics [K, V] and shares of topics in all
    documents, both from the largest to the smallest. Lower is better."""
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(phi @ phi.T), 0.0))
    spread, shares = (np.sort(np.maximum(x / x.sum(), 1e-300)) for x in (values, lengths @ theta))
    return float(np.sum((spread - shares) * np.log(spread / shares)))


def cao_juan(phi: np.ndarray) -> float:
    """Cao et al. (2009): the mean cosine of two topics. Lower is better."""
    if len(phi) < 2:
        return 0.0
    unit = phi / np.linalg.norm(phi, axis=1, keepdims=True)
    return float((np.sum(unit @ unit.T) - len(phi)) / (len(phi) * (len(phi) - 1)))


def log_likelihood(of_words: np.ndarray, of_documents: np.ndarray, alpha: float, eta: float) -> float:
    """Griffiths & Steyvers (2004): log p(words, topics of tokens), from counts [K, V] and [D, K]."""
    (K, V), D = of_words.shape, len(of_documents)
    words = K * (gammaln(V * eta) - V * gammaln(eta)) + np.sum(gammaln(of_words + eta))
    words -= np.sum(gammaln(of_words.sum(axis=1) + V * eta))
    documents = D * (gammaln(K * alpha) - K * gammaln(alpha)) + np.sum(gammaln(of_documents + alpha))
    documents -= np.sum(gammaln(of_documents.sum(axis=1) + K * alpha))
    return float(words + documents)


def binarize(table: pd.DataFrame, method: str = "otsu", *, n: int = 3000) -> dict[str, pd.DataFrame]:
    """The regions (or cells) that belong to each topic, best first, with their values.

    Parameters
    ----------
    table : DataFrame
        A column per topic: `topic_region`, or `cell_topic.T`.
    method : {"otsu", "ntop"}
        "otsu" cuts a histogram of the values, from the lowest to the highest of the topic, where it falls apart into
        two parts best (Otsu, 1979). "ntop" takes the best n.
    n : int
        How many, for "ntop".
    """
    if method not in ("otsu", "ntop"):
        raise ValueError(f"method={method!r}: use 'otsu' or 'ntop'")
    if n < 1:
        raise ValueError(f"n={n!r}: at least 1")
    made = {}
    for topic in table.columns:
        values = table[topic].sort_values(ascending=False, kind="stable")
        kept = values[:n] if method == "ntop" else values[values > otsu(values.to_numpy())]
        made[str(topic)] = kept.to_frame()
    return made


def otsu(values: np.ndarray) -> float:
    """The threshold between two parts of a histogram whose means differ most, weighted by their sizes."""
    counts, edges = np.histogram(values, BINS)
    middles = (edges[1:] + edges[:-1]) / 2
    below, total = np.cumsum(counts), np.cumsum(counts * middles)
    above = below[-1] - below
    with np.errstate(divide="ignore", invalid="ignore"):
        between = below * above * (total / below - (total[-1] - total) / above) ** 2
    return float(edges[1 + int(np.argmax(np.nan_to_num(between[:-1], nan=-math.inf)))])


def write_bed(binarized: Mapping[str, pd.DataFrame], folder: str | PathLike[str]) -> list[Path]:
    """A BED file per topic, as tools for enrichment read them: chromosome, start, end, name, value. Regions are named
    chr1:100-600 (or chr1-100-600)."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for topic, regions in binarized.items():
        lines = []
        for name, value in zip(regions.index, regions.iloc[:, 0]):
            parts = re.fullmatch(r"(.+?)[:\-_](\d+)[\-_](\d+)", str(name))
            if parts is None:
                raise ValueError(f"{name!r} is not a region: they are named chr1:100-600")
            lines.append(f"{parts[1]}\t{parts[2]}\t{parts[3]}\t{name}\t{value:.6g}\n")
        paths.append(place / f"{topic}.bed")
        paths[-1].write_text("".join(lines), encoding="utf-8")
    return paths


__all__ = ["CistopicLDAModel", "binarize", "lda", "run_cgs_models_mallet", "write_bed"]
