"""The one door for data: whatever a user passes becomes a Corpus or a Rows, checked once, and everything below trusts
it. `Reading` says how the data of a fit was read; with it, more of the same is read in the same way."""

from topmix.read.documents import DEFAULTS, for_every_word, read, read_growing, read_known, read_parts, refuse_iterator
from topmix.read.reading import FRAMES, How, Reading
from topmix.read.rows import in_groups, read_rows, split_groups

__all__ = [
    "DEFAULTS",
    "FRAMES",
    "How",
    "Reading",
    "for_every_word",
    "in_groups",
    "read",
    "read_growing",
    "read_known",
    "read_parts",
    "read_rows",
    "refuse_iterator",
    "split_groups",
]
