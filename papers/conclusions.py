"""The five conclusions of the papers as numbers, from the stored rows: `python -m papers.conclusions` prints them.

tests/test_papers.py checks what docs/papers.md says of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers import RESULTS
from papers.rows import Row, corpus_of, curve_of, panels, rows

NEAR = 0.01  # nats: scores that do not differ by more are the same here, as seeds differ by so much


def seconds_to(row: Row, score: float, of: str = "score") -> float:
    return curve_of(row).time_to(score, of)


def speed(row: Row) -> float:
    """Passes per second."""
    curve = curve_of(row)
    return float((curve.n_pass[-1] or 0.0) / curve.seconds[-1])


def sparsity(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 4 of sparse posteriors: last scores for each L, and how many times as fast as dense a pass is."""
    out = {}
    for (corpus, K), named in panels(rows("sparse_posteriors", folder, figure=4)).items():
        if "MVI, L = K" not in named:
            continue
        dense, found = named["MVI, L = K"], {}
        for name, row in named.items():
            found[name] = curve_of(row).last()
            if name.startswith("MVI"):
                found[f"{name}: times as fast"] = speed(row) / speed(dense)
        out[f"{corpus}, K = {K}"] = found
    return out


def sparse_mixtures(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 2 of sparse posteriors: the same for mixtures of patches."""
    out: dict[str, dict[str, float]] = {}
    for (_, K), named in panels(rows("sparse_posteriors", folder, figure=2)).items():
        for learner in ("MVI", "SVI"):
            dense = named.get(f"{learner}, L = K")
            for name, row in named.items():
                if name.startswith(learner) and dense is not None:
                    found = out.setdefault(f"patches, K = {K}", {})
                    found[name] = curve_of(row).last()
                    found[f"{name}: times as fast"] = speed(row) / speed(dense)
    return out


def collapsed(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 1 of SCVB0: scores after all and after a quarter of the time, means over seeds, and their range."""
    seeds: dict[str, dict[str, list[Row]]] = {}
    for row in rows("scvb0", folder, figure=1):
        seeds.setdefault(f"{corpus_of(row)}, K = {row['settings']['K']}", {}).setdefault(
            row["settings"]["name"], []
        ).append(row)
    out: dict[str, dict[str, float]] = {}
    for where, named in seeds.items():
        found = out.setdefault(where, {})
        for name, some in named.items():
            ends = [curve_of(row).last() for row in some]
            early = [curve_of(row).value_at(row["settings"]["seconds"] / 4) for row in some]
            found[name] = float(np.mean(ends))
            found[f"{name}: at a quarter"] = float(np.mean([-np.inf if v is None else v for v in early]))
            found[f"{name}: spread"] = float(np.ptp(ends))
    return out


def asynchronous(folder: Path = RESULTS) -> dict[str, dict[str, float]]:
    """Fig. 4 of ESVI: bounds per token at the end of the shortest run's time, one worker."""
    out = {}
    for (corpus, K), named in panels(rows("esvi", folder, figure=4, workers=1)).items():
        found: dict[str, float] = {}
        budget = min(row["settings"]["seconds"] for row in named.values())
        for name, row in named.items():
            curve, tokens = curve_of(row), row["result"]["tokens"]
            for part in (8, 2, 1):
                value = curve.value_at(1.05 * budget / part, "elbo")
                found[f"{name}: at 1/{part}"] = float("-inf") if value is None else value / tokens
        out[f"{corpus}, K = {K}"] = found
    return out


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
    for row in rows("esvi", folder, figure="alphas"):
        s = row["settings"]
        found = out.setdefault(f"{corpus_of(row)}, K = {s['K']}, alpha = {s['alpha']}", {})
        name = "SVI" if s["name"].startswith("SVI") else s["name"]
        value = curve_of(row).last("elbo") / row["result"]["tokens"]
        found[name] = max(found.get(name, -np.inf), value)
    return out


def with_workers(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """ESVI and VI with 1 to 16 workers on nips: passes per second as multiples of one worker's, and the last bound."""
    out: dict[str, dict[str, Any]] = {}
    for row in rows("esvi", folder, figure=4, corpus="nips", K=128):
        s = row["settings"]
        if s["name"] in ("ESVI", "VI"):
            bound = curve_of(row).last("elbo") / row["result"]["tokens"]
            out.setdefault(s["name"], {})[s["workers"]] = {"speed": speed(row), "bound": bound}
    for found in out.values():
        for value in found.values():
            value["times"] = value["speed"] / found[1]["speed"]
    return out


def main() -> int:
    for part in (sparsity, sparse_mixtures, collapsed, asynchronous, other_alphas, with_workers, combinatorial):
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
