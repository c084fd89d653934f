"""What the server of the explorer answers: the same as the library says."""

from __future__ import annotations

import asyncio
import base64
import copy
import csv
import io
import json
import os
import re
import threading
import time
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import numpy as np
import pytest
import scipy.sparse as sp

import topmix
from topmix import LDA, MultinomialMixture
from topmix.apps.explorer import waiting_explorer
from topmix.apps.explorer.app import make_app
from topmix.apps.page import asset, documents as of_pages
from topmix.apps.web import Refused
from topmix.explorer import Library, Session, explore
from topmix.inference import Collapsed
from topmix.results.topic_map import map_positions, map_radii
from topmix.results.topics import DocumentShares
from topmix.results.view import TopicView
from topmix.selection.views import ModelView, view_of


def test_the_overview_and_a_topic_say_what_the_model_says(client, explorer, fitted):
    got = client.get("/api/overview").json()
    overview, view = got["overview"], view_of(fitted)
    np.testing.assert_allclose(overview["share"], view.share, rtol=1e-4)
    assert overview["names"][0].startswith("zero </script>")
    assert got["status"]["can_edit"]
    topic = client.get("/api/topic/2").json()
    word, log, base = topic["words"][0]
    v = view.words.index(word)
    assert log == pytest.approx(np.log(view.topic_word[2].max()), abs=1e-3)
    assert base == pytest.approx(np.log(view.frequency[v]), abs=1e-3)
    assert topic["near"][0][0] == fitted.topic_info().set_index("topic")["nearest"][2][0]
    assert topic["documents"][0]["topics"][0][0] == 2


def test_documents_are_found_by_word_topic_and_column(client, documents, fitted):
    def find(**asked):
        return client.get("/api/documents", params=asked).json()

    X = documents.corpus.to_scipy().tocsc()
    v, w = (documents.corpus.vocabulary.index(word) for word in ("sail", "rook"))
    both = np.intersect1d(X.indices[X.indptr[v] : X.indptr[v + 1]], X.indices[X.indptr[w] : X.indptr[w + 1]])
    found = find(words="sail rook")
    assert found["n"] == len(both) > 0
    assert {d["row"] for d in found["documents"]} <= set(both.tolist())
    assert find(words="SAIL")["n"] == len(X.indices[X.indptr[v] : X.indptr[v + 1]])
    assert find(words="sail nonsense") | {"documents": []} == {
        "n": 0,
        "offset": 0,
        "documents": [],
        "unknown": ["nonsense"],
    }
    theta = fitted.transform(documents.corpus)
    k = int(theta.max(axis=0).argmax())
    by_topic = find(topic=k)
    assert by_topic["n"] == (theta[:, k] >= 0.05).sum()
    assert theta[by_topic["documents"][0]["row"], k] > 0.5
    assert find(column="group <b>", value="plain")["n"] == 60
    assert find(column="date", value="2011")["n"] == sum(d.startswith("2011") for d in documents.columns["date"])
    assert find(words="sail", column="group <b>", value="plain")["n"] < find(words="sail")["n"]
    everything = find()
    assert everything["n"] == 120
    assert [d["row"] for d in find(offset=100)["documents"]] == list(range(100, 120))


def test_a_document_has_its_words_with_topics_and_its_neighbours(client, documents, fitted):
    got = client.get("/api/document/9").json()
    assert "".join(piece for piece, *_ in got["pieces"]) == documents.texts[9]
    theta, view = fitted.transform(documents.corpus[9])[0], view_of(fitted)
    for piece, k, *p in got["pieces"]:
        if k >= 0:
            v = view.words.index(piece.lower())
            joint = theta * view.topic_word[:, v]
            assert k == joint.argmax()
            assert p[0] == pytest.approx(joint[k] / joint.sum(), abs=0.03)
    root = np.sqrt(fitted.transform(documents.corpus))
    likeness = root @ root[9]
    likeness[9] = 0
    assert likeness[got["similar"][0][0]] == pytest.approx(likeness.max(), abs=0.02)
    assert dict(got["columns"])["date"] == documents.columns["date"][9]
    assert client.get("/api/document/5").json()["cut"]  # a megabyte is not sent


