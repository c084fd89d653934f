"""Fills the tables of the documentation (PAGES), README.md and the paper from the rows in benchmarks/results.

    python -m benchmarks.page --draw docs/img

A peer's run counts with the setting, the prior and the moment that are best on validation documents; what a table says
of it is its score on test documents, and the seconds until it had that for the first time. Ours has its defaults.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import gaussian_clusters
from benchmarks.count_clusters import CHOSEN_ON, CLUSTERS
from benchmarks.harness import arguments, drawing, results, tables
from benchmarks.harness.curve import Curve
from benchmarks.harness.machine import ROOT
from benchmarks.harness.tables import Cells, number
from benchmarks.peers import GROUPS
from benchmarks.peers.choice import Best, Row, best, reached
from benchmarks.peers.scored import OURS

PAGES = tuple(ROOT / name for name in ("docs/benchmarks.md", "docs/choosing.md", "README.md", "docs/joss/paper.md"))
CORPORA = {
    "kos": "kos (3,430 posts)",
    "nips": "nips (1,500 papers)",
    "wiki": "wiki (10,000 articles)",
    "20ng": "20ng (18,000 posts, with stop words)",
    "arxiv_100k": "arxiv (100,000 abstracts)",
}
MIXTURES = {
    "more patches": "116,000 patches, K = 50, full",
    "patches": "50,000 patches, K = 200, full",
    "covtype": "covtype, K = 100, diagonal",
}
COUNTS, GAUSSIANS, SEEDS = "count_clusters", "gaussian_clusters", 5
NAMES = {"sklearn": "scikit-learn", "tomotopy_hdp": "tomotopy", "gensim_hdp": "gensim"}


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=Path, default=results.FOLDER, metavar="FOLDER")
    p.add_argument("--pages", type=Path, nargs="+", default=PAGES, metavar="FILE")
    arguments.add_draw(p)
    a = p.parse_args(argv)
    for page in a.pages:
        page.write_text(filled(page.read_text(encoding="utf-8"), a.rows), encoding="utf-8")
    draw(waits(read(a.rows)), a.draw)
    return 0


def filled(page: str, folder: Path) -> str:
    rows = read(folder)
    return tables.filled(page, {name: partial(make, rows) for name, make in TABLES.items()})


def read(folder: Path) -> Rows:
    rows = {group: results.read(folder / f"{group}.jsonl") for group in (*GROUPS, COUNTS, GAUSSIANS)}
    for path in sorted(folder.glob("aarch64/*.jsonl")):
        rows[f"{path.stem} on aarch64"] = results.read(path)
    return rows


Rows = dict[str, list[Row]]


def machines(rows: Rows) -> Cells:
    found: dict[tuple[str, ...], int] = {}
    for group, some in rows.items():
        for row in some:
            m, v = row["machine"], row["versions"]
            key = group, f"{m['processor']}, {m['cores']} cores, {m['instructions']}", v["python"], row["commit"]
            found[key] = found.get(key, 0) + 1
    return [["rows", "processor", "Python", "commit", "number"], *([*key, str(n)] for key, n in found.items())]


def topics(rows: Rows) -> Cells:
    """LDA beside the best peer."""
    head = ["corpus, K", "best peer", "NPMI, diversity", "topmix has that score after", "at its end", "NPMI, diversity"]
    body = []
    for K in (200, 800):
        for corpus, name in CORPORA.items():
            some = [r for r in rows["topics"] if r["corpus"]["name"] == corpus and r["settings"]["K"] == K]
            ours, peers = of(some, OURS), [r for r in some if r["settings"]["method"] != OURS]
            if ours and peers:
                b = best(peers)
                ends = [number(b.row["result"]["final"][n], 2) for n in ("npmi", "diversity")]
                our_ends = [number(middle([r["result"]["final"][n] for r in ours]), 2) for n in ("npmi", "diversity")]
                last = middle([r["result"]["final"]["score"] for r in ours])
                seconds = middle([r["result"]["final"]["seconds"] for r in ours])
                body.append([
                    f"{name}, {K}", said(b), ", ".join(ends), sooner(b, ours), f"{number(last)}, {seconds:.0f} s",
                    ", ".join(our_ends),
                ])  # fmt: skip
    return [head, *body]


def all_abstracts(rows: Rows) -> Cells:
    """Ours alone: after the first pass, when validation documents say that it is best, and at its end."""
    (row,) = [r for r in of(rows["topics"], OURS) if r["corpus"]["name"] == "arxiv"]
    curve = Curve.from_dict(row["result"]["curve"])
    moments = {"after its first pass": 0, "best": int(np.argmax(curve.column("validation"))), "at its end": -1}
    body = [[said, f"{curve.seconds[i]:.1f} s", number(curve.column("score")[i])] for said, i in moments.items()]
    return [["topmix, all 525,820 abstracts, K = 1000", "seconds", "score"], *body]


def each_peer(rows: Rows) -> Cells:
    """Every library at its best, where more than one was run."""
    body = []
    for corpus in ("nips", "wiki"):
        some = [r for r in rows["topics"] if r["corpus"]["name"] == corpus and r["settings"]["K"] == 200]
        for method in ("tomotopy", "gensim", "sklearn"):
            b = best(of(some, method))
            body.append([CORPORA[corpus], said(b), sooner(b, of(some, OURS))])
    return [["corpus, K = 200", "peer", "topmix has that score after"], *body]


def mixtures(rows: Rows) -> Cells:
    body = []
    for name, label in MIXTURES.items():
        some = [r for r in rows["mixtures"] if r["settings"]["name"] == name]
        b = best(of(some, "sklearn"))
        row = [label, said(b)]
        for setting in ("default", "momentum"):
            ours = [r for r in of(some, OURS) if r["settings"]["setting"] == setting]
            last = middle([Curve.from_dict(r["result"]["curve"]).column("score")[-1] for r in ours])
            row += [sooner(b, ours), number(last)]
        body.append(row)
    head = ["data", "scikit-learn", "topmix has that score after", "at its end", "with `momentum=2`", "at its end"]
    return [head, *body]


def processors(rows: Rows) -> Cells:
    """Both kinds: the best peer, and ours to its score."""
    body = []
    for label, group, fits in COMPARED:
        cells = [label]
        for kind in (group, f"{group} on aarch64"):
            some = [r for r in rows.get(kind, []) if fits(r) and r["settings"]["setting"] != "momentum"]
            peers = [r for r in some if r["settings"]["method"] != OURS]
            cells.append(f"{said(b := best(peers))}; topmix {sooner(b, of(some, OURS))}" if peers else "–")
        body.append(cells)
    return [["data", "x86-64", "aarch64"], *body]


def counts(rows: Rows) -> Cells:
    """Labels of MultinomialMixture: the corpora that settings were chosen on, and those that they were not."""
    head = ["corpus, K", "chosen on it", "topmix", "k-means on TF-IDF", "`gsdmm`", '`init="documents"`']
    found = [r for r in rows[COUNTS] if r["settings"]["what"] == "labels"]
    body = []
    for corpus, K in CLUSTERS.items():
        some = [r for r in found if r["corpus"]["name"] == corpus and r["settings"]["K"] == K]
        cells = []
        for method in ("topmix", "scikit-learn", "gsdmm", "documents"):
            of_method = of(some, method)
            nmi = [r["result"]["nmi"] for r in of_method]
            seconds = middle([r["result"]["seconds"] for r in of_method]) if nmi else 0.0
            seeds = "" if len(nmi) == SEEDS else f" ({len(nmi)} of {SEEDS} seeds)"
            cells.append(f"{np.mean(nmi):.3f}, worst {min(nmi):.3f}; {seconds:.1f} s{seeds}" if nmi else "–")
        body.append([f"{corpus}, {K}", "yes" if corpus in CHOSEN_ON else "no", *cells])
    return [head, *body]


def gaussians(rows: Rows) -> Cells:
    """GaussianMixture beside scikit-learn's: means over seeds, by half and type of covariances."""
    head = [
        "data sets",
        "covariances",
        "score no worse",
        "worst",
        "NMI",
        "worst",
        "seconds, over theirs: under 10,000 rows",
        "above",
    ]
    body = []
    for half, names in (("chosen on", gaussian_clusters.CHOSEN_ON), ("reported", gaussian_clusters.REPORTED)):
        for kind in gaussian_clusters.KINDS:
            gaps, nmi, seconds = [], [], []
            for name in names:
                some = [r for r in rows[GAUSSIANS] if r["corpus"]["name"] == name]
                some = [r for r in some if r["settings"]["covariance_type"] == kind and "score" in r["result"]]
                ours, theirs = ([r["result"] for r in of(some, method)] for method in ("topmix", "sklearn"))
                if not (ours and theirs):
                    continue
                mine, hers = (float(np.mean([r["score"] for r in result])) for result in (ours, theirs))
                gaps.append((mine - hers) / max(abs(hers - ours[0]["one"]), 1e-12))
                if "nmi" in ours[0]:
                    nmi.append(float(np.mean([r["nmi"] for r in ours]) - np.mean([r["nmi"] for r in theirs])))
                times = [middle([r["seconds"] for r in result]) for result in (ours, theirs)]
                if len({r["machine"]["processor"] for r in some}) == 1:
                    seconds.append((some[0]["corpus"]["rows"] > 10_000, times[0] / times[1]))
            few, many = ([ratio for is_large, ratio in seconds if is_large == large] for large in (False, True))
            within = sum(gap >= -0.01 for gap in gaps)
            body.append([half, kind, f"{within} of {len(gaps)}", f"{100 * min(gaps):.0f}%", f"{np.mean(nmi):+.3f}",
                         f"{min(nmi):+.3f}", f"{middle(few):.1f}", f"{middle(many):.2f}"])  # fmt: skip
    return [head, *body]


