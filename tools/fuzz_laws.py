"""Estimators by the thousand, continued: clusters that nobody can miss, and fits that must say the same."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import topmix
from tools.fuzz_estimators import ADMIXTURES, ESTIMATORS, MIXTURES, OF_ROWS, SUPERVISED, Draw, random_case, said_of

DRAWN_STARTS = [topmix.GibbsLDA, topmix.CombinatorialLDA, topmix.HDP, topmix.LabelledLDA]
EXACT = {"learner": "batch", "inference": "variational", "max_iter": 3, "tol": -math.inf, "n_active": None,
         "random_state": 0, "n_jobs": 1, "n_components": 3, "response_weight": 1.0}  # fmt: skip


def planted(kind: Any, d: Draw) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Rows of four clusters, the cluster of each, and what a fit takes beside the rows."""
    labels = d.rng.permutation(np.arange(160) % 4)
    beside = {"y": [[str(label)] for label in labels]} if kind in SUPERVISED[:1] else {"y": labels}
    beside = {"groups": np.arange(160) % 11} if kind in ADMIXTURES else beside if kind in SUPERVISED else {}
    if kind in OF_ROWS:
        return 20 * np.eye(4, 6)[labels] + d.rng.normal(size=(160, 6)), labels, beside
    return d.rng.poisson(np.kron(np.eye(4), np.full(6, 6.0)) + 0.05)[labels].astype(float), labels, beside


def planted_case(d: Draw, kind: Any, folder: Path) -> str:
    X, labels, beside = planted(kind, d)
    settings = {"n_components": 4, "random_state": int(d.rng.integers(99)), "n_jobs": 1, "response_weight": 1.0}
    settings |= {"max_iter": 30} if kind is topmix.HDP else {}  # it looks for others for long
    model = kind(**{name: value for name, value in settings.items() if name in kind._get_param_names()})
    model.fit(X, **beside)
    shares = model.predict_proba(X, *beside.values()) if kind in MIXTURES else model.transform(X)
    score = normalized_mutual_info_score(labels, shares.argmax(axis=1))
    assert score > 0.8, f"{model!r} shares {score:.2f} of its information with the planted clusters"
    return "found"


def law_case(d: Draw, kind: Any, folder: Path) -> str:
    """Two fits from the same start, of data that differs in nothing that matters."""
    known, (X, _, beside) = kind._get_param_names(), planted(kind, d)
    start = "init_params" if "init_params" in known else "init"
    X, n, one = X + d.rng.poisson(1.0, X.shape), len(X), np.arange(X.shape[1])
    is_mixture = kind in MIXTURES
    r = d.rng.integers(3, size=n) if is_mixture else d.rng.gamma(1.0, 1.0, (3, X.shape[1]))
    w = d.rng.integers(1, 4, size=n).astype(float)
    settings = {name: value for name, value in EXACT.items() if name in known} | {start: r}
    for name in {"objective", "covariance_type", "concentration_type"} & set(known):
        settings[name] = d.one_of(*sorted(re.findall(r'"([^"]+)"', said_of(kind)[name])))
    beside |= {"sample_weight": w} if is_mixture else {}
    rows, columns = d.rng.permutation(n), d.rng.permutation(X.shape[1])
    some, again = np.append(np.arange(n), rows[:9]), np.repeat(np.arange(n), w.astype(int))
    moved = {name: np.asarray(a)[rows] for name, a in beside.items()}
    Law = tuple[Any, dict[str, Any], dict[str, Any], np.ndarray, float]  # other data and settings; order and scale
    laws: dict[str, Law] = {"rows in another order": (X[rows], moved, {start: r[rows] if is_mixture else r}, one, 1)}
    laws["columns in another order"] = X[:, columns], beside, {start: r if is_mixture else r[:, columns]}, columns, 1
    if is_mixture and kind not in ADMIXTURES:
        laws["rows of no weight"] = X[some], {"sample_weight": np.append(w, np.zeros(9))}, {start: r[some]}, one, 1
        if settings["objective"] == "ml":
            laws["weights times four"] = X, {"sample_weight": 4 * w}, {}, one, 1 if kind in OF_ROWS else 4
        # Where the data chooses the prior, repeated rows predict each other. Directions have a prior of typical rows.
        chosen = {topmix.GaussianMixture: ["map"], topmix.VonMisesFisherMixture: ["map", "vb"]}
        if settings["objective"] not in chosen.get(kind, []):
            laws["rows repeated for their weight"] = X[again], {}, {start: r[again]}, one, 1
    if "reg_covar" in known:
        laws["data times eight"] = 8 * X, beside, {"reg_covar": 64 * kind().reg_covar}, one, 8
    if kind is topmix.LDA:
        laws["empty documents"] = np.insert(X, np.sort(rows[:20]), 0, axis=0), {}, {}, one, 1
    name = str(d.one_of(*laws))
    Y, others, changes, order, scale = laws[name]
    want, got = kind(**settings).fit(X, **beside), kind(**settings | changes).fit(Y, **others)
    a, b = (np.asarray(m.means_ if kind in OF_ROWS else m.components_) for m in (want, got))
    worst = np.abs(a[:, order] * scale - b).max() / np.abs(b).max()
    assert worst < 1e-4, f"{name}: what {kind.__name__} learned with {settings} differs by {worst:.2g}"
    return "law"


def estimator_case(n: int, folder: Path, uses: Any) -> str:
    """Case n, and how it ended."""
    d, kind = Draw(n), ESTIMATORS[n // 10 % len(ESTIMATORS)]
    case = planted_case if n % 10 == 0 else law_case if n % 10 < 3 and kind not in DRAWN_STARTS else random_case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return case(d, kind, folder)
