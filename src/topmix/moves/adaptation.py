"""When to try which move, between the passes of a memoized fit.

Merges are judged after every pass. When a pass neither merged anything nor raised the bound by much, something larger
is tried for two passes: new topics, or to do without the smallest ones. What does not raise the bound is undone. All is
settled when both have failed in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from topmix import _core
from topmix.allocations.topic_sticks import Sticks
from topmix.engines import Engine
from topmix.learners import State
from topmix.local import TopicStep
from topmix.moves.documents import Documents
from topmix.moves.merge import Pair, candidates, decide
from topmix.stats import TopicStats, WordTotal
from topmix.topic_model import TopicModel

TRIAL = 2  # passes: one while the seed fades, one to settle
GROWTH = (1.0, 0.125)  # new topics of a birth, over K; the next share is tried when the last failed
DELETED = (0.25, 0.05)  # topics that are tried without, over K, the smallest


@dataclass
class Trial:
    """Something that is being tried out, and where to go back to."""

    what: str
    before: Documents
    memory: dict[int, object]
    bound: float
    refused: set[Pair]
    left: int = TRIAL  # passes


@dataclass
class Adaptation:
    engine: Engine
    state: State
    step: TopicStep
    lengths: list[np.ndarray]  # of each shard's documents
    options: Callable[[int], _core.TopicOptions]  # of a step with this many topics
    newborn: Callable[[np.ndarray, int], np.ndarray]  # ([K] tokens of topics, n) -> [V, n] counts
    least: float  # a pass that gains less is quiet
    passes_left: int
    moves: dict[str, float] = field(default_factory=dict)  # since last taken
    trial: Trial | None = None
    failures: dict[str, int] = field(default_factory=lambda: {"birth": 0, "delete": 0})
    refused: set[Pair] = field(default_factory=set)
    last: float = -np.inf
    done: bool = False

    def take_moves(self) -> dict[str, float]:
        moves, self.moves = self.moves, {}
        return moves

    def settled(self) -> bool:
        return self.done

    def between(self, model: TopicModel, total: TopicStats) -> TopicModel | None:
        """The model that the next pass starts from; what learner and engine remember is changed with it."""
        self.passes_left -= 1
        if self.passes_left <= 0:
            return None
        here = self._documents(model, total)
        if self.trial is not None:
            self.trial.left -= 1
            if self.trial.left:
                self._watch(here)
                return None
        gained = here.bound() - self.last
        merged = self._merge(here)
        if self.trial is not None:
            merged, self.trial = self._judged(self.trial, merged), None
            gained = merged.bound() - self.last
            here = merged
        quiet = merged is here and gained < self.least
        here = self._sorted(merged)
        if here.model.words.learned:
            here = replace(here, model=replace(here.model, words=here.model.words.relearn()))
        self.last = here.bound()
        return self._tried(here) if quiet else self._put(here)

    def _documents(self, model: TopicModel, total: TopicStats) -> Documents:
        shards = range(self.engine.n_shards)
        docs = [self.engine.memory[b].docs for b in shards]
        return Documents(model, total, [self.state.memo[b] for b in shards], docs, self.lengths)

    def _put(self, here: Documents) -> TopicModel:
        """Learner and engine go on from here."""
        for b, (stats, docs) in enumerate(zip(here.memo, here.docs)):
            self.state.memo[b] = stats
            self.engine.memory[b] = self.engine.memory[b]._replace(docs=docs)
        self.state.total = here.total
        self.step.options = self.options(here.model.n_components)
        self._watch(here)
        return here.model

    def _watch(self, here: Documents) -> None:
        partner = np.full(here.model.n_components, -1, np.int32)
        for j, k in candidates(here, self.refused):
            partner[j], partner[k] = k, j
        self.step.watch(partner)

    def _merge(self, here: Documents) -> Documents:
        partner = self.step.partner
        if partner is None or len(partner) != here.model.n_components:
            return here
        lower = np.flatnonzero(partner > np.arange(len(partner)))
        pairs = [(int(j), int(partner[j])) for j in lower]
        base = here.under(here.prior)
        found = decide(base, pairs, self.step.lost[lower])
        self.refused |= set(pairs) - set(found.gains)
        if not found.gains:
            return here
        for (j, k), gain in found.gains.items():
            self.moves[f"merge {j} {k}"] = gain
        names = found.names
        self.refused = {(min(a, b), max(a, b)) for a, b in ((int(names[j]), int(names[k])) for j, k in self.refused)}
        self.refused = {pair for pair in self.refused if pair[0] != pair[1]}
        return base.renamed(names, found.lost).settled()

    def _sorted(self, here: Documents) -> Documents:
        """Topics in order of size, where the bound agrees that it is better so."""
        order = np.argsort(-here.total.S.totals, kind="stable")
        if np.array_equal(order, np.arange(len(order))):
            return here
        names = np.empty_like(order)
        names[order] = np.arange(len(order))
        there = here.renamed(names).settled()
        if there.bound() < here.bound():
            return here
        self.refused = {(min(a, b), max(a, b)) for a, b in ((int(names[j]), int(names[k])) for j, k in self.refused)}
        return there

    def _tried(self, here: Documents) -> TopicModel:
        """Begins the next trial, or ends the fit. With too few passes left for a trial, the fit just goes on."""
        K = here.model.n_components
        births, deletes = self.failures["birth"], self.failures["delete"]
        may_grow = births < len(GROWTH) and births <= deletes
        may_shrink = deletes < len(DELETED) and K > 1
        self.done = not (may_grow or may_shrink)
        if self.done or self.passes_left <= TRIAL:
            return self._put(here)
        if may_grow:
            n = max(1, round(GROWTH[births] * K))
            return self._begin(here, f"birth {n}", self._with_newborn(here, n))
        n = min(K - 1, max(1, round(DELETED[deletes] * K)))
        return self._begin(here, f"delete {n}", self._without_smallest(here, n))

    def _with_newborn(self, here: Documents, n: int) -> TopicModel:
        counts, K = here.total.S.counts(), here.model.n_components
        born = self.newborn(here.total.S.totals, n)
        shares = here.prior.sticks.shares()[:-1]
        shares = np.concatenate([shares, np.full(n, shares.sum() / K)]) * K / (K + n)
        return self._seeded(here, np.hstack([counts, born]), shares)

    def _without_smallest(self, here: Documents, n: int) -> TopicModel:
        kept = np.sort(np.argsort(-here.total.S.totals, kind="stable")[: here.model.n_components - n])
        shares = here.prior.sticks.shares()[kept]
        shares *= (1.0 - here.prior.sticks.shares()[-1]) / shares.sum()
        return self._seeded(here, here.total.S.counts()[:, kept], shares)

    def _seeded(self, here: Documents, counts: np.ndarray, shares: np.ndarray) -> TopicModel:
        sticks = Sticks.of_shares(shares, here.total.D, here.prior.stick_prior)
        prior = replace(here.prior, sticks=sticks, D=0.0, T=np.zeros(0))
        raw = np.ascontiguousarray(np.maximum(counts, 0.0))
        total = WordTotal(raw, raw.sum(axis=0), 1.0, here.model.words.total.threads)
        return replace(here.model, prior=prior, words=here.model.words.update(total))

    def _begin(self, here: Documents, what: str, model: TopicModel) -> TopicModel:
        """Documents start from their words alone, under topics that fade into what they find."""
        self._put(here)
        self.trial = Trial(what, here, dict(self.engine.memory), here.bound(), set(self.refused))
        self.refused.clear()
        self.moves[f"try {what}"] = 0.0
        self.state.memo.clear()
        self.state.total, self.state.seed = None, model.prior.nothing(model.words.total)
        self.engine.memory = {}
        self.step.options = self.options(model.n_components)
        self.step.watch(None)
        return model

    def _judged(self, trial: Trial, here: Documents) -> Documents:
        gain = here.bound() - trial.bound
        kind = trial.what.split()[0]
        if gain > 0:
            self.moves[trial.what] = gain
            self.failures = {"birth": 0, "delete": 0}
            self.refused.clear()
            return here
        self.moves = {f"{trial.what}, undone": gain}
        self.refused = trial.refused
        self.failures[kind] += 1
        self.engine.memory = dict(trial.memory)
        self.last = trial.bound
        return trial.before
