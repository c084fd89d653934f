"""Entry points for fuzzers, continued: documents that somebody else wrote, in the explorer and in a report.

An input is the seed of a small corpus whose words, texts, titles, names and metadata try to get out of the page. The
target opens both pages in Chromium and uses them as a reader does. No script of a document runs, no dialog opens, no
request leaves, no element or handler comes from a document, and the page reports no error. Every other input is shown
without the policy of the page, which would stop scripts that are let in.
"""

from __future__ import annotations

import atexit
import random
import string
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tools.find_chromium import find_chromium

OWNED = "window.owned=1"
ELSEWHERE = "http://203.0.113.9/x"
MARKUP = [
    f"<script>{OWNED}</script>",
    f"</script><script>{OWNED}</script>",
    f"<!--<script>{OWNED}//-->",
    f"<img src=x onerror={OWNED}>",
    f"<svg/onload={OWNED}>",
    f"<svg><animate onbegin={OWNED} attributeName=x dur=1s>",
    f"<details open ontoggle={OWNED}>",
    f"<input autofocus onfocus={OWNED}>",
    f"'-{OWNED}-'",
    f'" onmouseover="{OWNED}" style="position:fixed;inset:0" x="',
    f"' autofocus onfocus={OWNED} x='",
    f"javascript:{OWNED}",
    f"java\tscript:{OWNED}",
    f"data:text/html,<script>{OWNED}</script>",
    f'<a href="javascript:{OWNED}" target=_top>here</a>',
    f'<iframe srcdoc="<script>parent.{OWNED}</script>"></iframe>',
    f"<iframe src={ELSEWHERE}>",
    f"<img src={ELSEWHERE}>",
    f"<link rel=stylesheet href={ELSEWHERE}>",
    f"<base href={ELSEWHERE}>",
    f'<meta http-equiv=refresh content="0;url={ELSEWHERE}">',
    f"<form action={ELSEWHERE}><button autofocus>",
    f"<style>@import '{ELSEWHERE}';*{{display:none}}</style>",
    f"}}body{{background:url({ELSEWHERE})}}",
    f"<math><mtext><table><mglyph><style><img src=x onerror={OWNED}>",
    f"<noscript><p title='</noscript><img src=x onerror={OWNED}>'>",
    f"<template><script>{OWNED}</script></template>",
    f"&lt;script&gt;{OWNED}&lt;/script&gt;",
    f"&#x3c;img src=x onerror={OWNED}&#x3e;",
    f"\\x3cscript\\x3e{OWNED}\\x3c/script\\x3e",
    f"\\u003cscript\\u003e{OWNED}",
    f"{{{{constructor.constructor('{OWNED}')()}}}}",
    "{{tail}}",
    "{{title}} {{head}} {{script}}",
    f"${{{OWNED}}}",
    f"`;{OWNED};`",
    "<%= 7*7 %> #{7*7} {% raw %}",
    f"\u2028{OWNED}\u2029",
    "]]><![CDATA[",
    "-->",
    "</style>",
    "</textarea></title></select></svg>",
]
NAMES = [
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "length",
    "then",
    "undefined",
    "null",
    "NaN",
]
NAMES += ["-0", "1e999", "0x10", "true", "[object Object]", "../../etc/passwd", "file:///etc/passwd", "C:\\con", "%00"]
NAMES += ["%zz", "&topic=999#", "?a=b&document=1", "#tab=nothing", "=cmd|' /C calc'!A0", "", " ", "\n", "2024-02-30"]
LETTERS = "\u202e\u202d\u2066\u2067\u2069\u200f\u200e\u061c\u200b\u200d\ufeff\u00ad"
LETTERS += "\u2028\u2029\u0085\ufffe\uffff\u0000\u0007\b\u001b\r"
LETTERS += (
    "\u007f\u0301\u0489\u20dd\ud800\udc00\U0001f469\U0001f3fd\u5b57\u0e01\u0633\u05d0\u01c5\u0130\u00df\ufdfd\U0001242b"
)
HELD = (
    "img, iframe, frame, object, embed, base, form[action], link[href^=http], meta[http-equiv=refresh], template, math"
)
STRANGE = f"""() => ({{
    owned: window.owned ?? null,
    elements: [...document.querySelectorAll("{HELD}")].map((e) => e.outerHTML.slice(0, 200)),
    scripts: document.scripts.length,
    handlers: [...document.querySelectorAll("*")].flatMap((e) => [...e.attributes])
        .filter((a) => a.name.startsWith("on") || (a.name.endsWith("href") && /^\\s*\\w*script:/i.test(a.value)))
        .map((a) => a.name + "=" + a.value.slice(0, 100)),
    polluted: Object.keys(Object.prototype).concat(Object.keys(Array.prototype)),
}})"""

