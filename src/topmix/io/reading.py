"""How data is to be read, and how it was read: what later calls need to read more of the same."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topmix.base.checks import CorpusError, are_texts, as_list
from topmix.base.fields import CheckedReader, ModelFileError
from topmix.corpus.vectorize import Vectorizer, check_settings
from topmix.corpus.vocabulary import Strings
from topmix.io.formats import Options
from topmix.io.formulas import Design
from topmix.io.priors import VersionColumn
from topmix.io.readers import TextFormat

Keywords = Mapping[str, Any]
FRAMES = ("pandas", "polars")


@dataclass(frozen=True)
class How:
    """How X is to be read, as the user says."""

    text: str | Sequence[str] | None = None  # the column, or columns, of a table with the texts
    vectorizer: Any = None  # counts the words of texts: a Vectorizer, or one of scikit-learn
    feature_names: Sequence[str] | None = None  # of the columns of a matrix
    layer: str | None = None  # of an AnnData
    texts: TextFormat | None = None  # of a file of texts; None: `text` alone
    counts: Options = field(default_factory=Options)  # of a file of counts
    out: Path | None = None  # the corpus of a file is built in this file

    def __post_init__(self) -> None:
        names = [*as_list("" if self.text is None else self.text), "" if self.layer is None else self.layer]
        if not are_texts(names):
            raise ValueError(f"text= and layer= are names, got {self.text!r:.80} and {self.layer!r:.80}")

    @classmethod
    def of(cls, options: Keywords) -> How:
        """Of the keywords of `fit`."""
        names = ("text", "vectorizer", "feature_names", "layer")
        return cls(**{name: options[name] for name in names if name in options})


@dataclass(frozen=True)
class Reading:
    """How the data of a fit was read. It is part of what was learned, and is saved with it."""

    n_features: int
    words: NDArray[np.object_] | None = None  # [n_features] names of the columns
    tokenizer: Keywords | None = None  # the settings with which texts were cut into words
    vectorizer: Any = None  # what counted them; a file has its settings alone
    text: str | list[str] | None = None
    layer: str | None = None
    named: bool = False  # names came with texts or beside a matrix, so a matrix without names is no mistake
    frame: str | None = None  # the library of the table that was read
    design: Design | None = None  # how columns beside the documents became numbers
    versions: VersionColumn | None = None  # ... and how one of them says which version of topics a document has

    def __getstate__(self) -> dict[str, object]:
        """What was made when somebody asked for it is made again."""
        return {f.name: vars(self)[f.name] for f in fields(self)}

    def more(self) -> How:
        """How to read more of the same."""
        return How(self.text, self.vectorizer, None, self.layer)

    def renamed(self, words: Sequence[str] | NDArray[np.object_] | None, n_features: int) -> Reading:
        """With other columns: some that are new, or without some that were there."""
        names = None if words is None else np.asarray(list(words), dtype=object)
        vectorizer = self.vectorizer
        if isinstance(vectorizer, Vectorizer) and names is not None:
            vectorizer = copy.copy(vectorizer)
            vectorizer.vocabulary_ = names.tolist()
        return replace(self, n_features=n_features, words=names, vectorizer=vectorizer)

    @cached_property
    def packed(self) -> Strings | None:
        """The words in one array, so that a Corpus with the same ones is recognised at once."""
        try:
            return None if self.words is None else Strings.pack([str(word) for word in self.words])
        except CorpusError:  # UTF-8 does not hold every string
            return None

    @cached_property
    def _counter(self) -> Vectorizer:
        try:
            made = Vectorizer._of_words(self.words, self.tokenizer)
        except ValueError as error:
            if self.tokenizer is None or self.tokenizer.get("tokenizer") is None:
                raise
            raise ValueError(
                f"{error} of topmix.data.Vectorizer.of(model, tokenizer=...), and pass the counts that it makes"
            ) from None
        if made.stop_words != "auto":
            made._ready()
        return made

    def counter(self) -> Vectorizer:
        """What counts texts in these words; a copy to change, which shares what was made of the words."""
        return self._counter._twin()

    def about(self) -> dict[str, object]:
        """As JSON, for a file."""
        return {
            "covariates": None if self.design is None else self.design.about(),
            "versions": None if self.versions is None else asdict(self.versions),
            "n_features": self.n_features,
            "feature_names": None if self.words is None else [str(word) for word in self.words],
            "tokenizer": None if self.tokenizer is None else dict(self.tokenizer),
            "input": {"text": self.text, "layer": self.layer, "named": self.named, "frame": self.frame},
        }

    @classmethod
    def read(cls, file: CheckedReader) -> Self:
        """What `about` gave."""
        kept = file.table("input") or {}
        text, layer, frame = kept.get("text"), kept.get("layer"), kept.get("frame")
        named = kept.get("named", False)
        if not (text is None or are_texts(as_list(text))) or not isinstance(layer, str | None):
            raise ModelFileError("'input' does not name columns of texts and a layer")
        if not isinstance(named, bool) or frame not in (None, *FRAMES):
            raise ModelFileError(f"'input' names an unknown kind of table, {str(frame)[:60]!r}")
        settings, covariates, versions = (
            file.table(name, missing=None) for name in ("tokenizer", "covariates", "versions")
        )
        if settings is not None:
            check_settings(settings)
        words = file.strings("feature_names", file.n_features)
        found = cls(
            n_features=file.n_features,
            words=None if words is None else np.array(words, dtype=object),
            tokenizer=settings,
            text=text,
            layer=layer,
            named=named,
            frame=frame,
            design=None if covariates is None else Design.read(covariates),
            versions=None if versions is None else VersionColumn.read(versions),
        )
        if settings is not None and words is not None and found.packed is None:
            raise ModelFileError("'feature_names' has a word that no text holds")
        return found
