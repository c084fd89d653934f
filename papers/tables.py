"""Fills the tables of docs/papers.md from the rows in papers/results: `python -m papers.tables`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import tables
from benchmarks.harness.machine import ROOT
from benchmarks.harness.tables import Cells, number
from papers import RESULTS, conclusions
from papers.published import TABLE1, TABLE2, TABLE3, TABLE4
from papers.rows import Row, corpus_of, curve_of, rows, seeds

PAGE = ROOT / "docs" / "papers.md"


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=Path, default=RESULTS, metavar="FOLDER")
    p.add_argument("--page", type=Path, default=PAGE)
    a = p.parse_args(argv)
    a.page.write_text(filled(a.page.read_text(encoding="utf-8"), a.rows), encoding="utf-8")
    return 0


def filled(page: str, folder: Path) -> str:
    """The page with all its tables."""
    return tables.filled(page, {name: partial(make, folder) for name, make in TABLES.items()})


def machines(folder: Path) -> Cells:
    found = {}
    for paper in ("sparse_posteriors", "scvb0", "esvi", "hdp", "combinatorial"):
        for row in rows(paper, folder):
            m, v = row["machine"], row["versions"]
            key = paper, m["processor"], m["cores"], v["python"], row["commit"]
            found[key] = found.get(key, 0) + 1
    body = [
        [paper, f"{cpu}, {cores} cores", python, commit, str(n)]
        for (paper, cpu, cores, python, commit), n in found.items()
    ]
    return [["paper", "processor", "Python", "commit", "rows"], *body]


def learners(folder: Path) -> Cells:
    """Fig. 4 of sparse posteriors."""
    found = conclusions.sparsity(folder)
    names = [n for n in dict.fromkeys(n for f in found.values() for n in f) if ":" not in n]
    cells = []
    for name in names:
        row = [name]
        for f in found.values():
            fast, spread = f.get(f"{name}: times as fast"), f.get(f"{name}: spread")
            more = [f"{fast:.1f}×"] if fast is not None else []
            more += [f"range {spread:.3f}"] if spread is not None else []
            row.append(number(f.get(name)) + (f" ({', '.join(more)})" if more else ""))
        cells.append(row)
    return [["", *found], *cells]


def patches(folder: Path) -> Cells:
    """Fig. 2 of sparse posteriors."""
    found = conclusions.sparse_mixtures(folder)
    names = [n for n in dict.fromkeys(n for f in found.values() for n in f) if ":" not in n]

    def cell(f: dict[str, float], name: str) -> str:
        fast = f.get(f"{name}: times as fast", np.nan)
        return number(f.get(name), 2) + ("" if np.isnan(fast) else f" ({fast:.1f}×)")

    return [["", *found], *([name, *(cell(f, name) for f in found.values())] for name in sorted(names))]


def rates(folder: Path) -> Cells:
    """The learning rates of SVI in sparse posteriors."""
    found = conclusions.rates(folder)
    names = dict.fromkeys(n for f in found.values() for n in f)
    return [["", *names], *([where, *(number(f.get(n)) for n in names)] for where, f in found.items())]


def passes(folder: Path) -> Cells:
    """Fig. 3a of sparse posteriors: documents per second."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows("sparse_posteriors", folder, figure="3a"):
        s = row["settings"]
        found.setdefault((s["whose"], s["K"]), {})[f"L = {s['L']}" if s["L"] else "L = K"] = row["result"][
            "documents_per_second"
        ]
    heads = ["L = 1", "L = 8", "L = 16", "L = K"]
    cells = [
        [f"{who}, K = {K}", *(f"{f[h]:,.0f}" if h in f else "–" for h in heads)]
        for (who, K), f in sorted(found.items())
    ]
    return [["documents per second", *heads], *cells]


def two_passes(folder: Path) -> Cells:
    """Fig. 1a of sparse posteriors."""
    cells: Cells = []
    for row in rows("sparse_posteriors", folder, figure="1a"):
        for name, parts in row["result"]["two_passes"].items():
            cells.append([name, *(number(s, 2) for s in parts.values()), number(sum(parts.values()), 2)])
    return [["", "scores and top L", "summary", "update", "all (processor seconds)"], *cells]


