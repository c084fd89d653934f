"""Data: corpora of counts, and where they come from."""

from .demo import demo_corpus
from .generate import LdaSample, sample_lda
from .texts import read_texts
from .vectorize import Vectorizer, from_texts

__all__ = ["LdaSample", "Vectorizer", "demo_corpus", "from_texts", "read_texts", "sample_lda"]
