"""Checkpoints of the first format, in the terms of the second."""

from __future__ import annotations

from typing import Any

from topmix.allocations.stick_prior import StickPrior
from topmix.files.reader import CheckedReader, ModelFileError
from topmix.models.topics import TopicModel


def upgrade_checkpoint(file: CheckedReader, empty: TopicModel) -> None:
    """Renames arrays and moves values, in place. What the first format did not say is as in the empty model."""
    about = file.about
    extra = about.get("extra")
    memo, total = about.get("memo"), about.get("total")
    if not isinstance(extra, dict) or not isinstance(memo, dict) or not isinstance(total, dict):
        raise ModelFileError("lacks a table of the first format")
    about["n_memo"], about["has_next"] = len(memo), file.has("next.eta")
    for name, numbers in [("total", total), *((f"memo.{b}", values) for b, values in memo.items())]:
        for key, value in (numbers if isinstance(numbers, dict) else {}).items():
            extra[f"{name}.{key}"] = value
    names = {}
    for name in ("model", "next"):
        for key in ("alpha", "rho", "omega", "T"):
            names[f"{name}.{key}"] = f"{name}.prior.{key}"
        names[f"{name}.eta"] = f"{name}.words.eta"
        extra[f"{name}.words.posterior"] = extra.get("posterior", empty.words.posterior)
        extra[f"{name}.words.learned"] = empty.words.learned
        _upgrade_prior(file, name, empty.prior, extra)
    file.rename(names)


def _upgrade_prior(file: CheckedReader, name: str, prior: Any, extra: dict[str, Any]) -> None:
    if not isinstance(prior, StickPrior):
        extra[f"{name}.prior.learned"] = prior.learned
        return
    if not file.has(f"{name}.numbers"):
        return
    concentration, stick_prior, D = file.array(f"{name}.numbers", 3)
    file.arrays.pop(f"{name}.numbers")
    extra[f"{name}.prior.concentration"], extra[f"{name}.prior.stick_prior"] = float(concentration), float(stick_prior)
    extra[f"{name}.prior.D"] = float(D)
    extra[f"{name}.prior.learns_concentration"] = prior.learns_concentration
    extra[f"{name}.prior.learns_stick_prior"] = prior.learns_stick_prior
