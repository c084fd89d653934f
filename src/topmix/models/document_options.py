"""How a document is solved under the topics of a model."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from operator import attrgetter

from topmix import _core


@dataclass(frozen=True)
class Sampling:
    """Tokens are drawn instead: each has one topic."""

    concentration: float | None  # the sum of alpha; None: that of the prior
    sweep: int  # with the seed, the key of its random numbers
    seed: int


@dataclass(frozen=True)
class DocumentOptions:
    """The options of the document solver, which travel with the tables of a model.

    They are declared here. tools/options.py writes those that kernels know, numbers and yes or no, for C++ and CUDA.
    """

    n_active: int | None = None  # L, topics kept per word; None: all
    eps: float = 0.0  # a topic with no more than this many tokens leaves the document
    max_iter: int = 100  # iterations, at most
    tol: float = 0.1  # tokens
    mean_change: bool = False  # compare the mean change with tol, not the largest
    select_often: bool = False  # choose the n_active best in early iterations too, not only at the end
    exclude: bool = False  # leave a token out of the counts that judge it
    restarts: int = 0  # smallest topics that a document is tried without
    restart_iter: int = 3  # iterations before a restart is judged
    own_discount: float = 0.0  # part of a document's own tokens that it does not see in the topics' counts
    sampling: Sampling | None = None

    def plain(self) -> DocumentOptions:
        """For documents that are not of the fit."""
        return replace(self, sampling=None)

    def L(self, K: int) -> int:
        return K if self.n_active is None else min(self.n_active, K)

    def of_kernels(self) -> dict[str, float]:
        """Those that kernels know, by name."""
        return dict(zip(OF_KERNELS, _values(self), strict=True))

    def native(self, posterior: str, K: int) -> _core.DocumentOptions:
        return _core.DocumentOptions(posterior, self.L(K), *_values(self))


OF_KERNELS = tuple(f.name for f in fields(DocumentOptions) if f.type in ("float", "int", "bool"))
_values = attrgetter(*OF_KERNELS)  # faster than by name: a predictor asks for them with every text
