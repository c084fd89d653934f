"""Checkpoints of mixtures and admixtures: a fit between two passes, in one file.

model.*    the model, whose sums of rows are those of the total too
next.*     the prior of groups that the next pass starts from, where it was learned after this one
total.*    what the total has besides
memo.b.*   statistics of shard b
momentum.* what passes with momentum take from one to the next
kept.b.*   what the local step remembers of it: the last clusters of its rows, or the counts of its groups
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topmix import _core
from topmix.allocations.document_prior import DocumentPrior
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.files.writer import Writer
from topmix.fitting.checkpoint import LARGEST_COUNT, Checkpoint, past, restore_generator
from topmix.fitting.history import Record
from topmix.learners import State
from topmix.likelihoods.gaussian import Gaussian
from topmix.likelihoods.likelihood import Elsewhere
from topmix.local import LocalStep
from topmix.local.candidates import CandidateStep
from topmix.local.groups import GroupStep
from topmix.local.mixture import MixtureStep
from topmix.models.admixture import Admixture
from topmix.models.mixture import Mixture
from topmix.models.momentum import Momentum
from topmix.search.clusters import Resumed
from topmix.stats import MixtureStats, TopicStats, WordStats
from topmix.stats.entries import RowShares

Clusters = Mixture | Admixture


@dataclass
class MixtureProgress:
    """A fit between two passes."""

    model: Clusters
    following: Clusters | None  # what the next pass starts from, where its prior is another
    state: State
    memory: Mapping[int, Any]
    history: Sequence[Record]
    random: Mapping[str, object]  # state of the generator that dealt rows to shards
    search: dict[str, Any] | None = None  # where the number of clusters is searched for, what is known of that

    def restore_generator(self, rng: np.random.Generator) -> None:
        """The generator deals rows as it did."""
        restore_generator(rng, self.random)

    def known(self) -> Resumed:
        """What a search for the number of clusters knew."""
        try:
            return Resumed.read(self.search or {})
        except ValueError as error:
            raise ModelFileError(f"the checkpoint cannot be continued from: {error}") from error


@dataclass
class MixtureCheckpoint:
    """Where the progress of a fit of clusters is kept."""

    at: Checkpoint
    write_model: Callable[[Any, Writer], None]
    read_model: Callable[[CheckedReader, int], Clusters]  # with K clusters
    K: int | None  # None: the fit finds it
    D: int
    step: LocalStep
    has_memo: bool
    has_momentum: bool

    def write(self, p: MixtureProgress) -> None:
        """Atomic: the file is the last checkpoint or this one."""
        out, model = Writer(), p.model
        if isinstance(model.likelihood, Elsewhere):
            model = replace(model, likelihood=model.likelihood.for_file())
        self.write_model(model, out.at("model"))
        if isinstance(model.likelihood, Gaussian):
            model.likelihood.write_near(out.at("model"))
        if isinstance(p.following, Admixture):
            p.following.prior.write(out.at("next"))
        around(p.state.total, NotHere()).write(out.at("total"))
        for b, stats in p.state.memo.items():
            S = rows_of(stats).S
            around(stats, S.for_file() if isinstance(S, Elsewhere) else S).write(out.at(f"memo.{b}"))
        if p.state.momentum is not None:
            p.state.momentum.write(out.at("momentum"))
        for b, kept in p.memory.items():
            kept.write(out.at(f"kept.{b}"))
        out.value("n_components", model.n_components)
        out.value("t", p.state.t)
        about = {"n_features": self.D, "n_memo": len(p.state.memo), "n_kept": len(p.memory)}
        self.at.save(out, about | {"has_next": p.following is not None}, p)

    def read(self) -> MixtureProgress | None:
        """What `write` wrote, or None where there is no file."""
        return self.at.opened(self._progress)

    def _progress(self, file: CheckedReader) -> MixtureProgress:
        K = file.integer("n_components", 1, _core.MAX_TOPICS)
        if file.n_features != self.D or (self.K is not None and K != self.K):
            raise ModelFileError(
                f"has {file.n_features} columns and {K} clusters, expected {self.D} and {self.K or 'any number'}"
            )
        try:
            model = self.read_model(file.at("model"), K)
            if isinstance(model.likelihood, Gaussian):
                clusters = model.likelihood.with_near(file.at("model"))
                if isinstance(self.step, CandidateStep) and clusters.n_candidates < self.step.n_active:
                    raise ModelFileError(f"has {clusters.n_candidates} candidates of a row, which are too few")
                model = replace(model, likelihood=clusters)
            following = self._following(file, model, K)
        except ModelFileError:
            raise
        except ValueError as error:  # a covariance that cannot be inverted
            raise ModelFileError(f"its clusters make no sense: {error}") from error
        empty = model.no_stats()
        total = _read_stats(file.at("total"), empty, model.likelihood.total, K)
        memo, memory = {}, {}
        for b in range(file.count("n_memo")):
            at = file.at(f"memo.{b}")
            memo[b] = _read_stats(at, empty, model.likelihood.read_sums(at.at("rows"), K), K)
        for b in range(file.count("n_kept")):
            if self._remembers is None:
                raise ModelFileError("has memory of shards, and this fit has none")
            memory[b] = self._remembers.read(file.at(f"kept.{b}"), K)
        state = State(total, memo, file.integer("t", 0, LARGEST_COUNT))
        if self.has_momentum:
            state.momentum = Momentum.read(file.at("momentum"), model.likelihood, K)
        search = file.table("search", missing=None)
        return MixtureProgress(model, following, state, memory, past(file), file.table("random") or {}, search)

    @property
    def _remembers(self) -> Any:
        return self.step.remembers if isinstance(self.step, MixtureStep | GroupStep) else None

    def _following(self, file: CheckedReader, model: Clusters, K: int) -> Clusters | None:
        if file.about.get("has_next") is not True:
            return None
        if not (isinstance(model, Admixture) and isinstance(model.prior, DocumentPrior)):
            raise ModelFileError("has a prior that is to be learned, and this fit has none")
        return replace(model, prior=DocumentPrior.read(file.at("next"), K, model.prior.posterior))

    def check(self, p: MixtureProgress, sizes: Sequence[int], *, on_device: bool) -> None:
        """Whether a checkpoint is of shards of these sizes, and of this kind of engine."""
        wanted = len(sizes) if self.has_memo else 0
        if len(p.state.memo) != wanted:
            raise ModelFileError(f"the checkpoint has statistics of {len(p.state.memo)} shards, expected {wanted}")
        wanted = 0 if self._remembers is None else len(sizes)
        if len(p.memory) not in ({wanted} if isinstance(self.step, GroupStep) else {0, wanted}):
            raise ModelFileError(f"the checkpoint has memory of {len(p.memory)} shards, expected {wanted}")
        for b, kept in p.memory.items():
            if kept.size != sizes[b]:
                what = "groups" if isinstance(self.step, GroupStep) else "rows"
                raise ModelFileError(f"the checkpoint has {kept.size} {what} in shard {b}, expected {sizes[b]}")

        for b, stats in p.state.memo.items():
            S = rows_of(stats).S
            if (isinstance(S, WordStats) and on_device) or (isinstance(S, RowShares) and not on_device):
                raise ModelFileError("the checkpoint is of another engine, and cannot continue on this one")
            if isinstance(S, RowShares) and len(S.r) != sizes[b]:
                raise ModelFileError(f"the checkpoint has {len(S.r)} rows in shard {b}, expected {sizes[b]}")


class NotHere:
    """In the place of sums that are elsewhere in the file."""

    def write(self, out: Writer) -> None:
        pass


def rows_of(stats: Any) -> MixtureStats:
    """The statistics of rows, which those of groups contain."""
    rows: MixtureStats = stats.S if isinstance(stats, TopicStats) else stats
    return rows


def around(stats: Any, S: Any) -> Any:
    """The same statistics, with other sums of rows."""
    if isinstance(stats, TopicStats):
        return replace(stats, S=replace(stats.S, S=S))
    return replace(stats, S=S)


def _read_stats(file: CheckedReader, empty: Any, S: Any, K: int) -> Any:
    rows = MixtureStats.read(file, S, K)
    return TopicStats.read(file, rows, len(empty.T), len(empty.M)) if isinstance(empty, TopicStats) else rows
