"""A fit between two passes, in one file: whoever reads it continues with the same bits.

A checkpoint is trusted as little as a model file. It holds a `Moment` of a fit, whatever is learned:

    model.*, next.*   priors of the model, and of the one that the next pass starts from where that is another
    before.*          the model that sampling began with, which the fit may go back to
    total.*           statistics of all data, the counts of topics or the sums of clusters among them
    memo.b.*          statistics of shard b, where the learner keeps them
    kept.b.*          what the local step remembers of shard b
    momentum.*        what passes with momentum take from one to the next
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from topmix import _core
from topmix.base.checks import CorpusError
from topmix.base.component import Json
from topmix.base.fields import CHECKPOINT, CheckedReader, ModelFileError, Writer, open_file, write_file
from topmix.base.paths import open_whole
from topmix.learn.fit import Fit, Moment, Problem
from topmix.learn.history import read_history
from topmix.learn.learners import Memoized, PassMaker, State
from topmix.models.mixture import Admixture, Mixture
from topmix.models.model import Likelihood, SomeModel
from topmix.models.momentum import Momentum
from topmix.models.sparse_counts import EntryStats, RowShares, TokenStats
from topmix.models.statistics import TopicStats
from topmix.models.stored import Stored
from topmix.models.topics import TopicModel
from topmix.models.words import WordStats, WordTotal
from topmix.steps.documents import Visit
from topmix.steps.rows import RowStep

Clusters = Mixture | Admixture
LARGEST_COUNT = 2**62


class CheckpointError(ValueError):
    """A checkpoint of another fit, or one that cannot be read."""


@dataclass(frozen=True)
class Files(ABC):
    """How models of one kind and their statistics go to a file and come back."""

    what: tuple[str, str]  # features and components, in words
    n_features: int
    n_components: int | None  # None: the fit finds it
    remembers: type[Stored] | None  # of a shard

    @abstractmethod
    def write(self, moment: Moment, out: Writer) -> None: ...
    @abstractmethod
    def read(self, file: CheckedReader, K: int) -> tuple[SomeModel, SomeModel, State, SomeModel]:
        """The model, the one that follows, the learner's state, and the model to go back to."""

    @abstractmethod
    def check(self, moment: Moment, fit: Fit) -> None: ...
    @abstractmethod
    def place(self, state: State, model: SomeModel, placed: SomeModel) -> None:
        """The total has its sums where the placed model has them."""


@dataclass
class Checkpoint:
    """Where one fit is kept. `fit` says which: what the data is, and every parameter that matters."""

    path: Path
    fit: Json
    files: Files
    every: int = 1  # passes

    def write(self, moment: Moment) -> None:
        """Atomic: the file is the last checkpoint or this one."""
        out, state = Writer(), moment.state
        self.files.write(moment, out)
        for b, kept in moment.memory.items():
            kept.write(out.at(f"kept.{b}"))
        out.value("n_components", moment.model.n_components)
        out.value("t", state.t)
        about = {
            "fit": self.fit,
            "n_features": self.files.n_features,
            "n_memo": len(state.memo),
            "n_kept": len(moment.memory),
            "has_next": moment.following is not None,
            "has_before": moment.before is not None,
            "history": [record.to_dict() for record in moment.history],
            "random": moment.random,
            "search": moment.schedule,
            "extra": out.values,
        }
        write_file(self.path, CHECKPOINT, out.arrays, about)

    def read(self) -> Moment | None:
        """What `write` wrote, or None where there is no file."""
        try:
            with self.names_the_file(), open_whole(self.path) as opened:
                file = open_file(opened, self.path, CHECKPOINT)
                was, differ = file.table("fit") or {}, []
                for name in {**was, **self.fit}:
                    if (before := was.get(name)) != (now := self.fit.get(name)):
                        differ.append(f"{name} was {str(before)[:60]} and is {str(now)[:60]}")
                if differ:
                    said = "; ".join(differ[:3])
                    raise ModelFileError(f"the checkpoint of another fit: {said}. Delete it, or use another path.")
                search = file.table("search", missing=None)
                K = file.integer("n_components", 1, _core.MAX_TOPICS)
                wanted = self.files.n_components if search is None else None
                if file.n_features != self.files.n_features or wanted not in (None, K):
                    what, expected = self.files.what, f"{self.files.n_features} and {wanted or 'any number'}"
                    raise ModelFileError(f"has {file.n_features} {what[0]} and {K} {what[1]}, expected {expected}")
                model, following, state, before = self.files.read(file, K)
                state.t = file.integer("t", 0, LARGEST_COUNT)
                n_kept, remembers, history = file.count("n_kept"), self.files.remembers, read_history(file)
                if n_kept and remembers is None:
                    raise ModelFileError("has memory of shards, and this fit has none")
                if not history:
                    raise ModelFileError("has no history")
                memory = {b: remembers.read(file.at(f"kept.{b}"), K=K) for b in range(n_kept) if remembers is not None}
                random = file.table("random") or {}
                if file.left:
                    names = ", ".join(sorted(file.left))[:200]
                    raise ModelFileError(f"has arrays that no checkpoint has: {names}")
                return Moment(model, following, state, memory, history, random, search, before)
        except FileNotFoundError:
            return None

    @contextmanager
    def names_the_file(self) -> Iterator[None]:
        """What is wrong with a checkpoint, now or when a fit continues from it, is an error that says which file."""
        try:
            yield
        except (ModelFileError, CorpusError) as error:
            raise CheckpointError(f"{self.path}: {error}") from error


