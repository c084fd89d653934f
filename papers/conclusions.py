"""The five conclusions of the papers as numbers, from the stored rows: `python -m papers.conclusions` prints them.

tests/test_papers.py checks what docs/papers.md says of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from papers import RESULTS
from papers.rows import Row, corpus_of, curve_of, is_first_seed, panels, rows, seeds

NEAR = 0.01  # nats: scores that do not differ by more are the same here, as seeds differ by so much


def seconds_to(row: Row, score: float, of: str = "score") -> float:
    return curve_of(row).time_to(score, of)


def speed(row: Row) -> float:
    """Passes per second."""
    curve = curve_of(row)
    return float((curve.n_pass[-1] or 0.0) / curve.seconds[-1])


def speed_after_start(row: Row) -> float:
    """Passes per second between the first point of the curve, which has the start in it, and the last; NaN of one."""
    curve = curve_of(row)
    seconds = curve.seconds[-1] - curve.seconds[0]
    return float(((curve.n_pass[-1] or 0.0) - (curve.n_pass[0] or 0.0)) / seconds) if seconds > 0 else float("nan")


def mean(some: Iterable[float | None]) -> float:
    """Over seeds; minus infinity where one has none yet."""
    return float(np.mean([-np.inf if v is None else v for v in some]))


def sparsity(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 4 of sparse posteriors: last scores for each L, how far apart their seeds are, and how many times as fast as
    dense a pass is."""
    out = {}
    for (corpus, K), named in seeds(rows("sparse_posteriors", folder, figure=4), "K").items():
        if "MVI, L = K" not in named:
            continue
        dense, found = mean(map(speed, named["MVI, L = K"])), {}
        for name, some in named.items():
            ends = [curve_of(row).last() for row in some]
            found[name] = mean(ends)
            if len(some) > 1:
                found[f"{name}: spread"] = float(np.ptp(ends))
            if name.startswith("MVI"):
                found[f"{name}: times as fast"] = mean(map(speed, some)) / dense
        out[f"{corpus}, K = {K}"] = found
    return out


def sparse_mixtures(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 2 of sparse posteriors: the same for mixtures of patches, from the start on."""
    out: dict[str, dict[str, float]] = {}
    for (corpus, K), named in panels(rows("sparse_posteriors", folder, figure=2)).items():
        for learner in ("MVI", "SVI"):
            dense = named.get(f"{learner}, L = K")
            for name, row in named.items():
                if name.startswith(learner):
                    found = out.setdefault(f"{corpus}, K = {K}", {})
                    found[name] = curve_of(row).last()
                    if dense is not None:
                        found[f"{name}: times as fast"] = speed_after_start(row) / speed_after_start(dense)
    return out


def rates(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """The learning rates of SVI in sparse posteriors: scores of validation documents."""
    out: dict[str, dict[str, float]] = {}
    for row in rows("sparse_posteriors", folder, figure="rates"):
        s = row["settings"]
        out.setdefault(f"{corpus_of(row)}, K = {s['K']}", {})[s["name"]] = curve_of(row).last()
    return out


def collapsed(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 1 of SCVB0: scores after all and after a quarter of the time, means over seeds, and their range."""
    out: dict[str, dict[str, float]] = {}
    for (corpus, K), named in seeds(rows("scvb0", folder, figure=1), "K").items():
        found = out.setdefault(f"{corpus}, K = {K}", {})
        for name, some in named.items():
            ends = [curve_of(row).last() for row in some]
            found[name] = mean(ends)
            found[f"{name}: at a quarter"] = mean(
                curve_of(row).value_at(row["settings"]["seconds"] / 4) for row in some
            )
            found[f"{name}: spread"] = float(np.ptp(ends))
    return out


def asynchronous(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 4 of ESVI: bounds per token at the end of the shortest run's time, one worker."""
    out = {}
    for (corpus, K), named in seeds(rows("esvi", folder, figure=4, workers=1), "K").items():
        found: dict[str, float] = {}
        budget = min(row["settings"]["seconds"] for some in named.values() for row in some)
        for name, some in named.items():
            for part in (8, 2, 1):
                found[f"{name}: at 1/{part}"] = mean(bound_at(row, 1.05 * budget / part) for row in some)
        out[f"{corpus}, K = {K}"] = found
    return out


def bound_at(row: Row, seconds: float) -> float | None:
    """Per token."""
    value = curve_of(row).value_at(seconds, "elbo")
    return None if value is None else value / row["result"]["tokens"]


def combinatorial(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Table 2 of combinatorial topics: the least error over lambda, and the seconds of that fit; means over starts."""
    best: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in rows("combinatorial", folder, table=2):
        s, result = row["settings"], row["result"]
        name = s["method"] + (", exact" if s.get("exact") else "")
        starts = best.setdefault((f"{s['sample']}, {s['documents']:,}", name), {})
        seed = s.get("seed", 0)
        if seed not in starts or result["error"] < starts[seed]["error"]:
            starts[seed] = result
    out: dict[str, dict[str, Any]] = {}
    for (where, name), starts in best.items():
        some = list(starts.values())
        found = {key: float(np.mean([r[key] for r in some])) for key in ("error", "seconds", "nmi") if key in some[0]}
        out.setdefault(where, {})[name] = found | {"spread": float(np.ptp([r["error"] for r in some]))}
    return out


def other_alphas(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """ESVI under other priors of documents: bounds per token at the end of the time; SVI is the best of its grid."""
    out: dict[str, dict[str, float]] = {}
    for (corpus, K, alpha), named in seeds(rows("esvi", folder, figure="alphas"), "K", "alpha").items():
        found = out.setdefault(f"{corpus}, K = {K}, alpha = {alpha}", {})
        for name, some in named.items():
            group = "SVI" if name.startswith("SVI") else name
            value = mean(curve_of(row).last("elbo") / row["result"]["tokens"] for row in some)
            found[group] = max(found.get(group, -np.inf), value)
    return out


def with_workers(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """ESVI and VI with 1 to 16 workers on nips: passes per second as multiples of one worker's, and the last bound."""
    out: dict[str, dict[str, Any]] = {}
    for row in rows("esvi", folder, figure=4, corpus="nips", K=128):
        s = row["settings"]
        if s["name"] in ("ESVI", "VI") and is_first_seed(row):
            bound = curve_of(row).last("elbo") / row["result"]["tokens"]
            out.setdefault(s["name"], {})[s["workers"]] = {"speed": speed(row), "bound": bound}
    for found in out.values():
        for value in found.values():
            value["times"] = value["speed"] / found[1]["speed"]
    return out


def main() -> int:
    for part in (sparsity, rates, sparse_mixtures, collapsed, asynchronous, other_alphas, with_workers, combinatorial):
        print(f"\n{part.__doc__}")
        for where, found in part().items():
            print(f"  {where}")
            for name, value in sorted(found.items()):
                print(f"    {name:<44}{value if isinstance(value, dict) else f'{value:.4f}'}")
    for row in rows("hdp", figure="fits"):
        print(corpus_of(row), row["settings"]["name"], row["result"]["final"], curve_of(row).last("objective"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