def test_words_groups_comparison_and_tree(client, documents, fitted):
    info = fitted.word_info("rook")
    assert client.get("/api/word", params={"q": "Rook"}).json()["topics"][0] == [
        int(info["topic"].iloc[0]), pytest.approx(info["share"].iloc[0], abs=1e-3)
    ]  # fmt: skip
    assert client.get("/api/word", params={"q": "nonsense"}).json() is None
    assert client.get("/api/suggest", params={"q": "ro"}).json()[:1] in (["rook"], ["root"], ["rope"], ["rose"])
    k = int(info["topic"].iloc[0])
    assert k in client.get("/api/find", params={"q": "roo"}).json()
    assert client.get("/api/find", params={"q": "zero"}).json() == [0]
    groups = client.get("/api/groups", params={"column": "date", "topic": 1}).json()
    assert groups["is_time"]
    first = np.array([d[:4] == "2010" and d[5:7] == groups["groups"][0][0][5:7] for d in documents.columns["date"]])
    assert groups["groups"][0][2] == pytest.approx(fitted.transform(documents.corpus)[first, 1].mean(), abs=0.02)
    both = client.get("/api/compare", params={"a": 1, "b": 2}).json()
    view = view_of(fitted)
    gap = np.sqrt(view.topic_word[1]) - np.sqrt(view.topic_word[2])
    assert both["first"][0][0] == view.words[gap.argmax()]
    assert both["distance"] == pytest.approx(np.sqrt(0.5 * (gap**2).sum()), abs=1e-3)
    assert client.get("/api/tree").json()["order"] == fitted.topic_tree()["topics"].iloc[-1]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/topic/99", 404), ("/api/topic/x", 404), ("/api/topic/-1", 404), ("/api/document/120", 404),
        ("/api/document/1e9", 404), ("/api/documents?topic=99", 404), ("/api/documents?column=none&value=x", 404),
        ("/api/documents?offset=-1", 404), ("/api/groups?column=none&topic=0", 404), ("/api/compare?a=0", 404),
        ("/export/passwd", 404), ("/api/do/undo", 405), ("/nowhere", 404),
    ],
)  # fmt: skip
def test_wrong_questions_have_clear_answers(client, path, status):
    got = client.get(path)
    assert got.status_code == status
    assert status != 404 or path == "/nowhere" or got.json()["error"]


def do(client, what, **fields):
    version = client.get("/api/status").json()["version"]
    return client.post(f"/api/do/{what}", json={"version": version, **fields})


def settled(client, seconds=60):
    for _ in range(seconds * 20):
        status = client.get("/api/status").json()
        if status["busy"] is None:
            return status
        time.sleep(0.05)
    raise AssertionError("still busy")


def test_edits_undo_redo_and_the_session_after_a_restart(client, explorer, documents, fitted, tmp_path):
    before = explorer.model.components_
    effect = do(client, "preview", edit={"do": "merge", "topics": [0, 1]}).json()["effect"]
    assert effect["objective_after"] < effect["objective_before"]
    np.testing.assert_array_equal(explorer.model.components_, before)
    assert do(client, "apply", edit={"do": "merge", "topics": [0, 1]}).json()["edits"] == [
        {"do": "merge", "topics": [0, 1]}
    ]
    assert explorer.model.n_components == 4
    merged = explorer.model.components_
    assert do(client, "undo").json()["undone"] == [{"do": "merge", "topics": [0, 1]}]
    np.testing.assert_array_equal(explorer.model.components_, before)
    do(client, "redo")
    np.testing.assert_array_equal(explorer.model.components_, merged)
    do(client, "apply", edit={"do": "rename", "topic": 1, "name": "one"})
    [cut, *_] = do(client, "cuts", topic=0).json()
    do(client, "apply", edit={"do": "split", "topic": 0, "seed": cut["seed"]})
    assert explorer.model.top_words(8)[-1] == cut["second"]
    do(client, "undo")
    # A killed server leaves its journal; another one goes on from there.
    again = explore(tmp_path / "model", documents.corpus, browser=False)
    try:
        np.testing.assert_array_equal(again.model.components_, explorer.model.components_)
        assert again.model.topic_names_[1] == "one"
        assert again.session.status()["undone"][0]["do"] == "split"
        again.session.undo(again.session.version)
        again.session.undo(again.session.version)
        np.testing.assert_array_equal(again.model.components_, before)
    finally:
        again.close()
    fitted.save(tmp_path / "other")
    (tmp_path / "other.session").write_text(
        (tmp_path / "model.session").read_text().replace('"model": "', '"model": "0')
    )
    with pytest.raises(ValueError, match="edits of another model"):
        explore(tmp_path / "other", browser=False)
    (tmp_path / "other.session").write_text("[1]")
    with pytest.raises(ValueError, match="not a session"):
        explore(tmp_path / "other", browser=False)


