"""Mergers from pass to pass: which pairs of topics a pass is to weigh, and which were refused before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from topmix.local import Info
from topmix.models.topics import TopicModel
from topmix.search.documents import Documents
from topmix.search.merge import Pair, candidates, decide


@dataclass
class Merging:
    refused: set[Pair] = field(default_factory=set)

    def weigh(self, here: Documents, model: TopicModel) -> TopicModel:
        """The model whose next pass gathers what the best pairs of `here` would lose."""
        partner = np.full(here.model.n_components, -1, np.int32)
        for j, k in candidates(here, self.refused):
            partner[j], partner[k] = k, j
        return replace(model, partner=partner)

    def merged(self, here: Documents, info: Info) -> tuple[Documents, dict[Pair, float]]:
        """The pairs that the last pass found worth merging become one topic each; and what each merger gained."""
        partner = here.model.partner
        if partner is None:
            return here, {}
        lower = np.flatnonzero(partner > np.arange(len(partner)))
        pairs = [(int(j), int(partner[j])) for j in lower]
        if not pairs:
            return here, {}
        base = here.under(here.prior)
        found = decide(base, pairs, info["merge_entropy"][lower])
        self.refused |= set(pairs) - set(found.gains)
        if not found.gains:
            return here, {}
        self._rename(found.names)
        return base.renamed(found.names, found.lost).settled(), found.gains

    def sorted(self, here: Documents) -> Documents:
        """Topics in order of size, where the bound is not lower so."""
        order = np.argsort(-here.total.S.totals, kind="stable")
        if np.array_equal(order, np.arange(len(order))):
            return here
        names = np.empty_like(order)
        names[order] = np.arange(len(order))
        there = here.renamed(names).settled()
        if there.bound() < here.bound():
            return here
        self._rename(names)
        return there

    def _rename(self, names: np.ndarray) -> None:
        both = ((int(names[j]), int(names[k])) for j, k in self.refused)
        self.refused = {(min(a, b), max(a, b)) for a, b in both if a != b}
