"""The papers' collapsed algorithms, which update one token (or entry) after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topmix.inference.fixed_point import Collapsed
from topmix.inference.inference import Inference
from topmix.learners import Learner
from topmix.local import LocalStep
from topmix.local.cvb0 import CVB0Step
from topmix.local.scvb0 import SCVB0Step
from topmix.models.document_options import DocumentOptions
from topmix.parameters.checks import LARGEST_COUNT, positive_number, whole_number


@dataclass(frozen=True, repr=False)
class TokenByToken(Inference):
    """New documents are solved by the collapsed fixed point, without a discount."""

    doc_burn_in: int = 1

    posterior: ClassVar[str] = "collapsed"

    def check(self) -> None:
        whole_number(self.doc_burn_in, "doc_burn_in", least=0, most=LARGEST_COUNT)

    def document_options(self, n_active: int | None) -> DocumentOptions:
        return Collapsed(own_discount=0.0).document_options(n_active)


@dataclass(frozen=True, repr=False)
class SCVB0(TokenByToken):
    """SCVB0 (Foulds et al. 2013): an online average over a document's words in random order; nothing is stored.

    Parameters
    ----------
    doc_burn_in : int
        Passes over a document before the one that counts, at every visit.
    doc_scale, doc_offset, doc_decay : float
        Step size of the average, scale / (offset + t)^decay; t counts the tokens of the document. The paper's decay is
        0.9. Its small steps smear the topics of a stream of short documents (docs/math.md, section 3.2).

    Examples
    --------
    >>> from topmix.inference import SCVB0
    >>> SCVB0(doc_burn_in=2)
    SCVB0(doc_burn_in=2)
    """

    doc_scale: float = 1.0
    doc_offset: float = 10.0
    doc_decay: float = 0.6

    by_tokens: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        for name in ("doc_scale", "doc_offset", "doc_decay"):
            positive_number(getattr(self, name), name)

    def step(self, seed: int) -> LocalStep:
        return SCVB0Step(self.doc_burn_in, self.doc_scale, self.doc_offset, self.doc_decay, seed)


@dataclass(frozen=True, repr=False)
class CVB0(TokenByToken):
    """CVB0 (Asuncion et al. 2009): every word keeps its topics, and is left out of all counts when it is updated.

    Parameters
    ----------
    doc_burn_in : int
        Sweeps over a document at its first visit, before it is counted.

    Examples
    --------
    >>> from topmix.inference import CVB0
    >>> CVB0()
    CVB0()
    """

    has_checkpoints: ClassVar[bool] = False

    def step(self, seed: int) -> LocalStep:
        return CVB0Step(self.doc_burn_in)

    def check_learner(self, learner: Learner) -> None:
        super().check_learner(learner)
        if not learner.remembers_rows:
            raise ValueError("inference='cvb0' keeps every document's responsibilities, so learner='stochastic' cannot")
