"""Data: documents as bags of words (`Corpus`), rows of numbers (`Rows`), and the functions that read them."""

from topmix.base.checks import CorpusError
from topmix.corpus.corpus import Corpus, CorpusBuilder
from topmix.corpus.demo import demo_corpus
from topmix.corpus.generate import LdaSample, sample_lda
from topmix.corpus.rows import Rows
from topmix.corpus.vectorize import Vectorizer, from_texts
from topmix.io.libraries import from_anndata, from_gensim
from topmix.io.readers import read_corpus, read_texts, write_corpus

__all__ = [
    "Corpus", "CorpusBuilder", "CorpusError", "LdaSample", "Rows", "Vectorizer", "demo_corpus", "from_anndata",
    "from_gensim", "from_texts", "read_corpus", "read_texts", "sample_lda", "write_corpus",
]  # fmt: skip
