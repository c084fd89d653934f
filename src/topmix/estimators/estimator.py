"""What every estimator is: parameters in words, some of them components, and what was learned, as one value."""

from __future__ import annotations

import copy
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence, Sized
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from topmix.base.checks import as_list, positive_number, whole_number
from topmix.base.component import all_as_declared, as_declared, declared_types, with_settings
from topmix.base.fields import CheckedReader, Writer
from topmix.base.threads import count_of_threads, use_threads
from topmix.engines.engine import Engine
from topmix.estimators.declared import FAMILIES, Settings, component_of, declare
from topmix.estimators.files import described_parameters, save
from topmix.io.reading import FRAMES
from topmix.learn.fit import FitSettings, Interrupted
from topmix.learn.history import Callback, Clock, Record
from topmix.learn.learners import Learner
from topmix.results.topics import AboutFit, Fitted
from topmix.results.view import Columns, DataFrame, frame

# What parameters say of the model. A fit that starts from another one cannot change the first.
KEPT = (
    "objective", "covariance_type", "zero_mean", "concentration_type", "weight_concentration_prior_type",
    "degrees_of_freedom_prior", "covariance_prior", "seeds",
)  # fmt: skip
RENEWED = (
    "doc_topic_prior", "topic_word_prior", "weight_concentration_prior", "mean_prior", "mean_precision_prior",
    "reg_covar", "prior_rows", "max_concentration",
)  # fmt: skip

F = TypeVar("F", bound=Fitted)
T = TypeVar("T")


class learned(Generic[T]):
    """An attribute that reads from what was learned; there is none before a fit, nor where the value is None. What
    takes long to make is kept with the value."""

    def __init__(self, read: Callable[..., T | None], *, keep: bool = False) -> None:
        self.read, self.keep = read, keep

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type) -> T:
        if estimator is None:
            return self  # type: ignore[return-value]  # of the class
        fitted, missing = estimator._fitted, f"this {type(estimator).__name__} has no {self.name}"
        if fitted is None:
            raise NotFittedError(f"{missing} before it is fitted")  # an AttributeError too
        value: T | None = vars(fitted).get(self.name)
        if value is None:
            value = self.read(fitted)
            if self.keep:
                vars(fitted)[self.name] = value
        if value is None:
            raise AttributeError(missing)
        return value


# In this order all estimators list their parameters.
ORDER = """
n_components n_components_per_label n_free response response_weight covariance_type concentration_type zero_mean
objective penalty algorithm smoothing exchanges early_smoothing sampler n_active candidates inference learner engine
search weight_concentration_prior_type weight_concentration_prior mean_prior mean_precision_prior
degrees_of_freedom_prior covariance_prior reg_covar prior_rows max_concentration normalize doc_topic_prior
topic_word_prior seeds init_params max_iter burn_in thin tol max_time n_init init warm_start n_jobs random_state verbose
callbacks
""".split()  # noqa: SIM905 (46 lines otherwise)


