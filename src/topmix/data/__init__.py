"""Data: documents as bags of words (`Corpus`), rows of numbers (`Table`), and the formats they come in."""

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError
from topmix.data.gensim import from_gensim
from topmix.data.readers import read_corpus, write_corpus
from topmix.data.store import CorpusBuilder
from topmix.data.table import Table

__all__ = [
    "Corpus",
    "CorpusBuilder",
    "CorpusError",
    "Table",
    "from_gensim",
    "read_corpus",
    "write_corpus",
]
