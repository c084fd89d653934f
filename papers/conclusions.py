"""The five conclusions of the papers as numbers, from the stored rows: `python -m papers.conclusions` prints them.

tests/test_papers.py checks what docs/papers.md says of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    """Fig. 1 of SCVB0: last scores, and those after a quarter of the time."""
    out = {}
    for (corpus, K), named in panels(rows("scvb0", folder, figure=1)).items():
        found: dict[str, float] = {}
        end = max(curve_of(row).seconds[-1] for row in named.values())
        for name, row in named.items():
            found[name] = curve_of(row).last()
            found[f"{name}: at a quarter"] = curve_of(row).best(end / 4)
        out[f"{corpus}, K = {K}"] = found
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
    """Table 2 of combinatorial topics: the least error over lambda, and the seconds of that fit."""
    out: dict[str, dict[str, Any]] = {}
    for row in rows("combinatorial", folder, table=2):
        s, result = row["settings"], row["result"]
        name = s["method"] + (", exact" if s.get("exact") else "")
        found = out.setdefault(f"{s['sample']}, {s['documents']:,}", {})
        if name not in found or result["error"] < found[name]["error"]:
            found[name] = result | {"lambda": s.get("lambda")}
    return out


def main() -> int:
    for part in (sparsity, sparse_mixtures, collapsed, asynchronous, combinatorial):
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