@dataclass_transform(eq_default=False, kw_only_default=True)
class Estimator(BaseEstimator, Generic[F]):
    """Parameters, and `_fitted`. A fit succeeds and replaces it, or leaves the estimator as it was.

    Fields that are described here, and public fields of subclasses, are parameters: see `declare`.

    Parameters
    ----------
    n_jobs : int or None
        Threads. None and -1 use all cores (scikit-learn uses one). The results are the same for any value, but not with
        learner="asynchronous", which has that many workers.
    random_state : int, RandomState or None
        The same seed gives the same bits.
    verbose : int or None
        1 shows progress on stderr: a bar on a terminal, a line per pass elsewhere. 0 is silent. None shows a bar if the
        fit takes longer than ten seconds.
    callbacks : callable, list of callables or None
        Each is called as f(record, view) after a pass; a true value ends the fit. See topmix.fitting.PassView.

    Attributes
    ----------
    objective_ : float
        The objective at the end.
    history_ : list of Record
        One record per pass.
    n_iter_, converged_, n_features_in_, feature_names_in_ : as in scikit-learn.
    """

    n_jobs: int | None = None
    random_state: object = None
    verbose: int | None = None
    callbacks: Callback | list[Callback] | None = None

    # What is read of every estimator; the values are those of estimators that do not have the parameter.
    n_components: int
    engine: str | Engine = "threads"
    learner: str | Learner
    max_iter: int | None
    max_time: float | None = None
    n_init: int = 1
    init: object = "auto"
    seeds: object = None
    warm_start: bool = False

    _fitted: F | None = None
    _parameter_names: ClassVar[tuple[str, ...]]
    _saved_numbers: ClassVar[tuple[str, ...]] = ("n_iter", "converged", "objective", "n_updates", "n_seen")

    model_ = learned(lambda f: f.model)
    history_ = learned[list[Record]](lambda f: list(f.history), keep=True)
    n_iter_ = learned[int](lambda f: f.n_iter)
    converged_ = learned[bool](lambda f: f.converged)
    objective_ = learned[float](lambda f: f.objective)
    n_batch_iter_ = learned[int](lambda f: f.n_updates)
    n_seen_ = learned[float](lambda f: f.n_seen)
    n_features_in_ = learned[int](lambda f: f.reading.n_features)
    feature_names_in_ = learned[np.ndarray](lambda f: f.reading.words)

    def __init_subclass__(cls, *, kw_only: bool = True, without: Sequence[str] = (), **others: object) -> None:
        super().__init_subclass__(**others)
        declare(cls, Estimator, ORDER, without)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """scikit-learn's, which looks at the signature each time; a fit of little data would notice."""
        if "_parameter_names" not in vars(cls):
            cls._parameter_names = tuple(super()._get_param_names())
        return list(cls._parameter_names)

    def get_params(self, deep: bool = True) -> Settings:
        """Parameters by name; deep ones are those of components, as `inference__min_topic_mass`."""
        parameters: Settings = super().get_params(deep=deep)
        if deep:
            for name in [name for name in parameters if name in FAMILIES]:
                component = self._component(name, missing=None)
                for setting, value in (component.settings() if component else {}).items():
                    parameters[f"{name}__{setting}"] = value
        return parameters

    def set_params(self, **parameters: object) -> Self:
        """Sets parameters, and settings of components as `component__setting`."""
        changes: dict[str, dict[str, object]] = {}
        for name in list(parameters):
            family, _, setting = name.partition("__")
            if family in FAMILIES and setting:
                changes.setdefault(family, {})[setting] = parameters.pop(name)
        super().set_params(**parameters)
        for family, settings in changes.items():
            if family not in self._get_param_names():
                raise ValueError(f"{type(self).__name__} has no parameter {family!r}")
            component = self._component(family) if vars(self)[family] is not None else None
            if component is None:
                raise ValueError(f"{family} is None and has no settings: set it to a component first")
            setattr(self, family, with_settings(component, settings, family))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted model to one file that `topmix.load` reads. Atomic: the whole file is written, or none. It
        is read back before it takes its name, so a model that was there before is replaced by one that loads.

        Any safetensors library reads its arrays. Callbacks are not saved, and of the engine only its name: `load` takes
        one. A parameter that is neither JSON, an array nor a component of topmix is left out, and the loaded estimator
        has its default.
        """
        save(self, path)

    @abstractmethod
    def _write(self, fitted: F, out: Writer) -> None:
        """Puts the model into a file."""

    @abstractmethod
    def _read(self, about: AboutFit, file: CheckedReader, K: int) -> F:
        """What `_write` wrote; `about` are the fields that are the same for all estimators."""

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _found(self) -> F:
        """What was learned. Before a fit it is scikit-learn's error."""
        check_is_fitted(self)
        assert self._fitted is not None
        return self._fitted

    def _with(self, fitted: F) -> Self:
        now = copy.copy(self)
        now._fitted = fitted
        return now

    def _declared(self) -> Self:
        """A copy with the parameters in the types that the signature declares: nothing below meets 2.0 for 2."""
        now, owner = copy.copy(self), cast(type, type(self))
        for name, value in all_as_declared(self.get_params(deep=False), declared_types(owner)).items():
            setattr(now, name, value)
        return now

    def _before(self) -> F | None:
        """What was learned before, where a fit starts from it."""
        return self._fitted if self.warm_start else None

    def _asked(self) -> dict[str, object]:
        given = self._declared().get_params(deep=False)
        return described_parameters({name: given[name] for name in (*KEPT, *RENEWED) if name in given})

    def _check_warm(self, f: F, K: int | None) -> set[str]:
        """Which priors are others than those that the model was learned with. None: there may be any number of topics.
        What else has changed is refused."""
        was, now = f.asked, self._asked()
        changed = {name for name in was if was[name] != now[name]}
        kept = [("n_components", f.n_topics, K)] if K not in (None, f.n_topics) else []
        for name, before, after in kept + [(name, was[name], now[name]) for name in KEPT if name in changed]:
            what = f"warm_start keeps {name}={before!r}, but it is now {after!r}"
            raise ValueError(f"{what}: set it back, or fit with warm_start=False")
        return changed

    def _learn(self, fit: Callable[[], F]) -> Self:
        """A fit replaces what was learned, all of it at once; an interrupted one leaves what there is."""
        try:
            with use_threads(self._threads()):
                self._fitted = self._knowing(fit())
        except Interrupted as stop:
            if stop.fitted is not None:
                self._fitted = self._knowing(stop.fitted)
                if stop.n_pass:
                    at = f"the fit was interrupted, and has the model of pass {stop.n_pass}"
                    warnings.warn(f"{at}: fit again with warm_start=True to go on from there", stacklevel=4)
            raise KeyboardInterrupt from None
        return self

    def _knowing(self, fitted: F) -> F:
        """What was learned, with what parameters said: those of a first step, where a stream goes on."""
        return fitted if fitted.asked else replace(fitted, asked=self._asked())

    def _settings(
        self, size: float, n_features: int, fitted: Callable[[Any, Sequence[Record]], F], clock: Clock
    ) -> FitSettings:
        callbacks = [self.callbacks] if callable(self.callbacks) else as_list(self.callbacks or ())
        if not all(map(callable, callbacks)):
            raise ValueError(f"callbacks must be a list of functions f(record, view), got {self.callbacks!r}")
        return FitSettings(
            title=type(self).__name__,
            size=size,
            n_features=n_features,
            fitted=fitted,
            estimator=self._with,
            n_init=whole_number(self.n_init, "n_init") if self._before() is None else 1,
            max_time=None if self.max_time is None else positive_number(self.max_time, "max_time"),
            callbacks=callbacks,
            verbose=self.verbose,
            keeps_last=self._fitted is None,
            clock=clock,
        )

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    def _engine(self) -> Engine:
        return self._component("engine")

    def _threads(self) -> int:
        return self._engine().threads(count_of_threads(as_declared(self.n_jobs, int)))

    def _component(self, name: str, missing: object = "refused") -> Any:
        """The component that a parameter stands for. `missing=None`: None where it is not a valid one."""
        try:
            return component_of(getattr(self, name), name)
        except ValueError:
            if missing is None:
                return None
            raise

    def _frame(self, columns: Columns) -> DataFrame:
        """A DataFrame of the user's kind: that of `set_output`, else that of the training data, else of pandas."""
        return frame(columns, output_kind(self) or (None if self._fitted is None else self._fitted.reading.frame))