def hdp(rows: Rows) -> Cells:
    """Test scores at the moment, the setting and the K that are best on validation documents."""
    body = []
    for corpus in ("kos", "nips", "wiki"):
        some = [r for r in rows["hdp"] if r["corpus"]["name"] == corpus]
        row = [CORPORA[corpus]]
        runs = [best([r]).test for r in of(some, OURS) if r["settings"]["setting"] == "HDP"]
        row.append(" and ".join(number(x) for x in sorted(runs)))
        for kind in ("collapsed LDA", "variational LDA"):
            b = best([r for r in of(some, OURS) if r["settings"]["setting"] == kind])
            row.append(f"{number(b.test)}, K = {b.row['settings']['K']}")
        row += [number(best(of(some, method)).test) for method in ("tomotopy_hdp", "gensim_hdp")]
        body.append(row)
    head = ["corpus", "`HDP`, two seeds", "`LDA`, best K", "variational `LDA`", "tomotopy's HDP", "gensim's HDP"]
    return [head, *body]


def speed(rows: Rows) -> Cells:
    """Three rows for the front page."""
    body = []
    for corpus, label in (("arxiv_100k", "100,000 abstracts, 200 topics"), ("wiki", "10,000 articles, 200 topics")):
        some = [r for r in rows["topics"] if r["corpus"]["name"] == corpus and r["settings"]["K"] == 200]
        body.append(peer_and_ours(label, some))
    some = [r for r in rows["mixtures"] if r["settings"]["name"] == "more patches"]
    some = [r for r in some if r["settings"]["setting"] != "momentum"]
    body.append(peer_and_ours("116,000 image patches, 50 clusters, full covariances", some))
    return [["data", "best peer", "topmix"], *body]


