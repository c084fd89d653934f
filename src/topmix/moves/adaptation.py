"""When to try which move, between the passes of a memoized fit.

First a few short fits of other sizes are compared with what was asked for, and the best of them goes on (`scouts.py`).
From then on merges are judged after every pass. When a pass neither merged anything nor raised the bound by much,
something larger is tried: to let documents start from their words again, new topics beside the others, every topic in
two, or to do without the smallest ones. What stays no better apart is merged again meanwhile. A trial goes on for as
long as its gains, falling as they do, promise more than the old topics do; what does not raise the bound in the end is
undone. All is settled when each has failed, or gained less than a quiet pass does (a deletion may gain anything: the
number of topics cannot fall for ever).

Topics are looked for under the variational posterior, whose bound judges the moves. Where all topics start anew, a few
collapsed passes come first: they lead to a higher bound than variational ones. Then documents start from their words a
few times: a topic that leaves a document does not come back, and while topics are young it leaves too soon. And when
the number is settled, a few collapsed passes come last, for topics that predict better; or, where all is variational,
a few in which documents try to do without their smallest topics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from topmix import _core
from topmix.engines import Engine
from topmix.history import Record
from topmix.learners import State
from topmix.local import TopicStep, Visited
from topmix.moves.documents import Documents
from topmix.moves.merge import Pair, candidates, decide
from topmix.moves.proposals import Proposal, births, deletion, refreshment, renewal, split
from topmix.moves.scouts import Scouts, size
from topmix.stats import TopicStats
from topmix.topic_model import TopicModel

TRIAL = 3  # passes: one while the seed fades, one to settle, one after merges
LONGEST = 15  # while it promises to pay
FRESH = 6  # passes, where all topics start anew, in which documents start from their words
REFRESH = 3  # likewise, with the topics that are there
DELETED = (0.2, 0.05, 0.0)  # topics that are tried without, over K, the smallest; the next share when the last failed
ORDER = ("refresh", "birth", "split", "delete")
FAILURES = {"refresh": 1, "birth": 1, "split": 1, "delete": len(DELETED)}  # after so many a kind of move is given up


def promise(trace: list[float]) -> float:
    """What more passes would gain if the last gain was one of a geometric series."""
    if len(trace) < 3:
        return 0.0
    before, last = trace[-2] - trace[-3], trace[-1] - trace[-2]
    ratio = min(last / before, 0.9) if before > 0 else 0.9
    return last * ratio / (1.0 - ratio) if last > 0 else 0.0


@dataclass
class Trial:
    """Something that is being tried out, and where to go back to."""

    what: str
    before: Documents
    memory: dict[int, Visited]
    bound: float
    trace: list[float]
    refused: set[Pair]
    size: int | None = None  # which of the scouts' sizes it is, if that is what it is about


class Rest(NamedTuple):
    """A moment with nothing on trial: a fit that is put together from it goes on with the same bits."""

    here: Documents
    memory: dict[int, Visited]
    n_passes: int
    known: dict[str, Any]  # as JSON holds it


@dataclass
class Adaptation:
    engine: Engine
    state: State
    step: TopicStep
    lengths: list[np.ndarray]  # of each shard's documents
    options: Callable[[int, str, bool], _core.TopicOptions]  # of a step: topics, posterior, whether it is the search
    newborn: Callable[[np.ndarray, int], np.ndarray]  # ([K] tokens of topics, n) -> [V, n] counts
    start: Callable[[int], np.ndarray]  # n -> [V, n] counts
    rows: Callable[[np.ndarray], sp.csr_array]  # words of documents, numbered as shards come
    rng: np.random.Generator
    least: float  # a pass that gains less is quiet
    max_iter: int
    n_passes: int  # made so far
    warmth: int  # passes, collapsed, where all topics start anew: better ones to look on from, and soon
    polish: int  # passes at the end, with the number of topics settled
    polished: str  # the posterior under which they are
    scouts: Scouts | None  # None: the topics to start with were given
    moves: dict[str, float] = field(default_factory=dict)  # since last taken
    trial: Trial | None = None
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ORDER, 0))
    refused: set[Pair] = field(default_factory=set)
    refused_deletion: int = 0  # topics, the last time that it was tried
    last: float = -np.inf
    trace: list[float] = field(default_factory=list)  # bounds of the passes since something began, on trial or not
    warming: int = field(init=False)  # collapsed passes that are left
    fresh: int = field(init=False)  # passes left after which documents start from their words again
    on_trial: bool = False  # the last pass was
    rest: Rest | None = None  # the last one
    exhausted: bool = False  # no move is left to try
    polishing: bool = False
    end: int = 0  # passes left when polishing is over
    done: bool = False

    def __post_init__(self) -> None:
        self.warming, self.fresh = self.warmth, FRESH - 1 if self.scouts else 0

    @property
    def passes_left(self) -> int:
        return self.max_iter - self.n_passes

    def take_moves(self) -> dict[str, float]:
        moves, self.moves = self.moves, {}
        return moves

    def settled(self) -> bool:
        return self.done

    def between(self, model: TopicModel, total: TopicStats) -> TopicModel | None:
        """The model that the next pass starts from; what learner and engine remember is changed with it."""
        self.n_passes += 1
        self.on_trial = self.trial is not None
        if self.passes_left <= 0 or self.polishing:
            self.done = self.polishing and self.exhausted and self.passes_left <= self.end
            return replace(model, words=model.words.relearn()) if model.words.learned else None
        if self.warming:
            self.warming -= 1
            return None if self.warming else self._under("variational", model)
        here = self._documents(model, total)
        self.trace.append(here.bound())
        if self.fresh and self.passes_left > self.polish:
            self.fresh -= 1
            self.engine.memory = {}
            return None
        merged = self._merge(here)
        if self.trial is not None:
            verdict = self._verdict(self.trial, merged)
            if verdict is None:
                return self._put(merged)
            here = merged = self._judged(self.trial, merged, verdict)
            self.trial = None
        quiet = merged is here and merged.bound() - self.last < self.least
        here = self._sorted(merged)
        if here.model.words.learned:
            here = replace(here, model=replace(here.model, words=here.model.words.relearn()))
        return self._onward(here, quiet)

    def _onward(self, here: Documents, quiet: bool) -> TopicModel:
        """Begins a trial where it is time for one, or the last passes."""
        self.last, self.rest = here.bound(), Rest(here, dict(self.engine.memory), self.n_passes, self._known(quiet))
        left = self.passes_left - self.polish
        if self.scouts and left > self.warmth + FRESH + TRIAL and (i := self.scouts.following()) is not None:
            return self._begin(here, renewal(here, self.start(size(i))), i)
        self.scouts = None
        following = self._tried(here) if quiet and left > TRIAL else self._put(here)
        if self.trial is None and (self.exhausted or left <= 0):
            return self._polished(following)
        return following

    def _known(self, quiet: bool) -> dict[str, Any]:
        return {
            "quiet": quiet,
            "moves": dict(self.moves),
            "failures": dict(self.failures),
            "refused": sorted(self.refused),
            "refused_deletion": self.refused_deletion,
            "trace": self.trace[-3:],
            "scouts": None if self.scouts is None else {str(i): b for i, b in self.scouts.bounds.items()},
            "random": self.rng.bit_generator.state,
        }

    def resumed(self, here: Documents, known: dict[str, Any]) -> TopicModel:
        """Goes on from a rest; `known` is from a file."""
        try:
            self.moves = {str(what): float(gain) for what, gain in known["moves"].items()}
            self.failures = {kind: int(known["failures"][kind]) for kind in ORDER}
            self.refused = {(int(j), int(k)) for j, k in known["refused"]}
            self.refused_deletion, quiet = int(known["refused_deletion"]), bool(known["quiet"])
            self.trace = [float(bound) for bound in known["trace"]]
            scouts = known["scouts"]
            if self.scouts is None or scouts is None:
                self.scouts = None
            else:
                self.scouts.bounds = {int(i): float(bound) for i, bound in scouts.items()}
            self.rng.bit_generator.state = known["random"]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"it does not say how far the search for topics was: {error!r}") from error
        self.warming = self.fresh = 0
        return self._onward(here, quiet)

    def ended(self, model: TopicModel, history: list[Record]) -> TopicModel:
        """What a fit ends with. Stopped in the middle of a trial it has what was there before, and the last record says
        so."""
        if not self.on_trial or self.rest is None:
            return model
        here = self.rest.here
        terms, moves = here.model.bound(here.total), history[-1].moves | self.moves | {"stopped": 0.0}
        history[-1] = replace(
            history[-1],
            objective=sum(terms.values()),
            n_components=here.model.n_components,
            terms=terms,
            moves={what: gain for what, gain in moves.items() if not what.startswith("try")},
        )
        return here.model

    def _polished(self, model: TopicModel) -> TopicModel:
        """The number of topics is settled. From here on documents are solved without the variational penalty; or with
        it, and each tries to do without its smallest topics. Before, that would be too soon: topics of documents do not
        come back, and the bound would end lower."""
        if not self.polish:
            self.done = self.exhausted
            return model
        self.polishing, self.end = True, max(self.passes_left - self.polish, 0)
        self.moves["polish"] = 0.0
        self.step.options = self.options(model.n_components, self.polished, False)
        self.step.watch(None)
        return model if self.polished == "variational" else self._under(self.polished, model)

    def _under(self, posterior: str, model: TopicModel) -> TopicModel:
        """The next pass is under another posterior. Documents start from their words: variational ones have fewer
        topics."""
        self.step.options = self.options(model.n_components, posterior, True)
        self.step.watch(None)
        self.engine.memory = {}
        return replace(model, words=replace(model.words, posterior=posterior))

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
        self.step.options = self.options(here.model.n_components, "variational", True)
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
        """Begins the next trial, or says that there is none left."""
        while not self.exhausted:
            kind = next((kind for kind in ORDER if self.failures[kind] < FAILURES[kind]), None)
            if kind is None:
                self.exhausted = True
                break
            proposal = self._proposal(here, kind)
            if proposal is not None:
                return self._begin(here, proposal)
            self.failures[kind] = FAILURES[kind]
        return self._put(here)

    def _proposal(self, here: Documents, kind: str) -> Proposal | None:
        K = here.model.n_components
        if kind == "refresh":
            return refreshment(here)
        if kind == "birth":
            return births(here, K, self.newborn)
        if kind == "split":
            return split(here, np.arange(K), self.rows, self.rng)
        while (n := max(1, round(DELETED[self.failures[kind]] * K))) == self.refused_deletion:
            self.failures[kind] += 1
            if self.failures[kind] == FAILURES[kind]:
                return None
        return deletion(here, np.argsort(here.total.S.totals, kind="stable")[:n]) if n < K else None

    def _begin(self, here: Documents, proposal: Proposal, size: int | None = None) -> TopicModel:
        """Documents start as proposed, under topics that fade into what they find."""
        self._put(here)
        model, memory = proposal.model, dict(self.engine.memory)
        self.trial = Trial(proposal.what, here, memory, here.bound(), self.trace, set(self.refused), size)
        self.trace = []
        self.refused.clear()
        self.moves[f"try {proposal.what}"] = 0.0
        self.state.memo.clear()
        self.state.total, self.state.seed = None, model.prior.nothing(model.words.total)
        self.warming = 0 if size is None else self.warmth
        self.fresh = (REFRESH if proposal.what == "refresh" else 1 if size is None else FRESH) - 1
        posterior = "collapsed" if self.warming else "variational"
        docs = proposal.docs
        self.engine.memory = {} if docs is None else {b: memory[b]._replace(docs=docs[b]) for b in memory}
        self.step.options = self.options(model.n_components, posterior, True)
        self.step.watch(None)
        return replace(model, words=replace(model.words, posterior=posterior))

    def _verdict(self, trial: Trial, here: Documents) -> bool | None:
        """Whether what is tried is better; None where it is too early to say. Fits that start anew are judged when they
        are equally old, other trials by what they promise as well."""
        gain, age = here.bound() - trial.bound, len(self.trace)
        if trial.size is not None or self.passes_left <= self.polish:
            return gain > 0
        if age < TRIAL:
            return None
        price = self.least if here.model.n_components > trial.before.model.n_components else 0.0
        if gain > price:
            return True
        return None if gain + promise(self.trace) > price and age < LONGEST else False

    def _judged(self, trial: Trial, here: Documents, better: bool) -> Documents:
        gain = here.bound() - trial.bound
        kind = trial.what.split()[0]
        if trial.size is not None and self.scouts:
            self.scouts.bounds[trial.size] = here.bound()
        if better:
            self.moves[trial.what] = gain
            self.refused.clear()
            if gain > self.least:
                self.failures = dict.fromkeys(ORDER, 0)
            elif kind == "delete":
                self.failures[kind] = 0
            elif kind in self.failures:
                self.failures[kind] += 1
            return here
        self.moves = {f"{trial.what}, undone": gain}
        self.refused_deletion = int(trial.what.split()[1]) if kind == "delete" else 0
        self.refused, self.trace = trial.refused, trial.trace
        if kind in self.failures:
            self.failures[kind] += 1
        self.engine.memory = dict(trial.memory)
        self.last = trial.bound
        return trial.before