# The parameters that estimators share: each has its type, its default and its description once, here.


class Started(Estimator, kw_only=False):
    """How many topics or clusters there are, how often a fit starts, and from where.

    Parameters
    ----------
    n_components : int
        Number of topics or clusters, K.
    max_time : float or None
        Seconds for the whole fit, with all `n_init` starts. It stops before a pass that would not fit in, judging by
        the one before; every start makes at least one pass. None: no limit.
    n_init : int
        Starts to try; the one with the best objective is kept.
    warm_start : bool
        Start `fit` from the topics or clusters of the last one, with the priors of now. What these cannot follow, such
        as another n_components or covariance_type, is refused.
    """

    n_components: int = 100
    max_time: float | None = None
    n_init: int = 1
    warm_start: bool = False


class Seeded(Started):
    """Topics that may start where a user says.

    Parameters
    ----------
    seeds : list of lists of words, Seeds or None
        Words that topics 0, 1, ... should have, as a prior that stays; None in the list is a topic without.
        `topmix.Seeds` also says how strong they are, and which words are banned from topics or pinned.
    init : {"auto", "blended", "documents", "random"}, array of shape (n_components, n_features) or a fitted estimator
        Where topics start. "auto" is "blended": a little of one document in a lot of the corpus mean. Or pseudo-counts,
        given or those in `components_` of, for instance, a CombinatorialLDA.
    """

    seeds: object = None
    init: object = "auto"


class Learning(Estimator):
    """What learns, and who computes.

    Parameters
    ----------
    engine : {"threads", "serial", "ray", "cuda"} or an object of topmix.engines
        Who runs the kernels. The results are the same for any engine; those of "cuda", a GPU, within rounding.
    """

    n_active: int | None = 16
    learner: str | Learner = "memoized"
    engine: str | Engine = "threads"
    tol: float = 1e-3

    def _learner(self) -> Learner:
        learner: Learner = self._component("learner")
        learner.check_engine(self._engine())
        return learner


def check_targets(y: object, n: int) -> None:
    """y is not used. One that does not belong to these rows is a mistake all the same: perhaps names of columns."""
    if isinstance(y, Sized) and not isinstance(y, str | bytes) and len(y) != n:
        raise ValueError(f"y has {len(y):,} values, but X has {n:,} rows. It is not used; names go to feature_names=")


def output_kind(estimator: object) -> str | None:
    """The kind of DataFrame that `set_output` asks for. scikit-learn has no public way to ask."""
    wanted: str = _get_output_config("transform", estimator)["dense"]
    return wanted if wanted in FRAMES else None
