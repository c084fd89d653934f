"""A topic model that lives on a stream: batches learned once each, words that come and go, reports, checkpoints."""

from topmix.base.atomic import InUseError
from topmix.selection.stream import Stream
from topmix.selection.stream_folder import BatchRecord

__all__ = ["BatchRecord", "InUseError", "Stream"]
