"""How fast does the explorer answer, while a fit runs on the same cores?

    python -m benchmarks.explorer --K 1000 --documents 100000 --words 10000

A generated corpus is fitted for two passes and served. Each kind of question is asked --times times, before and during
another fit: the median and the slowest are printed in milliseconds. With Playwright and Chromium (TOPMIX_CHROMIUM) the
page is opened twice, with the model as it is and during the fit: seconds until it can be used, the first paint, what
clicks take until their answer is drawn, the map of all documents where it can be opened (milliseconds until drawn,
of a frame that pans it, and between two), and the memory of the page: its scripts, and the whole process that draws it.
Rows have the load of the machine. At the end is what was aimed at, and whether it was reached: one and a half seconds
from the call of `explore` until the page can be used, 200 ms per click, all documents drawn within two seconds. They
are seconds of a clock, so they need a machine that does nothing else.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import threading
import time
from typing import Any

import httpx

import topmix
from benchmarks.harness import arguments
from benchmarks.harness.results import Results
from topmix.data import sample_lda
from topmix.inference import Collapsed


def main(argv: list[str] | None = None) -> int:
    p = arguments.parser(__doc__, quick="few topics and documents, and no browser")
    p.add_argument("--K", type=int, default=1000)
    p.add_argument("--documents", type=int, default=100_000)
    p.add_argument("--words", type=int, default=10_000)
    p.add_argument("--times", type=int, default=9)
    a = p.parse_args(argv)
    if a.quick:
        a.K, a.documents, a.words, a.times = 10, 200, 300, 2
    out = Results(a.out, "explorer")
    settings = {"K": a.K, "documents": a.documents, "words": a.words, "threads": a.threads}
    corpus = sample_lda(a.documents, a.words, a.K, doc_length=60, random_state=0).corpus
    given: dict[str, Any] = {"inference": Collapsed(sweeps=0), "tol": -1.0, "n_jobs": a.threads}
    model = topmix.LDA(a.K, max_iter=2, random_state=0, **given).fit(corpus)
    begin, spent = time.perf_counter(), time.process_time()
    with topmix.explore(model, corpus, browser=False) as explorer:
        opened = {"open_s": time.perf_counter() - begin, "processor_s": time.process_time() - spent}
        print(f"open after {opened['open_s']:.2f} s, {opened['processor_s']:.2f} of a processor")
        out.add({"when": "opened"} | opened, settings)
        while explorer.session.snapshot.mixes is None:
            time.sleep(0.05)
        print(f"topics of all documents after {time.perf_counter() - begin:.2f} s")
        out.add(ask(explorer, corpus, a.times, "idle"), settings)
        while explorer.session.snapshot.positions is None:
            time.sleep(0.05)
        page = None if a.quick else look(explorer.url, a.times, "page")
        if page is not None:
            out.add(page, settings)
        watch = explorer.session.watching()
        fit = threading.Thread(
            target=topmix.LDA(a.K, max_iter=10**6, random_state=1, callbacks=[watch], **given).fit, args=[corpus]
        )
        fit.start()
        time.sleep(0.1 if a.quick else 5)
        out.add(ask(explorer, corpus, a.times, "while a fit runs"), settings)
        if not a.quick and (other := look(explorer.url, a.times, "page, while a fit runs")) is not None:
            out.add(other, settings)
        watch.stop()
        fit.join()
        explorer.session.busy = explorer.session.watch = None
    if page is not None:
        for name, value, most in (
            ("seconds until it can be used", opened["open_s"] + page["ready_s"], 1.5),
            ("milliseconds per click", page["click_ms"], 200),
            ("milliseconds until all documents are drawn", page.get("map_ms", float("inf")), 2000),
        ):
            print(f"{name}: {value:.1f} of {most}, {'reached' if value <= most else 'not reached'}")
    return 0


def ask(explorer: Any, corpus: Any, times: int, when: str) -> dict[str, Any]:
    """Milliseconds per kind of question."""
    word, another = corpus.vocabulary[1], corpus.vocabulary[min(50, len(corpus.vocabulary) - 1)]
    questions = {
        "overview": "/api/overview",
        "topic": "/api/topic/1",
        "find": f"/api/find?q={word[:-1]}",
        "suggest": f"/api/suggest?q={word[:2]}",
        "word": f"/api/word?q={word}",
        "documents by word": f"/api/documents?words={another}",
        "documents by topic": "/api/documents?topic=1",
        "document": "/api/document/7",
        "compare": "/api/compare?a=0&b=1",
    }
    found: dict[str, Any] = {"when": when, "load": round(os.getloadavg()[0], 1)}
    bearer = {"Authorization": f"Bearer {explorer.server.token}"}
    with httpx.Client(base_url=explorer.server.address, headers=bearer, timeout=120) as client:
        for name, path in questions.items():
            seconds = []
            for _ in range(times):
                begin = time.perf_counter()
                client.get(path).raise_for_status()
                seconds.append(time.perf_counter() - begin)
            found[name] = round(1000 * statistics.median(seconds), 1)
            print(f"{when}: {name:20} median {found[name]:7.1f} ms, at most {1000 * max(seconds):7.1f} ms")
    return found


def look(url: str, times: int, when: str) -> dict[str, Any] | None:
    """The page in a browser."""
    chromium = os.environ.get("TOPMIX_CHROMIUM") or shutil.which("chromium")
    if importlib.util.find_spec("playwright") is None or chromium is None:
        print("no page: Playwright or Chromium is not installed")
        return None
    from playwright.sync_api import sync_playwright

    found: dict[str, Any] = {"when": when, "load": round(os.getloadavg()[0], 1)}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--enable-precise-memory-info"])
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        begin = time.perf_counter()
        page.goto(url)
        page.wait_for_selector("html[data-ready]")
        found["ready_s"] = round(time.perf_counter() - begin, 2)
        found["paint_ms"] = round(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        page.wait_for_timeout(1000)
        found["click_ms"] = round(statistics.median(page.evaluate(CLICKS, times)), 1)
        page.click("#tab-documents")
        page.wait_for_selector(".card")
        found |= page.evaluate(ATLAS)
        found["scripts_mb"] = round(page.evaluate("performance.memory.usedJSHeapSize / 1e6"), 1)
        session = browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        found["process_mb"] = max(
            (_memory(int(of["id"])) for of in processes if of["type"] == "renderer"), default=None
        )
        browser.close()
    print(*(f"{name} {value}" for name, value in found.items()), sep=", ")
    return found


# Topics chosen one after another: milliseconds until the words of the topic are drawn.
CLICKS = """async (times) => {
  const spent = [];
  for (let i = 0; i < times; i++) {
    const buttons = document.querySelectorAll('.topic'), chosen = buttons[(3 * i + 1) % buttons.length];
    const begin = performance.now();
    await new Promise((done) => {
      const seen = new MutationObserver(() => { seen.disconnect(); done(); });
      seen.observe(document.getElementById('words'), { childList: true });
      chosen.click();
    });
    spent.push(performance.now() - begin);
    await new Promise((done) => setTimeout(done, 100));
  }
  return spent;
}"""

# The map of all documents: milliseconds until it is drawn; of the script of a frame that pans, and between two.
ATLAS = """async () => {
  const frame = () => new Promise(requestAnimationFrame), plane = document.getElementById('atlas-plane');
  const begin = performance.now();
  document.getElementById('tab-atlas').click();
  while (!(plane.dataset.points > 0)) {
    if (performance.now() - begin > 20000 || document.getElementById('atlas-facts').textContent.includes('known when'))
      return {};
    await frame();
  }
  const drawn = performance.now() - begin;
  document.getElementById('atlas-moves').click();
  const { left, top } = plane.getBoundingClientRect(), spent = [], between = [];
  const point = (type, x) => plane.dispatchEvent(
    new PointerEvent(type, { clientX: left + 300 + x, clientY: top + 300, pointerId: 1, bubbles: true }));
  plane.setPointerCapture = () => {};
  const usual = window.requestAnimationFrame;
  window.requestAnimationFrame = (draw) => usual((now) => {
    const from = performance.now();
    draw(now);
    spent.push(performance.now() - from);
  });
  point('pointerdown', 0);
  let last = performance.now();
  for (let i = 1; i <= 60; i++) {
    point('pointermove', 3 * i);
    await new Promise(usual);
    between.push(performance.now() - last);
    last = performance.now();
  }
  point('pointerup', 180);
  window.requestAnimationFrame = usual;
  const part = (values, q) => values.sort((a, b) => a - b)[Math.floor(q * (values.length - 1))];
  const shown = { map_ms: drawn, pan_script_ms: part(spent, 0.5), pan_frame_ms: part(between, 0.5),
    pan_slowest_ms: part(between, 1) };
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, Math.round(10 * value) / 10]));
}"""


def _memory(process: int) -> float | None:
    """Megabytes of a process; pages that it shares with others count in part."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            return round(next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024, 1)
    except (OSError, StopIteration):
        return None


if __name__ == "__main__":
    arguments.command(main)
