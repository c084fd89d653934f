"""Export of fitted topic models to scikit-learn, gensim, pyLDAvis, the text files of MALLET, CSV, TSV and Parquet."""

from topmix.apps.export import (
    EXPORTS,
    export,
    to_gensim,
    to_pyldavis,
    to_sklearn,
    write_csv,
    write_mallet,
    write_parquet,
    write_pyldavis,
    write_tsv,
)

__all__ = [
    "EXPORTS", "export", "to_gensim", "to_pyldavis", "to_sklearn", "write_csv", "write_mallet", "write_parquet",
    "write_pyldavis", "write_tsv",
]  # fmt: skip
