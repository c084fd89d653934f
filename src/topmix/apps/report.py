"""The report: one HTML page that shows a fitted model. It needs a browser, but no network and no server.

topmix.report.write_report(model, "report.html", corpus)

Its data, beside the overview that `topics.py` makes. Long arrays are packed as base64, so that a thousand topics stay
small.

words, frequency            all words that the page shows, the most frequent first, and log p(w)
near                        per topic: its nearest topics
sizes, candidates, probabilities    per topic: the number of candidates, their word ids, and log p(w | k), best first
tree                        the order of topics, and joins of topics or earlier joins, nearest first
lookup                      per word: its most likely topics and p(k | w)
columns                     groups of documents, and the mean share of each topic in them
documents, of_topic         example documents, and per topic the positions of its examples in that list
"""

from __future__ import annotations

import html
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topmix._version import __version__
from topmix.apps import plot
from topmix.apps.page import REPORT, Json, as_json, asset, frame, joined, pack, rounded, safe_head, style
from topmix.apps.page.documents import LEAST_SHOWN, Column, Mixes, TopicMarker, columns_of
from topmix.apps.page.topics import candidates, overview, tree
from topmix.base.atomic import atomic_write, check_can_write
from topmix.corpus.corpus import Corpus
from topmix.results.coherence import npmi_coherence
from topmix.results.view import TopicView, quality
from topmix.selection.result import SweepResult, html_parts
from topmix.selection.views import Model, ModelView, proportions

LOOKUP_WORDS, LOOKUP_TOPICS = 30_000, 6
NEIGHBOURS = 5
SHOWN_DOCUMENTS = 800  # approximately
LONGEST_TEXT, LONGEST_COUNTS = 900, 80  # characters of each, or words where there is no text
MARKED_TOPICS = 6  # of a document
ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})  # JSON that cannot close its <script>
LARGEST_GROUPS, LONGEST_NAME = 40, 200  # groups that may be shown, where they are not periods; characters of a name


def write_report(
    model: Model | SweepResult,
    path: str | os.PathLike[str],
    corpus: object = None,
    *,
    texts: Iterable[str] | None = None,
    groups: object = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    title: str | None = None,
) -> None:
    """Write a page with the topics, a map of them, example documents, the training curve and the settings.

    Parameters
    ----------
    model
        A fitted topic model or mixture of counts, or what a sweep found.
    path
        The HTML file to write.
    corpus : Corpus, what `transform` of the model takes, or None
        Documents. The page shows the documents with the most of each topic.
    texts : iterable of str or None
        The texts of the documents, in the same order. The page then shows texts instead of counts of words. The
        iterable is read once, and only the texts on the page are kept in memory.
    groups : as in `fit`, or None
        The group of each row of `corpus`, where the model is an admixture. Then a document is a group, and `texts` has
        one for each row, or for each group.
    columns : table, mapping or None
        Values beside the documents, {name: one value per document}, such as dates or authors. The page then shows each
        topic over time, where all values are dates, and by group.
    title : str or None
        The title of the page. None takes the estimator and the name of the file.
    """
    check_can_write(path)  # before the work
    if isinstance(model, SweepResult):
        page = sweep_page(model, title or "How many topics?")
    else:
        view = ModelView(model)
        documents, their_texts = view.read(corpus, texts, groups)
        if columns is not None and documents is None:
            raise ValueError("columns= are values of documents: pass the documents too")
        beside = [] if documents is None else columns_of(columns, documents.n_docs).values()
        page = model_page(view, title or f"{view.kind} · {Path(path).stem}", documents, their_texts, beside)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def model_page(
    view: ModelView,
    title: str,
    corpus: Corpus | None = None,
    texts: Iterable[str] | None = None,
    columns: Iterable[Column] = (),
) -> str:
    """All content of documents is in one block of JSON, which a browser does not run."""
    topics = view.topics
    K = topics.n_topics
    best_words = [candidates(topics, k, 40 if K <= 300 else 25) for k in range(K)]
    common = np.argsort(-topics.frequency, kind="stable")[:LOOKUP_WORDS]
    named = np.union1d(common, np.concatenate(best_words))
    order = named[np.argsort(-topics.frequency[named], kind="stable")]
    place_of = np.full(len(topics.words), -1, np.int64)
    place_of[order] = np.arange(len(order))
    logs = [np.log(np.maximum(topics.topic_word[k, ids], 1e-30)) for k, ids in enumerate(best_words)]
    distance = topics.distance
    by_distance = np.argsort(distance, axis=1, kind="stable").tolist()
    nearest = [[j for j in row if j != k][:NEIGHBOURS] for k, row in enumerate(by_distance)]
    documents, of_topic, groups = _documents(view, corpus, texts, columns)
    of_topics = None
    if corpus is not None and corpus.n_docs and len(topics.words) > 1:
        n = min(10, len(topics.words))
        of_topics = quality(topics, np.asarray(npmi_coherence(topics.topic_word, corpus, top_n=n, per_topic=True)))
    data = {
        **overview(view, corpus, topics.places, of_topics),
        "words": topics.words_of(order),
        "frequency": pack(np.log(np.maximum(topics.frequency[order], 1e-30)), "<f4"),
        "sizes": pack([len(ids) for ids in best_words], "<u2"),
        "candidates": pack(np.concatenate([place_of[ids] for ids in best_words]), "<i4"),
        "probabilities": pack(np.concatenate(logs), "<f4"),
        "near": [[[j, round(float(distance[k, j]), 3)] for j in near] for k, near in enumerate(nearest)],
        "tree": tree(topics),
        "lookup": _lookup(topics, order),
        "columns": groups,
        "documents": documents,
        "of_topic": of_topic,
    }
    text, script = as_json(data).translate(ESCAPES), joined(map(asset, REPORT))
    tail = f'<script type="application/json" id="data">{text}</script>\n<script>{script}</script>'
    return frame(title, head=safe_head(style("page.css"), script=script), tail=tail)


