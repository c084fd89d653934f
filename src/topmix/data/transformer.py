"""The parts of scikit-learn's API that a transformer needs, without importing scikit-learn.

`import topmix.data` takes half a second, and scikit-learn would take two more. Pipeline, clone and GridSearchCV ask for
methods, not for a base class.
"""

from __future__ import annotations

import inspect
from typing import Any, Self


class TransformerParameters:
    """`get_params`, `set_params`, `fit` and tags, for a class whose constructor stores its parameters unchanged."""

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """`fit_transform`, without its result."""
        self.fit_transform(X)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name. `deep` is scikit-learn's; no parameter is an estimator."""
        return {name: getattr(self, name) for name in _defaults(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Changes parameters; what was learned stays until the next fit."""
        known = _defaults(type(self))
        for name in params:
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        type(self)(**{**self.get_params(), **params})  # the constructor checks them
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        defaults = _defaults(type(self))
        given = {name: value for name, value in self.get_params().items() if not _same(value, defaults[name])}
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in given.items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        inputs = InputTags(one_d_array=True, two_d_array=False, string=True)
        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=inputs)


def _defaults(cls: type) -> dict[str, Any]:
    return {p.name: p.default for p in inspect.signature(cls).parameters.values()}


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
