"""The explorer in a real browser: read, edit, undo, learn on, share; hostile documents, two windows, keyboard."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import topmix
from topmix import LDA
from topmix.data import Corpus
from topmix.explorer import Explorer, Library, Session
from topmix.selection.views import view_of


def wait_for(page, script, seconds=90):
    """Until the script is true. Playwright's own function evaluates strings, which the policy of the page forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(script):
        assert time.monotonic() < end, script
        page.wait_for_timeout(20)


def wait_for_found(page):
    """Until the documents that were asked for last are shown: the words stand there already for those before them."""
    wait_for(
        page,
        "document.getElementById('found-list').ariaBusy === 'false' &&"
        "document.getElementById('found-facts').textContent.includes('of ')",
    )


def topics(page):
    return page.evaluate("document.querySelectorAll('#map circle').length")


def test_topics_words_and_documents_can_be_read(page, explorer, fitted, documents):
    wait_for(page, "document.querySelectorAll('#documents .document').length === 3")
    first = int(page.locator('.topic[aria-selected="true"]').get_attribute("data-topic"))
    assert first == int(view_of(fitted).by_size()[0])
    page.fill("#search", "gambit")
    wait_for(page, "document.querySelectorAll('.topic').length < 5")
    page.keyboard.press("Enter")
    page.wait_for_selector("#word-card:visible")
    k = int(page.locator('.topic[aria-selected="true"]').get_attribute("data-topic"))
    assert "gambit" in fitted.top_words(10)[k]
    assert "word=gambit" in page.url
    page.keyboard.press("Escape")
    page.click("#tab-documents")
    wait_for_found(page)
    before = page.text_content("#found-facts")  # of all documents
    page.fill("#find-words", "rook queen")
    page.keyboard.press("Enter")
    wait_for_found(page)
    assert page.text_content("#found-facts") != before
    page.locator(".card").first.click()
    page.wait_for_selector(".whole .text")
    marked = page.locator(".whole .text span", has_text="rook").first
    title = marked.get_attribute("title")
    assert title.endswith("%")  # the topic and its probability, on hover
    assert marked.get_attribute("class") == "sought"  # a word that was searched for
    letters = page.locator("#reading .mixture button").all_inner_texts()
    assert letters[0] == "A"
    fills = page.evaluate(
        "[...document.querySelectorAll('.legend .chip')].map((c) => c.style.getPropertyValue('--hue'))"
    )
    assert len(set(fills)) == len(fills)
    page.focus(".whole .text")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    first = page.locator(".whole .text [data-k]").nth(1).text_content()
    assert page.locator(".whole .word-about").text_content().startswith(f"“{first}”: ")
    marked.click()  # as a finger does
    assert page.locator(".whole .word-about").text_content().startswith("“rook”: ")
    assert page.locator("#view-documents").is_visible()
    row = page.evaluate("Number(new URLSearchParams(location.hash.slice(1)).get('document'))")
    assert page.locator(".whole .text").text_content() == documents.texts[row]
    address = page.url
    page.locator("#reading .meter").first.click()  # a similar document
    wait_for(page, f"!location.hash.includes('document={row}&') && !location.hash.endsWith('document={row}')")
    page.goto("about:blank")
    page.goto(address)  # a permanent link
    page.wait_for_selector("html[data-ready]")
    wait_for(page, f"document.querySelector('.card[aria-current=true]')?.dataset.row === '{row}'")
    page.click("#tab-compare")
    page.wait_for_selector("#comparison table")
    page.click("#tab-tree")
    wait_for(page, "document.querySelectorAll('#tree circle').length === 4")
    page.locator("#tree circle").nth(0).click()  # folds the first join
    wait_for(page, "document.querySelectorAll('#tree circle').length === 3")
    assert "2 topics" in page.locator("#tree [data-node]").text_content()
    page.locator("#tree [data-node]").click()
    wait_for(page, "document.querySelectorAll('#tree circle').length === 4")
    page.click("#tab-training")
    assert page.locator("#curve circle").count() == len(fitted.history_)