def test_who_has_not_seen_the_last_change_cannot_make_another(client):
    seen = client.get("/api/status").json()["version"]
    assert do(client, "apply", edit={"do": "rename", "topic": 1, "name": "one"}).status_code == 200
    late = client.post("/api/do/apply", json={"version": seen, "edit": {"do": "delete", "topic": 1}})
    assert late.status_code == 409
    assert "changed meanwhile" in late.json()["error"]
    assert client.post("/api/do/undo", json={}).status_code == 409
    assert do(client, "apply", edit={"do": "delete", "topic": 77}).status_code == 400
    assert do(client, "apply", edit={"do": "learn", "passes": 1}).status_code == 400
    assert do(client, "redo").status_code == 409
    assert do(client, "control", action="pause").status_code == 409


NO_EDITS = [
    *(None, {}, [], "rename", 7, {"do": []}, {"do": {}}, {"do": None}, {"do": 3}, {"do": "os.system"}),
    *({"do": "rename"}, {"do": "rename", "topic": [], "name": "x"}, {"do": "rename", "topic": 0, "name": []}),
    *({"do": "rename", "topic": 0, "name": "half \ud800"}, {"do": "rename", "topic": 0, "name": "\udfff"}),
    *({"do": "merge", "topics": [[0], {}]}, {"do": "merge", "topics": [0, 10**30]}, {"do": "delete", "topic": 10**30}),
    *({"do": "seed", "words": [[]]}, {"do": "seed", "words": ["\ud800"]}, {"do": "ban", "topic": 0, "words": {}}),
    *(
        {"do": "seed", "words": ["wind"], "strength": 1e999},
        {"do": "delete", "topic": -1},
        {"do": "delete", "topic": True},
    ),
    *({"do": "move", "document": 10**30, "topic": 0}, {"do": "split", "topic": 0, "seed": "x"}),
    *(
        {"do": "delete", "topic": True},
        {"do": "freeze", "topic": 0, "path": "outside"},
        {"do": "freeze", "topic": 1e400},
    ),
]


def test_edits_that_are_none_are_refused_and_nobody_is_to_blame_but_the_caller(client, explorer):
    before = explorer.session.status()
    for edit in NO_EDITS:
        for what in ("apply", "preview"):
            body = json.dumps({"version": before["version"], "edit": edit}).replace("Infinity", "1e999")
            got = client.post(f"/api/do/{what}", content=body)
            assert got.status_code == 400, (what, edit, got.text)
            got.json()
    assert explorer.session.status() == before


def test_halves_of_surrogate_pairs_in_documents_are_shown_as_something_else(fitted, documents, tmp_path):
    """A browser refuses bytes that are no UTF-8."""
    half = "half \ud800"
    texts = [f"{half} {text}" for text in documents.texts]
    columns = {half: [half] * len(texts), "date": documents.columns["date"]}
    with explore(fitted, documents.corpus, texts=texts, columns=columns, title=half, browser=False) as explorer:
        explorer.session.snapshot.compute_mixes()
        bearer = {"Authorization": f"Bearer {explorer.server.token}"}
        with httpx.Client(base_url=explorer.server.address, headers=bearer, timeout=60) as client:
            for address in ("/", "/api/overview", "/api/topic/0", "/api/documents", "/api/document/0", "/api/status"):
                got = client.get(address)
                assert got.status_code == 200, address
                got.content.decode()  # or it raises
            assert "half ?" in client.get("/api/document/0").text
            for name in ("report.html", "topics.csv", "documents.csv"):
                got = client.get(f"/export/{name}")
                assert got.status_code == 200, name
                got.content.decode()
    topmix.report.write_report(fitted, tmp_path / "r.html", documents.corpus, texts=texts, columns=columns, title=half)
    assert "half ?" in (tmp_path / "r.html").read_text()


