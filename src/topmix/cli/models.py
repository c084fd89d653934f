"""Which estimators the command can fit, and the options that they make."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer

from topmix.cli.flags import Flag, flags_of
from topmix.estimators import ESTIMATORS

# Said by an option of the command's own, or not a thing that a word can say.
OWN = ("random_state", "n_jobs", "verbose", "callbacks", "warm_start", "max_time")
PREFERRED = "LDA"


def model_flags() -> dict[str, Flag]:
    """The parameters of all estimators, each once; those that only some have say so."""
    per_model = {name: flags_of(cls, leave_out=OWN) for name, cls in ESTIMATORS.items()}
    found: dict[str, Flag] = {}
    for flags in per_model.values():
        for name, flag in flags.items():
            holders = [model for model, others in per_model.items() if name in others]
            if name in found:
                continue
            text = flag.text if len(holders) == len(per_model) else f"{', '.join(holders)}: {flag.text}"
            defaults = {model: per_model[model][name].default for model in holders}
            same = len(set(map(str, defaults.values()))) == 1
            default = flag.default if same else ", ".join(f"{model} {value}" for model, value in defaults.items())
            found[name] = Flag(name, flag.hint, default, flag.kind, text)
    return found


def estimator_class(name: str) -> Any:
    """By its name, however it is spelt: gaussian-mixture is GaussianMixture."""
    wanted = re.sub(r"[-_ ]", "", name).lower()
    for known, cls in ESTIMATORS.items():
        if known.lower() == wanted:
            return cls
    raise typer.BadParameter(f"{name!r} is not one of {', '.join(ESTIMATORS)}", param_hint="--model")


def refuse_unknown(cls: Any, settings: dict[str, Any]) -> None:
    known = flags_of(cls)
    for name in settings:
        if name not in known:
            option = "--" + name.replace("_", "-")
            raise typer.BadParameter(f"{cls.__name__} has no such setting", param_hint=option)


def can_checkpoint(cls: Any) -> bool:
    return "checkpoint" in inspect.signature(cls.fit).parameters
