"""The schedule of a fit that searches for its number of topics: `topmix.search` says what comes next.

Each `yield` of the search hands out the model of the next pass and receives what that pass found. A checkpoint holds
the last safe point, a moment with nothing on trial; an interrupted trial is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from topmix.files.reader import ModelFileError
from topmix.fitting.checkpoint import Progress
from topmix.fitting.history import Record
from topmix.fitting.loop import Stopping
from topmix.fitting.plain import Plain
from topmix.learners import PassResult, State
from topmix.local.topics import Visit
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.search import Search


class Searching(Plain):
    def __init__(self, *plain: Any, search: Search) -> None:
        super().__init__(*plain)
        self.search = search

    def moves(self) -> dict[str, float]:
        return self.search.take_moves()

    def has_converged(self, history: Sequence[Record], stopping: Stopping) -> bool:
        return self.search.is_done

    def after(self, result: PassResult, is_last: bool) -> TopicModel | None:
        return self.search.after(result)

    def keep(self, model: TopicModel, following: TopicModel | None, is_last: bool) -> None:
        """A search is kept as it was when nothing was on trial, some passes ago. A trial leaves that state untouched;
        other passes do not, so then it is written now or later."""
        checkpoint, search, history = self.problem.checkpoint, self.search, self.log.history
        safe = search.safe_point
        if checkpoint is None or safe is None or not (safe.n_passes == len(history) or search.trial):
            return
        if safe.n_passes // checkpoint.every == checkpoint.n_passes // checkpoint.every and search.phase != "polish":
            return
        checkpoint.n_passes, here = safe.n_passes, safe.here
        state = State(here.total, dict(enumerate(here.memo)), safe.n_passes)
        memory = {b: Visit(safe.memory[b].times, docs) for b, docs in enumerate(here.docs)}
        past = history[: safe.n_passes]
        checkpoint.write(Progress(here.model, None, state, memory, past, self.dealt_with, safe.known))

    def resume(self, found: Progress, model: TopicModel) -> TopicModel:
        """Continues from a moment with nothing on trial."""
        docs, lengths = [found.memory[b].docs for b in range(len(found.memory))], self.paused.lengths
        whole = [d for d, n in zip(docs, lengths) if d is not None and len(d.indptr) == len(n) + 1]
        if len(whole) != len(docs) or len(found.state.memo) != len(docs):
            raise ModelFileError("the checkpoint lacks documents")
        memo = [found.state.memo[b] for b in range(len(docs))]
        here = Documents(found.model, found.state.total, memo, whole, lengths)
        try:
            return self.search.resume(here, found.search or {})
        except ValueError as error:
            raise ModelFileError(f"the checkpoint cannot be continued from: {error}") from error

    def ended(self, model: TopicModel) -> TopicModel:
        """A search that was stopped in the middle of a trial ends with what was there before, and the last record says
        so."""
        search, history = self.search, self.log.history
        if not search.was_trial or search.safe_point is None:
            return model
        here = search.safe_point.here
        terms, moves = here.model.bound(here.total), history[-1].moves | search.moves | {"stopped": 0.0}
        history[-1] = replace(
            history[-1],
            objective=sum(terms.values()),
            n_components=here.model.n_components,
            terms=terms,
            moves={what: gain for what, gain in moves.items() if not what.startswith("try")},
        )
        return here.model