@pytest.mark.parametrize("K", [200, pytest.param(1000, marks=pytest.mark.slow)])  # ten seconds
def test_a_map_of_many_topics_is_full_and_named(window, K):
    corpus = topmix.data.sample_lda(400, 2000, 40, doc_length=80, random_state=0).corpus
    with (
        topmix.explore(LDA(K, max_iter=2, random_state=0).fit(corpus), browser=False) as explorer,
        window(explorer.url) as page,
    ):
        wait_for(page, "document.querySelectorAll('#map .region').length > 0")
        view = explorer.session.snapshot.topics
        large = set(np.flatnonzero(view.share > 1 / K).tolist())
        labelled = page.evaluate("[...document.querySelectorAll('#labels [data-of]')].map((t) => Number(t.dataset.of))")
        regions = page.evaluate("[...document.querySelectorAll('#labels .region')].map((t) => t.dataset.topics)")
        assert large <= {*labelled, *(int(k) for topics in regions for k in topics.split())}
        tiny = set(np.flatnonzero(view.share < 0.2 / K).tolist())
        hidden = "[...document.querySelectorAll('#map circle.tiny')].map((c) => Number(c.dataset.topic))"
        assert set(page.evaluate(hidden)) == tiny
        if tiny:
            page.check("#tiny")
            assert page.evaluate(hidden) == []
        # Circles fill the pane in one direction at least.
        share = page.evaluate(
            """(() => {
              const pane = document.getElementById('map').getBoundingClientRect();
              const boxes = [...document.querySelectorAll('#map circle')].map((c) => c.getBoundingClientRect());
              const span = (a, b) => Math.max(...boxes.map((x) => x[b])) - Math.min(...boxes.map((x) => x[a]));
              return Math.max(span('left', 'right') / pane.width, span('top', 'bottom') / pane.height);
            })()"""
        )
        assert 0.85 < share <= 1


def test_merge_undo_learn_on_and_export(page, explorer, fitted, documents, tmp_path):
    assert topics(page) == 5
    page.click("#edit-merge")
    page.locator("#editor .chip").first.click()
    page.click("#preview")
    page.wait_for_selector("#accept:visible")
    assert page.locator("#effect tbody tr").count() == 2
    assert page.locator("#effect .words-of").count() == 3  # two before, one after
    hues = (
        "[...document.querySelectorAll('#map circle')].map((c) => [c.dataset.topic, c.style.fill, c.cx.baseVal.value])"
    )
    colours = {row[1] for row in page.evaluate(hues)}
    assert topics(page) == 5  # nothing has changed yet
    page.click("#accept")
    wait_for(page, "document.querySelectorAll('#map circle').length === 4")
    assert explorer.model.n_components == 4
    assert {row[1] for row in page.evaluate(hues)} <= colours  # no topic has another colour
    page.click("#undo")
    wait_for(page, "document.querySelectorAll('#map circle').length === 5")
    np.testing.assert_array_equal(explorer.model.components_, fitted.components_)
    page.click("#redo")
    wait_for(page, "document.querySelectorAll('#map circle').length === 4")
    page.click("#edit-rename")
    page.fill("#edit-name", "renamed <b>")
    page.keyboard.press("Enter")
    wait_for(page, "document.getElementById('topic-title').textContent === 'renamed <b>'")
    page.click("#edit-split")
    page.wait_for_selector("#editor .cut")
    page.keyboard.press("Escape")
    page.click("#edit-pin")
    page.locator("#editor .chip").first.click()
    page.click("#preview")
    page.wait_for_selector("#accept:visible")
    assert page.locator("#effect tbody tr").count() == 2
    page.click("#accept")
    wait_for(page, "document.getElementById('held').textContent.startsWith('Pinned to it: ')")
    page.click("#edit-freeze")
    page.click("#preview")
    page.wait_for_selector("#accept:visible")
    assert page.locator("#effect td:last-child").all_inner_texts() == ["no change", "no change"]
    page.click("#accept")
    wait_for(page, "document.getElementById('edit-freeze').textContent === 'Unfreeze'")
    assert "Frozen" in page.locator("#held").text_content()
    page.fill("#passes", "2")
    page.click("#learn")
    wait_for(page, "document.getElementById('live-state').textContent.includes('learn on for 2 passes')")
    page.click("#tab-documents")
    page.locator(".card").first.click()
    page.click("#edit-move")
    assert page.evaluate("document.activeElement.id") == "edit-to"
    page.keyboard.type("1")
    page.keyboard.press("Enter")  # shows the effect, and goes on to Accept
    wait_for(page, "document.activeElement.id === 'accept'")
    page.keyboard.press("Enter")
    wait_for(page, "document.getElementById('live-state').textContent.includes('to 1')")
    page.wait_for_selector(".whole .text")
    page.click("#tab-share")
    assert page.locator("#log li").count() == 6
    assert page.locator("#exports a[download='documents.csv']").is_visible()
    with page.expect_download() as download:
        page.click("#exports a[download='topics.model']")
    download.value.save_as(tmp_path / "shared")
    shared = topmix.load(tmp_path / "shared")
    assert [edit["do"] for edit in shared.edits_] == ["merge", "rename", "pin", "freeze", "learn", "move"]
    np.testing.assert_array_equal(
        topmix.edits.replay(fitted, shared.edits_, documents.corpus).components_, shared.components_
    )


