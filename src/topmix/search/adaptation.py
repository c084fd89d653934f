"""When to try which move, between the passes of a memoized fit.

First a few short fits of other sizes are compared with what was asked for, and the best of them goes on (`scouts.py`).
From then on merges are judged after every pass. When a pass neither merged anything nor raised the bound by much,
something larger is tried: to let documents start from their words again, new topics beside the others, every topic in
two, or to do without the smallest ones. What stays no better apart is merged again meanwhile. A trial is over when the
bound is higher than it would be with the old topics by now, or no longer promises to be; what is not better is undone.
What gained is tried again first, and then what failed before; but documents start from their words only once with the
topics that scouts, births or splits found. All is settled when each has failed, or gained less than a quiet pass does
(a deletion may gain anything: the number of topics cannot fall for ever).

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

from topmix.fitting.history import Record
from topmix.local import Visited
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.fit import Fit
from topmix.search.merging import Merging
from topmix.search.proposals import Proposal, births, deletion, refreshment, renewal, split
from topmix.search.scouts import Scouts, size
from topmix.search.trial import TRIAL, Pace, Trial
from topmix.stats import TopicStats

FRESH = 6  # passes, where all topics start anew, in which documents start from their words
REFRESH = 3  # likewise, with the topics that are there
DELETED = (0.2, 0.05, 0.02)  # topics that are tried without, over K, the smallest; the next share when the last failed
ROOM = 0.25  # for more topics, over K: with less below the most it is not worth a trial
ORDER = ("refresh", "birth", "split", "delete")
AGAIN = {"refresh": ("birth", "split", "delete"), "delete": ("birth", "split")}  # after a gain; after others, all
FAILURES = {"refresh": 1, "birth": 1, "split": 1, "delete": len(DELETED)}  # after so many a kind of move is given up


class Rest(NamedTuple):
    """A moment with nothing on trial: a fit that is put together from it goes on with the same bits."""

    here: Documents
    memory: dict[int, Visited]
    n_passes: int
    known: dict[str, Any]  # as JSON holds it


class Sources(NamedTuple):
    """Where moves have new topics from."""

    newborn: Callable[[np.ndarray, int], np.ndarray]  # ([K] tokens of topics, n) -> [V, n] counts
    start: Callable[[int], np.ndarray]  # n -> [V, n] counts
    rows: Callable[[np.ndarray], sp.csr_array]  # words of documents, numbered as shards come
    rng: np.random.Generator


class Course(NamedTuple):
    """How long, and what for."""

    max_iter: int
    least: float  # a pass that gains less is quiet
    warmth: int  # passes, collapsed, where all topics start anew: better ones to look on from, and soon
    polish: int  # passes at the end, with the number of topics settled
    polished: Callable[[TopicModel], TopicModel]  # what they start from
    most: int  # topics; moves do not ask for more


@dataclass
class Adaptation:
    fit: Fit
    sources: Sources
    course: Course
    scouts: Scouts | None  # None: the topics to start with were given
    n_passes: int  # made so far
    moves: dict[str, float] = field(default_factory=dict)  # since last taken
    trial: Trial | None = None
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ORDER, 0))
    favourite: str = ORDER[0]  # the kind of move that gained last: it is tried again first
    refused_deletion: int = 0  # topics, the last time that it was tried
    last: float = -np.inf
    pace: Pace = field(default_factory=Pace)  # of passes that were not on trial
    warming: int = field(init=False)  # collapsed passes that are left
    fresh: int = field(init=False)  # passes left after which documents start from their words again
    on_trial: bool = False  # the last pass was
    rest: Rest | None = None  # the last one
    exhausted: bool = False  # no move is left to try
    polishing: bool = False
    end: int = 0  # passes left when polishing is over
    done: bool = False

    def __post_init__(self) -> None:
        self.warming, self.fresh = self.course.warmth, FRESH - 1 if self.scouts else 0
        self.merging = Merging(self.fit.step)

    @property
    def passes_left(self) -> int:
        return self.course.max_iter - self.n_passes

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
            return None if self.warming else self.fit.under("variational", model)
        here = self.fit.documents(model, total)
        if self.trial is not None:
            self.trial.passed(here.bound())
        is_last = self.passes_left <= self.course.polish
        if self.fresh and not is_last:
            self.fresh -= 1
            self.fit.forget()
            return None
        merged, verdict = self._merged(here), None
        if self.trial is not None:
            self.trial.last = merged.bound()
            verdict = self.trial.verdict(merged, is_last)
            if verdict is None:
                return self._put(merged)
            here = merged = self._judged(self.trial, merged, verdict)
            self.trial = None
        elif np.isfinite(self.last):
            self.pace = self.pace.after(here.bound() - self.last)
        quiet = not verdict and merged is here and merged.bound() - self.last < self.course.least
        here = self.merging.sorted(merged) if quiet or is_last else merged
        if here.model.words.learned:
            here = replace(here, model=replace(here.model, words=here.model.words.relearn()))
        return self._onward(here, quiet)

    def _merged(self, here: Documents) -> Documents:
        there, gains = self.merging.merged(here)
        self.moves |= {f"merge {j} {k}": gain for (j, k), gain in gains.items()}
        return there

    def _onward(self, here: Documents, quiet: bool) -> TopicModel:
        """Begins a trial where it is time for one, or the last passes."""
        self.last, self.rest = here.bound(), Rest(here, self.fit.memory, self.n_passes, self._known(quiet))
        left = self.passes_left - self.course.polish
        if self.scouts and left > self.course.warmth + FRESH + TRIAL and (i := self.scouts.following()) is not None:
            return self._begin(here, renewal(here, self.sources.start(size(i))), i)
        self.scouts = None
        following = self._tried(here) if quiet and left > TRIAL else self._put(here)
        if self.trial is None and (self.exhausted or left <= 0):
            return self._polished(following)
        return following

    def _known(self, quiet: bool) -> dict[str, Any]:
        return {
            "quiet": quiet,
            "pace": list(self.pace),
            "moves": dict(self.moves),
            "failures": dict(self.failures),
            "favourite": self.favourite,
            "refused": sorted(self.merging.refused),
            "refused_deletion": self.refused_deletion,
            "scouts": None if self.scouts is None else {str(i): b for i, b in self.scouts.bounds.items()},
            "random": self.sources.rng.bit_generator.state,
        }

    def resumed(self, here: Documents, known: dict[str, Any]) -> TopicModel:
        """Goes on from a rest; `known` is from a file."""
        try:
            self.moves = {str(what): float(gain) for what, gain in known["moves"].items()}
            self.failures = {kind: int(known["failures"][kind]) for kind in ORDER}
            self.favourite = str(known["favourite"])
            self.merging.refused = {(int(j), int(k)) for j, k in known["refused"]}
            self.refused_deletion, quiet = int(known["refused_deletion"]), bool(known["quiet"])
            self.pace = Pace(*map(float, known["pace"]))
            scouts = known["scouts"]
            if self.scouts is None or scouts is None:
                self.scouts = None
            else:
                self.scouts.bounds = {int(i): float(bound) for i, bound in scouts.items()}
            self.sources.rng.bit_generator.state = known["random"]
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
        if not self.course.polish:
            self.done = self.exhausted
            return model
        self.polishing, self.end = True, max(self.passes_left - self.course.polish, 0)
        self.moves["polish"] = 0.0
        there = self.course.polished(model)
        self.fit.finish(model.n_components, there.words.posterior)
        if there.words.posterior != model.words.posterior:
            self.fit.forget()
        return there

    def _put(self, here: Documents) -> TopicModel:
        model = self.fit.put(here)
        self.merging.watch(here)
        return model

    def _tried(self, here: Documents) -> TopicModel:
        """Begins the next trial, or says that there is none left."""
        while not self.exhausted:
            order = sorted(ORDER, key=lambda kind: kind != self.favourite)
            kind = next((kind for kind in order if self.failures[kind] < FAILURES[kind]), None)
            if kind is None:
                self.exhausted = True
                break
            proposal = self._proposal(here, kind)
            if proposal is not None:
                return self._begin(here, proposal)
            self.failures[kind] = FAILURES[kind]
        return self._put(here)

    def _proposal(self, here: Documents, kind: str) -> Proposal | None:
        K, room = here.model.n_components, self.course.most - here.model.n_components
        if kind in ("birth", "split") and room < ROOM * K:
            return None
        if kind == "refresh":
            return refreshment(here)
        if kind == "birth":
            return births(here, min(K, room), self.sources.newborn)
        if kind == "split":
            largest = np.sort(np.argsort(-here.total.S.totals, kind="stable")[:room])
            return split(here, largest, self.sources.rows, self.sources.rng)
        while (n := max(1, round(DELETED[self.failures[kind]] * K))) == self.refused_deletion:
            self.failures[kind] += 1
            if self.failures[kind] == FAILURES[kind]:
                return None
        return deletion(here, np.argsort(here.total.S.totals, kind="stable")[:n]) if n < K else None

    def _begin(self, here: Documents, proposal: Proposal, size: int | None = None) -> TopicModel:
        self.fit.put(here)
        self.trial = Trial(proposal.what, here, self.fit.memory, set(self.merging.refused), self.pace, size)
        self.merging.refused.clear()
        self.moves[f"try {proposal.what}"] = 0.0
        self.warming = 0 if size is None else self.course.warmth
        self.fresh = (REFRESH if proposal.what == "refresh" else 1 if size is None else FRESH) - 1
        return self.fit.begin(proposal.model, proposal.docs, "collapsed" if self.warming else "variational")

    def _judged(self, trial: Trial, here: Documents, better: bool) -> Documents:
        gain, kind = trial.gain(here), trial.kind
        if trial.size is not None and self.scouts:
            self.scouts.bounds[trial.size] = here.bound()
        if better:
            self.moves[trial.what], self.pace = gain, trial.pace
            self.merging.refused.clear()
            if gain > self.course.least:
                self.failures |= dict.fromkeys(AGAIN.get(kind, ORDER), 0)
                self.failures["refresh"] += kind == "refresh"
                self.favourite = kind
            elif kind in self.failures and kind != "delete":  # not worth another like it
                self.failures[kind] += 1
            return here
        self.moves = {f"{trial.what}, undone": gain}
        self.refused_deletion = int(trial.what.split()[1]) if kind == "delete" else 0
        self.merging.refused = trial.refused
        if kind in self.failures:
            self.failures[kind] += 1
        self.fit.engine.memory = dict(trial.memory)
        self.last = trial.before.bound()
        return trial.before
