"""Documents iterated to a fixed point: collapsed (zeroth order, as CVB0) or variational (mean field)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from topmix.inference.inference import Inference
from topmix.learners import Learner
from topmix.local import LocalStep
from topmix.local.topics import TopicStep
from topmix.models.document_options import DocumentOptions
from topmix.parameters.checks import (
    LARGEST_COUNT,
    number_from,
    one_of,
    positive_number,
    whole_number,
    whole_number_or_none,
)

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


def without_discount(options: DocumentOptions, learner: Learner) -> DocumentOptions:
    """Own tokens are discounted where the topics' counts contain a document's last visit: not in blended batches."""
    return options if learner.remembers_rows else replace(options, own_discount=0.0)