def test_columns_are_found_by_the_names_and_values_that_a_page_shows(fitted, documents):
    n = documents.corpus.n_docs
    columns = {"half \ud800": ["\udc00 a", *["b"] * (n - 1)], "long" * 9999: ["v" * 99_999, *["w"] * (n - 1)]}
    with explore(fitted, documents.corpus, columns=columns, browser=False) as running:
        bearer = {"Authorization": f"Bearer {running.server.token}"}
        with httpx.Client(base_url=running.server.address, headers=bearer, timeout=60) as client:
            shown = client.get("/api/overview").json()["status"]["columns"]
            assert [len(column["name"]) for column in shown] == [6, 200]
            for column in shown:
                assert client.get("/api/groups", params={"column": column["name"], "topic": 0}).status_code == 200
                for value, found in zip(sorted(column["values"], key=lambda v: v[0] in "bw"), (1, n - 1)):
                    assert len(value) <= 200
                    asked = {"column": column["name"], "value": value}
                    assert client.get("/api/documents", params=asked).json()["n"] == found
    with pytest.raises(ValueError, match="two columns have the same name"):
        explore(fitted, documents.corpus, columns={"a" * 201: ["a"] * n, "a" * 202: ["b"] * n}, browser=False)


def test_of_two_explorers_of_a_model_the_one_that_is_behind_keeps_no_edit(client, explorer, documents, tmp_path):
    for name in ("model", "other"):  # of one that was killed, a while ago
        (tmp_path / f".{name}.session.12345678.whole.topmix-tmp").write_text("half")
        os.utime(tmp_path / f".{name}.session.12345678.whole.topmix-tmp", (1e9, 1e9))
    with explore(tmp_path / "model", documents.corpus, browser=False) as other:
        assert sorted(path.name for path in tmp_path.glob(".*")) == [".other.session.12345678.whole.topmix-tmp"]
        assert do(client, "apply", edit={"do": "freeze", "topic": 1}).status_code == 200
        with pytest.raises(Refused, match="another explorer has edited this model"):
            other.session.apply({"do": "freeze", "topic": 2}, other.session.version)
        assert other.session.status()["edits"] == []
        assert other.model.model_.words.held is None
    assert len(json.loads((tmp_path / "model.session").read_text())["edits"]) == 1


def test_an_edit_that_cannot_be_kept_is_not_made(client, explorer, monkeypatch):
    before = explorer.session.status()
    monkeypatch.setattr("topmix.apps.explorer.live.atomic_write", lambda path: 1 / 0)
    assert do(client, "apply", edit={"do": "freeze", "topic": 1}).status_code == 500
    assert explorer.session.status() == before
    monkeypatch.undo()
    assert do(client, "apply", edit={"do": "freeze", "topic": 1}).json()["edits"] == [{"do": "freeze", "topic": 1}]
    no_space = OSError(28, "No space left on device")
    monkeypatch.setattr("topmix.apps.explorer.live.atomic_write", lambda path: (_ for _ in ()).throw(no_space))
    assert do(client, "learn", passes=1).status_code == 200
    status = settled(client)
    assert "could not be kept" in status["error"]
    assert status["edits"] == [{"do": "freeze", "topic": 1}]
    assert status["can_edit"]


def test_learning_on_can_be_watched_stopped_and_replayed(client, explorer, documents, fitted, tmp_path):
    do(client, "apply", edit={"do": "merge", "topics": [0, 1]})
    passes = len(explorer.model.history_)
    assert do(client, "learn", passes=3).json()["busy"] == "learn"
    assert settled(client)["edits"][-1] == {"do": "learn", "passes": 3, "seed": 0}
    assert len(explorer.model.history_) == passes + 3
    assert do(client, "learn", passes=10**6).status_code == 400
    # Files to share: the program of the edits gives the same model.
    (tmp_path / "shared").write_bytes(client.get("/export/topics.model").content)
    shared = topmix.load(tmp_path / "shared")
    np.testing.assert_array_equal(
        topmix.edits.replay(fitted, shared.edits_, documents.corpus).components_, shared.components_
    )
    assert "topmix.edits.learn(model, corpus, passes=3, seed=0)" in client.get("/export/edits.py").text
    got = client.get("/export/documents.csv")
    assert "attachment" in got.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(got.text)))
    assert sum(float(row["share"]) for row in rows if row["document"] == "9") == pytest.approx(1, abs=0.05)
    assert len(list(csv.DictReader(io.StringIO(client.get("/export/topics.csv").text)))) == 4
    report = client.get("/export/report.html").text
    assert report.count("<script") == 2
    assert client.get("/export/topics.parquet").status_code == 404