def test_a_topic_is_followed_through_edits_by_the_number_that_stays_with_it(page, explorer, fitted):
    titles = "document.getElementById('topic-title').textContent"
    page.evaluate("location.hash = 'topic=3'")
    wait_for(page, f"{titles} === 'Topic 3'")
    page.click("#edit-merge")
    page.fill("#edit-other", "1")
    page.click("#preview")
    page.click("#accept")
    wait_for(page, f"{titles} === 'Topic 1'")  # the topic that 3 has become part of
    wait_for(page, "document.getElementById('said').textContent === '3 → 1'")
    assert "topic=1" in page.url
    page.evaluate("location.hash = 'topic=4'")  # a link from before: its row is 3 now
    wait_for(page, f"{titles} === 'Topic 4'")
    assert "row 3 of the model" in page.locator("#topic-facts").text_content()
    words = page.locator(".word .track").all_inner_texts()
    assert set(words[:5]) <= set(fitted.top_words(20)[4])
    page.click("#edit-freeze")
    page.click("#preview")
    page.click("#accept")
    wait_for(page, "document.getElementById('live-state').textContent.includes('freeze 4')")
    assert explorer.model.edits_[-1] == {"do": "freeze", "topic": 3}
    page.evaluate("location.hash = 'topic=3'")  # and one to the topic that is gone
    wait_for(page, f"{titles} === 'Topic 1'")
    page.click("#edit-delete")
    page.click("#preview")
    page.click("#accept")
    wait_for(page, "document.querySelectorAll('#map circle').length === 3")
    wait_for(page, f"{titles} !== 'Topic 1'")
    # Three quick clicks undo three edits; so do keys.
    page.evaluate("for (let i = 0; i < 3; i++) document.getElementById('undo').click()")
    wait_for(page, "document.querySelectorAll('#map circle').length === 5 && document.getElementById('undo').disabled")
    assert page.locator("#said.error").count() == 0
    assert not hasattr(explorer.model, "edits_")
    for keys in ("Control+Shift+Z", "Control+Shift+Z", "Control+z"):
        page.keyboard.press(keys)
    wait_for(page, "document.getElementById('live-state').textContent.startsWith('1 edit')")
    wait_for(page, "document.querySelectorAll('#map circle').length === 4")


