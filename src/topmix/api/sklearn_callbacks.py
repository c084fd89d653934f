"""scikit-learn's callbacks (`set_callbacks`, from its version 1.9 on) on our fits: each pass is a task.

    from sklearn.callback import ProgressBar
    LDA(50).set_callbacks(ProgressBar()).fit(X)

The parameter `callbacks` is shorter; this way also works through pipelines and grid searches. Where scikit-learn is
older, `set_callbacks` does not exist, and nothing happens here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from topmix.fitting.history import Record
from topmix.fitting.view import PassView

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        pass

    def with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "with_sklearn_callbacks"]

Fit = TypeVar("Fit", bound=Callable[..., Any])


def with_sklearn_callbacks(fit: Fit) -> Fit:
    """For `fit` methods of estimators with `callbacks` and `max_iter`."""

    @wraps(fit)
    def run(self: Any, X: object, *args: Any, **more: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, X, *args, **more)
        own = self.callbacks
        context = self._init_callback_context(max_subtasks=None).call_on_fit_task_begin(estimator=self, X=X)
        self.callbacks = [*(own or ()), _Bridge(self, context, X)]  # for as long as the fit lasts
        try:
            fitted = fit(self, X, *args, **more)
        finally:
            self.callbacks = own
        context.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes=lambda: _attributes(self))
        return fitted

    return with_callbacks(run)


class _Bridge:
    """A callback of ours that calls those of scikit-learn. It ends the fit when one of them asks for that."""

    def __init__(self, estimator: Any, context: Any, X: object):
        self.estimator, self.context, self.X = estimator, context, X

    def __call__(self, record: Record, view: PassView) -> bool:
        task = self.context.subcontext(task_name=f"pass {record.n_pass}")
        task.call_on_fit_task_begin(estimator=self.estimator, X=self.X)

        def attributes() -> dict[str, Any]:
            return _attributes(view.fitted())

        return bool(task.call_on_fit_task_end(estimator=self.estimator, X=self.X, reconstruction_attributes=attributes))


def _attributes(estimator: Any) -> dict[str, Any]:
    """What makes another estimator with the same parameters a fitted one."""
    return {"_fitted": estimator._fitted}