def test_pinned_words_frozen_topics_and_moved_documents(client, explorer, documents, fitted):
    word = fitted.top_words(1)[1][0]
    for edit in ({"do": "pin", "topic": 2, "words": [word]}, {"do": "freeze", "topic": 3}):
        assert do(client, "preview", edit=edit).json()["effect"]["objective_after"] is not None
        assert do(client, "apply", edit=edit).status_code == 200
    held = client.get("/api/topic/2").json()["held"]
    assert held == {"pinned": {"words": [word], "n": 1}, "banned": {"words": [], "n": 0}}
    assert client.get("/api/overview").json()["overview"]["frozen"] == [3]
    frozen = explorer.model.topic_word_[3].copy()
    to = int(fitted.transform(documents.corpus[8:9])[0].argmin())
    moved = {"do": "move", "document": 8, "topic": to}
    assert do(client, "apply", edit=moved).json()["edits"][-1] == moved
    assert do(client, "learn", passes=2).status_code == 200
    settled(client)
    np.testing.assert_array_equal(explorer.model.topic_word_[3], frozen)
    v = list(fitted.feature_names_in_).index(word)
    assert explorer.model.topic_word_[:, v].argmax() == 2
    assert np.sort(explorer.model.topic_word_[:, v])[-2] < 1e-9
    for _ in range(4):
        do(client, "undo")
    np.testing.assert_array_equal(explorer.model.components_, fitted.components_)
    for edit in ({"do": "move", "document": 999, "topic": 0}, {"do": "pin", "topic": 0, "words": ["nonsense"]}):
        assert do(client, "apply", edit=edit).status_code == 400


def test_a_watched_fit_shows_its_passes_pauses_and_stops(documents):
    session = Session(None, "fit")
    watch = session.watching()
    got: list[str] = []

    def fit():
        model = LDA(
            4, max_iter=400, tol=-1.0, inference=topmix.inference.Collapsed(sweeps=0), random_state=0, callbacks=[watch]
        )
        session.open(model.fit(documents.corpus))
        got.append(str(len(model.history_)))

    with topmix.explorer.Explorer(session).start() as explorer:
        import httpx

        client = httpx.Client(
            base_url=explorer.server.address, headers={"Authorization": f"Bearer {explorer.server.token}"}
        )
        assert client.get("/api/overview").json()["overview"] is None  # before the first pass
        assert client.get("/api/topic/0").status_code == 409
        with client.stream("GET", "/api/events") as stream:
            thread = threading.Thread(target=fit)
            watch.paused = True  # it stands still after its first pass
            thread.start()
            kinds = []
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    kinds.append(json.loads(line[6:])["kind"])
                if "state" in kinds:
                    break
            assert kinds[:2] == ["pass", "state"]
        first = client.get("/api/overview").json()
        assert first["status"]["paused"]
        assert len(first["overview"]["share"]) == 4
        assert do(client, "apply", edit={"do": "delete", "topic": 0}).status_code == 409  # not while it learns
        time.sleep(0.3)
        assert not got
        assert len(client.get("/api/overview").json()["overview"]["history"]) == 1
        assert do(client, "control", action="limit").status_code == 400
        do(client, "control", action="resume")
        do(client, "control", action="stop")
        thread.join(60)
        assert 1 <= int(got[0]) < 400
        client.close()


def test_a_fit_is_over_when_its_model_is_shown_and_not_before(documents, fitted):
    with waiting_explorer(documents.corpus, title="fit") as explorer:  # its address is known from here on
        session = explorer.session
        assert session.status()["busy"] == "fit"
        session.watching()
        swap, seen = session._swap, []
        session._swap = lambda made: (swap(made), seen.append(session.status()))
        session.open(fitted)
        assert [(status["version"], status["busy"]) for status in seen] == [(1, "fit")]
        assert session.status()["busy"] is None
        assert session.watch is None


def test_models_without_documents_or_edits_are_explored_too(documents):
    mixture = MultinomialMixture(3, max_iter=3, random_state=0).fit(documents.corpus)
    with explore(mixture, documents.corpus, browser=False) as explorer:
        explorer.session.snapshot.compute_mixes()
        assert not explorer.session.status()["can_edit"]
        assert explorer.session.snapshot.topic(0)["documents"]
    X = np.arange(12).reshape(4, 3) % 3
    with explore(LDA(1, max_iter=2, random_state=0).fit(X), browser=False) as explorer:
        topic = explorer.session.snapshot.topic(0)
        assert topic["near"] == []
        assert "--corpus" in topic["hint"]
        assert explorer.session.snapshot.tree == {"order": [], "joins": []}
        assert "href=" in explorer._repr_html_()