def warm_and_cold(folder: Path) -> Cells:
    """Fig. 5 of sparse posteriors."""
    cells = []
    for row in rows("sparse_posteriors", folder, figure=5):
        s, curve = row["settings"], curve_of(row)
        tried, kept = (sum(v for _, v in curve.series(n)) for n in ("restarts", "accepted"))
        share = f"{kept / tried:.0%}" if tried else "–"
        size = f"L = {s['L']}" if s["L"] else "L = K"
        cells.append([f"{corpus_of(row)}, K = {s['K']}, {size}", s["name"], number(curve.last("objective"), 4), share,
                      number(row["result"]["final"]["score"])])  # fmt: skip
    return [["", "start", "bound per token", "restarts accepted", "score"], *sorted(cells)]


def streams(folder: Path) -> Cells:
    """Fig. 1 of SCVB0, and batch VB of Fig. 3."""
    found = conclusions.collapsed(folder)
    for row in rows("scvb0", folder, figure=3):
        key, curve = f"{corpus_of(row)}, K = {row['settings']['K']}", curve_of(row)
        name = row["settings"]["name"]
        found.setdefault(key, {})[name] = curve.last()
        found[key][f"{name}: at a quarter"] = curve.value_at(row["settings"]["seconds"] / 4)
    names = [n for n in dict.fromkeys(n for f in found.values() for n in f) if ":" not in n]

    def cell(f: dict[str, float], name: str) -> str:
        if name not in f:
            return "–"
        spread = f.get(f"{name}: spread")
        return f"{number(f.get(f'{name}: at a quarter'))}, {number(f[name])}" + (f" ({spread:.3f})" if spread else "")

    cells = [[name, *(cell(f, name) for f in found.values())] for name in names]
    return [["at a quarter of the time, at the end (range of three seeds)", *found], *cells]


def coherence(folder: Path) -> Cells:
    """Tables 2 and 3 of SCVB0."""
    found: dict[tuple[int, str], list[dict]] = {}
    for row in [*rows("scvb0", folder, table=2), *rows("scvb0", folder, table=3)]:
        found.setdefault((row["settings"]["table"], row["settings"]["name"]), []).append(row["result"])
    cells = []
    for (table, name), results in found.items():
        mean = {k: float(np.mean([r[k] for r in results])) for k in ("npmi", "diversity", "documents")}
        cells.append([f"Table {table}", name, str(len(results)), number(mean["npmi"]), number(mean["diversity"], 2),
                      f"{mean['documents']:,.0f}", "; ".join(results[0]["topics"][:2])])  # fmt: skip
    return [
        ["", "", "runs", "NPMI", "diversity", "documents visited", "two topics, at random"],
        *cells,
    ]


def workers(folder: Path) -> Cells:
    """Fig. 4 of ESVI: means over seeds."""
    body = []
    found = seeds(rows("esvi", folder, figure=4), "K", "workers")
    for (corpus, K, n), named in sorted(found.items(), key=lambda item: item[0]):
        for name, some in named.items():
            bounds = [
                conclusions.mean(conclusions.bound_at(row, 1.05 * row["settings"]["seconds"] / part) for row in some)
                for part in (8, 2, 1)
            ]
            perplexity = conclusions.mean(curve_of(row).last("perplexity") for row in some)
            where = f"{corpus}, K = {K}" + (f", {n} workers" if n > 1 else "")
            body.append([where, name, str(len(some)), *map(number, bounds), number(perplexity, 0)])
    return [["", "", "seeds", "bound per token at 1/8", "at 1/2", "at the end", "perplexity"], *body]


def alphas(folder: Path) -> Cells:
    """Fig. 4 of ESVI under other priors."""
    found = conclusions.other_alphas(folder)
    names = list(dict.fromkeys(n for f in found.values() for n in f))
    return [
        ["bound per token at the end", *names],
        *([k, *(number(f.get(n)) for n in names)] for k, f in found.items()),
    ]


