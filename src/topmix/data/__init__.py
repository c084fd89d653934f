"""Data: documents as bags of words (`Corpus`), rows of numbers (`Table`), and the formats they come in."""

from topmix.data.corpus import Corpus
from topmix.data.errors import CorpusError

__all__ = ["Corpus", "CorpusError"]
