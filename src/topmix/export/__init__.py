"""Export of fitted topic models to scikit-learn, gensim, pyLDAvis, the text files of MALLET, CSV, TSV and Parquet.

    lda = topmix.export.to_gensim(model)
    topmix.export.export(model, "topics.csv")      # the name sets the format; or pass format=

Topic k of the export is row k of `components_`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from topmix.data.corpus import Corpus
from topmix.data.paths import path_of
from topmix.export.files import write_csv, write_mallet, write_parquet, write_pyldavis, write_tsv
from topmix.export.libraries import save_gensim, save_sklearn, to_gensim, to_pyldavis, to_sklearn
from topmix.views.model import Model, ModelView

# format -> (ending of the file name, writer(model, path, corpus))
EXPORTS: dict[str, tuple[str, Callable[[Model, Path, Corpus | None], None]]] = {
    "csv": (".csv", write_csv),
    "tsv": (".tsv", write_tsv),
    "parquet": (".parquet", write_parquet),
    "pyldavis": (".json", write_pyldavis),
    "sklearn": (".joblib", save_sklearn),
    "gensim": (".gensim", save_gensim),
    "mallet": ("", write_mallet),
}


def export(model: Model, path: str | os.PathLike[str], format: str | None = None, corpus: object = None) -> None:
    """Write a fitted model to a file for another program.

    Parameters
    ----------
    model
        A fitted topic model. Mixtures of counts have only the tables: csv, tsv and parquet.
    path
        The file to write; a folder for "mallet".
    format : {"csv", "tsv", "parquet", "pyldavis", "sklearn", "gensim", "mallet"} or None
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


__all__ = [
    "EXPORTS",
    "export",
    "to_gensim",
    "to_pyldavis",
    "to_sklearn",
    "write_csv",
    "write_mallet",
    "write_parquet",
    "write_pyldavis",
    "write_tsv",
]
