"""A shard on the device, and what is remembered of its documents.

A corpus that is small enough is copied as a whole, and the rows of its shards are gathered there, which the processor
takes far longer for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from topmix.corpus.corpus import Corpus
from topmix.corpus.design import DesignRows
from topmix.corpus.shard import Shard, Shards
from topmix.cuda.device import Device, DeviceArray, Given, Spillable
from topmix.models.document_prior import DocTopics

SHARE = 0.1  # of the device's memory that a corpus may take besides its shards
WARPS = 8  # of a block: see kernels/gather.cu


class CorpusOnDevice:
    """The entries of a corpus, until all of its shards are made."""

    def __init__(self, corpus: Corpus, device: Device):
        self.device, self.host_indptr, self.n_words = device, corpus.indptr, corpus.n_words
        self.design = corpus.design
        self.arrays: Given = {
            "indptr": device.array(corpus.indptr, np.int64),
            "index": device.array(corpus.index, np.int32),
            "value": device.array(corpus.value, np.float32),
        }

    @classmethod
    def of(cls, shards: Shards, device: Device) -> CorpusOnDevice | None:
        """None where the corpus is mapped from a file, or large: shards then come one by one from the host."""
        corpus = shards.corpus
        if not isinstance(corpus, Corpus) or corpus.path is not None or 8 * corpus.nnz > SHARE * device.capacity:
            return None
        return cls(corpus, device)

    def shard(self, rows: slice | np.ndarray, number: int) -> DeviceShard:
        """As Shard.of: words are numbered in the order of their ids."""
        device = self.device
        chosen = np.arange(len(self.host_indptr) - 1, dtype=np.int32)[rows]
        n_entries = (self.host_indptr[1:] - self.host_indptr[:-1])[chosen]
        indptr = np.concatenate([[0], np.cumsum(n_entries)])
        used, lengths = device.zeros(self.n_words, np.int32), device.zeros(len(chosen), np.float64)
        index, value = device.empty(int(indptr[-1]), np.int32), device.empty(int(indptr[-1]), np.float32)
        given = self.arrays | {"rows": device.array(chosen), "used": used, "lengths": lengths}
        given |= {"new_indptr": device.array(indptr, np.int64), "new_index": index, "new_value": value}
        given |= {"n_rows": len(chosen)}
        blocks = min(-(-len(chosen) // WARPS), 16 * device.n_processors)
        device.launch("mark_used", blocks, 32 * WARPS, given)
        is_used = device.get(used)
        given["local"] = device.array(np.cumsum(is_used) - 1, np.int32)
        device.launch("gather_rows", blocks, 32 * WARPS, given)
        cols = np.flatnonzero(is_used).astype(np.int32)
        design = None if self.design is None else self.design[chosen]
        return DeviceShard(device, number, cols, indptr, index, value, device.get(lengths), design)


@dataclass(frozen=True, eq=False)
class DeviceColumns:
    """The words of a shard, here and there: what a model is asked for tables with."""

    host: np.ndarray
    device: DeviceArray

    def __len__(self) -> int:
        return len(self.host)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.host, dtype)


class DeviceTokenList(NamedTuple):
    """An entry stands for as many tokens as its count, which lie together."""

    lengths: np.ndarray  # [documents] on the host
    first: DeviceArray  # [documents + 1] int64, where the tokens of each document begin
    word: Spillable  # [tokens] int32

    @classmethod
    def of(cls, device: Device, indptr: np.ndarray, index: np.ndarray, value: np.ndarray) -> DeviceTokenList:
        counts = value.astype(np.int64)
        first = np.concatenate([[0], np.cumsum(counts)])[indptr]
        word = device.array(np.repeat(index, counts), np.int32)
        return cls(np.diff(first), device.array(first, np.int64), device.spillable(word))


class DeviceShard:
    """Rows of words, as corpus.shard.Shard has them."""

    def __init__(
        self,
        device: Device,
        number: int,
        cols: np.ndarray,
        indptr: np.ndarray,
        index: DeviceArray,
        value: DeviceArray,
        lengths: np.ndarray,
        design: DesignRows | None,
    ):
        self.device, self.number, self.lengths, self.design = device, number, lengths, design
        self.n_rows, self.n_entries = len(indptr) - 1, len(index)
        self.cols = DeviceColumns(cols, device.array(cols, np.int32))
        self.indptr = device.array(indptr, np.int32)
        self.index, self.value = device.spillable(index), device.spillable(value)
        self.n_words = np.diff(indptr)  # [documents] distinct ones
        self.order = np.argsort(-self.n_words, kind="stable").astype(np.int32)
        self.plans: dict[tuple[object, ...], Any] = {}  # see solve.py
        self._places: dict[tuple[int, int, float], tuple[np.ndarray, DeviceArray]] = {}

    @classmethod
    def of(cls, shard: Shard, device: Device) -> Self:
        """The rows that the host has."""
        index, value = device.array(shard.index, np.int32), device.array(shard.value, np.float32)
        return cls(device, shard.number, shard.cols, shard.indptr, index, value, shard.lengths, shard.design)

    @cached_property
    def rows(self) -> DeviceArray:
        """Documents, longest first."""
        return self.device.array(self.order)

    @cached_property
    def design_there(self) -> Given:
        """What the priors of single documents depend on."""
        assert self.design is not None
        x, row = self.device.array(self.design.x, np.float64), self.device.array(self.design.row, np.int32)
        return {"x": x, "row": row, "lengths": self.device.array(self.lengths, np.float64)}

    @cached_property
    def tokens(self) -> DeviceTokenList:
        """Tokens one by one, for sampling."""
        get = self.device.get
        return DeviceTokenList.of(self.device, get(self.indptr), get(self.index), get(self.value))

    def most_topics(self, K: int, eps: float) -> np.ndarray:
        """[documents] how many topics a document can have at any time: each but one holds more than eps tokens."""
        if eps <= 0:
            return np.full(self.n_rows, K, np.int64)
        return np.minimum(K, np.floor(self.lengths / eps).astype(np.int64) + 2)

    def places(self, K: int, L: int, eps: float) -> tuple[np.ndarray, DeviceArray]:
        """[documents + 1] where the topics of each document are kept, here and there."""
        key = K, L, eps
        if key not in self._places:
            most = np.minimum(self.most_topics(K, eps), self.n_words * L)
            host = np.concatenate([[0], np.cumsum(most)])
            self._places = {key: (host, self.device.array(host, np.int64))}
        return self._places[key]


@dataclass(frozen=True, eq=False)
class DeviceDocs:
    """Tokens of each document in each of its topics; document d has places[d] : places[d] + n[d]."""

    device: Device
    host_places: np.ndarray
    places: DeviceArray  # [documents + 1] int64
    n: DeviceArray  # [documents] int32
    topic: DeviceArray | Spillable  # uint16, ascending within a document; Spillable when a visit has written it
    count: DeviceArray | Spillable  # float32, the same
    most: int = 0  # topics of the document with most, where they are not from a visit

    @classmethod
    def empty(cls, device: Device, host_places: np.ndarray, places: DeviceArray) -> DeviceDocs:
        """Room for what a kernel writes."""
        n, room = device.empty(len(host_places) - 1, np.int32), int(host_places[-1])
        return cls(device, host_places, places, n, device.empty(room, np.uint16), device.empty(room, np.float32))

    def written(self) -> DeviceDocs:
        """The same when nobody writes it any more."""
        add = self.device.spillable
        return replace(self, topic=add(self.topic), count=add(self.count))

    @classmethod
    def of(cls, device: Device, docs: DocTopics) -> DeviceDocs:
        n = np.diff(docs.indptr)
        places, sizes = device.array(docs.indptr, np.int64), device.array(n, np.int32)
        topic, count = device.array(docs.topic, np.uint16), device.array(docs.count, np.float32)
        return cls(device, docs.indptr, places, sizes, topic, count, int(n.max(initial=0))).written()

    def on_host(self) -> DocTopics:
        n = self.device.get(self.n)
        indptr = np.concatenate([[0], np.cumsum(n, dtype=np.int64)])
        at = np.repeat(self.host_places[:-1] - indptr[:-1], n) + np.arange(indptr[-1])
        return DocTopics(indptr, self.device.get(self.topic)[at], self.device.get(self.count)[at])

    def as_new(self) -> Given:
        """What kernels are given to write."""
        return {"places": self.places, "doc_topic": self.topic, "doc_count": self.count, "doc_n": self.n}

    def as_last(self) -> Given:
        """What kernels are given of the last visit."""
        return {"last_places": self.places, "last_topic": self.topic, "last_count": self.count, "last_n": self.n}
