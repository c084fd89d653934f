"""Data: corpora of counts, and where they come from."""

from .vectorize import Vectorizer, from_texts

__all__ = ["Vectorizer", "from_texts"]