def teams(folder: Path) -> Cells:
    """Fig. 4 of ESVI with more workers."""
    found = conclusions.with_workers(folder)
    sizes = sorted({n for f in found.values() for n in f})
    body = [
        [name, *(f"{f[n]['times']:.1f}×, {number(f[n]['bound'])}" if n in f else "–" for n in sizes)]
        for name, f in found.items()
    ]
    return [["nips, K = 128", *(f"{n} worker{'s' if n > 1 else ''}" for n in sizes)], *body]


def kept(folder: Path) -> Cells:
    """Figs. 7 and 8 of ESVI."""
    body = []
    for figure in (7, 8):
        for row in rows("esvi", folder, figure=figure):
            s, curve = row["settings"], curve_of(row)
            value = number(curve.last("elbo") / row["result"]["tokens"])
            body.append(
                [f"Fig. {figure}", f"{corpus_of(row)}, K = {s['K']}", s["name"], value, str(int(curve.n_pass[-1] or 0))]
            )
    return [["", "", "kept", "bound per token", "passes"], *body]


def gaussians(folder: Path) -> Cells:
    """Fig. 3 of ESVI."""
    body = []
    for row in rows("esvi", folder, figure=3):
        s, curve, n = row["settings"], curve_of(row), row["result"]["rows"]
        seconds = max(curve.seconds, default=0.0)
        values = [curve.value_at(seconds / part, "elbo") for part in (8, 2, 1)]
        body.append(
            [s["data"], s["name"], *(number(None if v is None else v / n, 2) for v in values), number(curve.last(), 2)]
        )
    return [["", "", "bound per row at 1/8", "at 1/2", "at the end", "held-out"], *sorted(body)]


def hdp_fits(folder: Path) -> Cells:
    """Whole fits: means over seeds."""
    body = []
    for (corpus, _), named in sorted(seeds(rows("hdp", folder, figure="fits"), "K").items()):
        for name, some in sorted(named.items()):
            bound = conclusions.mean(curve_of(row).last("objective") for row in some)
            topics = conclusions.mean(curve_of(row).last("n_components") for row in some)
            score, npmi, seconds = (
                conclusions.mean(row["result"]["final"][key] for row in some) for key in ("score", "npmi", "seconds")
            )
            body.append([corpus, name, str(len(some)), number(bound, 4), number(score), number(npmi), f"{topics:.0f}",
                         f"{seconds:.0f}"])  # fmt: skip
    return [["", "", "seeds", "bound per token", "score", "NPMI", "topics", "seconds"], *body]


def recovery(sample: str) -> Callable[[Path], Cells]:
    """Table 2 of combinatorial topics: ours, and the paper's in brackets."""

    def made(folder: Path) -> Cells:
        found = {k: v for k, v in conclusions.combinatorial(folder).items() if k.startswith(sample)}
        sizes = sorted(found, key=lambda k: int(k.split(", ", 1)[1].replace(",", "")))
        names = dict.fromkeys([*(n for k in sizes for n in found[k]), *(m for s, m in TABLE2 if s == sample)])
        published = {2000: 0, 4000: 1, 6000: 2, 8000: 3, 10000: 4}
        body = []
        for name in names:
            cells = [name]
            for size in sizes:
                n = int(size.split(", ", 1)[1].replace(",", ""))
                theirs = TABLE2.get((sample, name.removesuffix(", exact")))
                said = f" ({theirs[published[n]]:.3f})" if theirs and n in published else ""
                ours = found[size].get(name)
                cells.append(f"–{said}" if ours is None else f"{ours['error']:.3f}{said}, {ours['seconds']:.1f} s")
            body.append(cells)
        return [["ours (published), seconds", *(f"{s.split(', ', 1)[1]} documents" for s in sizes)], *body]

    return made


