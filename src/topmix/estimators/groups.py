"""Topics over time and by groups of documents: how much each period or group has of a topic, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from topmix.data.columns import check_one_each, column_of, is_missing, periods_of
from topmix.data.corpus import Corpus
from topmix.estimators.frames import frame
from topmix.estimators.reading import refuse_iterator
from topmix.estimators.topic_view import view_of
from topmix.parameters.checks import number_from, whole_number

REPLICATES = 200  # of the bootstrap
BLOCK_DOCS = 4096
PRIOR_TOKENS = 500.0  # of the topic's own words, when groups are compared


class GroupsMixin:
    """`topics_over_time`, `topics_by` and `words_by`, for estimators with `counts` and `_sparse_shares`."""

    names_: dict[int, str]

    def topics_over_time(
        self, X: Any, column: Any, *, freq: str = "month", level: float = 0.95, random_state: int = 0
    ) -> Any:
        """How much of the documents of each period belongs to each topic: a table with one row per period and topic.

        `share` is the mean over documents of the topic's part of their tokens. A document without a known word is left
        out. `documents` is how many there are in the period.

        Parameters
        ----------
        X : what `transform` takes
            The documents.
        column : str or a list
            Dates of the documents: a column of X, which is a table, a file or an AnnData, or one value per document.
            Dates are ISO strings, dates of Python, pandas or NumPy, or years. Documents without a date are left out.
        freq : {"day", "week", "month", "quarter", "year"}
            The length of a period. `period` in the table is its first day.
        level : float
            Of the interval from `low` to `high`, which a bootstrap over documents gives: another draw of documents
            would have its share there.
        random_state : int
            Seed of the bootstrap.
        """
        return self._by(X, column, lambda values: periods_of(values, freq), "period", level, random_state)

    def topics_by(self, X: Any, column: Any, *, level: float = 0.95, random_state: int = 0) -> Any:
        """How much of the documents of each group belongs to each topic: a table with one row per group and topic.

        `column` has the groups: the name of a column of X, or one value per document. The rest is as in
        `topics_over_time`.
        """
        return self._by(X, column, _groups, "group", level, random_state)

    def words_by(self, X: Any, column: Any, topic: int, *, n_words: int = 10) -> Any:
        """The words of one topic that a group uses more than the other groups do, for each group, strongest first.

        `count` are tokens of the word in the topic and group. `z` is the log odds of the word in the group against the
        other groups, over its standard error, with the topic's own words as a prior (Monroe, Colaresi and Quinn, 2008):
        above 2, the difference is hardly chance.
        """
        view, n = view_of(self), whole_number(n_words, "n_words")
        if isinstance(topic, bool) or not isinstance(topic, int | np.integer) or not 0 <= topic < view.n_topics:
            raise ValueError(f"{topic!r} is not a topic: they are numbered from 0 to {view.n_topics - 1}")
        refuse_iterator(X)
        corpus: Corpus = self.counts(X)  # type: ignore[attr-defined]
        groups, of_doc = _numbered(_groups(column_of(X, column, corpus.n_docs)))
        shares, _ = self._sparse_shares(corpus)  # type: ignore[attr-defined]
        counts = _words_of_groups(corpus, shares, view.topic_word, int(topic), of_doc, len(groups))
        z = _log_odds(counts, view.topic_word[topic])
        columns: dict[str, list[Any]] = {name: [] for name in ("group", "word", "count", "z")}
        for g, group in enumerate(groups):
            best = np.argsort(-z[g], kind="stable")[:n]
            for v in best[(z[g, best] > 0) & (counts[g, best] > 0)]:
                for name, value in zip(columns, (group, view.words[v], float(counts[g, v]), float(z[g, v]))):
                    columns[name].append(value)
        return frame(self, columns)

    def _by(self, X: Any, column: Any, cut: Any, what: str, level: float, random_state: int) -> Any:
        refuse_iterator(X)
        level = number_from(level, "level", 0.0, 1.0)
        check_is_fitted(self, "model_")
        groups, of_doc = _numbered(cut(column_of(X, column)))
        shares, tokens = self._shares_in_parts(X)  # type: ignore[attr-defined]
        check_one_each(len(of_doc), len(tokens))
        of_doc = np.where(tokens > 0, of_doc, -1)
        n, share, low, high = prevalence(shares, of_doc, len(groups), level, random_state)
        K, names = shares.shape[1], self.topic_names_  # type: ignore[attr-defined]
        columns = {
            what: np.repeat(groups, K) if what == "period" else [group for group in groups for _ in range(K)],
            "topic": np.tile(np.arange(K), len(groups)),
            "name": names * len(groups),
            "share": share.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "documents": np.repeat(n, K),
        }
        return frame(self, columns)


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


def _groups(values: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = [None if is_missing(value) else value for value in values]
    return found


def _numbered(values: np.ndarray) -> tuple[Any, np.ndarray]:
    """The different values, sorted, and the number of each document's; -1 where it has none."""
    is_date = values.dtype.kind == "M"
    missing = np.isnat(values) if is_date else np.array([value is None for value in values], dtype=bool)
    if missing.all():
        raise ValueError("no document has a value in this column")
    groups: Any
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