def test_errors_go_and_the_theme_stays(page, explorer):
    page.click("#tab-documents")
    page.wait_for_selector(".card")
    page.fill("#find-topic", "77")
    page.keyboard.press("Enter")
    wait_for(page, "document.getElementById('said').textContent.includes('no topic “77”')")
    page.click("#tab-tree")  # an error of one screen is not shown on another
    wait_for(page, "document.getElementById('said').textContent === ''")
    page.click("#theme")
    chosen = page.evaluate("document.documentElement.dataset.theme")
    assert chosen in ("light", "dark")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.dataset.theme") == chosen


def test_documents_on_a_map_and_topics_in_charts(page, explorer, documents):
    D = len(documents.texts)
    page.click("#tab-atlas")
    wait_for(page, f"document.getElementById('atlas-plane').dataset.points === '{D}'")
    box = page.locator("#atlas-plane").bounding_box()

    def colours():
        return page.evaluate(
            """(() => {
              const plane = document.getElementById('atlas-plane');
              const { data } = plane.getContext('2d').getImageData(0, 0, plane.width, plane.height);
              return new Set(new Uint32Array(data.buffer)).size;
            })()"""
        )

    assert colours() > 4  # the ground, and those of the topics
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in ((0.998, 0.003), (0.997, 0.995), (0.003, 0.996)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
    page.mouse.up()
    wait_for(page, f"document.getElementById('atlas-facts').textContent.startsWith('{D} documents')")
    wait_for(page, "document.querySelectorAll('#atlas-cards .card').length === 20")
    for _ in range(3):
        page.click("#atlas-in")
    page.click("#atlas-list")
    wait_for(page, f"!document.getElementById('atlas-facts').textContent.startsWith('{D} documents')")
    page.set_viewport_size({"width": 400, "height": 800})
    page.click("#atlas-all")
    wait_for(  # until the next frame the canvas has the names that were seen from near, perhaps none
        page,
        "(({ dataset, width }) => width <= 400 && dataset.names !== '[]')(document.getElementById('atlas-plane'))",
    )
    names, wide = page.evaluate(
        "(({ dataset, width }) => [JSON.parse(dataset.names), width])(document.getElementById('atlas-plane'))"
    )
    assert names
    assert all(0 <= left < right <= wide for _, left, right in names)  # none is cut by the edge
    tools = [page.locator(f"#atlas-{name}").bounding_box()["y"] for name in ("in", "out", "all")]
    assert max(tools) == min(tools)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.select_option("#atlas-by", label="date")
    page.wait_for_selector("#atlas-legend .key")
    page.locator("#atlas-cards .card").first.click()
    page.wait_for_selector(".whole .text")
    page.click("#tab-charts")
    page.wait_for_selector("#charts .line")
    assert page.locator("#charts figure").count() == 5
    assert "2010" in page.locator("#charts figure").first.text_content()
    point = page.locator("#charts figure").first.locator("circle").first
    said = point.get_attribute("aria-label")
    assert "±" in said
    point.click()  # its documents
    wait_for_found(page)
    assert page.input_value("#find-value") == said.split(":")[0]
    page.wait_for_selector("#found-cards .card")
    page.click("#tab-charts")
    page.select_option("#charts-column", label="group <b>")
    page.wait_for_selector("#charts rect")
    assert 1 <= page.locator("#charts figure").first.locator("rect").count() <= 5


def test_a_hostile_corpus_runs_nothing_and_breaks_no_layout(page, browser, explorer):
    assert page.title().startswith("Mine </script>")
    for tab in ("documents", "atlas", "charts", "compare", "tree", "training", "share", "settings", "topics"):
        page.click(f"#tab-{tab}")
        page.wait_for_timeout(100)
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1
    page.click("#tab-documents")
    page.fill("#find-words", "anchor")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card")
    for width in (1500, 1000, 400):
        page.set_viewport_size({"width": width, "height": 800})
        for row in (5, 3):  # a token of a megabyte; markup and letters that change the direction
            page.goto("about:blank")
            page.goto(f"{explorer.url}#tab=documents&document={row}")
            page.wait_for_selector(".whole .text")
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"the page is {wide} wide"
        page.click("#tab-topics")
        page.wait_for_timeout(50)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title().startswith("Mine </script>")


def test_names_and_words_without_an_end_stay_inside_a_narrow_page(window):
    """Found by tools/fuzz_pages.py."""
    words = ["w" * 400, "\ufdfd" * 300, "e" + "\u0301\u0489" * 900, "m" * 200]
    X = np.random.default_rng(0).poisson(2.0, (12, 4)) + 1.0
    corpus = Corpus.from_scipy(X, vocabulary=words, names=[word * 3 for word in words * 3])
    model = LDA(2, max_iter=2, random_state=0).fit(corpus)
    model.name_topics({0: "W" * 100, 1: "\ufdfd" * 100})
    with (
        topmix.explore(model, corpus, browser=False, title="W" * 500) as explorer,
        window(explorer.url) as page,
    ):
        page.set_viewport_size({"width": 400, "height": 800})
        for k in range(2):
            page.evaluate(f"location.hash = 'topic={k}'")
            wait_for(page, "document.querySelectorAll('#documents .document').length >= 3")
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.fill("#search", "mm")
        page.wait_for_selector(".chip")
        for tab in ("documents", "atlas", "compare", "tree", "training", "share", "settings", "topics"):
            page.click(f"#tab-{tab}")
            page.wait_for_timeout(50)
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, tab


def test_a_phone_goes_to_a_topic_and_back(window, fitted, documents):
    inside = "((r) => r.top > -5 && r.top < 300)(document.getElementById('{}').getBoundingClientRect())"
    with (
        topmix.explore(fitted, documents.corpus, texts=documents.texts, browser=False) as explorer,
        window(explorer.url, has_touch=True) as page,
    ):
        page.set_viewport_size({"width": 400, "height": 800})
        page.locator(".topic").nth(1).tap()
        wait_for(page, inside.format("detail"))
        page.locator("#to-list").tap()
        wait_for(page, inside.format("list-pane"))
        page.click("#tab-documents")
        page.locator(".card").nth(2).tap()
        wait_for(page, inside.format("reading"))
        page.locator(".whole .text [data-k]").first.tap()
        assert page.locator(".whole .word-about button").is_visible()
        page.locator("#reading .back").tap()
        wait_for(page, inside.format("view-documents"))
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_an_address_in_an_open_page_leads_to_what_it_names(page, explorer, fitted):
    def go(address):
        page.evaluate(f"location.hash = {address!r}")

    first = int(view_of(fitted).by_size()[0])
    biggest = page.locator("#topic-title").text_content()
    other = next(k for k, words in enumerate(fitted.top_words(10)) if "gambit" not in words and k != first)
    go(f"topic={other}")
    wait_for(page, f"document.querySelector('.topic[aria-selected=true]').dataset.topic === '{other}'")
    wait_for(page, f"document.getElementById('topic-title').textContent !== {biggest!r}")
    chosen = page.locator("#topic-title").text_content()
    go(f"topic={first}")
    wait_for(page, f"document.getElementById('topic-title').textContent === {biggest!r}")
    go(f"topic={other}&word=gambit")  # the topic that was chosen, not the one that uses the word most
    page.wait_for_selector("#word-card:visible")
    wait_for(page, f"document.getElementById('topic-title').textContent === {chosen!r}")
    go("topic=999&tab=nothing")  # what is not there changes nothing
    page.wait_for_selector("#word-card", state="hidden")
    assert page.locator("#topic-title").text_content() == chosen
    assert page.locator("#view-topics").is_visible()
    go("tab=documents&words=rook+queen&document=7")
    page.wait_for_selector(".whole .text")
    wait_for_found(page)
    found = page.locator("#found-facts").text_content()
    assert page.input_value("#find-words") == "rook queen"
    go("tab=documents&words=mast&document=8")
    wait_for(page, f"document.getElementById('found-facts').textContent !== {found!r}")
    wait_for(page, "location.hash.includes('document=8')")
    go(f"topic={first}")
    page.wait_for_selector("#view-topics:visible")
    assert page.locator('.topic[aria-selected="true"]').get_attribute("data-topic") == str(first)


def test_the_document_that_was_opened_last_is_shown(page, explorer):
    page.click("#tab-documents")
    page.wait_for_selector(".card")
    slow = []
    page.route("**/api/document/1?*", lambda route: slow.append(route))  # its answer comes after that of the next
    page.click(".card[data-row='1']")
    page.click(".card[data-row='2']")
    wait_for(page, "location.hash.includes('document=2')")
    title = page.locator("#reading h2").text_content()
    with page.expect_response("**/api/document/1?*"):
        slow[0].continue_()
    page.wait_for_timeout(100)
    assert page.locator("#reading h2").text_content() == title
    assert "document=2" in page.url


def test_the_word_that_was_chosen_last_is_shown(page, explorer):
    slow = []
    page.route("**/api/word?q=mast", lambda route: slow.append(route))
    page.evaluate("location.hash = 'word=mast'")
    while not slow:
        page.wait_for_timeout(20)
    page.evaluate("location.hash = 'word=gambit'")
    page.wait_for_selector("#word-card:visible")
    with page.expect_response("**/api/word?q=mast"):
        slow[0].continue_()
    page.wait_for_timeout(100)
    assert "gambit" in page.locator("#word-card h2").text_content()
    assert page.input_value("#search") == "gambit"


def test_two_windows_see_one_state(page, window, explorer):
    with window(explorer.url) as other:
        page.click("#edit-delete")
        page.click("#preview")
        page.wait_for_selector("#accept:visible")
        other.click("#edit-rename")  # meanwhile, in the other window
        other.fill("#edit-name", "first")
        other.click("#accept")
        wait_for(other, "document.getElementById('topic-title').textContent === 'first'")
        wait_for(page, "document.getElementById('topic-title').textContent === 'first'")
        page.keyboard.press("Escape")
        page.click("#undo")
        wait_for(other, "document.getElementById('topic-title').textContent !== 'first'")
        assert [edit["do"] for edit in explorer.session.status()["undone"]] == ["rename"]


def test_the_keyboard_alone_is_enough(page, explorer):
    def focused():
        return page.evaluate("document.activeElement?.id")

    def press_to(name, key="Tab"):
        for _ in range(60):
            if focused() == name:
                return
            page.keyboard.press(key)
        raise AssertionError(f"{name} cannot be reached: at {focused()}")

    page.keyboard.press("/")
    assert focused() == "search"
    page.keyboard.type("mast")
    page.keyboard.press("Enter")
    page.wait_for_selector("#word-card:visible")
    page.keyboard.press("Escape")
    press_to("edit-rename")
    page.keyboard.press("Enter")
    page.wait_for_selector("#editor[open]")
    assert focused() == "edit-name"
    page.keyboard.type("by hand")
    page.keyboard.press("Enter")
    wait_for(page, "document.getElementById('topic-title').textContent.includes('by hand')")
    press_to("tab-topics", "Shift+Tab")
    page.keyboard.press("ArrowRight")
    assert focused() == "tab-documents"
    press_to("find-words")
    page.keyboard.type("sail")
    page.keyboard.press("Enter")
    wait_for_found(page)
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement?.classList.contains('card')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".whole .text")
    wait_for(page, "document.activeElement?.id === 'reading'")
    press_to("find-words", "Shift+Tab")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    wait_for_found(page)
    page.locator("#found-cards button", has_text="next").focus()
    page.keyboard.press("Enter")  # and leaves with the page that it turns
    wait_for(page, "document.getElementById('found-facts').textContent.startsWith('21 to ')")
    assert page.evaluate("document.activeElement === document.querySelector('#found-cards .card')")


