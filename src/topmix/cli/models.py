"""The estimators that the command can fit, and the options that their parameters and components make."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path

import typer
from sklearn.base import BaseEstimator

from topmix.api import ESTIMATORS, load
from topmix.api.admixture import AdmixtureEstimator
from topmix.api.components import FAMILIES
from topmix.cli.flags import Flag, Settings, flags_of, merged, option_of
from topmix.parameters.component import Component

# Parameters that are options of the command itself (--seed, --threads, --resume, --max-time), or cannot be typed.
OWN = ("random_state", "n_jobs", "verbose", "callbacks", "warm_start", "max_time")
PREFERRED = "LDA"
SHORT = {"vmf": "VonMisesFisherMixture", "gmm": "GaussianMixture", "vmfadmixture": "VonMisesFisherAdmixture"}
NO_GROUPS = "mixes clusters in groups of rows, which this command does not read: use it from Python"
MODELS = dict(ESTIMATORS)


def model_flags(in_short: tuple[str, ...] = ()) -> dict[str, Flag]:
    """The parameters of all estimators, each once. The help of those `in_short` has one description for all models."""
    per_model = {name: flags_of(cls, leave_out=OWN) for name, cls in MODELS.items()}
    found: dict[str, Flag] = {}
    for name in dict.fromkeys(name for flags in per_model.values() for name in flags):
        holders = {model: flags[name] for model, flags in per_model.items() if name in flags}
        flag = merged(holders, MODELS, in_full=name not in in_short)
        if name in FAMILIES and name != "seeds":  # which are a file
            flag = replace(flag, choices=tuple(FAMILIES[name]), is_closed=True)
        found[name] = flag
    return found


def component_flags(family: str) -> dict[str, Flag]:
    """The settings of all components of a family, each once, as `family__setting`."""
    in_file = ("words", "ban", "pin") if family == "seeds" else ()
    per_kind = {name: flags_of(kind, leave_out=in_file) for name, kind in FAMILIES[family].items()}
    found: dict[str, Flag] = {}
    for setting in dict.fromkeys(setting for flags in per_kind.values() for setting in flags):
        holders = {name: flags[setting] for name, flags in per_kind.items() if setting in flags}
        found[f"{family}__{setting}"] = replace(merged(holders, per_kind), name=f"{family}__{setting}")
    return found


def estimator_class(name: str, *, with_groups: bool = False) -> type[BaseEstimator]:
    """By its name in any spelling: gaussian-mixture is GaussianMixture, and gmm too. Models of groups are refused
    unless the command reads groups."""
    wanted = re.sub(r"[-_ ]", "", name).lower()
    wanted = SHORT.get(wanted, wanted).lower()
    for known, cls in ESTIMATORS.items():
        if known.lower() == wanted:
            if issubclass(cls, AdmixtureEstimator) and not with_groups:
                raise typer.BadParameter(f"{known} {NO_GROUPS}", param_hint="--model")
            return cls
    raise typer.BadParameter(f"{name!r} is not one of {', '.join(MODELS)}", param_hint="--model")


def configure(estimator: BaseEstimator, settings: Settings) -> None:
    """Sets parameters and settings of components. An option that does not apply is an error that says what does."""
    own = {name: value for name, value in settings.items() if "__" not in name}
    for name in own:
        if name not in estimator.get_params(deep=False):
            raise typer.BadParameter(_no_parameter(estimator, name), param_hint=option_of(name))
    estimator.set_params(**own)
    inner = {name: value for name, value in settings.items() if "__" in name}
    for name in inner:
        if (reason := _no_setting(estimator, *name.split("__"))) is not None:
            raise typer.BadParameter(reason, param_hint=option_of(name))
    for family in dict.fromkeys(name.split("__")[0] for name in inner):
        part = {name: value for name, value in inner.items() if name.startswith(f"{family}__")}
        try:
            estimator.set_params(**part)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=", ".join(map(option_of, part))) from error


def load_model(path: Path, threads: int | None = None, *, with_groups: bool = False) -> BaseEstimator:
    """The model in a file, set to use this many threads. Models of groups are refused unless the command reads
    groups."""
    check_model_file(path)
    model = load(path)
    if isinstance(model, AdmixtureEstimator) and not with_groups:
        raise ValueError(f"{path}: a {type(model).__name__} {NO_GROUPS}")
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=threads)
    return model


def check_model_file(path: Path) -> None:
    """Raises ValueError where there is no file."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a model is one file, as `topmix fit ... -o FILE` writes it")
    if not path.exists():
        raise ValueError(f"{path}: there is no such model file; `topmix fit ... -o {path}` writes one")


def can_checkpoint(cls: type[BaseEstimator]) -> bool:
    return "checkpoint" in inspect.signature(cls.fit).parameters


def _no_parameter(estimator: BaseEstimator, name: str) -> str:
    """Why an estimator does not take a parameter, and what to pass instead."""
    inner = [option_of(n) for n in estimator.get_params(deep=True) if n.partition("__")[2] == name]
    if inner:
        return f"{type(estimator).__name__} has {' and '.join(inner)} instead"
    return f"{type(estimator).__name__} has no such option; it belongs to {_models_with(name)}"


def _no_setting(estimator: BaseEstimator, family: str, setting: str) -> str | None:
    """Why the component in use does not have a setting, and what it has; None if it has it."""
    if family not in estimator.get_params(deep=False):
        return f"{type(estimator).__name__} has no {family}; it belongs to {_models_with(family)}"
    if getattr(estimator, family) is None:
        return "there are no seeds: give --seeds FILE" if family == "seeds" else f"leave out `--{family} none`"
    component = estimator._component(family)
    if setting in component.settings():
        return None
    has = ", ".join(option_of(f"{family}__{name}") for name in component.settings()) or "no options of its own"
    holders = [name for name, kind in FAMILIES[family].items() if setting in flags_of(kind)]
    return f"--{family} {_name_of(component, family)} has {has}; this option belongs to {_either(holders)}"


def _models_with(parameter: str) -> str:
    return _either([name for name, cls in MODELS.items() if parameter in flags_of(cls)])


def _name_of(component: Component, family: str) -> str:
    return next(name for name, kind in FAMILIES[family].items() if type(component) is kind)


def _either(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
