"""What topics have to do with columns beside documents: shares and words by group or period; effects of covariates, and
the shares that they lead one to expect; the words of topics in each of their versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from topmix.corpus.corpus import Corpus
from topmix.io.columns import check_one_each, is_missing
from topmix.io.formulas import Design
from topmix.io.priors import VersionColumn
from topmix.models.covariate_prior import CovariatePrior
from topmix.models.word_versions import WordVersions, words_of
from topmix.results.topics import Fitted, FittedTopics, Solver
from topmix.results.view import LEAST_TOKENS, Columns, by_columns

Array = NDArray[np.float64]

SEEN = 0.2  # of its largest share: from there on a topic is there
REPLICATES = 200  # of the bootstrap
BLOCK_DOCS = 4096
PRIOR_TOKENS = 500.0  # of the topic's own words, when groups are compared


def topics_by(
    f: Fitted, values: np.ndarray, parts: Iterable[Corpus], solver: Solver, *, level: float, random_state: int
) -> Columns:
    """Mean shares of topics in the documents of each group or period, with intervals. `values` has one per document,
    dates or groups; documents come in parts."""
    groups, of_doc = _numbered(values)
    shares, _, weight, _ = f.shares_of_parts(parts, solver)
    check_one_each(len(of_doc), len(weight))
    n, share, low, high = prevalence(shares, np.where(weight > 0, of_doc, -1), len(groups), level, random_state)
    K = shares.shape[1]
    rows: Columns = {"group": [group for group in groups for _ in range(K)]}
    if isinstance(groups, np.ndarray):
        rows = {"period": np.repeat(groups, K)}
    return {
        **rows,
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
    view, shares = f.view, f.document_shares(corpus, solver).shares
    counts = np.zeros((len(groups), corpus.n_words))  # x_dw theta_dk phi_kw / sum_j theta_dj phi_jw, by group
    for d in np.flatnonzero(of_doc >= 0):
        used, theta = (a[shares.indptr[d] : shares.indptr[d + 1]] for a in (shares.indices, shares.data))
        at = np.flatnonzero(used == topic)
        if not len(at):
            continue
        entries = slice(corpus.indptr[d], corpus.indptr[d + 1])
        words = corpus.index[entries]
        joint = theta[:, None] * view.topic_word[np.ix_(used, words)]
        counts[of_doc[d], words] += corpus.value[entries] * joint[at[0]] / np.maximum(joint.sum(axis=0), 1e-300)
    # z-scores of the log odds of each group against all others.
    prior = PRIOR_TOKENS * view.topic_word[topic] + 1e-9
    own, rest = counts + prior, counts.sum(axis=0) - counts + prior
    odds = [np.log(n) - np.log(np.maximum(n.sum(axis=1, keepdims=True) - n, 1e-9)) for n in (own, rest)]
    z = (odds[0] - odds[1]) / np.sqrt(1.0 / own + 1.0 / rest)
    rows: list[tuple[object, ...]] = []
    for g, group in enumerate(groups):
        best = np.argsort(-z[g], kind="stable")[:n_words]
        some = best[(z[g, best] > 0) & (counts[g, best] > 0)]
        rows += [(group, view.words[v], float(counts[g, v]), float(z[g, v])) for v in some]
    return by_columns(("group", "word", "count", "z"), rows)


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
    is_date, of_doc = values.dtype.kind == "M", np.full(len(values), -1, dtype=np.int64)
    has = ~np.isnat(values) if is_date else np.array([value is not None for value in values], dtype=bool)
    if not has.any():
        raise ValueError("no document has a value in this column")
    if is_date:
        dates, of_doc[has] = np.unique(values[has], return_inverse=True)
        return dates.astype("datetime64[us]"), of_doc
    kept = values[has].tolist()
    try:
        groups: list[object] = sorted(set(kept))
    except TypeError:  # values of several types
        groups = sorted(set(kept), key=lambda value: (type(value).__name__, str(value)))
    place = {value: g for g, value in enumerate(groups)}
    of_doc[has] = [place[value] for value in kept]
    return groups, of_doc


def effects(f: FittedTopics, level: float) -> Columns:
    """One row per topic and term, in the user's units."""
    prior, design = _covariates(f)
    units, names = design.units(), design.names
    K, P = prior.coefficients.shape
    estimate, low, high = _interval(prior.coefficients @ units.T, prior.draws.reshape(-1, K, P) @ units.T, level)
    return {
        "topic": np.repeat(np.arange(K), P),
        "name": [name for name in f.topic_names for _ in range(P)],
        "term": names * K,
        "estimate": estimate.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }


def expected_shares(f: FittedTopics, metadata: object, level: float) -> Columns:
    """One row per row of the metadata and topic: alpha_k / sum alpha, before any word is seen."""
    prior, design = _covariates(f)
    rows = design.rows(metadata)
    x, (n, K) = rows.x[rows.row], (len(rows), f.n_topics)

    def log_odds(coefficients: Array) -> Array:
        scores = x @ np.swapaxes(coefficients, -1, -2)
        share = np.exp(scores - scores.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        return np.asarray(logit(np.clip(share, 1e-300, 1.0 - 1e-16)))

    draws = np.array([log_odds(draw) for draw in prior.draws]).reshape(-1, n, K)
    estimate, low, high = map(expit, _interval(log_odds(prior.coefficients), draws, level))
    return {
        "row": np.repeat(np.arange(n), K),
        "topic": np.tile(np.arange(K), n),
        "name": f.topic_names * n,
        "share": estimate.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
    }


def _covariates(f: FittedTopics) -> tuple[CovariatePrior, Design]:
    prior, design = f.topics.prior, f.reading.design
    if not isinstance(prior, CovariatePrior) or design is None:
        raise ValueError("this model has no covariates: fit it with doc_topic_prior=Covariates(...)")
    return prior, design


def _interval(mean: Array, draws: Array, level: float) -> tuple[Array, Array, Array]:
    """The mean, and where the truth is with this probability; NaN where nothing was drawn. Each draw is like the one
    before it, so they say as much of the spread as half as many would."""
    if len(draws) < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    reach = stdtrit(len(draws) / 2, 0.5 + level / 2) * draws.std(axis=0, ddof=1)
    return mean, mean - reach, mean + reach


def versions_of(f: FittedTopics) -> tuple[WordVersions, VersionColumn]:
    if f.versions is None or f.reading.versions is None:
        raise ValueError(
            "this model has one version of each topic: fit it with topic_word_prior=OverTime(...) or ByGroup(...), or "
            "pass words_by(X, column, topic) to describe documents of groups"
        )
    return f.versions, f.reading.versions


def topic_word_of(f: FittedTopics, version: object) -> Array:
    """[K, V] probabilities of words in the topics of one version."""
    versions, column = versions_of(f)
    return versions.mean(column.number(version))


def words_of_versions(f: FittedTopics, topics: Sequence[int], n_words: int) -> Columns:
    """The most probable words of topics in each version."""
    versions, column = versions_of(f)
    rows: list[tuple[int, str, str, str, float]] = []
    for t, name in enumerate(column.names):
        phi = versions.mean(t)
        for k in topics:
            best = np.argsort(-phi[k], kind="stable")[:n_words]
            rows += [(k, f.topic_names[k], name, f.words[v], float(phi[k, v])) for v in best.tolist()]
    rows.sort(key=lambda row: row[0])
    return by_columns(("topic", "name", "version", "word", "weight"), rows)


def topic_versions(f: FittedTopics) -> Columns:
    """How much of each version belongs to each topic, and how far its words are there from those of all versions."""
    versions, column = versions_of(f)
    sizes, T, K = versions.sizes(), len(versions), f.n_topics
    share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    shared = np.sqrt(versions.mean(None))
    distance = np.array(
        [np.sqrt(np.maximum(1.0 - (shared * np.sqrt(versions.mean(t))).sum(axis=1), 0.0)) for t in range(T)]
    )
    state = np.full((T, K), "", dtype=object)
    if column.freq is not None and T > 1:
        seen = share >= SEEN * share.max(axis=0, keepdims=True)
        first, last = seen.argmax(axis=0), T - 1 - seen[::-1].argmax(axis=0)
        for k in range(K):
            if last[k] < T - 1:
                state[last[k] + 1, k] = "fades"
            if first[k] > 0:
                state[first[k], k] = "begins"
    return {
        "topic": np.repeat(np.arange(K), T),
        "name": [name for name in f.topic_names for _ in range(T)],
        "version": list(column.names) * K,
        "tokens": sizes.T.ravel(),
        "share": share.T.ravel(),
        "distance": distance.T.ravel(),
        "state": state.T.ravel().tolist(),
    }


def changed_words(f: FittedTopics, topics: Sequence[int], n_words: int) -> Columns:
    """The words whose probability in a topic differs most between versions, by their part of the divergence of the
    versions from their mean."""
    versions, column = versions_of(f)
    sizes, T = versions.sizes()[:, topics], len(versions)
    weight = (sizes + 1.0) / (sizes + 1.0).sum(axis=0)  # [T, topics]
    shape = len(topics), versions.n_words
    mean, negative_entropy, when, tokens, most = (np.zeros(shape) for _ in range(5))
    least, lowest, highest = np.full(shape, np.inf), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for t in range(T):
        phi, w = versions.mean(t)[topics], weight[t][:, None]
        mean += w * phi
        negative_entropy += w * phi * np.log(phi)
        when += w * phi * t
        lowest[phi < least], highest[phi > most] = t, t
        least, most = np.minimum(least, phi), np.maximum(most, phi)
        counts = np.zeros((f.n_topics, versions.n_words))
        n = versions.counts[t]
        counts[n.topic, words_of(n)] = n.value
        tokens = np.maximum(tokens, counts[topics])
    change = negative_entropy - mean * np.log(mean)
    change[tokens < LEAST_TOKENS] = 0.0
    rows = []
    for i, k in enumerate(topics):
        middle = float(weight[:, i] @ np.arange(T))
        for v in np.argsort(-change[i], kind="stable")[:n_words].tolist():
            if change[i, v] <= 0:
                break
            trend = "" if column.freq is None else "rises" if when[i, v] / mean[i, v] > middle else "falls"
            rows.append(
                (k, f.topic_names[k], f.words[v], float(change[i, v]), column.names[highest[i, v]], float(most[i, v]),
                 column.names[lowest[i, v]], float(least[i, v]), trend)
            )  # fmt: skip
    names = ("topic", "name", "word", "change", "highest", "weight_there", "lowest", "weight_least", "trend")
    return by_columns(names, rows)
