"""The explorer in a cell: its addresses without a server, and the page itself in JupyterLab, Notebook 7 and marimo."""

from __future__ import annotations

import asyncio
import json
import queue
import time
from pathlib import Path
from typing import Any

import pytest

from tools.live_notebook import read, run_cell, running
from topmix.pages.explorer import widget
from topmix.pages.explorer.app import make_app
from topmix.pages.explorer.widget import answered, in_notebook, page_of

FIT = """
import topmix

words = ["wind sail boat anchor mast keel", "rook pawn queen board king castle", "chord violin tune tempo piano choir"]
texts = [" ".join((group.split() * 3)[n % 5 : n % 5 + 9]) for n in range(40) for group in words]
lda = topmix.LDA(3, random_state=0).fit(texts)
explorer = lda.explore(texts, columns={"kind": ["sea", "chess", "music"] * 40})
explorer
"""
WATCHED = """
import topmix
from topmix.explorer import Explorer, Library, Session

texts = ["wind sail boat anchor mast", "rook pawn queen board king", "chord violin tune tempo piano"] * 40
corpus = topmix.data.Vectorizer().fit_transform(texts)
session = Session(Library(corpus, list(corpus.vocabulary), texts))
display(Explorer(session))
session.open(topmix.LDA(3, max_iter=10**9, tol=-1, callbacks=[session.watching()]).fit(corpus))
print("it was " + "stopped")
"""
SELECTED = "print('chosen', explorer.selected_topics, len(explorer.selected_documents), 'server' in vars(explorer))"
EDITED = """
edited = explorer.model
print("edited", [edit["do"] for edit in edited.edits_], edited.topic_names_, edited.n_components, lda.n_components)
"""


def ask(session, path, method="GET", **fields):
    status, content = asyncio.run(answered(make_app(session), method, path, json.dumps(fields).encode()))
    return status, json.loads(content)


def test_addresses_are_answered_without_a_server(explorer, client):
    session = explorer.session
    for path in ("/api/topic/1", "/api/suggest?q=sa", "/api/documents?words=sail&topic=&offset=0", "/api/document/3"):
        assert ask(session, path) == (200, client.get(path).json())
    assert ask(session, "/api/topic/99")[0] == 404
    assert "error" in ask(session, "/nowhere")[1]
    assert ask(session, "/api/events")[0] == 404
    assert ask(session, "/api/topic/1?" + "x" * (1 << 20))[0] == 413
    version = session.status()["version"]
    edit = {"do": "rename", "topic": 1, "name": "One"}
    status, said = ask(session, "/api/do/apply", "POST", edit=edit, version=version)
    assert (status, said["version"]) == (200, version + 1)
    assert ask(session, "/api/do/undo", "POST", version=version)[0] == 409  # of something older


def test_the_page_of_a_cell_runs_its_own_script_alone():
    page = page_of("</script><script>alert(1)</script>")
    assert page.count("<script") == 1
    assert "default-src 'none'" in page
    assert not in_notebook()


class Cell:
    """In the place of the widget: what the kernel is told, and what the page was told."""

    def __init__(self, page, height):
        self.page, self.height, self.name, self.address, self.documents = page, height, "cell", "", []
        self.sent, self.told = queue.Queue(), None

    def on_msg(self, told):
        self.told = told

    def send(self, said, buffers=()):
        self.sent.put((said, *buffers))

    def close(self):
        self.told = None


def test_questions_of_a_page_are_answered_and_what_it_shows_is_known(explorer, monkeypatch):
    monkeypatch.setattr(widget, "_widget", Cell)
    assert explorer.selected_topics == []
    assert len(explorer.selected_documents) == 0
    cell = explorer.channel.widget
    for wrong in (None, {"id": 1}, {"id": "1", "view": "a", "path": "/", "method": "GET", "body": ""}):
        cell.told(cell, wrong, [])
    asked = {"id": 7, "view": "a", "path": "/api/documents?words=sail+boat", "method": "GET", "body": ""}
    cell.told(cell, asked, [])
    said, content = cell.sent.get(timeout=60)
    assert said == {"id": 7, "view": "a", "status": 200}
    found = explorer.selected_documents
    assert len(found) == json.loads(content)["n"] > 20
    assert list(found.columns) == ["document", "name", "topic", "share", "date", "group <b>"]
    assert found["document"][0] == json.loads(content)["documents"][0]["row"]
    assert found["name"][0] == explorer.session.library.name(found["document"][0])
    cell.address, cell.documents = "#topic=3&tab=atlas", [5, 2, 10**9, "x"]
    assert list(explorer.selected_documents["document"]) == [5, 2]
    cell.address = "#topic=3&tab=documents&document=17"
    assert list(explorer.selected_documents["document"]) == [17]
    assert explorer.selected_topics == [3]
    edit = {"do": "merge", "topics": [1, 3]}
    explorer.session.apply(edit, explorer.session.status()["version"])
    assert explorer.selected_topics == [1]  # what it became part of
    assert any("event" in cell.sent.get(timeout=60)[0] for _ in range(3))


