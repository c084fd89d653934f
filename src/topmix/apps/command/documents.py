"""Documents and vectors as commands read them, for a fit or in the columns of a fitted model. `topmix.io` does the
work, so that the command learns from the same words and rows as `fit` in Python."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import typer
from sklearn.base import BaseEstimator

from topmix.apps.command.command import note
from topmix.apps.command.options import Flag, Settings, flags_of, option_of
from topmix.base.paths import path_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.documents import Document, NamedTexts
from topmix.corpus.languages import FUNCTION_WORDS, resolve_stop_words
from topmix.corpus.rows import GroupedRows, Rows
from topmix.corpus.vectorize import Vectorizer
from topmix.estimators.admixture import AdmixtureEstimator, of_groups
from topmix.estimators.vectors import texts_of_documents
from topmix.io.columns import column_of
from topmix.io.documents import DEFAULTS, read, read_known, read_parts
from topmix.io.readers import OTHER_TEXTS, TextFormat, json_document, look, read_corpus, read_texts
from topmix.io.reading import How, Reading
from topmix.io.rows import in_groups, number_table, split_groups
from topmix.results.mixture import FittedMixture
from topmix.selection.views import fitted_of

Known = tuple[Corpus, float]  # documents in the columns of a model, and tokens that it does not know
# Documents, their texts, and columns beside them.
ToShow = tuple[Corpus | None, Iterable[str] | None, Mapping[str, Sequence[object]] | None]

STANDARD_INPUT = Path("-")

# Options for reading texts, for tokenizing them, and for reading counts.
READING = flags_of(read_texts, leave_out=("path", "format"))
CUTTING = flags_of(Vectorizer, leave_out=("vocabulary", "tokenizer"))
COUNTS = flags_of(read_corpus, leave_out=("path", "out"))
READ_GROUPS: dict[str, list[Flag]] = {"Reading": [*COUNTS.values(), *READING.values()]}
FIT_GROUPS: dict[str, list[Flag]] = {**READ_GROUPS, "Words (of text)": list(CUTTING.values())}
FIT_DEFAULTS = {
    "token_pattern": "auto",
    "stop_words": "auto: english if the texts are English",
    "min_df": "5 for 1000 documents or more, 2 for 20 or more, else 1",
    "max_df": "0.5; 1.0 for fewer than 20 documents",
    "clean": "true",
}


def taken(settings: Settings, group: Mapping[str, Flag]) -> Settings:
    """The settings of a group of flags; they are removed from `settings`."""
    return {name: settings.pop(name) for name in group if name in settings}


def how_to_read(path: Path, settings: Settings) -> tuple[bool, How]:
    """Whether texts are at a path, and how to read what is there, as the options say, which are removed from
    `settings`."""
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    reading, counts = taken(settings, READING), taken(settings, COUNTS)
    form = counts.pop("format", None)
    if form is None and "pattern" in reading and path.is_dir():
        form = "folder"
    kind = look(path, form).texts
    if kind is None:
        return False, How(format=form, file={**counts, **reading})
    if counts:
        raise ValueError(f"{', '.join(map(option_of, counts))}: for files of counts, but {path} is read as text")
    if kind == "folder" and "pattern" not in reading and (pattern := pattern_of(path)) is not None:
        reading["pattern"] = pattern
    fields = reading.pop("field", None)
    return True, How(text=fields.split(",") if fields and "," in fields else fields, format=form, file=reading)


def pattern_of(folder: Path) -> str | None:
    """For a folder without *.txt: the most common suffix of text files, which may be no suffix at all."""
    paths = (path.relative_to(folder) for path in islice(folder.rglob("*"), 10_000) if path.is_file())
    suffixes = Counter(path.suffix.lower() for path in paths if not any(p.startswith(".") for p in path.parts))
    if suffixes[".txt"] or suffixes[".text"] or suffixes[".gz"]:
        return None
    best = max((*OTHER_TEXTS, ""), key=suffixes.__getitem__)
    return f"*{best}" if suffixes[best] else None


def read_to_fit(estimator: BaseEstimator, path: Path, settings: Settings, out: Path | None = None) -> Corpus:
    """The corpus at a path. Common and rare words of texts are left out unless the settings say otherwise. With
    `out`, the corpus is built in that file."""
    cutting, (is_text, how) = taken(settings, CUTTING), how_to_read(path, settings)
    if (given := cutting.get("stop_words") or "auto") not in ("auto", "english", *FUNCTION_WORDS):
        if not (file := path_of(given)).is_file():
            what = "english, another language, none, or a file with one word per line"
            raise ValueError(f"--stop-words must be {what}; there is no file {given}")
        cutting["stop_words"] = file.read_text(encoding="utf-8").split()
    if is_text:
        how = replace(how, vectorizer=Vectorizer(**DEFAULTS | cutting), out=out)
        corpus, reading = read(path, how, engine=estimator._engine())
        said = [
            f"{len(words):,} {reason if reason in ('numbers', 'symbols') else f'{reason} words'} "
            f"({', '.join(words[:4])}{', ...' if len(words) > 4 else ''})"
            for reason, words in reading.vectorizer.left_out_.items()
        ]
        if said:
            note(
                f"left out of the vocabulary: {', '.join(said)}. --no-clean keeps mark-up, numbers and symbols; see "
                "also --stop-words and --max-df"
            )
    else:
        stop_words = resolve_stop_words(cutting.pop("stop_words", None))
        options = {**how.file, **cutting}  # options for texts: an error
        corpus = read_corpus(path, format=how.format, out=None if stop_words else out, **options)
        corpus = corpus.drop_words(stop_words) if stop_words else corpus
    n_empty = int((np.diff(corpus.offsets()) == 0).sum())
    empty = f"; {n_empty:,} documents are empty" if n_empty else ""
    note(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens of {corpus.n_words:,} words{empty}")
    return corpus


def read_for(model: BaseEstimator, path: Path, settings: Settings, *, whole: bool = False) -> Iterator[Known]:
    """Documents in the columns of a fitted model, in parts of bounded size or as a whole, and the number of tokens that
    the model does not know. "-" is standard input, with one text or JSON object per line."""
    known: Reading = fitted_of(model).words_read
    settings, how = dict(settings), How()
    documents: Path | NamedTexts = path
    if path == STANDARD_INPUT:
        documents = NamedTexts(_standard_input(TextFormat(**taken(settings, READING))))
    else:
        is_text, how = how_to_read(path, settings)
        if not is_text:
            yield _in_columns(read_corpus(path, format=how.format, **how.file), known)
            return
    counter, owner = known.counter(), type(model).__name__
    how = replace(how, vectorizer=counter)
    if whole:
        yield read_known(documents, known, how, owner=owner), counter.n_unknown_
        return
    for part in read_parts(documents, known, how, owner=owner):
        yield part, counter.n_unknown_


def _in_columns(corpus: Corpus, known: Reading) -> Known:
    """Counts in the columns of a model: by the names of words where there are some, else as they are."""
    if known.words is not None and corpus.vocabulary is not None:
        return corpus.in_words(known.words.tolist())
    if corpus.n_words != known.n_features:
        widths = f"the documents have {corpus.n_words} words and the model has {known.n_features}"
        raise ValueError(f"{widths}: give --vocabulary")
    return Corpus.trusted(corpus.indptr, corpus.index, corpus.value, corpus.n_words, None, corpus.names), 0


def _standard_input(options: TextFormat) -> Iterator[Document]:
    for n, line in enumerate(sys.stdin, 1):
        is_json = line.lstrip().startswith("{")
        yield json_document(line, options, f"standard input, line {n}", n) if is_json else (str(n), line.rstrip("\n"))


def takes_counts(estimator: BaseEstimator) -> bool:
    """Whether an estimator models counts, such as documents; others model rows of numbers."""
    return bool(estimator.__sklearn_tags__().input_tags.positive_only)


@dataclass(frozen=True)
class ReadData:
    """Documents; or vectors, in groups where the model has groups, and the words of the texts beside them."""

    X: Corpus | Rows
    path: Path  # of columns
    texts: Path | None  # of the texts
    reading: Settings  # of the texts
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
        if self.texts is not None:
            is_text, how = how_to_read(self.texts, dict(self.reading))
            if is_text:
                found = read_texts(self.texts, format=how.format, field=how.text, **how.file)
                texts = (text for _, text in found)
        if not isinstance(corpus.vectors, GroupedRows):
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
    has_groups, has_counts = isinstance(estimator, AdmixtureEstimator), takes_counts(estimator)
    if texts is not None and has_counts:
        raise typer.BadParameter("texts stand beside vectors: --model vmf or gmm takes these", param_hint="--texts")
    if has_groups != (groups is not None):
        why = "needs the group of each row: name a column of the table, or a file" if has_groups else "knows no groups"
        raise typer.BadParameter(f"{name} {why}", param_hint="--groups")
    if has_counts and fitted is None:
        return ReadData(read_to_fit(estimator, path, dict(settings)), path, path, settings)
    if has_counts:
        corpus, n_unknown = next(read_for(estimator, path, settings, whole=True))
        return ReadData(corpus, path, path, settings, n_unknown=n_unknown)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    table, reading = number_table(path), dict(settings)
    if texts is not None and not texts.exists():
        if table is None:
            raise typer.BadParameter(f"there is no file {texts}, and {path} has no columns", param_hint="--texts")
        reading["field"], texts = str(texts), path
        table = table.without(*reading["field"].split(","))
    if texts is None and reading:
        rest = ", ".join(map(option_of, reading))
        raise ValueError(f"{path} is read as a table of numbers, without documents: leave out {rest}")
    if table is not None and texts in (None, path):
        table = table.without(*columns)
    of_rows: object = groups
    if groups is not None and table is None and texts is not None and not Path(groups).is_file():
        of_rows = column_of(texts, groups)
    source, of_rows, _ = split_groups(table or path, of_rows)
    table = number_table(source)
    rows = Rows.open(path) if table is None else table.rows(None if fitted is None else fitted.reading.words)
    rows, words = in_groups(rows, of_rows) if has_groups else rows, None
    if texts is not None and isinstance(fitted, FittedMixture) and fitted.has_words:
        words, _ = next(read_for(estimator, texts, reading, whole=True))
    elif texts is not None:
        words = read_to_fit(estimator, texts, dict(reading))
    return ReadData(rows, texts or path, texts, reading, words)


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
