"""Export of fitted topic models to scikit-learn, gensim, pyLDAvis, the text files of MALLET, CSV, TSV and Parquet.

    lda = topmix.export.to_gensim(model)
    topmix.export.export(model, "topics.csv")      # the name sets the format; or pass format=

Topic k of the export is row k of `components_`. Tables are written some rows at a time.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from topmix.base import dirichlet
from topmix.base.atomic import atomic_write, check_can_write
from topmix.base.checks import CorpusError
from topmix.base.paths import path_of
from topmix.corpus.corpus import Corpus
from topmix.io.libraries import pyarrow
from topmix.io.textfile import csv_writer
from topmix.models.topics import TopicModel
from topmix.results.topics import FittedTopics
from topmix.selection.views import Model, ModelView, fitted_of, proportions, view_of

if TYPE_CHECKING:
    from gensim.models import LdaModel
    from sklearn.decomposition import LatentDirichletAllocation

Columns = Mapping[str, Sequence[object] | np.ndarray]  # by name, all of one length
TOP_WORDS = 100


def write_table(file: IO[bytes], blocks: Iterable[Columns], kind: str) -> None:
    """Writes blocks of the same columns, one below the other, as "csv", "tsv" or "parquet"."""
    if kind == "parquet":
        pa = pyarrow()
        import pyarrow.parquet as pq

        writer = None
        for block in blocks:
            columns = dict(block)
            for name, values in block.items():
                if not isinstance(values, np.ndarray):  # Arrow takes no halves of letters
                    columns[name] = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        return
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    out = csv_writer(text, "\t" if kind == "tsv" else ",")
    for n, block in enumerate(blocks):
        if n == 0:
            out.writerow(block)
        for row in zip(*block.values()):
            out.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
    text.flush()
    text.detach()


def to_sklearn(model: Model) -> LatentDirichletAllocation:
    """A fitted LatentDirichletAllocation with the same topics and priors.

    scikit-learn has one alpha and one eta for all topics: unequal priors are replaced by their mean. Its `transform` is
    variational, so its proportions differ a little.
    """
    from sklearn.decomposition import LatentDirichletAllocation  # a third of a second, which pages do without

    fitted, alpha, eta = _topics_and_priors(model)
    components = fitted.components.copy()
    lda = LatentDirichletAllocation(
        n_components=len(components), doc_topic_prior=float(alpha.mean()), topic_word_prior=float(eta.mean()),
        random_state=model.random_state if isinstance(model.random_state, int) else None,
    )  # fmt: skip
    lda.components_ = components
    lda.exp_dirichlet_component_ = np.exp(dirichlet.expected_log(components, axis=1))
    lda.doc_topic_prior_, lda.topic_word_prior_ = float(alpha.mean()), float(eta.mean())
    lda.n_features_in_ = components.shape[1]  # no feature names: scikit-learn would warn for each matrix
    lda.n_iter_, lda.n_batch_iter_ = fitted.n_iter, fitted.n_updates
    lda.bound_ = np.nan if fitted.bound is None else fitted.bound
    lda.random_state_ = np.random.RandomState(0)
    return lda


def to_gensim(model: Model) -> LdaModel:
    """A gensim LdaModel with the same topics and priors. Its Dictionary has the same word ids."""
    try:
        from gensim.corpora import Dictionary
        from gensim.models import LdaModel
    except ImportError as error:
        raise ImportError("to_gensim needs gensim: pip install gensim") from error
    fitted, alpha, eta = _topics_and_priors(model)
    dictionary = Dictionary()
    dictionary.token2id = {word: v for v, word in enumerate(fitted.words)}
    dictionary.id2token = dict(enumerate(fitted.words))
    prior = eta[0] if np.all(eta == eta[0]) else eta  # [V] if all topics have the same prior, else [K, V]
    lda = LdaModel(id2word=dictionary, num_topics=fitted.n_topics, alpha=alpha, eta=prior, dtype=np.float64)
    lda.state.sstats = fitted.components - prior
    lda.sync_state()
    return lda


def to_pyldavis(model: Model, corpus: object) -> dict[str, object]:
    """The arguments of pyLDAvis.prepare: `pyLDAvis.prepare(**to_pyldavis(model, corpus))`. `corpus` are documents, a
    Corpus or what `fit` of the model takes.

    Empty documents are left out, because pyLDAvis refuses them. With sort_topics=False, topic k + 1 of pyLDAvis is
    topic k of the model.
    """
    view, (documents, _) = view_of(model), ModelView(model).read(corpus)
    if documents is None:
        raise ValueError("pyLDAvis needs documents: pass a corpus")
    X = documents.to_scipy()
    lengths = np.asarray(X.sum(axis=1)).ravel()
    if not lengths.any():
        raise ValueError("all documents are empty, but pyLDAvis needs documents with words")
    kept = documents[np.flatnonzero(lengths > 0)]
    return {
        "topic_term_dists": view.topic_word,
        "doc_topic_dists": proportions(model, kept),
        "doc_lengths": lengths[lengths > 0],
        "vocab": view.words,
        "term_frequency": np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1e-3),  # pyLDAvis divides by it
    }


def _topics_and_priors(model: Model) -> tuple[FittedTopics, np.ndarray, np.ndarray]:
    """What was learned, alpha [K], eta [K, V]."""
    fitted = fitted_of(model)
    if not isinstance(fitted, FittedTopics) or not isinstance(fitted.model, TopicModel):
        raise ValueError(f"a {type(model).__name__} has no topic proportions of documents: pass LDA, HDP or GibbsLDA")
    return fitted, np.array(fitted.alpha), np.broadcast_to(fitted.model.words.eta.T, fitted.components.shape)


def write_csv(model: Model, path: Path, corpus: Corpus | None = None, *, n_words: int | None = TOP_WORDS) -> None:
    """A table with one row per topic and word, best words first: topic, share, rank, word, probability.

    n_words is the number of words per topic; None writes all words. The argument `corpus` is not used.
    """
    with atomic_write(path) as file:
        write_table(file, _topics(model, n_words), "csv")


def write_tsv(model: Model, path: Path, corpus: Corpus | None = None, *, n_words: int | None = TOP_WORDS) -> None:
    """The table of `write_csv`, separated by tabs."""
    with atomic_write(path) as file:
        write_table(file, _topics(model, n_words), "tsv")


def write_parquet(model: Model, path: Path, corpus: Corpus | None = None, *, n_words: int | None = TOP_WORDS) -> None:
    """The table of `write_csv` as a Parquet file."""
    with atomic_write(path) as file:
        write_table(file, _topics(model, n_words), "parquet")


def _topics(model: Model, n_words: int | None) -> Iterator[Columns]:
    view = view_of(model)
    for k, top in enumerate(view.top(len(view.words) if n_words is None else n_words)):
        yield {
            "topic": np.full(len(top), k, np.int32),
            "share": np.full(len(top), view.share[k]),
            "rank": np.arange(1, len(top) + 1, dtype=np.int32),
            "word": view.words_of(top),
            "probability": view.topic_word[k, top],
        }


def write_pyldavis(model: Model, path: Path, corpus: Corpus | None = None) -> None:
    """The arguments of pyLDAvis.prepare, as JSON."""
    check_can_write(path)  # before the work
    text = json.dumps(to_pyldavis(model, corpus), default=np.ndarray.tolist)
    with atomic_write(path) as file:
        file.write(text.encode())


def write_mallet(model: Model, path: Path, corpus: Corpus | None = None) -> None:
    """A folder with the files that `mallet train-topics` writes, tab-separated.

    topic-keys.txt           topic, alpha of the topic, its top words
    topic-word-weights.txt   topic, word, weight (the pseudo-count: tokens plus prior)
    doc-topics.txt           document, name, the proportion of each topic; only if a corpus is given
    """
    fitted, view, K = fitted_of(model), view_of(model), len(model.components_)
    names = [] if corpus is None else corpus.names or [str(d) for d in range(corpus.n_docs)]
    for what, strings in (("word", view.words), ("name", names)):
        for n, string in enumerate(strings):
            if any(separator in string for separator in "\t\n\r"):
                raise CorpusError(f"{what} {n} is {string!r}: tabs and line breaks separate what MALLET's files hold")
    alpha = fitted.alpha if isinstance(fitted.model, TopicModel) else np.full(K, 1.0 / K)
    keys = (f"{k}\t{alpha[k]:.5f}\t{' '.join(view.words_of(top))} " for k, top in enumerate(view.top(20)))
    weights = (f"{k}\t{word}\t{x:.6g}" for k in range(K) for word, x in zip(view.words, model.components_[k].tolist()))
    files: dict[str, Iterable[str]] = {"topic-keys.txt": keys, "topic-word-weights.txt": weights}
    if corpus is not None:
        shares = (map("%.6g".__mod__, row.tolist()) for row in proportions(model, corpus))
        files["doc-topics.txt"] = ("\t".join([str(d), names[d], *row]) for d, row in enumerate(shares))
    path.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        with atomic_write(path / name) as file:
            file.writelines(f"{line}\n".encode() for line in lines)


# format -> (ending of the file name, writer(model, path, corpus))
EXPORTS: dict[str, tuple[str, Callable[[Model, Path, Corpus | None], None]]] = {
    "csv": (".csv", write_csv),
    "tsv": (".tsv", write_tsv),
    "parquet": (".parquet", write_parquet),
    "pyldavis": (".json", write_pyldavis),
    "mallet": ("", write_mallet),
}


def export(model: Model, path: str | os.PathLike[str], format: str | None = None, corpus: object = None) -> None:
    """Write a fitted model to a file for another program. For scikit-learn and gensim see `to_sklearn` and `to_gensim`.

    Parameters
    ----------
    model
        A fitted topic model. Mixtures of counts have only the tables: csv, tsv and parquet.
    path
        The file to write; a folder for "mallet".
    format : {"csv", "tsv", "parquet", "pyldavis", "mallet"} or None
        The format. None recognises it by the name of the file.
    corpus : Corpus, what `fit` of the model takes, or None
        Documents. "pyldavis" needs them; "mallet" writes doc-topics.txt if they are given.
    """
    target = path_of(path)
    if format is None:
        format = next((name for name, (ending, _) in EXPORTS.items() if ending and target.name.endswith(ending)), None)
    if format not in EXPORTS:
        raise ValueError(f"{target}: the name does not tell the format; pass format=, one of {', '.join(EXPORTS)}")
    EXPORTS[format][1](model, target, None if corpus is None else ModelView(model).read(corpus)[0])


# Tables of documents: the shares of topics in each.

SHARES = ("jsonl", "csv", "tsv", "parquet")
SUFFIXES = {f".{name}": name for name in SHARES} | {".ndjson": "jsonl", ".json": "jsonl"}
STANDARD_OUTPUT = Path("-")


class Shares(NamedTuple):
    """Topic shares of some documents."""

    names: list[str]
    shares: np.ndarray  # [documents, K]
    n_unknown: float = 0  # tokens
    n_empty: int = 0  # documents


def write_shares(blocks: Iterable[Shares], path: Path, format: str | None, top: int | None) -> None:
    """Writes blocks one below the other, or only the `top` topics of each document. The file appears when all blocks
    are written, or not at all."""
    kind = format or (SUFFIXES.get(path.suffix.lower()) if path != STANDARD_OUTPUT else "jsonl")
    if kind not in SHARES:
        raise ValueError(f"{path}: choose a format with --to: {', '.join(SHARES)}")
    if kind == "parquet" and path == STANDARD_OUTPUT:
        raise ValueError("Parquet cannot go to standard output: give -o FILE")
    with nullcontext(sys.stdout.buffer) if path == STANDARD_OUTPUT else atomic_write(path) as file:
        if kind == "jsonl":
            for names, shares, *_ in blocks:
                for name, row in zip(names, shares):
                    if top is None:
                        cells = '"theta": [' + ", ".join(map("%.6g".__mod__, row.tolist())) + "]"
                    else:
                        cells = '"topics": [' + ", ".join(f"[{k}, {row[k]:.6g}]" for k in _largest(row, top)) + "]"
                    document = json.dumps(name, ensure_ascii=False)
                    file.write(f'{{"id": {document}, {cells}}}\n'.encode(errors="replace"))
        else:
            write_table(file, (_cells(block, top, in_lists=kind == "parquet") for block in blocks), kind)
        file.flush()


def _cells(block: Shares, top: int | None, *, in_lists: bool) -> Columns:
    """For CSV: id, topic_0, topic_1, ...; with `top`, id, best_1, share_1, best_2, ... For Parquet the same as lists:
    theta; with `top`, topics and shares."""
    if top is None:
        if in_lists:
            return {"id": block.names, "theta": list(block.shares.astype(np.float32))}
        return {"id": block.names} | {f"topic_{k}": shares for k, shares in enumerate(block.shares.T.tolist())}
    best = _largest(block.shares, top).astype(np.int32)
    shares = np.take_along_axis(block.shares, best, axis=1)
    if in_lists:
        return {"id": block.names, "topics": list(best), "shares": list(shares.astype(np.float32))}
    pairs = enumerate(zip(best.T.tolist(), shares.T.tolist()), 1)
    columns = {f"{what}_{n}": column for n, pair in pairs for what, column in zip(("best", "share"), pair)}
    return {"id": block.names, **columns}


def _largest(shares: np.ndarray, top: int) -> np.ndarray:
    """[..., top] topics, the largest first."""
    return np.argsort(-shares, axis=-1, kind="stable")[..., :top]
