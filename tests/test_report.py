"""The report: what is in the page, that nothing gets out of it, and that a browser shows and answers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tools.find_chromium import find_chromium
from topmix import LDA, MultinomialMixture
from topmix.apps.command import app
from topmix.data import from_texts, sample_lda
from topmix.report import write_report
from topmix.results.measures import hellinger
from topmix.results.topic_map import plane_positions
from topmix.selection.views import view_of

EVIL = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)> {{script}} & \u2028 \' "'
SUBJECTS = {
    "sailing": "wind sail boat harbour anchor mast keel rudder tide rope",
    "chess": "pawn rook bishop knight queen king castle board gambit endgame",
    "music": "melody chord rhythm tempo violin piano singer concert tune octave",
}


@pytest.fixture(scope="module")
def texts():
    return [f"{EVIL} The {' '.join(words.split()[n % 5 :] * 3)}" for n in range(20) for words in SUBJECTS.values()]


@pytest.fixture(scope="module")
def corpus(texts):
    names = [f"{subject}-{n} {EVIL}" for n in range(20) for subject in SUBJECTS]
    return from_texts(texts, names=names, stop_words="english", max_df=0.5)


@pytest.fixture(scope="module")
def model(corpus):
    return LDA(3, n_init=10, max_iter=10, random_state=0).fit(corpus)


@pytest.fixture(scope="module")
def report(model, corpus, texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    columns = {
        "day": [f"2024-{1 + n // 30:02}-01" for n in range(60)],
        f"of {EVIL}": [*[f"a{EVIL}", "b", "c"] * 19, "", "", ""],
    }
    write_report(model, path, corpus, texts=iter(texts), columns=columns, title=f"Mine {EVIL}")
    return path


def data_of(path: Path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_holds_what_the_model_says(report, model, corpus):
    data = data_of(report)
    assert data["about"]["n_topics"] == 3
    assert sum(data["share"]) == pytest.approx(1, abs=1e-4)
    assert len(data["history"]) == len(model.history_)
    assert ["n_components", "3"] in data["settings"]
    assert set(data["words"]) == set(corpus.vocabulary)
    assert data["tree"]["order"] == model.topic_tree()["topics"].iloc[-1]
    assert [join["node"] for join in data["tree"]["joins"]] == [3, 4]
    for k, mine in enumerate(data["of_topic"]):
        assert 3 <= len(mine) <= 12
        for d in mine:
            document = data["documents"][d]
            assert document["topics"][0][0] == k
            words = {piece for piece, topic, *_ in document["pieces"] if topic == k}
            assert words <= set(model.top_words(12)[k])
            assert "".join(piece for piece, *_ in document["pieces"]).startswith(EVIL)


def test_topics_over_time_and_by_group_are_those_of_topics_by(report, model, corpus):
    time, group = data_of(report)["columns"]

    def shares(groups):
        return model.topics_by(corpus[: len(groups)], groups)["share"].to_numpy().reshape(-1, 3)

    assert time["is_time"]
    assert time["groups"] == [["2024-01-01", 30], ["2024-02-01", 30]]
    np.testing.assert_allclose(time["shares"], shares([0] * 30 + [1] * 30), rtol=2e-3)
    assert not group["is_time"]
    assert group["groups"] == [[f"a{EVIL}", 19], ["b", 19], ["c", 19]]
    np.testing.assert_allclose(group["shares"], shares([0, 1, 2] * 19), rtol=2e-3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_data_frame_are_those_of_a_mapping(model, corpus, tmp_path, library):
    days = {"day": ["2024-01-01", "2024-01-02"] * 30}
    for name, columns in (("a", days), ("b", pytest.importorskip(library).DataFrame(days))):
        write_report(model, tmp_path / name, corpus, columns=columns)
    found = data_of(tmp_path / "a")["columns"]
    assert found == data_of(tmp_path / "b")["columns"]
    assert found[0]["groups"] == [["2024-01-01", 30], ["2024-01-02", 30]]


def test_a_word_of_a_mixed_document_has_the_topic_that_it_belongs_to(tmp_path):
    model = LDA(3, n_init=5, max_iter=10, random_state=0).fit([words for words in SUBJECTS.values() for _ in range(20)])
    write_report(model, tmp_path / "r.html", [" ".join(SUBJECTS.values())])
    [document] = data_of(tmp_path / "r.html")["documents"]
    topic_of = {piece: topic for piece, topic, *_ in document["pieces"]}
    assert len(document["topics"]) == 3
    for words in SUBJECTS.values():
        assert len({topic_of[word] for word in words.split()}) == 1
    assert len({topic_of[words.split()[0]] for words in SUBJECTS.values()}) == 3


def test_documents_that_are_lists_of_tokens_are_shown_by_their_words(tmp_path):
    tokens = [words.split() for words in SUBJECTS.values()] * 5
    model = LDA(2, max_iter=10, random_state=0).fit(tokens)
    write_report(model, tmp_path / "r.html", tokens)
    shown = data_of(tmp_path / "r.html")["documents"]
    marked = {piece for document in shown for piece, topic, *_ in document["pieces"] if topic >= 0}
    assert marked
    assert marked <= {word for words in tokens for word in words}


def test_columns_need_documents_and_one_value_each(model, corpus, tmp_path):
    with pytest.raises(ValueError, match="2 values for 60 documents"):
        write_report(model, tmp_path / "r.html", corpus, columns={"day": ["2024", "2025"]})
    with pytest.raises(ValueError, match="pass the documents too"):
        write_report(model, tmp_path / "r.html", columns={"day": ["2024", "2025"]})
    assert not (tmp_path / "r.html").exists()


def test_nothing_of_a_document_is_markup(report):
    text = report.read_text(encoding="utf-8")
    assert text.count("<script") == 2  # the data and ours
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert "\u2028" not in text.split('id="data">')[1]
    frame = re.sub(r"<(title|h1)>.*?</\1>", "", text.split('id="data">')[0])
    assert not re.search(r"(src|href)=|@import|url\(", frame)
    assert "default-src 'none'" in text


def test_the_policy_allows_the_script_of_the_page_and_no_other(report):
    text = report.read_text(encoding="utf-8")
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in text


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_is_valid_javascript(report, tmp_path):
    script = re.search(r"<script>(.*?)</script>", report.read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "page.js").write_text(script, encoding="utf-8")
    done = subprocess.run(["node", "--check", tmp_path / "page.js"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Every function that is called by name is defined in one of the joined files.
    defined = set(re.findall(r"(?:function |const |let |,\s+)(\w+) ?(?:=|\()", script))
    called = set(re.findall(r"(?:\.\.\.|[^.\w])([a-z]\w*)\(", re.sub(r"//.*", "", script)))
    known = {"if", "for", "while", "of", "catch", "function", "atob", "hsl", "var", "addEventListener", "matchMedia",
             "encodeURIComponent", "translate", "rotate", "async", "draw", "requestAnimationFrame",
             "cancelAnimationFrame"}  # fmt: skip
    assert called <= defined | known


@pytest.mark.slow  # seven seconds
def test_a_thousand_topics_make_a_page_of_a_few_megabytes(tmp_path):
    corpus = sample_lda(300, 3000, 30, doc_length=60, random_state=0).corpus
    model = LDA(1000, max_iter=1, random_state=0).fit(corpus)
    write_report(model, tmp_path / "r.html", corpus)
    assert (tmp_path / "r.html").stat().st_size < 8e6
    assert len(data_of(tmp_path / "r.html")["share"]) == 1000


def test_reports_of_small_and_odd_models(corpus, tmp_path):
    for model in (
        LDA(1, max_iter=2, random_state=0),
        LDA(2, max_iter=2, random_state=0),
        MultinomialMixture(4, max_iter=3),
    ):
        write_report(model.fit(corpus), tmp_path / "r.html", corpus)
        assert len(data_of(tmp_path / "r.html")["share"]) == model.n_components
    X = np.arange(12).reshape(4, 3) % 3  # words without names, documents without texts
    write_report(LDA(2, max_iter=2, random_state=0).fit(X), tmp_path / "r.html")
    assert set(data_of(tmp_path / "r.html")["words"]) == {"0", "1", "2"}


def test_the_map_keeps_distances_that_a_plane_can_hold():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2))
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    X = plane_positions(distance)
    again = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    scale = distance.sum() / again.sum()
    np.testing.assert_allclose(scale * again, distance, atol=1e-3)
    assert np.sqrt((X**2).sum(axis=1)).max() == pytest.approx(1)


def test_hellinger_is_a_distance(model):
    phi = view_of(model).topic_word
    d = hellinger(phi, block=7)
    expected = np.sqrt(0.5 * ((np.sqrt(phi[:, None]) - np.sqrt(phi[None])) ** 2).sum(axis=2))
    np.testing.assert_allclose(d, expected, atol=1e-7)
    np.testing.assert_array_equal(hellinger(np.eye(4)), 1 - np.eye(4))


@pytest.fixture(scope="module")
def page(report):
    chromium = find_chromium()
    if not chromium:
        pytest.skip("there is no chromium here")
    from playwright.sync_api import sync_playwright  # here, because it takes a while to load

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 800})
        page.faults, page.requests = [], []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda message: page.faults.append(message.text))
        page.on("dialog", lambda dialog: (page.faults.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=30_000)
        yield page
        browser.close()


def test_a_browser_shows_it_and_nothing_gets_out(page, report, model):
    assert page.title() == f"Mine {EVIL}".replace("\u2028", page.title()[page.title().find("& ") + 2])
    assert page.faults == []
    assert page.requests == [report.as_uri()]  # the page, and nothing else
    assert page.locator(".topic").count() == 3
    assert page.locator("#map circle").count() == 3
    first = int(page.locator("#topic-title").inner_text().split()[1])
    assert first == int(view_of(model).by_size()[0])
    assert page.locator(".word .track").first.inner_text() == model.top_words(1)[first][0]
    both = page.locator(".word .track").first.locator("i")
    assert both.count() == 2  # in the topic, and in all documents
    assert both.nth(0).bounding_box()["width"] > both.nth(1).bounding_box()["width"] > 0
    assert EVIL.split()[0] in page.locator(".document .text").first.inner_text()
    assert page.locator("img").count() == 0


def test_a_browser_charts_a_topic_over_time_and_by_group(page):
    assert page.locator("#groups .bars rect").count() == 2
    page.locator("#group-column").select_option(index=1)
    page.wait_for_selector("#groups .meter.group")
    assert page.locator("#groups .meter.group").count() == 3
    assert page.locator("#groups .value").first.inner_text().endswith("%")
    page.locator("#group-column").select_option(index=0)
    page.wait_for_selector("#groups .bars")
    assert page.faults == []


def test_a_browser_filters_selects_and_looks_up(page, model):
    page.keyboard.press("Escape")
    page.fill("#search", "gambit")
    assert page.locator(".topic").count() == 1
    page.keyboard.press("Enter")
    k = int(page.locator("#topic-title").inner_text().split()[1])
    assert "gambit" in model.top_words(10)[k]
    assert "gambit" in page.locator("#word-card h2").inner_text()
    assert page.locator("#word-card .value").first.inner_text() == "100%"
    marked = page.locator(".document mark").all_inner_texts()
    assert marked
    assert set(marked) <= set(model.top_words(12)[k])
    page.keyboard.press("Escape")
    assert page.locator("#word-card").is_hidden()
    assert page.locator(".topic").count() == 3
    before = page.locator("#topic-title").inner_text()
    page.keyboard.press("ArrowDown")
    if page.locator("#topic-title").inner_text() == before:  # it was the last of the list
        page.keyboard.press("ArrowUp")
    assert page.locator("#topic-title").inner_text() != before
    circle = page.locator(f'#map circle[data-topic="{k}"]')
    circle.click()
    assert page.locator("#topic-title").inner_text() == f"Topic {k}"
    page.locator("#relevance").fill("1")
    assert "λ = 0.00" in page.locator("#relevance-value").inner_text()
    page.click("#tab-tree")
    assert page.locator("#tree circle").count() == 2  # joins of three topics
    page.locator("#tree circle").last.hover()
    assert "3 topics, 100%" in page.locator("#tree-facts").inner_text()
    page.locator(f'#tree [data-topic="{k}"]').click()
    assert page.locator("#topic-title").inner_text() == f"Topic {k}"
    page.click("#tab-training")
    assert page.locator("#curve circle").count() == len(model.history_)
    page.click("#tab-settings")
    assert "n_components" in page.locator("#settings").inner_text()
    page.evaluate(f"location.hash = 'topic={(k + 1) % 3}&word=gambit'")  # a link that is opened in this window
    page.wait_for_selector("#word-card:visible")
    assert page.locator("#topic-title").inner_text() == f"Topic {(k + 1) % 3}"
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") in ("dark", "light")
    assert page.faults == []


def test_the_command_writes_it(model, texts, tmp_path):
    model.save(tmp_path / "model")
    lines = [json.dumps({"id": f"n{n}", "text": t, "by": "xy"[n % 2]}) for n, t in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    done = CliRunner().invoke(app, ["report", str(tmp_path / "model"), "-o", str(tmp_path / "r.html"),
                                    "--corpus", str(tmp_path / "docs.jsonl"), "--column", "by", "--json"])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bytes"] == (tmp_path / "r.html").stat().st_size
    data = data_of(tmp_path / "r.html")
    assert data["columns"][0]["groups"] == [["x", 30], ["y", 30]]
    assert data["documents"][0]["name"].startswith("n")
    assert EVIL in "".join(piece for piece, *_ in data["documents"][0]["pieces"])
