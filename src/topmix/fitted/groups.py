"""Topics over time and by groups of documents: how much each period or group has of a topic, and in which words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from topmix.data.columns import check_one_each, is_missing
from topmix.data.corpus import Corpus
from topmix.fitted.documents import Solver, visited
from topmix.fitted.frames import Columns
from topmix.fitted.topics import Fitted

REPLICATES = 200  # of the bootstrap
BLOCK_DOCS = 4096
PRIOR_TOKENS = 500.0  # of the topic's own words, when groups are compared


def topics_by(
    f: Fitted, values: np.ndarray, parts: Iterable[Corpus], solver: Solver, *, level: float, random_state: int
) -> Columns:
    """Mean shares of topics in the documents of each group or period, with intervals. `values` has one per document,
    dates or groups; documents come in parts."""
    groups, of_doc = _numbered(values)
    found = [visited(f, corpus, solver) for corpus in parts]
    shares = sp.vstack([part.shares for part in found], format="csr")
    weight = np.concatenate([part.weight for part in found])
    check_one_each(len(of_doc), len(weight))
    of_doc = np.where(weight > 0, of_doc, -1)
    n, share, low, high = prevalence(shares, of_doc, len(groups), level, random_state)
    is_date, K = values.dtype.kind == "M", shares.shape[1]
    return {
        "period" if is_date else "group": np.repeat(np.asarray(groups), K)
        if is_date
        else [g for g in groups for _ in range(K)],
        "topic": np.tile(np.arange(K), len(groups)),
        "name": f.topic_names * len(groups),
        "share": share.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "documents": np.repeat(n, K),
    }


def words_by(f: Fitted, values: np.ndarray, corpus: Corpus, solver: Solver, topic: int, *, n_words: int) -> Columns:
    """The words of one topic that a group uses more than the others, strongest first."""
    groups, of_doc = _numbered(values)
    view = f.view
    shares = visited(f, corpus, solver).shares
    counts = _words_of_groups(corpus, shares, view.topic_word, topic, of_doc, len(groups))
    z = _log_odds(counts, view.topic_word[topic])
    columns: dict[str, list[object]] = {name: [] for name in ("group", "word", "count", "z")}
    for g, group in enumerate(groups):
        best = np.argsort(-z[g], kind="stable")[:n_words]
        for v in best[(z[g, best] > 0) & (counts[g, best] > 0)]:
            for name, value in zip(columns, (group, view.words[v], float(counts[g, v]), float(z[g, v]))):
                columns[name].append(value)
    return columns


def prevalence(
    shares: sp.csr_array, of_doc: np.ndarray, n_groups: int, level: float, random_state: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Documents [G], and mean shares, lower and upper ends [G, K] of documents whose group is not negative.

    In a replicate of the bootstrap a document counts as often as a Poisson variable of mean one says, so that documents
    can be read in blocks.
    """
    rng, K = np.random.default_rng(random_state), shares.shape[1]
    n = np.bincount(of_doc[of_doc >= 0], minlength=n_groups)
    share, low, high = (np.full((n_groups, K), np.nan) for _ in range(3))
    sums = np.asarray(shares.sum(axis=1)).ravel()
    for g in range(n_groups):
        docs = np.flatnonzero(of_doc == g)
        if not len(docs):
            continue
        total, weight = np.zeros((REPLICATES + 1, K)), np.zeros(REPLICATES + 1)
        for begin in range(0, len(docs), BLOCK_DOCS):
            block = docs[begin : begin + BLOCK_DOCS]
            often = np.vstack([np.ones(len(block)), rng.poisson(1.0, (REPLICATES, len(block)))])
            rows = shares[block]
            total += np.asarray((rows.T @ (often / np.maximum(sums[block], 1e-300)).T).T)
            weight += often.sum(axis=1)
        mean = total / np.maximum(weight, 1e-300)[:, None]
        share[g] = mean[0]
        drawn = mean[1:][weight[1:] > 0]
        if len(docs) > 1 and len(drawn):
            low[g], high[g] = np.quantile(drawn, [(1.0 - level) / 2, (1.0 + level) / 2], axis=0)
    return n, share, low, high


def groups_of(values: Sequence[object]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = [None if is_missing(value) else value for value in values]
    return found


def _numbered(values: np.ndarray) -> tuple[np.ndarray | list[object], np.ndarray]:
    """The different values, sorted, and the number of each document's; -1 where it has none."""
    is_date = values.dtype.kind == "M"
    missing = np.isnat(values) if is_date else np.array([value is None for value in values], dtype=bool)
    if missing.all():
        raise ValueError("no document has a value in this column")
    groups: np.ndarray | list[object]
    if is_date:
        groups, number = np.unique(values[~missing], return_inverse=True)
        groups = groups.astype("datetime64[us]")
    else:
        kept = values[~missing].tolist()
        try:
            groups = sorted(set(kept))
        except TypeError:  # values of several types
            groups = sorted(set(kept), key=lambda value: (type(value).__name__, str(value)))
        place = {value: g for g, value in enumerate(groups)}
        number = np.array([place[value] for value in kept], dtype=np.int64)
    of_doc = np.full(len(values), -1, dtype=np.int64)
    of_doc[~missing] = number
    return groups, of_doc


def _words_of_groups(
    corpus: Corpus, shares: sp.csr_array, phi: np.ndarray, topic: int, of_doc: np.ndarray, n_groups: int
) -> np.ndarray:
    """[G, V] expected tokens of each word that belong to the topic: x_dw theta_dk phi_kw / sum_j theta_dj phi_jw."""
    counts = np.zeros((n_groups, corpus.n_words))
    for d in np.flatnonzero(of_doc >= 0):
        used, theta = (a[shares.indptr[d] : shares.indptr[d + 1]] for a in (shares.indices, shares.data))
        at = np.flatnonzero(used == topic)
        if not len(at):
            continue
        entries = slice(corpus.indptr[d], corpus.indptr[d + 1])
        words = corpus.index[entries]
        joint = theta[:, None] * phi[np.ix_(used, words)]
        counts[of_doc[d], words] += corpus.value[entries] * joint[at[0]] / np.maximum(joint.sum(axis=0), 1e-300)
    return counts


def _log_odds(counts: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """[G, V] z-scores of each group against all others."""
    prior = PRIOR_TOKENS * phi + 1e-9
    own, rest = counts + prior, counts.sum(axis=0) - counts + prior

    def odds(n: np.ndarray) -> np.ndarray:
        return np.log(n) - np.log(np.maximum(n.sum(axis=1, keepdims=True) - n, 1e-9))

    return (odds(own) - odds(rest)) / np.sqrt(1.0 / own + 1.0 / rest)