class Wait(NamedTuple):
    """What a person waits for: the best peer at its best, and ours with that score."""

    label: str
    peer: str
    theirs: float  # seconds
    ours: float  # the median of the seeds that get there
    seeds: str  # how many do, unless all

    def said(self) -> tuple[str, str]:
        """As the chart says it, beside ours and beside theirs."""
        return f"{self.ours:.1f} s{self.seeds}", f"{self.peer}, {self.theirs:.0f} s"


def waits(rows: Rows) -> list[Wait]:
    """The fits of the chart: topics of each corpus, mixtures of all rows; defaults."""
    asked = [(f"{name}, K = {K}", "topics", _topics(corpus, K)) for K in (200, 800) for corpus, name in CORPORA.items()]
    asked += [(label, "mixtures", _rows(name)) for name, label in MIXTURES.items()]
    made = []
    for label, group, fits in asked:
        some = [r for r in rows[group] if fits(r) and r["settings"]["setting"] != "momentum"]
        ours, peers = of(some, OURS), [r for r in some if r["settings"]["method"] != OURS]
        if ours and peers:
            b = best(peers)
            seconds = [s for s in reached(ours, b.test) if np.isfinite(s)]
            seeds = "" if len(seconds) == len(ours) else f" ({len(seconds)} of {len(ours)} seeds)"
            made.append(Wait(label, name_of(b.row), b.seconds, middle(seconds) if seconds else np.inf, seeds))
    return made


