"""What every estimator is: parameters in words, some of them components, and what was learned, as one value.

`get_params` and `set_params` reach the settings inside components:

lda.set_params(inference__min_topic_mass=1.0)
GridSearchCV(lda, {"learner": [Memoized(), Batch()], "inference__own_discount": [0.25, 0.5]})
"""

from __future__ import annotations

import copy
import inspect
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from topmix.api.components import FAMILIES, component_of, declared_parameters
from topmix.api.files import save
from topmix.api.sklearn_callbacks import CallbackSupportMixin
from topmix.engines import Engine, Threads
from topmix.files.reader import CheckedReader
from topmix.files.writer import Writer
from topmix.fitted.frames import Columns, DataFrame, frame
from topmix.fitted.topics import Fitted
from topmix.fitting.history import Callback, Clock, Record
from topmix.fitting.loop import Course, Interrupted, warn_of_interrupt
from topmix.learners import Learner
from topmix.numerics.threads import count_of_threads, use_threads
from topmix.parameters.checks import positive_number, whole_number
from topmix.parameters.component import with_settings
from topmix.parameters.declared import as_declared
from topmix.parameters.other_names import refuse_unknown
from topmix.read import FRAMES

F = TypeVar("F", bound=Fitted)
T = TypeVar("T")


class learned(Generic[T]):
    """An attribute that reads from what was learned; there is none before a fit, nor where the value is None. What
    takes long to make is kept with the value."""

    def __init__(self, read: Callable[[Any], T | None], *, keep: bool = False) -> None:
        self.read, self.keep = read, keep

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...
    @overload
    def __get__(self, estimator: Any, owner: type) -> T: ...
    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self
        fitted = estimator._fitted
        value = None if fitted is None else vars(fitted).get(self.name)
        if value is None and fitted is not None:
            value = self.read(fitted)
            if self.keep:
                vars(fitted)[self.name] = value
        if value is None:
            when = " before it is fitted" if fitted is None else ""
            raise AttributeError(f"this {type(estimator).__name__} has no {self.name}{when}")
        return value


