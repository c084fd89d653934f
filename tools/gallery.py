"""The pictures of docs/gallery.md: drawn by topmix.plot and matplotlib, and of explorer and report in a browser.
`python -m tools.gallery` makes all of them, `python -m tools.gallery pages` those of the pages.

Most are of the demo corpus, the documentation that is installed with Python, so they change a little with its versions.
The other two are of made data.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt

import topmix
from tools.find_chromium import find_chromium
from topmix import LDA, GaussianMixture
from topmix.data import demo_corpus

FOLDER = Path(__file__).parents[1] / "docs" / "img" / "gallery"
LARGEST = 150_000  # bytes


def save(ax: Any, name: str, width: float, height: float) -> None:
    """Writes the figure of ax as FOLDER/name.svg, with the same bytes for the same picture."""
    ax.figure.set_size_inches(width, height)
    path = FOLDER / f"{name}.svg"
    ax.figure.savefig(path, bbox_inches="tight", metadata={"Date": None}, facecolor="white")
    plt.close(ax.figure)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path} has {size:,} bytes, more than {LARGEST:,}")
    print(f"{path.name}: {size:,} bytes")


def of_the_demo_corpus() -> None:
    corpus = demo_corpus()
    lda = LDA(40, random_state=0).fit(corpus)
    save(topmix.plot.topic_map(lda), "topic-map", 7, 6)
    save(topmix.plot.top_words(lda, int(lda.topic_info()["topic"][0])), "top-words", 6.5, 4)
    save(topmix.plot.topic_tree(lda), "topic-tree", 7.5, 8)
    save(heat_map(lda, corpus), "documents", 7, 5)


def heat_map(lda: LDA, corpus: Any) -> Any:
    """Shares of topics in every 8th document, ordered by main topic and its share."""
    theta = lda.transform(corpus)
    order = np.lexsort((-theta.max(axis=1), theta.argmax(axis=1)))
    ax = plt.subplots()[1]
    image = ax.imshow(theta[order[::8]].T, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="none")
    ax.set_xlabel("every 8th document, by main topic")
    ax.set_ylabel("topic")
    ax.figure.colorbar(image, label="share of the document")
    return ax


def of_the_pages() -> None:
    """The explorer and the report of the demo corpus, as a browser shows them."""
    from playwright.sync_api import sync_playwright

    corpus = demo_corpus()
    lda = LDA(100, random_state=0).fit(corpus)
    columns = {"package": [name.partition(".")[0] for name in corpus.names or ()]}
    shots = {
        "explorer": ("topics", None),
        "explorer-documents": ("documents", "#found-cards .card"),
        "explorer-map": ("atlas", "#atlas-list"),
        "explorer-charts": ("charts", None),
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        topmix.explore(lda, corpus, columns=columns, title="Documentation", browser=False) as explorer,
        sync_playwright() as p,
    ):
        browser = p.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        page.goto(explorer.url)
        page.locator("#documents .document").first.wait_for(timeout=120_000)
        page.locator("#map .region").first.wait_for()
        for name, (tab, choose) in shots.items():
            page.click(f"#tab-{tab}")
            if tab == "documents":
                page.fill("#find-words", lda.top_words(1)[int(lda.topic_info()["topic"][0])][0])
                page.keyboard.press("Enter")
                page.wait_for_timeout(1000)
            if choose is not None:
                page.locator(choose).first.click()
            page.wait_for_timeout(1500)
            page.screenshot(path=FOLDER.parent / f"{name}.png")
        report = Path(folder) / "documentation.html"
        topmix.report.write_report(lda, report, corpus, columns=columns, title="Documentation")
        page.set_viewport_size({"width": 1280, "height": 860})
        page.goto(report.as_uri())
        page.locator("#map .region").first.wait_for()
        page.wait_for_timeout(500)
        page.screenshot(path=FOLDER.parent / "report.png")
        browser.close()


def over_time() -> None:
    rng = np.random.default_rng(0)
    subjects = [
        "boat sail wind harbour anchor mast rope wave tide captain crew deck",
        "rook pawn queen king board mate opening gambit castle knight bishop clock",
        "chord violin tune tempo piano melody octave rhythm concert singer cello drum",
    ]
    dates = [f"{2019 + i // 120}-{1 + i // 10 % 12:02}-15" for i in range(600)]
    texts = []
    for i in range(600):
        mix = rng.dirichlet([2.0, 0.5 + 4.0 * i / 600, 2.0])
        texts.append(" ".join(rng.choice(subjects[k].split()) for k in rng.choice(3, 15, p=mix)))
    lda = LDA(3, random_state=0).fit(texts)
    table = lda.topics_over_time(texts, dates, freq="quarter")
    ax = plt.subplots()[1]
    for name, rows in table.groupby("name"):
        x = np.asarray(rows["period"], dtype="datetime64[D]")
        ax.fill_between(x, rows["low"].to_numpy(), rows["high"].to_numpy(), alpha=0.2, linewidth=0)
        ax.plot(x, rows["share"].to_numpy(), label=name)
    ax.set_ylabel("share of the documents")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.15))
    save(ax, "over-time", 7, 3.2)


def clusters() -> None:
    rng = np.random.default_rng(0)
    means = [(0, 0), (4, 1), (1, 4)]
    covariances = [[[1.0, 0.8], [0.8, 1.0]], [[0.3, 0.0], [0.0, 2.0]], [[1.5, -0.5], [-0.5, 0.4]]]
    rows = np.concatenate([rng.multivariate_normal(m, c, 150) for m, c in zip(means, covariances)])
    model = GaussianMixture(3, random_state=0).fit(rows)
    save(topmix.plot.ellipses(model, rows), "ellipses", 5, 4)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "topmix"  # the same ids in each run
    of_the_pages()
    if sys.argv[1:] == ["pages"]:
        return
    clusters()
    over_time()
    of_the_demo_corpus()


if __name__ == "__main__":
    main()