def _check_shards(moment: Moment, n_memo: set[int], n_kept: set[int], n_shards: int) -> None:
    """Whether statistics and memory are of as many shards as there may be."""
    for what, has, wanted in ("statistics", moment.state.memo, n_memo), ("memory", moment.memory, n_kept):
        if len(has) not in wanted:
            raise ModelFileError(f"the checkpoint has {what} of {len(has)} shards, expected {n_shards}")


def _same(has: int, wanted: int, what: str, b: int) -> None:
    if has != wanted:
        raise ModelFileError(f"the checkpoint has {has} {what} in shard {b}, expected {wanted}")


@dataclass(frozen=True)
class TopicFiles(Files):
    """Of topic models like an empty one."""

    empty: TopicModel

    @classmethod
    def like(cls, empty: TopicModel) -> TopicFiles:
        return cls(("words", "topics"), *empty.words.shape, Visit, empty)

    def write(self, moment: Moment, out: Writer) -> None:
        moment.model.write(out.at("model"), with_total=False)
        if moment.following is not None:
            moment.following.write(out.at("next"), with_total=False)
        if moment.before is not None:
            moment.before.write(out.at("before"))
        moment.state.total.write(out.at("total"))
        for b, stats in moment.state.memo.items():
            stats.write(out.at(f"memo.{b}"))

    def read(self, file: CheckedReader, K: int) -> tuple[TopicModel, TopicModel | None, State, TopicModel | None]:
        V, (n_T, n_M) = self.n_features, self.empty.prior.sizes(K)

        def sums(at: CheckedReader) -> WordStats | EntryStats | TokenStats:
            """Of a shard, summed by word, or as a GPU keeps them."""
            if at.has("share"):
                return EntryStats.read(at, K=K)
            return TokenStats.read(at, K=K) if at.has("z") else WordStats.read(at, V=V, K=K)

        counts = WordTotal.read(file.at("total.S"), V=V, K=K)
        total = TopicStats.read(file.at("total"), S=counts, n_T=n_T, n_M=n_M)
        n_memo, n_kept = file.count("n_memo"), file.count("n_kept")
        if n_memo not in (0, n_kept):
            raise ModelFileError(f"has statistics of {n_memo} of {n_kept} shards")
        shards = [file.at(f"memo.{b}") for b in range(n_memo)]
        memo = {b: TopicStats.read(at, S=sums(at.at("S")), n_T=n_T, n_M=n_M) for b, at in enumerate(shards)}
        model = self.empty.read(file.at("model"), K, counts)
        following = self.empty.read(file.at("next"), K, counts) if file.about.get("has_next") is True else None
        before = self.empty.read(file.at("before"), K) if file.about.get("has_before") is True else None
        return model, following, State(total, memo), before

    def check(self, moment: Moment, fit: Fit) -> None:
        corpus, n_shards = fit.problem.corpus, len(fit.batches)
        _check_shards(moment, {0, n_shards}, {n_shards}, n_shards)
        for b, visit in moment.memory.items():
            if visit.docs is not None:
                _same(len(visit.docs.indptr) - 1, len(fit.lengths[b]), "documents", b)
            if visit.z is not None:
                _same(len(visit.z), int(fit.lengths[b].sum()), "tokens", b)
        for b, stats in moment.state.memo.items():
            if isinstance(stats.S, EntryStats):
                _same(stats.S.n_entries, int(np.diff(corpus.indptr)[fit.batches[b]].sum()), "words", b)
            if isinstance(stats.S, TokenStats):
                _same(len(stats.S.z), int(fit.lengths[b].sum()), "tokens", b)

    def place(self, state: State, model: TopicModel, placed: TopicModel) -> None:
        """Statistics of shards are of one kind of engine: those of a processor are rounded sums, and a GPU takes out
        exactly what it put in."""
        is_elsewhere = placed.words.total is not model.words.total
        if any(isinstance(stats.S, WordStats) == is_elsewhere for stats in state.memo.values()):
            here = "that keeps statistics on a device" if is_elsewhere else "of this process"
            raise ModelFileError(f"the checkpoint is of another engine, and cannot continue on one {here}")
        if is_elsewhere and state.total is not None:
            state.total = replace(state.total, S=placed.words.total)


