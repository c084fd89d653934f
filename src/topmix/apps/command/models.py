"""Estimators as the command makes them of options, fits them with a progress bar, and loads them from files."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from sklearn.base import BaseEstimator

from topmix.apps.command.command import INTERRUPTED, tell
from topmix.apps.command.options import FIT, MODEL, MORE, PRIORS, Flag, Settings, flags_of, merged_flags, option_of
from topmix.corpus.corpus import Corpus
from topmix.corpus.rows import Rows
from topmix.estimators import ESTIMATORS, Seeds, load
from topmix.estimators.declared import FAMILIES
from topmix.learn.history import FitProgress, StopOnInterrupt, TimeLimit
from topmix.selection.views import fitted_of

if TYPE_CHECKING:  # it needs starlette
    from topmix.apps.explorer import Explorer

PREFERRED = "LDA"
SHORT = {"vmf": "VonMisesFisherMixture", "gmm": "GaussianMixture", "vmfadmixture": "VonMisesFisherAdmixture"}
USUAL = {"n_components": MODEL, "n_active": MODEL, "inference": MODEL, "learner": MODEL, "max_iter": FIT}
# Parameters that are options of the command itself (--seed, --threads, --resume, --max-time), or cannot be typed.
OWN = ("random_state", "n_jobs", "verbose", "callbacks", "warm_start", "max_time")
IN_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # is set where this is a job of a Ray cluster: its log is read elsewhere


@cache
def model_flags() -> dict[str, Flag]:
    """The parameters of all estimators."""
    found = merged_flags(ESTIMATORS, OWN, USUAL)
    for family, kinds in FAMILIES.items():
        if family != "seeds":  # which are a file
            found[family] = replace(found[family], choices=tuple(kinds), is_closed=True)
    return found


@cache
def component_flags(family: str) -> dict[str, Flag]:
    """The settings of all components of a family, as `family__setting`."""
    in_file = ("words", "ban", "pin") if family == "seeds" else ()
    found = merged_flags(FAMILIES[family], in_file)
    return {f"{family}__{name}": replace(flag, name=f"{family}__{name}") for name, flag in found.items()}


def fit_flags(leave_out: Collection[str] = (), *, one_start: bool = False) -> dict[str, list[Flag]]:
    """The options of estimators and components, by heading. `one_start`: the default of n_init is 1."""
    groups: dict[str, list[Flag]] = {MODEL: [], FIT: [], MORE: [], PRIORS: []}
    for name, flag in model_flags().items():
        if name not in leave_out:
            heading = USUAL.get(name, PRIORS if "prior" in name or name == "smoothing" else MORE)
            groups[heading].append(replace(flag, default=1) if one_start and name == "n_init" else flag)
    flags = {family: component_flags(family) for family in FAMILIES}
    return groups | {f"Options of --{family}": list(found.values()) for family, found in flags.items() if found}


def model_option(names: Collection[str]) -> object:
    """--model NAME, with these names in its help and for a shell to complete."""
    text = f"One of {', '.join(names)}."
    return typer.Option(help=text, metavar="NAME", autocompletion=lambda: list(names), rich_help_panel=MODEL)


def estimator_class(name: str, among: Collection[str] = ESTIMATORS, why: str = "") -> type[BaseEstimator]:
    """By its name in any spelling: gaussian-mixture is GaussianMixture, and gmm too. One that is not `among` those that
    can be used is refused."""
    wanted = re.sub(r"[-_ ]", "", name).lower()
    wanted = SHORT.get(wanted, wanted).lower()
    cls = next((cls for known, cls in ESTIMATORS.items() if known.lower() == wanted), None)
    if cls is None:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(ESTIMATORS)}", param_hint="--model")
    if cls.__name__ not in among:
        raise typer.BadParameter(f"{cls.__name__} {why}: choose one of {', '.join(among)}", param_hint="--model")
    return cls


def configure(estimator: BaseEstimator, settings: Settings, threads: int | None = None, seeds: str = "--seeds") -> None:
    """Moves parameters, and settings of components, from `settings` to the estimator. An option that does not apply is
    an error that says what does."""
    names = {*model_flags(), *(name for family in FAMILIES for name in component_flags(family))}
    chosen = {name: settings.pop(name) for name in list(settings) if name in names}
    if isinstance(given := chosen.get("seeds"), str | Path):
        try:
            chosen["seeds"] = Seeds.read(given)
        except (OSError, ValueError) as error:
            why = f"there is no file {given} with words of topics" if isinstance(error, OSError) else str(error)
            raise typer.BadParameter(why, param_hint=seeds) from error
    for setting in sorted(chosen, key=lambda name: "__" in name):  # components first, and then what they have
        if setting not in estimator.get_params():
            raise typer.BadParameter(_without(estimator, setting), param_hint=option_of(setting))
        try:
            estimator.set_params(**{setting: chosen[setting]})
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=option_of(setting)) from error
    estimator.set_params(n_jobs=threads)


def _without(estimator: BaseEstimator, name: str) -> str:
    """Why an estimator, as it is now, does not have this option."""
    parameters, family = estimator.get_params(), name.partition("__")[0]
    if family != name and parameters.get(family, "") is None:
        return f"it belongs to {option_of(family)}, and there is none"
    same = [option_of(other) for other in parameters if other.startswith(f"{family}__") or other.endswith(f"__{name}")]
    kinds = ESTIMATORS if family not in parameters or family == name else FAMILIES[family]
    wanted = family if kinds is ESTIMATORS else name.partition("__")[2]
    holders = ", ".join(holder for holder, cls in kinds.items() if wanted in flags_of(cls))
    has = f"{type(estimator).__name__} has {', '.join(same) or 'no such option'}"
    return f"{has}; this option belongs to {holders}" if holders else has


def load_model(path: Path, threads: int | None = None) -> BaseEstimator:
    """The model in a file, set to use this many threads."""
    check_model_file(path)
    return load(path).set_params(n_jobs=threads)


def check_model_file(path: Path) -> None:
    """Raises ValueError where there is no file."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a model is one file, as `topmix fit ... -o FILE` writes it")
    if not path.exists():
        raise ValueError(f"{path}: there is no such model file; `topmix fit ... -o {path}` writes one")