def _lookup(topics: TopicView, order: NDArray[np.intp]) -> Json:
    """The most likely topics of each word, with p(k | w) as bytes: 255 means 1."""
    n = min(LOOKUP_TOPICS, topics.n_topics)
    best_topics, weights = np.zeros((len(order), n), np.uint16), np.zeros((len(order), n), np.uint8)
    for begin in range(0, len(order), 2048):
        ids = order[begin : begin + 2048]
        joint = (topics.topic_word[:, ids] * topics.share[:, None]).T  # [words, K]
        best = np.argsort(-joint, axis=1, kind="stable")[:, :n]
        posterior = np.take_along_axis(joint, best, axis=1) / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        best_topics[begin : begin + 2048] = best
        weights[begin : begin + 2048] = np.round(255 * posterior)
    return {"n": n, "topics": pack(best_topics.ravel(), "<u2"), "weights": pack(weights.ravel(), "u1")}


def _documents(
    view: ModelView, corpus: Corpus | None, texts: Iterable[str] | None, columns: Iterable[Column]
) -> tuple[list[Json], list[list[int]], list[Json]]:
    """(documents, of_topic, columns): of_topic[k] has positions in the list of documents, best example first; columns
    have mean shares [groups, topics]."""
    K = view.topics.n_topics
    if corpus is None or corpus.n_docs == 0:
        return [], [[] for _ in range(K)], []
    mixes = Mixes.of(view, corpus)
    assert mixes is not None
    best = [mixes.best(k, min(max(SHOWN_DOCUMENTS // K, 3), 12)).tolist() for k in range(K)]
    rows = np.unique(np.concatenate(best)).astype(np.int64)
    wanted = set(rows.tolist())
    kept = {row: text for row, text in enumerate(texts or ()) if row in wanted}
    marker = TopicMarker(view)
    documents = []
    shown = corpus[rows]
    for n, (row, mix) in enumerate(zip(rows.tolist(), proportions(view.model, shown))):
        top = np.argsort(-mix, kind="stable")[:MARKED_TOPICS]
        name, text = str(row) if corpus.names is None else corpus.names[row], kept.get(row)
        most = LONGEST_COUNTS if text is None else LONGEST_TEXT
        card = marker.card(shown[n], text, mix, top[mix[top] >= LEAST_SHOWN], most)
        documents.append({"name": name, **card})
    position = {row: n for n, row in enumerate(rows.tolist())}
    of_topic = [[position[row] for row in rows_of_topic] for rows_of_topic in best]
    shares: list[Json] = []
    for column in columns:  # a document without a known word is in no group
        size, share, _ = mixes.of_groups(column)
        shown_groups = column.largest(size, LARGEST_GROUPS)
        groups = [[column.groups[g][:LONGEST_NAME], int(size[g])] for g in shown_groups]
        means = rounded(np.nan_to_num(share.T[shown_groups]))
        shares.append({"name": column.name, "is_time": column.is_time, "groups": groups, "shares": means})
    return documents, of_topic, shares


# The page of a sweep, without a script: the recommendation, the curves of its measures, and the table.


def sweep_page(result: SweepResult, title: str) -> str:
    return frame(
        title,
        template="sweep.html",
        head=safe_head(style("sweep.css")),
        curves=curves(result),
        version=html.escape(__version__),
        **html_parts(result),
    )


def curves(result: SweepResult) -> str:
    """What `topmix.plot.sweep` draws, as SVG; nothing where matplotlib is not installed."""
    try:
        from matplotlib import pyplot, rc_context
    except ImportError:
        return ""
    out, nothing = io.StringIO(), dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": "topmix"}):  # names of parts are not random
        figure = plot.sweep(result).get_figure(root=True)
        assert figure is not None
        figure.savefig(out, format="svg", metadata=nothing)
        pyplot.close(figure)
    _, svg, drawing = out.getvalue().partition("<svg")
    return svg + re.sub(r' xmlns(:\w+)?="[^"]*"', "", drawing)