def draw(all_waits: list[Wait], folder: Path | None) -> None:
    """speed.svg and speed-dark.svg: seconds on a logarithmic axis, a line per fit, ours to theirs."""
    for name, ink, paper, blue, orange in (
        ("speed.svg", "#222222", "#ffffff", drawing.BLUE, "#9a6700"),
        ("speed-dark.svg", "#d7d9e0", "#1e2129", drawing.SKY, drawing.ORANGE),
    ):
        page = drawing.page(folder, name, (5.6, 0.44 * len(all_waits) + 0.8))
        if page is None:
            return
        ax, left = page.panels[0][0], 0.05
        for y, wait in enumerate(reversed(all_waits)):
            ours, theirs = wait.said()
            ax.annotate(wait.label, (left, y + 0.3), color=ink, fontweight="bold")
            ax.plot([wait.ours, wait.theirs], [y, y], color=drawing.GREY, linewidth=1.2, zorder=1)
            ax.plot(wait.ours, y, "o", color=drawing.SKY, markersize=7)
            ax.plot(wait.theirs, y, "s", color=drawing.ORANGE, markersize=6)
            ax.annotate(ours, (wait.ours, y), (-7, 0), textcoords="offset points", ha="right", va="center", color=ink)
            ax.annotate(theirs, (wait.theirs, y), (7, 0), textcoords="offset points", va="center", color=ink)
        ax.set_xscale("log")
        ax.set(xlim=(left * 0.9, 6000), ylim=(-0.5, len(all_waits) + 0.6), yticks=[])
        ax.set_xticks([0.1, 1, 10, 100, 1000], ["0.1 s", "1 s", "10 s", "100 s", "1,000 s"], color=ink)
        ax.minorticks_off()
        ax.tick_params(color=drawing.GREY)
        ax.spines[:].set_color(drawing.GREY)
        ax.spines["left"].set_visible(False)
        top = len(all_waits) + 0.15
        ax.annotate("● topmix has that score", (left, top), color=blue)
        ax.annotate("■ the best peer at its best", (60, top), color=orange)
        page.figure.set_facecolor(paper)
        ax.set_facecolor(paper)
        page.save()


def peer_and_ours(label: str, some: list[Row]) -> list[str]:
    b = best([r for r in some if r["settings"]["method"] != OURS])
    return [label, f"{name_of(b.row)}, {b.seconds:.0f} s", f"{middle(reached(of(some, OURS), b.test)):.1f} s"]


def of(rows: list[Row], method: str) -> list[Row]:
    return [r for r in rows if r["settings"]["method"] == method]


def name_of(row: Row) -> str:
    method = row["settings"]["method"]
    return str(NAMES.get(method, method))


def said(b: Best) -> str:
    own = ", its own α" if b.prior else ""
    return f"{name_of(b.row)} {b.row['settings']['setting']}{own}, {b.seconds:.0f} s: {number(b.test)}"


def sooner(b: Best, ours: list[Row]) -> str:
    """The median of our seeds; where some never get there, how many do."""
    seconds = [s for s in reached(ours, b.test) if np.isfinite(s)]
    if not seconds:
        return "never"
    text = f"{middle(seconds):.2f} s, {b.seconds / middle(seconds):.0f} times sooner"
    return text if len(seconds) == len(ours) else f"{text}; {len(seconds)} of {len(ours)} seeds"


def middle(values: list[Any]) -> float:
    return float(np.median(values))


def _topics(corpus: str, K: int) -> Callable[[Row], bool]:
    return lambda r: r["corpus"]["name"] == corpus and r["settings"]["K"] == K


def _rows(name: str) -> Callable[[Row], bool]:
    return lambda r: bool(r["settings"]["name"] == name)


COMPARED: tuple[tuple[str, str, Callable[[Row], bool]], ...] = (
    ("nips, 200 topics", "topics", _topics("nips", 200)),
    ("100,000 abstracts, 200 topics", "topics", _topics("arxiv_100k", 200)),
    ("116,000 patches, K = 50, full covariances", "mixtures", _rows("more patches")),
    ("50,000 patches, K = 200, full covariances", "mixtures", _rows("patches")),
)

TABLES: dict[str, Callable[[Rows], Cells]] = {
    "machines": machines,
    "topics": topics,
    "all_abstracts": all_abstracts,
    "each_peer": each_peer,
    "mixtures": mixtures,
    "processors": processors,
    "counts": counts,
    "gaussians": gaussians,
    "hdp": hdp,
    "speed": speed,
}


if __name__ == "__main__":
    raise SystemExit(main())
