"""A fit that succeeds, or leaves the estimator as it was.

`fit` and `partial_fit` run on a copy of the estimator. Its parameters are in the types that the signature declares;
those of the user's estimator stay the objects that were passed, as scikit-learn wants it. What was learned moves over
at the end, all of it at once: topics are never found under the vocabulary of another fit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from topmix.estimators.snapshot import without_its_end
from topmix.parameters.declared import all_as_declared, declared_types

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """For `fit` and `partial_fit`. An interrupted fit whose topics are whole at that moment keeps those; of one that
    has no topics yet, `history_` says what was done."""

    @wraps(fit)
    def run(self: Any, *args: Any, **more: Any) -> Any:
        now = copy.copy(self)
        vars(now).update(declared_parameters(self))
        try:
            fit(now, *args, **more)
        except BaseException:
            if getattr(now, "model_", None) is not getattr(self, "model_", None):
                _take_over(self, without_its_end(now))
            elif not hasattr(self, "model_") and getattr(now, "history_", None):
                self.history_ = now.history_
            raise
        _take_over(self, now)
        return self

    return run  # type: ignore[return-value]


def declared_parameters(estimator: Any) -> dict[str, Any]:
    """Its parameters in the types that the signature declares. One of another type is a ValueError."""
    return all_as_declared(estimator.get_params(deep=False), declared_types(type(estimator).__init__))


def _take_over(estimator: Any, fitted: Any) -> None:
    """All that `fitted` has besides parameters, and nothing else."""
    parameters = estimator.get_params(deep=False)
    kept = {name: value for name, value in vars(estimator).items() if name in parameters}
    state = {name: value for name, value in vars(fitted).items() if name not in parameters}
    vars(estimator).clear()
    vars(estimator).update(kept | state)