WIDE = """() => [...document.querySelectorAll("body *")].filter((e) => {
    const [before, shown] = [document.documentElement.scrollWidth, e.style.display];
    e.style.display = "none";
    const after = document.documentElement.scrollWidth;
    e.style.display = shown;
    return after < before;
}).map((e) => `${e.tagName}#${e.id}.${e.className}`)"""


def hostile(rng: random.Random) -> str:
    """One string of the kinds above, or several in a row."""
    kind = rng.random()
    if kind < 0.55:
        found = rng.choice(MARKUP)
    elif kind < 0.7:
        found = rng.choice(NAMES)
    elif kind < 0.85:
        found = "".join(rng.choice(LETTERS + string.ascii_letters) for _ in range(rng.choice((1, 5, 40))))
    elif kind < 0.9:
        found = "e" + "\u0301\u0489" * rng.choice((50, 2000))  # one letter, many marks
    elif kind < 0.95:
        found = rng.choice("aW<\u5b57\ufdfd") * rng.choice((300, 20_000, 300_000))
    else:
        found = "".join(chr(rng.randrange(0x110000)) for _ in range(30))
    return found if rng.random() < 0.7 else found + rng.choice((" ", "", "\n", "&", '"')) + hostile(rng)


def _written(text: str) -> str:
    """Words and names are UTF-8 in a corpus: halves of characters cannot be there. Texts and columns may have them."""
    return text.encode(errors="replace").decode()


def corpus_of(rng: random.Random) -> tuple[Any, list[str], dict[str, list[object]]]:
    """Documents, their texts, and columns beside them."""
    import numpy as np

    from topmix.data import Corpus, Vectorizer

    n, V = 24, 30
    words = list(dict.fromkeys(w for _ in range(4 * V) if (w := _written("".join(hostile(rng).split()))[:5000])))[:V]
    words += [f"w{v}" for v in range(V - len(words))]
    counts = np.random.default_rng(rng.randrange(2**32)).poisson(0.7, (n, V)).astype(np.float32)
    counts[:, 0] += 1
    texts = [
        " ".join([hostile(rng), *(words[v] for v in np.flatnonzero(row) for _ in range(int(row[v]))), hostile(rng)])
        for row in counts
    ]
    texts[0], texts[1] = "", hostile(rng) * 3
    columns: dict[str, list[object]] = {hostile(rng): [hostile(rng) for _ in range(n)] for _ in range(2)}
    columns[rng.choice(NAMES) or "a"] = [rng.choice(NAMES) for _ in range(n)]
    columns["date"] = [f"20{10 + d % 8}-01-0{1 + d % 9}" for d in range(n)]
    columns["some"] = [rng.choice((None, float("nan"), 1, True, "\ud800", "")) for _ in range(n)]
    plain = Corpus.from_scipy(counts)
    names = [_written(hostile(rng)) for _ in range(n)]
    about = {"tokenizer": Vectorizer(token_pattern=r"\S+", lowercase=False).to_dict()}
    rows = plain.indptr, plain.index, plain.value, V
    return Corpus.trusted(*rows, vocabulary=words, names=names, meta=about), texts, columns


@cache
def browser() -> tuple[Any, Callable[[], None]]:
    """Chromium, and how to end it. It ends with the process, or by `close`."""
    from playwright.sync_api import sync_playwright

    running = sync_playwright().start()
    opened = running.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
    atexit.register(close)

    def end() -> None:
        opened.close()
        running.stop()

    return opened, end


def close() -> None:
    if browser.cache_info().currsize:
        browser()[1]()
        browser.cache_clear()


