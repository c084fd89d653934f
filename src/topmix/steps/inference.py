"""What every kind of inference offers to a topic model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from topmix.base.checks import LARGEST_COUNT, number_from, one_of, positive_number, whole_number, whole_number_or_none
from topmix.base.component import Component
from topmix.models.topics import DocumentOptions
from topmix.steps import LocalStep
from topmix.steps.documents import CVB0Step, SCVB0Step, TopicStep

if TYPE_CHECKING:
    from topmix.learn.learners import Learner


class Inference(Component):
    posterior: ClassVar[str]  # "collapsed" | "variational"
    by_tokens: ClassVar[bool] = False  # stochastic learning weighs a batch by its tokens instead of its documents
    has_checkpoints: ClassVar[bool] = True
    sweeps: int = 0  # of sampling, between the first passes of a fit and its last ones
    smoothing: float | None = None  # what replaces the prior in reported probabilities of words; None: the default

    @abstractmethod
    def document_options(self, n_active: int | None) -> DocumentOptions:
        """How documents are solved under fixed topics."""

    @abstractmethod
    def step(self, seed: int) -> LocalStep:
        """The local step of learning; `seed` is for steps that draw random numbers."""

    def check_learner(self, learner: Learner) -> None:
        """Raises ValueError where the learner cannot use this inference."""
        learner.check_posterior(self.posterior)

    @property
    def starts_cold(self) -> bool:
        """Whether a shard's second visit starts from the words of its documents, and so sees a new topic."""
        return True


# Documents iterated to a fixed point: collapsed (zeroth order, as CVB0) or variational (mean field).

MIN_TOPIC_MASS = 2.5  # tokens


@dataclass(frozen=True, repr=False)
class FixedPoint(Inference):
    """What collapsed and variational inference share."""

    min_topic_mass: float | None = None
    restarts: int | None = None
    cold_visits: int | None = 2
    selection: str = "last"
    max_doc_update_iter: int = 100
    doc_tol: float = 0.1
    stopping: str = "max"
    smoothing: float | None = field(default=None, kw_only=True)

    def check(self) -> None:
        if self.min_topic_mass is not None:
            number_from(self.min_topic_mass, "min_topic_mass", 0.0)
        whole_number_or_none(self.restarts, "restarts", least=0, most=LARGEST_COUNT)
        whole_number_or_none(self.cold_visits, "cold_visits", least=0)
        one_of(self.selection, ("last", "often"), "selection")
        whole_number(self.max_doc_update_iter, "max_doc_update_iter", most=LARGEST_COUNT)
        number_from(self.doc_tol, "doc_tol", 0.0)
        one_of(self.stopping, ("max", "mean"), "stopping")
        if self.smoothing is not None:
            positive_number(self.smoothing, "smoothing")

    def document_options(self, n_active: int | None) -> DocumentOptions:
        return DocumentOptions(
            n_active=n_active,
            eps=MIN_TOPIC_MASS if self.min_topic_mass is None else self.min_topic_mass,
            max_iter=self.max_doc_update_iter,
            tol=self.doc_tol,
            mean_change=self.stopping == "mean",
            select_often=self.selection == "often",
            restarts=self.restarts or 0,
        )

    def step(self, seed: int) -> LocalStep:
        return TopicStep(self.cold_visits)

    @property
    def starts_cold(self) -> bool:
        return self.cold_visits is None or self.cold_visits > 1


@dataclass(frozen=True, repr=False)
class Variational(FixedPoint):
    """Mean-field inference, as in scikit-learn: a full posterior of topics and proportions, and a bound that rises.

    Parameters
    ----------
    min_topic_mass : float or None
        A topic that holds no more than this many tokens of a document leaves it. None is 2.5, and 1e-6 in HDP, where
        the bound judges the number of topics.
    restarts : int or None
        The smallest topics of each document that it is tried without; what raises the document's objective is kept.
        None is 0, and 5 in HDP.
    cold_visits : int or None
        Visits to a document that start from its words alone; later ones start from the last visit. None: always from
        the words.
    selection : {"last", "often"}
        When the best n_active topics are chosen: at the end of a document, or in its first iterations and every tenth.
    max_doc_update_iter : int
        Iterations on one document, at most.
    doc_tol : float
        A document has converged when an iteration changes its topics by less than this many tokens.
    stopping : {"max", "mean"}
        What is compared with doc_tol: the largest change of a topic, or the mean over all K, which is scikit-learn's
        rule (its mean_change_tol).
    smoothing : float or None
        What is added to the counts of words for `topic_word_`. None is the prior on words.

    Examples
    --------
    >>> from topmix.inference import Variational
    >>> Variational(doc_tol=1e-3, stopping="mean")
    Variational(doc_tol=0.001, stopping='mean')
    """

    posterior: ClassVar[str] = "variational"


@dataclass(frozen=True, repr=False)
class Collapsed(FixedPoint):
    """Topics and proportions integrated out to zeroth order, which finds clearly better topics than mean field.

    Parameters
    ----------
    min_topic_mass : float or None
        A topic that holds no more than this many tokens of a document leaves it. None is 2.5.
    restarts : int or None
        The smallest topics of each document that it is tried without; what raises the document's objective is kept.
        None is 0.
    cold_visits, selection, max_doc_update_iter, doc_tol, stopping
        As in Variational.
    own_discount : float
        Batch or memoized: when a document is visited again, the part of its own words that it does not see in the
        topics' counts. Larger means more coherent and more different topics; zero is exact EM.
    sweeps : int
        LDA, batch or memoized: the sampling sweeps between the first four passes and the last ones, in which topics
        that stood still move again; fewer where `max_time` has no room for them. A sweep takes about half as long as a
        pass. Zero: none.
    smoothing : float or None
        What is added to the counts of words for `topic_word_`. None is the prior on words, but at most 0.03 where that
        is the default: a large prior learns more coherent topics, and a small one predicts better.

    Examples
    --------
    >>> from topmix.inference import Collapsed
    >>> Collapsed(min_topic_mass=1.0)
    Collapsed(min_topic_mass=1.0)
    """

    own_discount: float = 0.5
    sweeps: int = 150

    posterior: ClassVar[str] = "collapsed"

    def check(self) -> None:
        super().check()
        number_from(self.own_discount, "own_discount", 0.0, 1.0)
        whole_number(self.sweeps, "sweeps", least=0)

    def document_options(self, n_active: int | None) -> DocumentOptions:
        return replace(super().document_options(n_active), own_discount=self.own_discount)


# The papers' collapsed algorithms, which update one token (or entry) after another.


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


INFERENCES: dict[str, type[Inference]] = {
    "collapsed": Collapsed,
    "variational": Variational,
    "cvb0": CVB0,
    "scvb0": SCVB0,
}