class Estimator(CallbackSupportMixin, BaseEstimator, Generic[F]):
    """Parameters, and `_fitted`. A fit succeeds and replaces it, or leaves the estimator as it was."""

    n_components: int
    engine: str | Engine
    learner: str | Learner
    max_iter: int | None
    n_init: int = 1
    max_time: float | None = None
    warm_start: bool = False
    n_jobs: int | None
    random_state: object
    verbose: int | None
    callbacks: Sequence[Callback] | None

    _fitted: F | None = None
    _parameter_names: ClassVar[tuple[str, ...]]
    _saved_numbers: ClassVar[tuple[str, ...]] = ("n_iter", "converged", "objective", "n_updates", "n_seen")

    model_ = learned[Any](lambda f: f.model)
    history_ = learned[list[Record]](lambda f: list(f.history), keep=True)
    n_iter_ = learned[int](lambda f: f.n_iter)
    converged_ = learned[bool](lambda f: f.converged)
    objective_ = learned[float](lambda f: f.objective)
    n_batch_iter_ = learned[int](lambda f: f.n_updates)
    n_seen_ = learned[float](lambda f: f.n_seen)
    n_features_in_ = learned[int](lambda f: f.reading.n_features)
    feature_names_in_ = learned[np.ndarray](lambda f: f.reading.words)

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        if parameters.keys() <= set(vars(cls).get("_parameter_names", ())):
            return super().__new__(cls)
        known = inspect.signature(cls.__init__).parameters
        if all(p.kind is not p.VAR_KEYWORD for p in known.values()):  # a subclass may take what it likes
            inside = {
                setting: f"{family}, as in {family}={kind.__name__}({setting}=...)"
                for family in known
                for kind in reversed([*FAMILIES.get(family, {}).values()])  # of those that have it, the default one
                for setting in kind.__dataclass_fields__
            }
            refuse_unknown(cls.__name__, parameters, known, inside)
        return super().__new__(cls)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """scikit-learn's, which looks at the signature each time; a fit of little data would notice."""
        if "_parameter_names" not in vars(cls):
            cls._parameter_names = tuple(super()._get_param_names())
        return list(cls._parameter_names)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; deep ones are those of components, as `component__setting`."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name in [name for name in parameters if name in FAMILIES]:
                component = self._component(name, missing=None)
                for setting, value in (component.settings() if component else {}).items():
                    parameters[f"{name}__{setting}"] = value
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters, and settings of components as `component__setting`."""
        own = {name: value for name, value in parameters.items() if name.partition("__")[0] not in FAMILIES}
        whole = {name: value for name, value in parameters.items() if name in FAMILIES}
        super().set_params(**own, **whole)
        changes: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            family, _, setting = name.partition("__")
            if family in FAMILIES and setting:
                if family not in super().get_params(deep=False):
                    raise ValueError(f"{type(self).__name__} has no parameter {family!r}")
                changes.setdefault(family, {})[setting] = value
        for family, settings in changes.items():
            component = self._component(family) if getattr(self, family) is not None else None
            if component is None:
                raise ValueError(f"{family} is None and has no settings: set it to a component first")
            setattr(self, family, with_settings(component, settings, family))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted model to one file that `topmix.load` reads. Atomic: the whole file is written, or none. It
        is read back before it takes its name, so a model that was there before is replaced by one that loads.

        Any safetensors library reads its arrays. Callbacks are not saved, and of the engine only its name: `load` takes
        one. A parameter that is neither JSON, an array nor a component of topmix, for instance a RandomState, is left
        out: a note in the file says so, and the loaded estimator has the default.
        """
        save(self, path)

    @abstractmethod
    def _write(self, fitted: F, out: Writer) -> None:
        """Puts the model into a file."""

    @abstractmethod
    def _read(self, about: dict[str, Any], file: CheckedReader, K: int) -> F:
        """What `_write` wrote; `about` are the fields that are the same for all estimators."""

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _found(self) -> F:
        """What was learned. Before a fit it is scikit-learn's error."""
        check_is_fitted(self)
        assert self._fitted is not None
        return self._fitted

    def _with(self, fitted: F) -> Self:
        """This estimator with something else learned."""
        now = copy.copy(self)
        now._fitted = fitted
        return now

    def _declared(self) -> Self:
        """The parameters in the types that the signature declares, so that nothing below meets 2.0 for 2 or an array
        without dimensions; the user's own stay the objects that were passed, as scikit-learn wants it."""
        now = copy.copy(self)
        for name, value in declared_parameters(self).items():
            setattr(now, name, value)
        return now

    def _is_warm(self) -> bool:
        return bool(self.warm_start) and self._fitted is not None

    def _learn(self, fit: Callable[[], F]) -> Self:
        """A fit replaces what was learned, all of it at once; an interrupted one leaves what there is."""
        try:
            with use_threads(self._threads()):
                self._fitted = fit()
        except Interrupted as stop:
            if stop.fitted is not None:
                self._fitted = stop.fitted
                warn_of_interrupt(stop.n_pass)
            raise KeyboardInterrupt from None
        return self

    def _course(self, size: float, n_features: int, max_iter: int, fitted: Callable[..., F], clock: Clock) -> Course[F]:
        """The course of a fit of this estimator, as its parameters say."""
        return Course(
            title=type(self).__name__,
            size=size,
            max_iter=max_iter,
            fitted=fitted,
            shown_as=self._with,
            n_init=1 if self._is_warm() else whole_number(self.n_init, "n_init"),
            max_time=None if self.max_time is None else positive_number(self.max_time, "max_time"),
            callbacks=list(self.callbacks or ()),
            verbose=self.verbose,
            keeps_last=self._fitted is None,
            n_features=n_features,
            clock=clock,
        )

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    def _engine(self) -> Engine:
        engine: Engine = self._component("engine") if "engine" in vars(self) else Threads()
        return engine

    def _threads(self) -> int:
        """Threads of this process, by `n_jobs` and the engine."""
        return self._engine().threads(count_of_threads(as_declared(self.n_jobs, int)))

    def _component(self, name: str, missing: Any = "refused") -> Any:
        """The component that a parameter stands for. `missing=None`: None where it is not a valid one."""
        try:
            return component_of(getattr(self, name), name)
        except ValueError:
            if missing is None:
                return None
            raise

    def _frame(self, columns: Columns) -> DataFrame:
        """A DataFrame of the user's kind: that of `set_output`, else that of the training data, else what there is."""
        return frame(columns, output_kind(self) or (None if self._fitted is None else self._fitted.reading.frame))


def output_kind(estimator: object) -> str | None:
    """The kind of DataFrame that `set_output` asks for. scikit-learn has no public way to ask."""
    wanted: str = _get_output_config("transform", estimator)["dense"]
    return wanted if wanted in FRAMES else None