def pages(data: bytes, folder: Path) -> None:
    """Bytes are the seed of the documents, and of what the reader does."""
    from topmix import LDA, explore
    from topmix.report import write_report

    rng = random.Random(data)
    corpus, texts, columns = corpus_of(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LDA(4, max_iter=2, random_state=0, n_jobs=1).fit(corpus)
        for topic in range(3):
            with suppress(ValueError):  # some are no names
                model.name_topics({topic: hostile(rng)[:150]})
        given: dict[str, Any] = {"texts": texts, "columns": columns, "title": hostile(rng)}
        write_report(model, folder / "report.html", corpus, **given)
        with explore(model, corpus, browser=False, **given) as running:
            _look(running.url, texts, rng, _use_explorer)
    _look((folder / "report.html").as_uri(), texts, rng, _use_report)


def _look(url: str, texts: list[str], rng: random.Random, use: Callable[[Any, list[str], random.Random], None]) -> None:
    """Opens a page, uses it, and asserts that nothing of a document got out."""
    opened, _ = browser()
    wrong: list[str] = []
    size = {"width": rng.choice((1300, 1000, 400)), "height": 850}
    context = opened.new_context(viewport=size, bypass_csp=rng.random() < 0.5)
    context.set_default_timeout(90_000)  # a busy machine is not a bug
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("console", lambda message: wrong.append(f"console: {message.text} {message.location.get('url')}"))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda popup: wrong.append(f"popup: {popup.url}"))
    page.on("request", lambda asked: asked.url.startswith(url.split("?")[0]) or wrong.append(f"request: {asked.url}"))
    try:
        page.goto(url)
        page.wait_for_selector("html[data-ready]")
        use(page, texts, rng)
        found = page.evaluate(STRANGE)
        width = page.evaluate("document.documentElement.scrollWidth")
        wide = page.evaluate(WIDE) if width > size["width"] else []
    finally:
        context.close()
    wrong = [fault for fault in wrong if not fault.startswith("request: data:,")]
    assert not wrong, wrong
    assert found["owned"] is None, found
    assert not found["elements"], found
    assert not found["handlers"], found
    assert not found["polluted"], found
    assert found["scripts"] <= 2, found
    assert width <= size["width"], (width, size, wide)


def _use_explorer(page: Any, texts: list[str], rng: random.Random) -> None:
    for _ in range(3):
        page.click(f"#tab-{rng.choice(('atlas', 'compare', 'tree', 'training', 'share', 'settings'))}")
        page.wait_for_timeout(30)
    page.click("#tab-topics")
    topics = page.locator(".topic")
    topics.nth(rng.randrange(topics.count())).click()
    page.fill("#search", hostile(rng)[:500])
    page.keyboard.press("Enter")
    page.wait_for_timeout(50)
    page.keyboard.press("Escape")
    if page.locator("#edit-rename").is_visible():
        page.click("#edit-rename")
        page.fill("#edit-name", hostile(rng)[:150] or "x")
        page.keyboard.press("Enter")
        page.wait_for_timeout(100)
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
    page.click("#tab-documents")
    page.wait_for_selector(".card")
    for row in rng.sample(range(len(texts)), 3):
        page.evaluate("(hash) => { location.hash = hash }", f"tab=documents&document={row}")
        page.wait_for_timeout(100)
    page.fill("#find-words", hostile(rng)[:500])
    page.keyboard.press("Enter")
    page.wait_for_timeout(50)
    page.evaluate("(hash) => { location.hash = hash }", hostile(rng)[:2000])
    page.wait_for_timeout(100)


def _use_report(page: Any, texts: list[str], rng: random.Random) -> None:
    for tab in ("training", "tree", "settings", "topics"):
        if page.locator(f"#tab-{tab}").is_visible():
            page.click(f"#tab-{tab}")
    page.fill("#search", hostile(rng)[:500])
    page.keyboard.press("Enter")
    page.wait_for_timeout(30)


TARGETS: dict[str, Callable[[bytes, Path], None]] = {"pages": pages}
SEEDS: dict[str, Callable[[], list[bytes]]] = {"pages": lambda: [b"first", b"second"]}
