"""Data: corpora of counts, and where they come from."""

from topmix.data.demo import demo_corpus
from topmix.data.generate import LdaSample, sample_lda
from topmix.data.texts import read_texts
from topmix.data.vectorize import Vectorizer, from_texts

__all__ = ["LdaSample", "Vectorizer", "demo_corpus", "from_texts", "read_texts", "sample_lda"]