def test_documents_on_a_map_and_in_charts(client, explorer, documents, fitted):
    def unpacked(text, dtype):
        return np.frombuffer(base64.b64decode(text), dtype)

    places = client.get("/api/places").json()
    x, y, topic = (unpacked(places[name], kind) for name, kind in (("x", "<f4"), ("y", "<f4"), ("topic", "<i4")))
    theta = fitted.transform(documents.corpus)
    np.testing.assert_array_equal(topic, theta.argmax(axis=1))
    view = view_of(fitted)
    far = np.hypot(x - view.places[topic, 0], y - view.places[topic, 1])
    pure = theta.max(axis=1) > 0.99
    assert (far[pure] <= map_radii(view.share)[topic[pure]] + 0.05).all()  # in the circle of their topic
    column = client.get("/api/column", params={"name": "date"}).json()
    assert unpacked(column["groups"], "<i4").tolist()[:5] == [0, 0, 0, 0, column["names"].index("2011-02-11")]
    charts = client.get("/api/charts", params={"column": "group <b>"}).json()
    of_group, theta = np.array(documents.columns["group <b>"]), explorer.session.snapshot.mixes.by_doc.toarray()
    for k in range(5):
        for g, (group, n) in enumerate(zip(charts["groups"], charts["n"])):
            shares = theta[of_group == group, k]
            assert n == len(shares)
            assert charts["share"][k][g] == pytest.approx(shares.mean(), rel=1e-3)
            error = 1.96 * shares.std(ddof=1) / np.sqrt(n)
            assert charts["error"][k][g] == pytest.approx(error, rel=1e-2)
    assert [d["row"] for d in client.get("/api/cards", params={"rows": "3,7"}).json()["documents"]] == [3, 7]
    assert client.get("/api/cards", params={"rows": "3,999999"}).status_code == 404


# How people without one kind of cone see linear RGB: Machado, Oliveira and Fernandes (2009).
BLIND = {
    "none": np.eye(3),
    "red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_inside_a_document_can_be_told_apart(kind):
    listed = re.search(r"const OWN = \[(.*?)\]", asset("data.js"), re.DOTALL)[1]
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in re.findall(r"#\w{6}", listed)])
    assert len(rgb) == 8
    linear = np.clip(
        np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ np.array(BLIND[kind]).T, 0, 1
    )
    xyz = linear @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
    apart = np.sqrt(((lab[:, None] - lab[None]) ** 2).sum(axis=2)) + 1e3 * np.eye(8)
    assert apart.min() > 15  # of the CIELAB distance; 2 can just be seen


def covered(X, radius):
    """The largest part of a circle that another covers."""
    i, j = np.triu_indices(len(X), 1)
    large, small = np.maximum(radius[i], radius[j]), np.minimum(radius[i], radius[j])
    d = np.maximum(np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1)), 1e-12)
    a, b = (np.arccos(np.clip((d**2 + r**2 - q**2) / (2 * d * r), -1, 1)) for r, q in ((large, small), (small, large)))
    lens = large**2 * (a - np.sin(2 * a) / 2) + small**2 * (b - np.sin(2 * b) / 2)
    return float((lens / (np.pi * small**2)).max())


@pytest.mark.parametrize("K", [20, 300])
def test_circles_of_the_map_do_not_overlap_and_follow_the_topics(K):
    rng = np.random.default_rng(0)
    of_group = rng.integers(5, size=K)
    topics = 0.6 * rng.dirichlet(np.full(50, 0.1), 5)[of_group] + 0.4 * rng.dirichlet(np.full(50, 0.1), K)
    share = rng.dirichlet(np.full(K, 0.7))  # some are tiny
    first = map_positions(topics, share)
    assert covered(first, map_radii(share)) < 0.1
    area = np.pi * (map_radii(share) ** 2).sum()
    assert area > 0.25 * np.ptp(first[:, 0]) * np.ptp(first[:, 1])  # the map is not empty
    middle = np.stack([np.average(first[of_group == g], axis=0, weights=share[of_group == g]) for g in range(5)])
    spread = np.sqrt(((first - middle[of_group]) ** 2).sum(axis=1))
    assert np.average(spread, weights=share) < 0.7 * np.average(np.sqrt((first**2).sum(axis=1)), weights=share)
    np.testing.assert_array_equal(map_positions(topics, share), first)
    again = map_positions(topics, share, first @ np.array([[0.0, 1.0], [1.0, 0.0]]))  # turned
    assert np.median(np.sqrt(((again - first[:, ::-1]) ** 2).sum(axis=1))) < 0.1


