"""Documents and vectors as commands read them, for a fit or in the columns of a fitted model. `topmix.io` does the
work, so that the command learns from the same words and rows as `fit` in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from sklearn.base import BaseEstimator

from topmix.apps.command.command import note
from topmix.apps.command.options import Flag, Settings, flags_of, option_of
from topmix.base.paths import path_of
from topmix.corpus.corpus import Corpus, InWords
from topmix.corpus.languages import FUNCTION_WORDS, resolve_stop_words
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.vectorize import Vectorizer
from topmix.estimators.admixture import of_groups
from topmix.estimators.vectors import texts_of_documents
from topmix.io.columns import column_of
from topmix.io.documents import DEFAULTS, read, read_parts
from topmix.io.formats import Options
from topmix.io.readers import Source, TextFormat, counts_at, look, read_corpus, read_texts, texts_at
from topmix.io.reading import How
from topmix.io.rows import in_groups, number_table, open_rows, split_groups
from topmix.selection.views import fitted_of

# Documents, their texts, and columns beside them.
ToShow = tuple[Corpus | None, Iterable[str] | None, Mapping[str, Sequence[object]] | None]

# Options for reading texts, for tokenizing them, and for reading counts.
READING = flags_of(read_texts, leave_out=("path", "format"))
CUTTING = flags_of(Vectorizer, leave_out=("vocabulary", "tokenizer"))
COUNTS = flags_of(read_corpus, leave_out=("path", "out"))
# What commands do without an option, where it is not the default of the library.
FIT_DEFAULTS = {
    "token_pattern": "auto",
    "stop_words": "auto: english if the texts are English",
    "min_df": "5 for 1000 documents or more, 2 for 20 or more, else 1",
    "max_df": "0.5; 1.0 for fewer than 20 documents",
    "clean": "true",
}
WORDS = [replace(flag, default=FIT_DEFAULTS.get(name, flag.default)) for name, flag in CUTTING.items()]
READ_GROUPS: dict[str, list[Flag]] = {"Reading": [*COUNTS.values(), *READING.values()]}
FIT_GROUPS: dict[str, list[Flag]] = {**READ_GROUPS, "Words (of text)": WORDS}


class DocumentsAt(NamedTuple):
    """What is at a path, and how to read it."""

    source: Source
    how: How
    cutting: Settings  # of texts into words

    @classmethod
    def at(cls, path: Path, settings: Settings) -> DocumentsAt:
        """As the options say."""
        if not path.exists():
            raise ValueError(f"{path}: there is no such file or folder")
        reading, counts, cutting = (
            {name: value for name, value in settings.items() if name in group} for group in (READING, COUNTS, CUTTING)
        )
        source = look(path, counts.pop("format", None), reading.get("pattern"))
        if source.texts is not None and counts:
            raise ValueError(f"{', '.join(map(option_of, counts))}: for files of counts, but {path} is read as text")
        wrong = [option_of(name) for name in (*reading, *cutting) if name != "stop_words"]
        if source.texts is None and wrong:
            raise ValueError(f"{', '.join(wrong)}: for text only, but {path} holds counts")
        if fields := reading.get("field"):
            reading["field"] = fields.split(",")
        return cls(source, How(texts=TextFormat(**reading), counts=Options(**counts)), cutting)

    def to_fit(self, estimator: BaseEstimator, out: Path | None = None) -> Corpus:
        """Common and rare words of texts are left out unless the options say otherwise. With `out`, the corpus is built
        in that file."""
        cutting = dict(self.cutting)
        if (language := cutting.get("stop_words") or "auto") not in ("auto", "english", *FUNCTION_WORDS):
            if not (file := path_of(language)).is_file():
                what = "english, another language, none, or a file with one word per line"
                raise ValueError(f"--stop-words must be {what}; there is no file {language}")
            cutting["stop_words"] = file.read_text(encoding="utf-8").split()
        if self.source.texts is not None:
            how = replace(self.how, vectorizer=Vectorizer(**DEFAULTS | cutting), out=out)
            corpus, reading = read(self.source, how, engine=estimator._engine())
            left_out = [
                f"{len(words):,} {reason if reason in ('numbers', 'symbols') else f'{reason} words'} "
                f"({', '.join(words[:4])}{', ...' if len(words) > 4 else ''})"
                for reason, words in reading.vectorizer.left_out_.items()
            ]
            if left_out:
                hint = "--no-clean keeps mark-up, numbers and symbols; see also --stop-words and --max-df"
                note(f"left out of the vocabulary: {', '.join(left_out)}. {hint}")
        else:
            stop_words = resolve_stop_words(cutting.get("stop_words"))
            corpus = counts_at(self.source, replace(self.how.counts, out=None if stop_words else out))
            corpus = corpus.drop_words(stop_words) if stop_words else corpus
        n_empty = int((np.diff(corpus.offsets()) == 0).sum())
        empty = f"; {n_empty:,} documents are empty" if n_empty else ""
        note(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens of {corpus.n_words:,} words{empty}")
        return corpus

    def to_model(self, model: BaseEstimator) -> InWords:
        """In the columns of a fitted model, and the number of tokens that it does not know."""
        (found,) = parts_for(model, self.source, self.how, whole=True)
        return found


def parts_for(model: BaseEstimator, X: object, how: How, *, whole: bool = False) -> Iterator[InWords]:
    """Documents in the columns of a fitted model, in parts of bounded size unless they are to be one."""
    return read_parts(X, fitted_of(model).words_read, how, owner=type(model).__name__, whole=whole)


def takes_counts(estimator: BaseEstimator) -> bool:
    """Whether an estimator models counts, such as documents; others model rows of numbers."""
    return bool(estimator.__sklearn_tags__().input_tags.positive_only)


@dataclass(frozen=True)
class ReadData:
    """Documents; or vectors, in groups where the model has groups, and the words of the texts beside them."""

    X: Corpus | Rows
    path: Path  # of columns
    documents: DocumentsAt | None = None
    words: Corpus | None = None
    n_unknown: float = 0  # tokens that are not in the vocabulary of the model

    @property
    def size(self) -> dict[str, float]:
        """For JSON."""
        words, size = self.X if isinstance(self.X, Corpus) else self.words, dict[str, float]()
        if words is not None:
            size = {"n_docs": words.n_docs, "n_words": words.n_words, "n_tokens": words.n_tokens}
        if isinstance(self.X, Rows):
            n_groups = {"n_groups": len(self.X)} if isinstance(self.X, GroupedRows) else {}
            size |= {"n_rows": len(self.X.rows), **n_groups, "n_features": self.X.shape[1]}
        return size

    def to_show(self, model: BaseEstimator, columns: Sequence[str]) -> ToShow:
        """In the columns of a model, with texts and with columns beside them."""
        corpus = self.X if isinstance(self.X, Corpus) else model.counts(self.X, texts=self.words)
        texts: Iterable[str] | None = None
        if self.documents is not None:
            source, how, _ = self.documents
            if source.texts is not None and how.texts is not None:
                texts = (text for _, text in texts_at(source.path, source.texts, how.texts))
        if corpus.vector_groups is None:
            return corpus, texts, {name: column_of(self.path, name, corpus.n_docs) for name in columns}
        joined = None if texts is None else texts_of_documents(corpus, list(texts))
        return corpus, joined, {name: of_groups(self.path, name, corpus) for name in columns}


def read_data(
    estimator: BaseEstimator,
    path: Path,
    settings: Settings,
    texts: Path | None = None,
    groups: str | None = None,
    columns: Sequence[str] = (),
) -> ReadData:
    """For a fit; or, where an estimator is fitted, in its columns. `texts` and `groups` stand beside vectors, and are
    files or columns of their table. `columns` are beside the texts, or in the table where there are no other texts."""
    name, fitted = type(estimator).__name__, fitted_of(estimator) if estimator.__sklearn_is_fitted__() else None
    has_groups, has_counts = estimator._takes == "groups", takes_counts(estimator)
    if texts is not None and has_counts:
        raise typer.BadParameter("texts stand beside vectors: --model vmf or gmm takes these", param_hint="--texts")
    if has_groups != (groups is not None):
        why = "needs the group of each row: name a column of the table, or a file" if has_groups else "knows no groups"
        raise typer.BadParameter(f"{name} {why}", param_hint="--groups")
    if has_counts:
        documents, n_unknown = DocumentsAt.at(path, settings), 0.0
        if fitted is None:
            corpus = documents.to_fit(estimator)
        else:
            corpus, n_unknown = documents.to_model(estimator)
        return ReadData(corpus, path, documents, n_unknown=n_unknown)

    table = number_table(path)
    if texts is not None and not texts.exists():
        if table is None:
            raise typer.BadParameter(f"there is no file {texts}, and {path} has no columns", param_hint="--texts")
        settings, table = {**settings, "field": str(texts)}, table.without(*str(texts).split(","))
        texts = path
    if texts is None and settings:
        rest = ", ".join(map(option_of, settings))
        raise ValueError(f"{path} is read as a table of numbers, without documents: leave out {rest}")
    if table is not None and texts in (None, path):
        table = table.without(*columns)
    of_rows: object = groups
    if groups is not None and table is None and texts is not None and not Path(groups).is_file():
        of_rows = column_of(texts, groups)
    source, of_rows, _ = split_groups(table or path, of_rows)
    rows = open_rows(source, None if fitted is None else fitted.reading.words)
    rows = in_groups(rows, of_rows) if has_groups else rows
    if texts is None:
        return ReadData(rows, path)
    documents = DocumentsAt.at(texts, settings)
    if fitted is not None and fitted.has_words:
        words = documents.to_model(estimator).corpus
    else:
        words = documents.to_fit(estimator)
    return ReadData(rows, texts, documents, words)


def read_to_show(
    model: BaseEstimator,
    path: Path | None,
    columns: Sequence[str],
    settings: Settings,
    texts: Path | None = None,
    groups: str | None = None,
) -> ToShow:
    """Documents for a page; nothing without a path. Of clusters of vectors the path is that of the vectors."""
    if path is not None:
        return read_data(model, path, settings, texts, groups, columns).to_show(model, columns)
    for option, given in (("--texts", texts), ("--groups", groups), ("--column", columns)):
        if given:
            raise typer.BadParameter("it stands beside documents: pass --corpus too", param_hint=option)
    return None, None, None
