"""Data: documents as bags of words (`Corpus`), rows of numbers (`Rows`), and the functions that read them."""

from topmix.data.corpus import Corpus, CorpusBuilder
from topmix.data.demo import demo_corpus
from topmix.data.errors import CorpusError
from topmix.data.generate import LdaSample, sample_lda
from topmix.data.libraries import from_anndata, from_gensim
from topmix.data.readers import read_corpus, write_corpus
from topmix.data.rows import Rows
from topmix.data.texts import read_texts
from topmix.data.vectorize import Vectorizer, from_texts

__all__ = [
    "Corpus",
    "CorpusBuilder",
    "CorpusError",
    "LdaSample",
    "Rows",
    "Vectorizer",
    "demo_corpus",
    "from_anndata",
    "from_gensim",
    "from_texts",
    "read_corpus",
    "read_texts",
    "sample_lda",
    "write_corpus",
]
