"""A small model with documents that try to break out, an explorer for it, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tools.find_chromium import find_chromium
from topmix import LDA
from topmix.data import Vectorizer
from topmix.explorer import explore

EVIL = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)> {{tail}} & \u2028 \u202e \u200b \''
SUBJECTS = {
    "sailing": "wind sail boat harbour anchor mast keel rudder tide rope",
    "chess": "pawn rook bishop knight queen king castle board gambit endgame",
    "music": "melody chord rhythm tempo violin piano singer concert tune octave",
    "garden": "<b>soil</b> seed=1 rose \u202eshovel compost javascript:alert(1) leaf bloom root weed",
}


def texts_and_columns() -> tuple[list[str], list[str], dict[str, list[str]]]:
    texts, names, date, group = [], [], [], []
    for n in range(30):
        for i, (subject, words) in enumerate(SUBJECTS.items()):
            other = list(SUBJECTS.values())[(i + n) % 4].split()
            texts.append(f"{EVIL} {' '.join(words.split()[n % 5 :] * 3)} {' '.join(other[:3])}")
            names.append(f"{subject}-{n} {EVIL}")
            date.append(f"20{10 + n % 8}-0{1 + n % 9}-11")
            group.append(f"{subject} {EVIL}" if n % 2 else "plain")
    texts[5] = "x" * 1_000_000 + " sail boat anchor"  # a token of a megabyte
    return texts, names, {"date": date, "group <b>": group}


@pytest.fixture(scope="session")
def documents() -> Any:
    texts, names, columns = texts_and_columns()
    vectorizer = Vectorizer(token_pattern=r"[^\s]{2,}", max_df=0.9)
    corpus = vectorizer.fit_transform(texts, names=names)
    return SimpleNamespace(texts=texts, names=names, columns=columns, corpus=corpus)


@pytest.fixture(scope="session")
def fitted(documents: Any) -> Any:
    model = LDA(5, max_iter=8, n_init=3, random_state=0).fit(documents.corpus)
    model.name_topics({0: f"zero {EVIL}"[:150]})
    return model


@pytest.fixture
def explorer(fitted: Any, documents: Any, tmp_path: Any) -> Iterator[Any]:
    """An explorer whose model is in a file, so that edits are kept."""
    fitted.save(tmp_path / "model")
    given = {"texts": documents.texts, "columns": documents.columns, "title": f"Mine {EVIL}", "browser": False}
    with explore(tmp_path / "model", documents.corpus, **given) as running:
        running.session.snapshot.compute_mixes()
        yield running


@pytest.fixture
def client(explorer: Any) -> Iterator[httpx.Client]:
    bearer = {"Authorization": f"Bearer {explorer.server.token}"}
    with httpx.Client(base_url=explorer.server.address, headers=bearer, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")  # other modules may open one of their own: there can be one at a time
def browser() -> Iterator[Any]:
    chromium = find_chromium()
    if not chromium:
        pytest.skip("there is no chromium here")
    from playwright.sync_api import sync_playwright  # here, because it takes a while to load

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def window(browser: Any) -> Any:
    """window(url) opens a page that must stay without errors, dialogs and requests to elsewhere."""

    @contextmanager
    def opened(url: str, *, is_ready: bool = True, **options: Any) -> Iterator[Any]:
        context = browser.new_context(viewport={"width": 1300, "height": 850}, accept_downloads=True, **options)
        context.set_default_timeout(90_000)  # a busy machine is not a bug
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith(url.split("?")[0]) or faults.append(request.url))
        page.goto(url)
        if is_ready:
            page.wait_for_selector("html[data-ready]")
        yield page
        context.close()
        assert [fault for fault in faults if not fault.startswith("data:,")] == []

    return opened


@pytest.fixture
def page(window: Any, explorer: Any) -> Iterator[Any]:
    with window(explorer.url) as page:
        yield page
