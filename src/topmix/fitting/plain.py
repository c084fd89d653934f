"""The plain schedule of a topic model: passes until they change little.

Topics that are small after the first pass start again, and priors follow the statistics after each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from topmix.fitting.checkpoint import Progress
from topmix.fitting.history import SWEEPS
from topmix.fitting.loop import Log, Schedule
from topmix.fitting.problem import TopicProblem
from topmix.learners import Passes, PassResult
from topmix.models.topic_start import restarted
from topmix.models.topics import TopicModel
from topmix.search.paused import Paused
from topmix.stats import TopicStats

SWEEPS_PER_PASS = 10  # of a checkpoint: sweeps are many and short


class Plain(Schedule):
    def __init__(
        self,
        problem: TopicProblem,
        paused: Paused,
        log: Log,
        dealt_with: Mapping[str, object],
        second_start: int | None = None,
    ) -> None:
        self.problem, self.paused, self.log = problem, paused, log
        self.dealt_with = dealt_with  # the state of the generator that dealt documents to shards
        self.second_start = second_start  # the seed of topics that start again

    def passes(self, model: TopicModel, learn: Callable[[TopicModel], Passes]) -> Passes:
        """The passes of the fit from this model; `learn` makes those of the learner."""
        return learn(model)

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        if not is_last:
            self._restart_small_topics()
        now: TopicModel = result.model
        return self._relearned(now, result.total) if now.learns_priors else None

    def _relearned(self, model: TopicModel, total: TopicStats) -> TopicModel | None:
        return model.relearn(total, self.problem.lengths, self.problem.population)

    def keep(self, model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
        checkpoint, paused = self.problem.checkpoint, self.paused
        if checkpoint is not None and self.is_due(is_last):
            progress = Progress(model, following, paused.state, paused.memory, self.log.history, self.dealt_with)
            checkpoint.write(progress)

    def is_due(self, is_last: bool) -> bool:
        """Whether there is a checkpoint after this pass."""
        checkpoint, history = self.problem.checkpoint, self.log.history
        if checkpoint is None:
            return False
        every = checkpoint.every * (SWEEPS_PER_PASS if history[-1].phase in SWEEPS else 1)
        return is_last or len(history) % every == 0

    def resume(self, found: Progress, model: TopicModel) -> TopicModel:
        """Does what was due after the pass that the checkpoint holds; returns the model of the next one."""
        self._restart_small_topics()
        return model

    def ended(self, model: TopicModel) -> TopicModel:
        """What was learned, given the model of the last pass."""
        return model

    def _restart_small_topics(self) -> None:
        """After the first pass: pseudo-counts for topics that found next to nothing, to fade through the second."""
        state, p = self.paused.state, self.problem
        if self.second_start is None or state.t != 1:
            return
        again = restarted(p.corpus, np.asarray(state.total.S.totals), np.random.default_rng(self.second_start))
        state.pseudo_counts = None if again is None else p.empty.prior.no_stats(again)
