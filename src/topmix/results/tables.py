"""Tables of fitted topics, as columns: of topics, of documents and of words; a table of HTML; the tree of topics."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from topmix.base.checks import as_list
from topmix.base.component import is_whole
from topmix.corpus.corpus import Corpus
from topmix.corpus.shard import row_sums
from topmix.results.coherence import npmi_coherence
from topmix.results.names import RELEVANCE, checked_name, relevant_words, relevant_words_of
from topmix.results.topics import NO_TOPIC, DocumentShares, Fitted, FittedTopics, Solver, main_topics
from topmix.results.view import PART, Columns, TopicView, best_first, by_columns, quality

NEAREST = 3  # topics named as neighbours of a topic
EXAMPLES = 3  # documents of a topic in the table of topics
HTML_ROWS, HTML_WORDS, LONGEST = 12, 8, 24  # topics, words of each, and letters of a word in a notebook

F = TypeVar("F", bound=Fitted)


def topic_info(f: Fitted, corpus: Corpus | None, solver: Solver, *, n_words: int, relevance: float) -> Columns:
    """Topics, the largest of those that are worth reading first. Coherence and examples need documents."""
    view, names = f.view, f.topic_names
    words = relevant_words(view, n_words, relevance)
    coherence = np.full(view.n_topics, np.nan)
    documents: list[list[object]] = [[] for _ in names]
    of_topics = quality(view)
    if corpus is not None:
        n = min(10, len(view.words))
        coherence = np.asarray(npmi_coherence(view.topic_word, corpus, top_n=n, per_topic=True))
        found = f.shares_of_parts([corpus], solver)
        for k, row, _ in _examples(found, EXAMPLES):
            documents[k].append(row if found.names is None else found.names[row])
        n_documents = np.bincount(found.shares.indices[found.shares.data >= PART], minlength=view.n_topics)
        of_topics = quality(view, coherence, n_documents)
    order, distance, seen = best_first(view, of_topics), view.distance.copy(), f.reproducibility
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, : min(NEAREST, len(distance) - 1)].tolist()
    return {
        "topic": order.tolist(),
        "name": [names[k] for k in order],
        "size": view.sizes[order],
        "share": view.share[order],
        "coherence": coherence[order],
        "words": [words[k] for k in order],
        "nearest": [nearest[k] for k in order],
        "documents": [documents[k] for k in order],
        "quality": [of_topics[k] for k in order],
    } | ({} if seen is None else {"reproducibility": seen.found[order], "reliability": seen.reliability[order]})


def html_of(f: Fitted, owner: str) -> str:
    """The largest topics, for notebooks: without a script, and with everything that comes from the data escaped.
    `owner` is the name of the estimator."""
    view, is_empty, order = f.view, f.view.is_empty(), f.view.by_size().tolist()
    cell = 'style="text-align:left;padding:2px 10px 2px 0"'
    rows = ["".join(f"<th scope='col' {cell}>{title}</th>" for title in ("topic", "share", "words"))]
    for k in order[:HTML_ROWS]:
        words = [] if is_empty[k] else relevant_words_of(view, view.topic_word[k], HTML_WORDS)
        said = escape(" ".join(word[:LONGEST] for word in words)) or "(empty)"
        if k in f.names:
            said = f"<b>{escape(f.names[k][:60])}</b> {said}"
        rows.append("".join(f"<td {cell}>{value}</td>" for value in (k, f"{100 * view.share[k]:.1f}%", said)))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    rest = len(order) - HTML_ROWS
    more = f"<p style='opacity:.7'>{rest:,} smaller topics are not shown: topic_info()</p>" if rest > 0 else ""
    title = f"{owner} with {len(order):,} topics of {len(view.words):,} words"
    return f"<p><b>{escape(title)}</b></p><table>{table}</table>{more}"


def _examples(found: DocumentShares, n: int) -> Iterator[tuple[int, int, float]]:
    """(topic, row, share) of the n documents that are most about each topic, by topic, best first: the share of the
    topic decides, and bad examples count less."""
    row, topic = found.rows(), found.shares.indices
    order = np.lexsort((row, -found.shares.data * found.weight[row], topic))
    sorted_topics = topic[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_topics, sorted_topics)
    best = order[rank < n]
    return zip(topic[best].tolist(), row[best].tolist(), found.shares.data[best].tolist())


def representative_documents(
    f: Fitted, parts: Iterable[Corpus], texts: Sequence[str] | None, solver: Solver, *, n: int
) -> Columns:
    """The documents that are most about each topic, in the order of `topic_info`."""
    found, names = f.shares_of_parts(parts, solver), f.topic_names
    rows: dict[int, list[tuple[object, ...]]] = {k: [] for k in best_first(f.view, quality(f.view)).tolist()}
    for k, row, weight in _examples(found, n):
        document = row if found.names is None else found.names[row]
        rows[k].append((k, names[k], document, weight, "" if texts is None else texts[row]))
    columns = ("topic", "name", "document", "weight", "text")
    return by_columns(columns if texts is not None else columns[:-1], chain.from_iterable(rows.values()))


def document_info(
    f: Fitted,
    parts: Iterable[Corpus],
    solver: Solver,
    *,
    n_topics: int,
    min_weight: float = 0.0,
    kept: NDArray[np.bool_] | None = None,
) -> Columns:
    """Documents, which come in parts. Those that are not `kept`, or whose main topic weighs less, have none."""
    found, names = f.shares_of_parts(parts, solver), f.topic_names
    shares, tokens, alpha, row = found.shares, found.tokens, f.alpha, found.rows()
    main, weight = main_topics(shares)
    main[~(weight >= min_weight)] = NO_TOPIC
    if kept is not None:
        main[~kept] = NO_TOPIC
    # Topics that a row does not store have their part of the prior, alpha_k / (N + sum alpha).
    scale = 1.0 / np.maximum(tokens + alpha.sum(), 1e-300)
    of_prior = alpha[shares.indices] * scale[row]
    entropy = row_sums(shares.indptr, xlogy(of_prior, of_prior) - xlogy(shares.data, shares.data))
    entropy = np.maximum(entropy - scale * (xlogy(alpha, alpha).sum() + alpha.sum() * np.log(scale)), 0.0)
    entropy[found.weight == 0] = np.nan
    order, indptr = np.lexsort((shares.indices, -shares.data, row)), shares.indptr
    cuts = list(zip(indptr[:-1].tolist(), np.minimum(indptr[1:], indptr[:-1] + n_topics).tolist()))
    return {
        "document": list(range(len(tokens))) if found.names is None else found.names,
        "topic": main,
        "name": [None if k == NO_TOPIC else names[k] for k in main.tolist()],
        "weight": weight,
        "entropy": entropy,
        "topics": [shares.indices[order[a:b]].tolist() for a, b in cuts],
        "weights": [shares.data[order[a:b]].tolist() for a, b in cuts],
        "tokens": tokens,
    }


def word_info(f: Fitted, word: str | int, *, n_topics: int) -> Columns:
    """The topics that use a word, those that use it most first."""
    view, names = f.view, f.topic_names
    if is_whole(word):
        if not 0 <= word < len(f.words):
            raise ValueError(f"there is no word {word}: columns are numbered from 0 to {len(f.words) - 1}")
        column = int(word)
    elif f.words_read.words is None:
        raise ValueError("the model was fitted without names of words: pass a column number, or fit with feature_names")
    elif word not in f.words:
        near = difflib.get_close_matches(str(word), f.words, 3)
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"the model has no word {word!r}{hint}")
    else:
        column = f.words.index(word)
    p = view.topic_word[:, column]
    joint = view.share * p
    order = np.argsort(-joint, kind="stable")[:n_topics]
    return {
        "topic": order.tolist(),
        "name": [names[k] for k in order],
        "probability": p[order],
        "rank": [int((view.topic_word[k] > p[k]).sum()) + 1 for k in order],
        "share": joint[order] / max(float(joint.sum()), 1e-300),
    }


def named(f: F, names: Mapping[int, str] | Sequence[str] | Callable[[list[str]], str], *, n_words: int) -> F:
    """The same topics with other names: a table of some, a list of all, or a function of their words."""
    if callable(names):
        words = relevant_words(f.view, n_words, RELEVANCE)
        given = {k: names(of_topic) for k, of_topic in enumerate(words) if of_topic}
    elif isinstance(names, Mapping):
        given = dict(names)
    else:
        given = dict(enumerate(as_list(names)))
        if len(given) != f.n_topics:
            raise ValueError(f"{len(given)} names for {f.n_topics} topics: pass one each, or {{topic: name}}")
    checked = {checked_topic(f, k): checked_name(name) for k, name in given.items()}
    return replace(f, names={**f.names, **checked})


def checked_topic(f: Fitted, k: object) -> int:
    if not is_whole(k) or not 0 <= k < f.n_topics:
        raise ValueError(f"{k!r} is not a topic: they are numbered from 0 to {f.n_topics - 1}")
    return int(k)


def annotate(f: FittedTopics, adata: Any, corpus: Corpus, solver: Solver, key: str, owner: str) -> None:
    """Writes topics of cells and genes into an AnnData."""
    shares = np.asarray(f.proportions(corpus, solver))
    adata.obsm[f"X_{key}"] = shares
    adata.varm[key] = np.ascontiguousarray(f.topic_word.T)
    adata.obs[key] = np.where(np.diff(corpus.indptr) > 0, shares.argmax(axis=1), NO_TOPIC)
    adata.uns[key] = {"names": f.topic_names, "shares": f.view.share, "estimator": owner}


# A hierarchy of topics: average linkage on Hellinger distances between their words.


class Branch(NamedTuple):
    """Two topics or branches that are joined. Branches are numbered from K, in the order of joining."""

    node: int
    left: int  # a topic if it is less than K, else a branch
    right: int
    distance: float  # mean Hellinger distance between the topics of both sides
    topics: list[int]  # all that are below it, near ones next to each other
    share: float  # of all tokens
    words: list[str]  # probable in its topics, and rarer in others


class TopicTree(NamedTuple):
    leaves: list[int]  # the topics in the tree, as linkage numbers them
    linkage: NDArray[np.float64]  # [leaves - 1, 4] as scipy.cluster.hierarchy has it
    branches: list[Branch]  # nearest first


def tree_of(view: TopicView, n_words: int = 5) -> TopicTree:
    """The tree of the topics that are not empty."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    leaves = np.flatnonzero(~view.is_empty())
    if len(leaves) < 2:
        return TopicTree(leaves.tolist(), np.zeros((0, 4)), [])
    distance = view.distance[np.ix_(leaves, leaves)]
    Z = linkage(squareform((distance + distance.T) / 2, checks=False), "average", optimal_ordering=len(leaves) <= 1000)
    n, order = len(leaves), {int(leaf): place for place, leaf in enumerate(leaves_list(Z))}
    below: dict[int, list[int]] = {i: [i] for i in range(n)}
    tokens = {i: view.share[k] * view.topic_word[k] for i, k in enumerate(leaves.tolist())}  # of the open nodes alone
    number = [*leaves.tolist(), *(view.n_topics + i for i in range(n - 1))]
    branches = []
    for i, (a, b, height, _) in enumerate(Z.tolist(), n):
        joined = tokens[i] = tokens.pop(int(a)) + tokens.pop(int(b))
        below[i] = sorted(below[int(a)] + below[int(b)], key=order.__getitem__)
        left, right = sorted((int(a), int(b)), key=lambda side: order[below[side][0]])
        share = float(joined.sum())
        words = relevant_words_of(view, joined / max(share, 1e-300), n_words)
        topics = [int(leaves[j]) for j in below[i]]
        branches.append(Branch(number[i], number[left], number[right], height, topics, share, words))
    return TopicTree(leaves.tolist(), Z, branches)


def nested_tree(tree: TopicTree, view: TopicView, names: list[str]) -> dict[str, object] | None:
    """The tree as dicts: a node has `children`, a topic has `topic` and `name`. None where there are no topics."""
    made: dict[int, dict[str, object]] = {
        k: {"topic": k, "name": names[k], "share": float(view.share[k])} for k in tree.leaves
    }
    for branch in tree.branches:
        about = {"node": branch.node, "distance": branch.distance, "share": branch.share, "words": branch.words}
        made[branch.node] = about | {"children": [made.pop(branch.left), made.pop(branch.right)]}
    return next(iter(made.values()), None)