# Clusters, whose model has the sums of all rows: the total has what there is besides.


@dataclass(frozen=True)
class ClusterFiles(Files):
    """Of mixtures and admixtures."""

    likelihood: type[Likelihood]
    objective: str
    is_of_groups: bool
    least_candidates: int  # of a row
    learner: PassMaker

    @classmethod
    def of(
        cls, problem: Problem, step: RowStep, K: int | None, likelihood: type[Likelihood], objective: str
    ) -> ClusterFiles:
        about = likelihood, objective, problem.data.groups is not None, step.least_candidates, problem.learner
        return cls(("columns", "clusters"), problem.data.shape[1], K, step.remembers, *about)

    def write(self, moment: Moment, out: Writer) -> None:
        model, state = moment.model, moment.state
        model = replace(model, likelihood=model.likelihood.for_file())
        model.write(out.at("model"))
        model.likelihood.write_candidates(out.at("model"))
        if moment.following is not None:
            moment.following.prior.write(out.at("next"))
        state.total.around(None).write(out.at("total"))
        for b, stats in state.memo.items():
            stats.around(stats.of_rows.S.for_file()).write(out.at(f"memo.{b}"))
        if state.momentum is not None:
            state.momentum.write(out.at("momentum"))

    def read(self, file: CheckedReader, K: int) -> tuple[Clusters, Clusters | None, State, None]:
        kind = Admixture if self.is_of_groups else Mixture
        try:
            model: Clusters = kind.read(file.at("model"), self.likelihood, self.n_features, K, self.objective)
            likelihood = model.likelihood.with_candidates(file.at("model"), self.least_candidates)
            model = replace(model, likelihood=likelihood)
            following: Clusters | None = None
            if file.about.get("has_next") is True:
                if not isinstance(model, Admixture) or model.prior.is_process:
                    raise ModelFileError("has a prior that is to be learned, and this fit has none")
                following = replace(model, prior=model.prior.read_like(file.at("next"), K, model.prior.posterior))
        except ModelFileError:
            raise
        except ValueError as error:  # a covariance that cannot be inverted
            raise ModelFileError(f"its clusters make no sense: {error}") from error
        empty = model.no_stats()
        total = empty.read_like(file.at("total"), K, model.likelihood.total)
        memo = {}
        for b in range(file.count("n_memo")):
            at = file.at(f"memo.{b}")
            S = model.likelihood.read_sums(at.at("S.S" if self.is_of_groups else "S"), K)
            memo[b] = empty.read_like(at, K, S)
        state = State(total, memo)
        if isinstance(self.learner, Memoized) and self.learner.momentum:
            state.momentum = Momentum.read(file.at("momentum"), model.likelihood, K)
        return model, following, state, None

    def check(self, moment: Moment, fit: Fit) -> None:
        p, groups = fit.problem, self.is_of_groups
        each, on_device = np.arange(len(p.data)), p.engine.on_device
        sizes = [len(each[rows]) for rows in fit.batches]
        n = len(sizes)
        n_kept = {0} if self.remembers is None else {n} if groups else {0, n}
        _check_shards(moment, {n if self.learner.has_memo else 0}, n_kept, n)
        for b, kept in moment.memory.items():
            has = len(kept.groups.indptr) - 1 if groups else len(kept.best)
            _same(has, sizes[b], "groups" if groups else "rows", b)
        for b, stats in moment.state.memo.items():
            S = stats.of_rows.S
            if isinstance(S, RowShares if not on_device else WordStats):
                raise ModelFileError("the checkpoint is of another engine, and cannot continue on this one")
            if isinstance(S, RowShares):
                _same(len(S.r), sizes[b], "rows", b)

    def place(self, state: State, model: Clusters, placed: Clusters) -> None:
        if placed.likelihood is not model.likelihood:
            state.total = state.total.around(placed.likelihood.total)