def learn(
    estimator: BaseEstimator,
    data: Corpus | Rows,
    *,
    quiet: bool = False,
    limit: float | None = None,
    explorer: Explorer | None = None,
    **options: object,
) -> str | None:
    """Fits with a progress bar. Returns what ended the fit early: "Ctrl-C", "time limit", "stop" or None. An `explorer`
    shows the passes; `options` are those of `fit`."""
    most = estimator.max_iter if estimator.max_iter is not None else estimator.most_passes(data)
    size: float = data.n_tokens if isinstance(data, Corpus) else len(data.rows)
    unit, words = ("token", data.vocabulary) if isinstance(data, Corpus) else ("row", None)
    before = estimator.history_ if estimator.__sklearn_is_fitted__() else None
    timer, watch = None if limit is None else TimeLimit(limit), None
    display = FitProgress(
        most * estimator.n_init, size, title="Learning", words=words, unit=unit, lines=IN_JOB in os.environ,
        console=Console(stderr=True, quiet=quiet),
    )  # fmt: skip
    with StopOnInterrupt() as stop, display as progress:
        if explorer is not None:
            watch = explorer.session.watching(is_interrupted=lambda: stop.stopped)
        callbacks = [callback for callback in (progress, stop, timer, watch) if callback is not None]
        estimator.set_params(callbacks=callbacks, verbose=0)
        try:
            with warnings.catch_warnings():  # the command says itself what was saved
                warnings.filterwarnings("ignore", "the fit was interrupted")
                estimator.fit(data, **options)
        except KeyboardInterrupt:  # the second one: the model of this moment or of the last pass is there too
            if not estimator.__sklearn_is_fitted__() or estimator.history_ is before:
                if not stop.n_passes:
                    raise
                hint = "The first Ctrl-C alone saves the model when its pass ends."
                checkpoint = options.get("checkpoint")
                if isinstance(checkpoint, Path) and checkpoint.exists():
                    hint = f"Run the same command again: it continues from {checkpoint}."
                made = f"{stop.n_passes} pass{'es' if stop.n_passes != 1 else ''}"
                tell(f"stopped by a second Ctrl-C in the pass after {made}; no model was saved. {hint}")
                raise typer.Exit(INTERRUPTED) from None
        finally:
            estimator.set_params(callbacks=None)
    if stop.stopped:
        return "Ctrl-C"
    if watch is not None and watch.stopped:
        return "stop"
    return "time limit" if timer and timer.reached and not fitted_of(estimator).converged else None