def test_a_page_does_not_wait_for_the_map_which_is_that_of_the_report(documents, monkeypatch):
    model = LDA(120, max_iter=1, inference=Collapsed(sweeps=0), random_state=0).fit(documents.corpus)
    final = view_of(copy.deepcopy(model)).places
    wanted, places = threading.Event(), TopicView.places.func
    slow = cached_property(lambda view: (wanted.wait(60), places(view))[1])
    slow.__set_name__(TopicView, "places")
    monkeypatch.setattr(TopicView, "places", slow)
    session = Session(Library(documents.corpus, list(documents.corpus.vocabulary)))
    session.open(model)
    app, said = make_app(session), []
    monkeypatch.setattr(session.events, "publish", lambda kind, **facts: said.append(kind))

    def shown():
        of = json.loads(session.overview())["overview"]
        return np.array([of["x"], of["y"]]).T

    def told():
        async def ask():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://explorer") as client:
                return (await client.get("/api/places")).text

        return asyncio.run(ask())

    try:
        assert json.loads(session.overview())["overview"]["x"] is None
        session.snapshot.compute_mixes()
        assert json.loads(told()) == {"pending": True}
        version = session.version
        wanted.set()
        for _ in range(600):
            if session.snapshot.positions is not None:
                break
            time.sleep(0.05)
        np.testing.assert_allclose(shown(), final, atol=1e-4)
        assert "topic" in json.loads(told())
        assert session.version == version  # nobody's edit is refused for it
        session.close()  # waits for what is published
        assert said.count("state") == 1
    finally:
        wanted.set()
        session.close()


def test_an_edit_moves_no_other_topic_on_the_map(fitted, documents, tmp_path):
    before = view_of(fitted).places
    model = topmix.edits.merge(fitted, [1, 3])
    after = view_of(model).places
    larger = 1 if view_of(fitted).share[1] >= view_of(fitted).share[3] else 3
    np.testing.assert_allclose(after, before[[0, larger, 2, 4]], atol=0.25)
    assert np.abs(after - before[[0, larger, 2, 4]]).max(axis=1).min() == 0
    model = topmix.edits.split(model, documents.corpus, 0, seed=0)
    assert view_of(model).places.shape == (5, 2)
    model.save(tmp_path / "edited")  # and its file holds them
    np.testing.assert_array_equal(view_of(topmix.load(tmp_path / "edited")).places, view_of(model).places)
    learned = topmix.edits.learn(model, documents.corpus, passes=2)
    assert np.abs(view_of(learned).places - view_of(model).places).max() < 0.3


def test_closing_ends_the_visit_of_documents(fitted, documents, monkeypatch):
    """A thread that is in a kernel when Python ends aborts the process."""
    begun, go_on, visited = threading.Event(), threading.Event(), []

    def visit_of(view, block):
        visited.append(block.n_docs)
        begun.set()
        assert go_on.wait(60)
        none = np.zeros(block.n_docs)
        return DocumentShares(sp.csr_array((block.n_docs, view.topics.n_topics), dtype=np.float32), none, none)

    monkeypatch.setattr(of_pages, "BLOCK", 10)
    monkeypatch.setattr(ModelView, "visited", visit_of)
    explorer = explore(fitted, documents.corpus, browser=False)
    assert begun.wait(60)
    (visit,) = explorer.session._visits
    threading.Timer(0.1, go_on.set).start()
    explorer.close()
    assert not visit.is_alive()
    assert visited == [10]


def test_the_browser_is_led_by_a_file_that_its_owner_alone_can_read(explorer, monkeypatch):
    """All users of a machine see the arguments of a browser."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    explorer.open_browser()
    explorer.open_browser()
    assert explorer.server.token not in "".join(opened)
    (path,) = {Path(url2pathname(urlsplit(url).path)) for url in opened}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    page = path.read_text()
    assert f'content="0; url={explorer.url}"' in page
    assert httpx.get(explorer.url, follow_redirects=True).status_code == 200
    explorer.close()
    assert not path.parent.exists()
