"""How a document is solved under the topics of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from topmix import _core


@dataclass(frozen=True)
class Sampling:
    """Tokens are drawn instead: each has one topic."""

    concentration: float  # the sum of alpha
    sweep: int  # with the seed, the key of its random numbers
    seed: int


@dataclass(frozen=True)
class DocumentOptions:
    """The options of the native solver, in cpp/local/document.hpp. They travel with the tables of a model."""

    n_active: int | None = None  # L, topics kept per word; None: all
    eps: float = 0.0  # a topic with no more than this many tokens leaves the document
    max_iter: int = 100
    tol: float = 0.1  # tokens
    mean_change: bool = False  # compare the mean change with tol, not the largest
    select_often: bool = False  # choose the n_active best in early iterations too, not only at the end
    exclude: bool = False  # leave a token out of the counts that judge it
    restarts: int = 0  # smallest topics that a document is tried without
    restart_iter: int = 3
    own_discount: float = 0.0  # part of a document's own tokens that it does not see in the topics' counts
    sampling: Sampling | None = None

    def plain(self) -> DocumentOptions:
        """For documents that are not of the fit."""
        return replace(self, sampling=None)

    def L(self, K: int) -> int:
        return K if self.n_active is None else min(self.n_active, K)

    def native(self, posterior: str, K: int) -> _core.TopicOptions:
        return _core.TopicOptions(
            posterior=posterior,
            exclude=self.exclude,
            select_often=self.select_often,
            mean_change=self.mean_change,
            L=self.L(K),
            eps=self.eps,
            max_iter=self.max_iter,
            tol=self.tol,
            restarts=self.restarts,
            restart_iter=self.restart_iter,
            own_discount=self.own_discount,
        )