def agreement(folder: Path) -> Cells:
    """Table 1 of combinatorial topics."""
    found: dict[tuple[str, str], list[tuple[float, dict]]] = {}
    for row in rows("combinatorial", folder, table=2):
        s = row["settings"]
        if "nmi" in row["result"] and s["documents"] == 6000:
            found.setdefault((s["sample"], s["method"]), []).append((s.get("lambda", 0), row["result"]))
    body = []
    for (sample, method), results in sorted(found.items()):
        best = max(results, key=lambda r: r[1]["nmi"])[1]
        least = min(r["nmi"] for _, r in results)
        theirs = TABLE1.get((sample, method), ["–"])
        body.append([sample, method, f"{best['nmi']:.3f}/{best['rand']:.3f}", f"{least:.3f}", max(theirs)])
    return [["", "", "NMI/Rand at the best lambda", "NMI at the worst", "published, best"], *body]


def semi_synthetic(folder: Path) -> Cells:
    """Table 3 of combinatorial topics: means over starts, and the lambda that was chosen on another sample."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows("combinatorial", folder, table=3, part="test"):
        found.setdefault(row["settings"]["method"], {}).setdefault(corpus_of(row), []).append(row)
    corpora = list(dict.fromkeys(c for e in found.values() for c in e))

    def cell(some: list[Row]) -> str:
        mean, at = float(np.mean([r["result"]["error"] for r in some])), some[0]["settings"].get("lambda")
        return number(mean) + (f" (lambda = {at})" if at else "")

    body = [
        [m, *(cell(found[m][c]) if c in found.get(m, {}) else "–" for c in corpora), TABLE3.get(m, "–")]
        for m in dict.fromkeys([*found, *TABLE3])
    ]
    return [["", *(f"like {c}" for c in corpora), "published, Enron/NYTimes"], *body]


def predictive(folder: Path) -> Cells:
    """Table 4 of combinatorial topics; lambda is the one whose topics per document are nearest to the sampler's."""
    found: dict[tuple[str, str, float], list[dict]] = {}
    for row in rows("combinatorial", folder, table=4):
        s = row["settings"]
        found.setdefault((corpus_of(row), s["method"], s["beta"]), []).append(
            row["result"] | {"lambda": s.get("lambda")}
        )
    body = []
    for (corpus, method, beta), results in sorted(found.items()):
        chain = found.get((corpus, "gibbs", beta), [None])[0]
        shown = results
        if method != "gibbs":
            matched = (
                min(results, key=lambda r: abs(r["topics_per_document"] - chain["topics_per_document"]))
                if chain
                else None
            )
            best = max(results, key=lambda r: r["validation"])
            shown = [matched, best] if chain and matched is not best else [best]
        for r in shown:
            which = f", lambda = {r['lambda']}" if r["lambda"] else ""
            body.append([corpus, f"{beta:g}", method + which, number(r["discrete"], 2), number(r["held_out"], 2),
                         number(r["topics_per_document"], 1)])  # fmt: skip
    return [["", "beta", "", "discrete", "held-out", "topics per document"], *body]


def published_4(folder: Path) -> Cells:
    return [
        ["", "discrete, held-out at beta = .1, .01, .001: Enron; New York Times"],
        *([m, f] for m, f in TABLE4.items()),
    ]


TABLES: dict[str, Callable[[Path], Cells]] = {
    "machines": machines,
    "learners": learners,
    "patches": patches,
    "rates": rates,
    "passes": passes,
    "two_passes": two_passes,
    "warm_and_cold": warm_and_cold,
    "streams": streams,
    "coherence": coherence,
    "workers": workers,
    "alphas": alphas,
    "teams": teams,
    "kept": kept,
    "gaussians": gaussians,
    "hdp_fits": hdp_fits,
    "recovery_A": recovery("SynthA"),
    "recovery_B": recovery("SynthB"),
    "agreement": agreement,
    "semi_synthetic": semi_synthetic,
    "predictive": predictive,
    "published_4": published_4,
}


if __name__ == "__main__":
    raise SystemExit(main())
