"""A topic model that lives on a stream: batches learned once each, words that come and go, reports, checkpoints."""

from topmix.data.lock import InUseError
from topmix.streaming.record import BatchRecord
from topmix.streaming.stream import Stream

__all__ = ["BatchRecord", "InUseError", "Stream"]