@pytest.mark.parametrize(
    ("scheme", "tabs"),
    [
        ("light", ("documents", "atlas", "charts", "compare", "tree")),
        ("dark", ("topics", "training", "share", "settings", "editor")),
        pytest.param("light", ("topics", "training", "share", "settings", "editor"), marks=pytest.mark.slow),  # colours
        pytest.param("dark", ("documents", "atlas", "charts", "compare", "tree"), marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_violation(window, explorer, scheme, tabs):
    from axe_playwright_python.sync_playwright import Axe

    # The policy of the page forbids what axe injects: this window ignores it.
    with window(explorer.url, color_scheme=scheme, bypass_csp=True) as page:
        page.locator("#documents .document").first.wait_for()
        for tab in tabs:
            if tab == "editor":
                page.click("#tab-topics")
                page.click("#edit-merge")
            else:
                page.click(f"#tab-{tab}")
            if tab == "documents":
                page.locator(".card").first.click()
                page.locator(".whole .text").wait_for()
            page.wait_for_timeout(50)
            found = Axe().run(page).response["violations"]
            assert [(v["id"], v["nodes"][0]["html"][:200], len(v["nodes"])) for v in found] == [], tab


def test_a_fit_is_watched_paused_and_stopped(window, documents):
    session = Session(Library(documents.corpus, list(documents.corpus.vocabulary), documents.texts), "fit")
    done = threading.Event()
    watch = session.watching()

    def fit():
        slow = lambda record, view: done.wait(0.05) and None  # noqa: E731 - so that there is something to watch
        inference = topmix.inference.Collapsed(sweeps=0)
        model = LDA(6, max_iter=2000, tol=-1.0, inference=inference, random_state=0, callbacks=[watch, slow])
        session.open(model.fit(documents.corpus))

    facts = "document.getElementById('training-facts').textContent"
    session.busy = "fit"
    with Explorer(session).start() as explorer:
        thread = threading.Thread(target=fit)
        with window(explorer.url, is_ready=False) as page:
            wait_for(page, "document.getElementById('about').textContent.startsWith('Waiting')")
            assert page.evaluate("document.querySelector('main').inert && document.querySelector('nav').inert")
            thread.start()
            page.wait_for_selector("html[data-ready]")
            assert not page.evaluate("document.querySelector('main').inert")
            wait_for(page, "document.getElementById('live-state').textContent.includes('Learning: pass')")
            passes = "document.querySelectorAll('#curve circle').length"
            session.show = session.watch._show = lambda model: None  # passes that the map does not show
            wait_for(page, f"{passes} > 4")
            assert "the fit goes on" in page.evaluate(facts)
            assert "nats per token" in page.locator("#curve").text_content()
            with window(explorer.url) as other:  # which comes later, and knows all passes
                assert other.evaluate(passes) > 4
                said = other.locator("#live-state").text_content()
                assert int(said.split("pass ")[1].split(",")[0]) > 4
            before = page.evaluate(passes)
            wait_for(page, f"{passes} > {before + 2}")  # the curve grows
            page.click("#pause")
            wait_for(page, "document.getElementById('live-state').textContent.startsWith('Paused')")
            still, end = -1, time.monotonic() + 60
            while (now := page.evaluate(passes)) != still:  # the last pass may end, and no other begins
                assert time.monotonic() < end
                still = now
                page.wait_for_timeout(600)
            assert page.locator("#edits").is_hidden()
            page.click("#pause")
            wait_for(page, f"{passes} > {still}")
            page.click("#stop")
            wait_for(page, "!document.getElementById('edits').hidden")  # now it can be edited
            wait_for(page, f"{facts}.includes('the fit ended before it converged')")
            thread.join(60)
            assert session.status()["busy"] is None