def opened(browser: Any, address: str) -> Any:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(90_000)
    page.goto(address)
    return page, page.frame_locator("iframe[title='topmix: the explorer']")


@pytest.mark.slow  # starts JupyterLab, or Notebook 7
@pytest.mark.parametrize("program", ["jupyterlab", "notebook"])
def test_a_cell_shows_the_explorer(browser, tmp_path, program):
    pytest.importorskip(program, reason="it is not installed")
    pytest.importorskip("anywidget", reason="it is not installed")
    with running(program, [FIT, SELECTED, EDITED], tmp_path) as address:
        page, shown = opened(browser, address)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        run_cell(page, 0)
        shown.locator("html[data-ready]").wait_for()
        assert not page.get_by_text("LDA with 3 topics").is_visible()  # for a saved notebook
        options = shown.locator("#list [role=option]")
        assert options.count() == 3
        options.nth(2).click()
        topic = int(options.nth(2).get_attribute("data-topic") or 2)
        shown.locator("#tab-documents").click()
        shown.locator("#find-words").fill("violin")
        shown.locator("#find-documents button").click()
        shown.locator("#found-facts", has_text="40").wait_for()
        run_cell(page, 1)
        page.locator(".jp-OutputArea-output", has_text=f"chosen [{topic}] 40 False").wait_for()  # and no port is open
        shown.locator("#tab-share").click()
        with page.expect_download() as downloaded:
            shown.locator("a[download='topics.csv']").click()
        assert "violin" in Path(downloaded.value.path()).read_text()
        shown.locator("#tab-topics").click()
        options.nth(0).click()
        shown.locator("#edit-merge").click()
        shown.locator("#editor .chip").first.click()
        shown.locator("#preview").click()
        shown.locator("#accept").click()
        shown.locator("#edit-rename").click()
        shown.locator("#edit-name").fill("mine")
        page.keyboard.press("Enter")
        shown.locator("#topic-title", has_text="mine").wait_for()
        assert options.count() == 2
        run_cell(page, 2)
        said = page.locator(".jp-OutputArea-output", has_text="edited ['merge', 'rename']")
        said.wait_for()
        assert "mine" in said.inner_text()
        assert said.inner_text().rstrip().endswith(" 2 3")  # the estimator that was explored is not touched
        page.locator(".jp-CodeCell").nth(1).click()
        page.keyboard.press("Control+s")
        saved(tmp_path / "mine.ipynb")
        page.close()


@pytest.mark.slow  # starts JupyterLab, or Notebook 7
@pytest.mark.parametrize("program", ["jupyterlab", "notebook"])
def test_a_page_is_answered_while_its_cell_runs_a_fit(browser, tmp_path, program):
    pytest.importorskip(program, reason="it is not installed")
    pytest.importorskip("anywidget", reason="it is not installed")
    with running(program, [WATCHED], tmp_path) as address:
        page, shown = opened(browser, address)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        run_cell(page, 0)
        shown.locator("html[data-ready]").wait_for()
        shown.locator("#list [role=option]").nth(2).click()
        shown.locator("#stop").click()  # else the cell has no end
        page.locator(".jp-OutputArea-output", has_text="it was stopped").wait_for()
        shown.locator("#edit-controls").wait_for()
        page.close()


@pytest.mark.slow  # starts marimo
def test_a_cell_of_marimo_shows_the_explorer(browser, tmp_path):
    pytest.importorskip("marimo", reason="it is not installed")
    with running("marimo", [FIT], tmp_path) as address:
        page, shown = opened(browser, address)
        shown.locator("html[data-ready]").wait_for()
        shown.locator("#tab-documents").click()
        shown.locator("#find-words").fill("violin")
        shown.locator("#find-documents button").click()
        shown.locator("#found-facts", has_text="40").wait_for()
        page.close()


def saved(path: Path) -> None:
    """A saved notebook keeps a table of the topics, which needs no kernel."""
    for _ in range(100):
        notebook = read(path)
        if notebook and (outputs := notebook["cells"][0]["outputs"]):
            still, page = [output["data"] for output in outputs if "data" in output]
            assert "LDA with 3 topics" in "".join(still["text/html"])
            assert "application/vnd.jupyter.widget-view+json" in page
            return
        time.sleep(0.1)
    raise AssertionError("the notebook was not saved")
