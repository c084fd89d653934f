"""The search for the number of topics, from the first pass of a memoized fit to its last.

It has three phases. *Size the model*: short fits of several sizes are compared, and the best goes on. *Search*: pairs
of topics are judged after every pass and merged. When a pass neither merged anything nor raised the bound by much,
something larger is tried: documents start from their words again, new topics join, every topic is split, or the
smallest are deleted. A trial ends when the bound is higher than the old topics would have by now, or no longer promises
to be; topics that are not better are undone. *Polish*: with the number settled, a few last passes make topics that
predict better.

Topics are searched under the variational posterior, whose bound judges the moves. Where all topics start again, a few
collapsed passes come first, because they lead to a higher bound; then documents start from their words a few times: a
topic that leaves a document does not come back, and while topics are young it leaves too soon.

Each phase is a generator: a `yield` hands out the model of the next pass (None: the learner's own) and receives what
that pass found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topmix.learners import PassResult
from topmix.local import Info
from topmix.local.topics import Visit
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.merging import Merging
from topmix.search.paused import Paused
from topmix.search.proposals import Proposal, births, deletion, refreshment, renewal, split
from topmix.search.sizes import SizeSearch, size
from topmix.search.trial import TRIAL, Pace, Trial
from topmix.search.tried import Tried

FRESH = 6  # passes of topics that start again, in which documents start from their words
REFRESH = 3  # the same with the topics that are there
ROOM = 0.25  # for more topics, over K: with less below the largest number a trial is not worth it

Phase = Generator[TopicModel | None, PassResult, Any]


class Sources(NamedTuple):
    """Where moves get new topics from."""

    new_topics: Callable[[np.ndarray, int], np.ndarray]  # ([K] tokens of topics, n) -> [V, n] counts
    start: Callable[[int], np.ndarray]  # n -> [V, n] counts
    rows: Callable[[np.ndarray], sp.csr_array]  # words of documents, numbered in the order of shards
    rng: np.random.Generator


class Limits(NamedTuple):
    """How long the search may take, and what comes after it."""

    max_iter: int
    quiet_gain: float  # a pass that gains less is quiet
    warm_up: int  # collapsed passes where all topics start again
    polish: int  # passes at the end
    polished: Callable[[TopicModel], TopicModel]  # what they start from
    max_topics: int


class SafePoint(NamedTuple):
    """A moment with nothing on trial: a fit that is put together from it continues with the same bits."""

    here: Documents
    memory: dict[int, Visit]
    n_passes: int
    known: dict[str, Any]  # as JSON holds it


class Search:
    def __init__(
        self, fit: Paused, sources: Sources, limits: Limits, sizes: SizeSearch | None, n_passes: int = 0
    ) -> None:
        self.fit, self.sources, self.limits, self.n_passes = fit, sources, limits, n_passes
        self.sizes = sizes  # None: the topics to start with were given, or the best size is known
        self.tried, self.merging = Tried(), Merging()
        self.moves: dict[str, float] = {}  # made since the last record
        self.pace = Pace()  # of passes that were not on trial
        self.last = -np.inf  # bound when something was last settled
        self.trial: Trial | None = None
        self.was_trial = False  # the last pass belonged to a trial
        self.safe_point: SafePoint | None = None
        self.phase = "size" if sizes else "search"
        self.is_done = False
        self._course: Phase = self._from_the_start()
        next(self._course)

    # What the fit asks between two passes

    @property
    def passes_left(self) -> int:
        return self.limits.max_iter - self.n_passes

    def after(self, result: PassResult) -> TopicModel | None:
        """The model of the next pass, or None for the learner's own."""
        self.n_passes += 1
        self.was_trial = self.trial is not None
        return self._course.send(result) if self.passes_left > 0 else None

    def take_moves(self) -> dict[str, float]:
        moves, self.moves = self.moves, {}
        return moves

    def resume(self, here: Documents, known: dict[str, Any]) -> TopicModel:
        """Continues from a safe point that was read from a file; returns the model of the next pass."""
        try:
            self.tried = Tried.from_dict(known)
            self.moves = {str(what): float(gain) for what, gain in known["moves"].items()}
            self.merging.refused = {(int(j), int(k)) for j, k in known["refused"]}
            self.pace, quiet = Pace(*map(float, known["pace"])), bool(known["quiet"])
            if self.sizes is None or known["sizes"] is None:
                self.sizes = None
            else:
                self.sizes.bounds = {int(i): float(bound) for i, bound in known["sizes"].items()}
            self.sources.rng.bit_generator.state = known["random"]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"it does not say how far the search for topics was: {error!r}") from error
        self._course = self._on_from(here, quiet)
        model = next(self._course)
        assert model is not None
        return model

    # The phases

    def _from_the_start(self) -> Phase:
        here, result = yield from self._first_passes(None, self.limits.warm_up, FRESH if self.sizes else 1)
        yield from self._on_from(*self._settled(here, self._merged(here, result.info)))

    def _on_from(self, here: Documents, quiet: bool) -> Phase:
        """Trials of sizes, then trials of moves whenever it is quiet, until none is left or passes run out."""
        while True:
            self.last = here.bound()
            self.safe_point = SafePoint(here, self.fit.memory, self.n_passes, self._known(quiet))
            left = self.passes_left - self.limits.polish
            if (i := self._next_size(left)) is not None:
                here, quiet = yield from self._try(here, renewal(here, self.sources.start(size(i))), i)
                continue
            self.sizes, self.phase = None, "search"
            proposal = self._next_proposal(here) if quiet and left > TRIAL else None
            if proposal is not None:
                here, quiet = yield from self._try(here, proposal)
                continue
            is_exhausted = quiet and left > TRIAL
            if is_exhausted or left <= 0:
                yield from self._polish(self._put(here), is_exhausted)
            result = yield self._put(here)
            here = self.fit.documents(result)
            merged = self._merged(here, result.info)
            if np.isfinite(self.last):
                self.pace = self.pace.after(here.bound() - self.last)
            here, quiet = self._settled(here, merged)

    def _polish(self, model: TopicModel, is_exhausted: bool) -> Phase:
        """The last passes, with the number of topics settled. Documents are solved without the variational penalty; or
        with it, and each is tried without its smallest topics. Earlier that would lower the bound in the end: topics
        that leave a document do not come back."""
        self.phase = "polish"
        following: TopicModel | None = model
        if not self.limits.polish:
            self.is_done = is_exhausted
        else:
            end = max(self.passes_left - self.limits.polish, 0)
            self.moves["polish"] = 0.0
            polished = self.limits.polished(model)
            if polished.words.posterior != model.words.posterior:
                self.fit.forget()
            following = self.fit.solved_by(polished, polished.words.posterior, searching=False)
        while True:
            model = (yield following).model
            if self.limits.polish:
                self.is_done = is_exhausted and self.passes_left <= end
            following = replace(model, words=model.words.relearn()) if model.words.learned else None

    def _try(self, here: Documents, proposal: Proposal, size_tried: int | None = None) -> Phase:
        """Passes with other topics, until it is clear whether they are better. Returns where the search is then."""
        trial = self._begin(here, proposal, size_tried)
        is_size, is_refreshment = size_tried is not None, proposal.what == "refresh"
        warm_up = self.limits.warm_up if is_size else 0
        model = self.fit.begin(proposal.model, proposal.docs, "collapsed" if warm_up else "variational")
        here, result = yield from self._first_passes(
            model, warm_up, FRESH if is_size else REFRESH if is_refreshment else 1
        )
        while True:
            merged = self._merged(here, result.info)
            trial.last = merged.bound()
            verdict = trial.verdict(merged, self._is_last())
            if verdict is not None:
                break
            result = yield self._put(merged)
            here = self.fit.documents(result)
            trial.passed(here.bound())
        here, self.trial = self._judged(trial, merged, verdict), None
        return self._settled(here, here, verdict)

    def _first_passes(self, model: TopicModel | None, warm_up: int, fresh: int) -> Phase:
        """Passes of new topics: collapsed ones, then some in which documents start from their words."""
        for left in range(warm_up, 0, -1):
            result = yield model
            model = None if left > 1 else self.fit.under("variational", result.model)
        for left in range(fresh, 0, -1):
            result = yield model
            here = self.fit.documents(result)
            if self.trial is not None:
                self.trial.passed(here.bound())
            if self._is_last():
                break
            if left > 1:
                self.fit.forget()
            model = None
        return here, result

    # The parts of a phase

    def _is_last(self) -> bool:
        return self.passes_left <= self.limits.polish

    def _merged(self, here: Documents, info: Info) -> Documents:
        there, gains = self.merging.merged(here, info)
        self.moves |= {f"merge {j} {k}": gain for (j, k), gain in gains.items()}
        return there

    def _settled(self, here: Documents, merged: Documents, verdict: bool | None = None) -> tuple[Documents, bool]:
        """Where the search is after a pass without a trial, or after one; and whether it is quiet."""
        quiet = not verdict and merged is here and merged.bound() - self.last < self.limits.quiet_gain
        here = self.merging.sorted(merged) if quiet or self._is_last() else merged
        if here.model.words.learned:
            here = replace(here, model=replace(here.model, words=here.model.words.relearn()))
        return here, quiet

    def _put(self, here: Documents) -> TopicModel:
        return self.merging.weigh(here, self.fit.put(here))

    def _next_size(self, passes_left: int) -> int | None:
        if self.sizes is None or passes_left <= self.limits.warm_up + FRESH + TRIAL:
            return None
        return self.sizes.following()

    def _next_proposal(self, here: Documents) -> Proposal | None:
        """The next move to try; None when each kind was given up."""
        while (kind := self.tried.following()) is not None:
            proposal = self._proposal(here, kind)
            if proposal is not None:
                return proposal
            self.tried.give_up(kind)
        return None

    def _proposal(self, here: Documents, kind: str) -> Proposal | None:
        K, room = here.model.n_components, self.limits.max_topics - here.model.n_components
        if kind in ("birth", "split") and room < ROOM * K:
            return None
        if kind == "refresh":
            return refreshment(here)
        if kind == "birth":
            return births(here, min(K, room), self.sources.new_topics)
        if kind == "split":
            largest = np.sort(np.argsort(-here.total.S.totals, kind="stable")[:room])
            return split(here, largest, self.sources.rows, self.sources.rng)
        n = self.tried.deletion(K)
        return None if n is None else deletion(here, np.argsort(here.total.S.totals, kind="stable")[:n])

    def _begin(self, here: Documents, proposal: Proposal, size_tried: int | None) -> Trial:
        self.fit.put(here)
        refused = set(self.merging.refused)
        self.trial = Trial(proposal.what, here, self.fit.memory, refused, self.pace, size_tried)
        self.merging.refused.clear()
        self.moves[f"try {proposal.what}"] = 0.0
        return self.trial

    def _judged(self, trial: Trial, here: Documents, is_better: bool) -> Documents:
        """Keeps what was tried, or goes back to where it began."""
        gain = trial.gain(here)
        if trial.size is not None and self.sizes:
            self.sizes.bounds[trial.size] = here.bound()
        if is_better:
            self.moves[trial.what], self.pace = gain, trial.pace
            self.merging.refused.clear()
            self.tried.gained(trial.kind, by_much=gain > self.limits.quiet_gain)
            return here
        self.moves = {f"{trial.what}, undone": gain}
        self.tried.failed(trial.kind, int(trial.what.split()[1]) if trial.kind == "delete" else 0)
        self.merging.refused = trial.refused
        self.fit.restore(trial.memory)
        self.last = trial.before.bound()
        return trial.before

    def _known(self, quiet: bool) -> dict[str, Any]:
        return {
            "quiet": quiet,
            "pace": list(self.pace),
            "moves": dict(self.moves),
            "refused": sorted(self.merging.refused),
            "sizes": None if self.sizes is None else {str(i): b for i, b in self.sizes.bounds.items()},
            "random": self.sources.rng.bit_generator.state,
            **self.tried.to_dict(),
        }
