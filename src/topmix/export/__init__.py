"""Fitted topic models for other programs: scikit-learn, gensim, pyLDAvis, MALLET's text files, CSV and Parquet.

    lda = topmix.export.to_gensim(model)
    topmix.export.export(model, "topics.csv")      # by the file's name, or format=

Topic k there is row k of components_ here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from topmix.export.files import write_csv, write_mallet, write_parquet, write_pyldavis, write_tsv
from topmix.export.libraries import save_gensim, save_sklearn, to_gensim, to_pyldavis, to_sklearn

# format -> (file name's ending, writer(model, path, corpus))
EXPORTS: dict[str, tuple[str, Callable[[Any, Path, Any], None]]] = {
    "csv": (".csv", write_csv),
    "tsv": (".tsv", write_tsv),
    "parquet": (".parquet", write_parquet),
    "pyldavis": (".json", write_pyldavis),
    "sklearn": (".joblib", save_sklearn),
    "gensim": (".gensim", save_gensim),
    "mallet": ("", write_mallet),
}


def export(model: Any, path: str | os.PathLike[str], format: str | None = None, corpus: Any = None) -> None:
    """Writes a fitted model for another program.

    Parameters
    ----------
    path
        The file, or for "mallet" the folder.
    format : {"csv", "tsv", "parquet", "pyldavis", "sklearn", "gensim", "mallet"} or None
        None: by the name.
    corpus : Corpus or None
        Documents; pyLDAvis needs them, MALLET's document file is written where there are any.
    """
    target = Path(path)
    if format is None:
        format = next((name for name, (ending, _) in EXPORTS.items() if ending and target.name.endswith(ending)), None)
    if format not in EXPORTS:
        raise ValueError(f"{target}: the name does not tell the format; give one of {', '.join(EXPORTS)}")
    EXPORTS[format][1](model, target, corpus)


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
