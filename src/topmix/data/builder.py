"""Build a corpus block by block, in memory or in a file that is larger than memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from topmix.data.corpus import Corpus
from topmix.data.row_builder import RowBuilder


class CorpusBuilder(RowBuilder):
    """Collects blocks of rows; `finish` turns them into a corpus.

    With a path, memory stays bounded: the appended rows are kept in temporary files, and the finished corpus is mapped
    from the final file. The temporary files are removed when a `with` block ends or the builder is garbage-collected.
    """

    def finish(
        self,
        vocabulary: Sequence[str] | None,
        n_words: int | None = None,
        *,
        remap: NDArray[Any] | None = None,
        shift: int = 0,
        meta: Mapping[str, Any] | None = None,
    ) -> Corpus:
        """The corpus of all appended rows.

        `remap[old id]` is the new id of a word, or -1 to drop the word; `shift` is subtracted from all ids instead.
        Without a vocabulary and without `n_words`, the number of words is the largest id that occurs plus one.
        """
        return Corpus.of_parts(self.finish_parts(vocabulary, n_words, remap=remap, shift=shift, meta=meta))
