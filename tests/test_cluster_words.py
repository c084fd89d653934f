"""Clusters of vectors with texts beside them: the tables, edits, files and pages of topics."""

from __future__ import annotations

import base64
import copy
import json
import runpy
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import topmix
from topmix import (
    GaussianAdmixture,
    GaussianMixture,
    MultinomialMixture,
    VonMisesFisherAdmixture,
    VonMisesFisherMixture,
    edits,
)
from topmix.explorer import explore
from topmix.report import write_report
from topmix.results.mixture import class_tfidf

SUBJECTS = [
    "boat sail sea harbour wind ship mast tide anchor coast island fish",
    "chess rook queen king board pawn mate knight bishop castle opening clock",
    "piano chord tune singer opera violin melody rhythm concert flute drum choir",
]
MODELS = {
    "directions": VonMisesFisherMixture(3, random_state=0),
    "full": GaussianMixture(3, random_state=0),
    "tied": GaussianMixture(3, covariance_type="tied", random_state=0),
    "diag process": GaussianMixture(
        3, covariance_type="diag", weight_concentration_prior_type="dirichlet_process", random_state=0
    ),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    subject = rng.integers(0, 3, 300)
    texts = [" ".join(rng.choice(SUBJECTS[k].split(), 20)) for k in subject]
    vectors = rng.normal(size=(300, 6)) + 6 * np.eye(6)[subject]
    return pd.DataFrame({"text": texts, "month": [f"2024-{1 + i // 100:02}-01" for i in range(300)]}), vectors, subject


@pytest.fixture(scope="module", params=list(MODELS))
def model(request, data):
    table, vectors, _ = data
    return clone(MODELS[request.param]).fit(vectors, texts=table["text"])


def subjects_of(model, vectors, subject):
    """The subject that most rows of each cluster have."""
    labels = model.predict(vectors)
    return [int(np.bincount(subject[labels == k]).argmax()) for k in range(model.n_components)]


def test_clusters_have_the_words_of_their_texts(model, data):
    table, vectors, subject = data
    info = model.topic_info(vectors, texts=table["text"])
    of = subjects_of(model, vectors, subject)
    for row in info.to_dict("records"):
        assert set(row["words"]) == set(SUBJECTS[of[row["topic"]]].split()) & set(row["words"])
        assert len(row["words"]) >= 4
        assert row["coherence"] > 0
        assert len(row["documents"]) == 3
    assert info["size"].sum() == pytest.approx(300, rel=1e-6)
    assert (info["quality"] == "good").all()
    assert len(model.topic_names_) == 3
    assert model.topic_names_[0] == ", ".join(model.top_words(3)[0])
    assert model.word_info("rook")["topic"][0] == of.index(1)


def test_words_are_in_the_order_of_class_based_tfidf(data):
    table, vectors, _ = data
    model = VonMisesFisherMixture(3, random_state=0).fit(vectors, texts=table["text"])
    corpus = model.counts(vectors, table["text"])
    weights = class_tfidf(sp.csr_array(model.predict_proba(vectors, sparse_output=True).T @ corpus.to_scipy()))
    words = np.array(corpus.vocabulary)
    for k, row in enumerate(weights.toarray()):
        assert model.top_words(4)[k] == words[np.argsort(-row, kind="stable")[:4]].tolist()


def test_examples_are_the_most_typical_rows(model, data):
    table, vectors, _ = data
    found = model.representative_documents(vectors, texts=table["text"], n=2)
    labels = model.predict(vectors)
    assert (labels[found["document"]] == found["topic"]).all()
    assert found["text"].tolist() == [table["text"][d] for d in found["document"]]
    density, mine = model.score_samples(vectors), found[found["topic"] == 0]["document"].tolist()
    assert density[mine[0]] >= np.quantile(density[labels == 0], 0.9)


def test_document_info_and_outliers(model, data):
    _, vectors, _ = data
    info = model.document_info(vectors)
    np.testing.assert_array_equal(info["topic"], model.labels_)
    np.testing.assert_array_equal(model.labels_, model.predict(vectors))
    np.testing.assert_allclose(info["density"], model.score_samples(vectors))
    assert (info["topic"] >= 0).all()
    assert "tokens" not in info
    least = float(np.quantile(info["density"], 0.1))
    asked = model.document_info(vectors, min_density=least)
    np.testing.assert_array_equal(asked["topic"] == -1, info["density"] < least)
    assert asked["name"].isna().sum() == 30
    np.testing.assert_array_equal(model.predict(vectors, min_density=least), asked["topic"])
    unsure = model.predict_proba(vectors).max(axis=1) < 0.999
    np.testing.assert_array_equal(model.predict(vectors, min_weight=0.999) == -1, unsure)
    np.testing.assert_array_equal(model.document_info(vectors, min_weight=0.999)["topic"] == -1, unsure)


def test_groups_and_time(model, data):
    table, vectors, subject = data
    found = model.topics_by(vectors, subject.tolist())
    of = subjects_of(model, vectors, subject)
    main = found.loc[found.groupby("group")["share"].idxmax()]
    assert [of[k] for k in main["topic"]] == [0, 1, 2]
    assert found["documents"].sum() == 3 * 300
    by_month = model.topics_over_time(vectors, table["month"], freq="month")
    assert by_month["period"].nunique() == 3
    words = model.words_by(vectors, table["month"], 0, texts=table["text"])
    assert set(words["word"]) <= set(" ".join(SUBJECTS).split())
    assert len(model.topic_tree()) == 2


def test_edits_and_undo(model, data):
    table, vectors, _subject = data
    corpus, first = model.counts(vectors, table["text"]), model.score(vectors)
    split = edits.split(model, corpus, 1)
    assert split.n_components == 4
    assert split.score(vectors) > first - 0.05
    assert split.weights_.sum() == pytest.approx(1.0)
    again = edits.merge(split, [1, 3])
    assert again.n_components == 3
    np.testing.assert_array_equal(again.predict(vectors), model.predict(vectors))
    np.testing.assert_allclose(again.weights_, model.weights_, rtol=0.02)
    assert set(again.top_words(4)[1]) == set(model.top_words(4)[1])
    renamed = edits.rename(again, 2, "last")
    fewer = edits.delete(renamed, 0)
    assert fewer.topic_names_[1] == "last"
    assert set(fewer.predict(vectors)) == {0, 1}
    learned = edits.learn(split, corpus, passes=3)
    assert learned.n_components == 4
    assert learned.topic_info()["size"].sum() == pytest.approx(300, rel=1e-6)
    made = edits.replay(model, fewer.edits_, corpus)
    np.testing.assert_array_equal(made.means_, fewer.means_)
    assert made.topic_names_ == fewer.topic_names_
    with pytest.raises(ValueError, match="clusters of vectors can be changed by"):
        edits.apply(model, {"do": "ban", "topic": 0, "words": ["boat"]})
    pairs = model.suggest_merges(vectors)
    assert len(pairs) == 3
    assert (pairs["change"] < 0).all()
    assert not hasattr(split, "labels_")
    assert hasattr(model, "labels_")


def test_a_file_keeps_words_names_and_edits(model, data, tmp_path):
    table, vectors, _ = data
    edited = edits.rename(edits.merge(model, [0, 1]), 1, "the other")
    edited.save(tmp_path / "model")
    loaded = topmix.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.topic_info(), edited.topic_info())
    assert loaded.edits_ == edited.edits_
    assert loaded.topic_names_[1] == "the other"
    texts = table["text"].tolist()
    pd.testing.assert_frame_equal(
        loaded.topic_info(vectors, texts=texts).drop(columns="documents"),
        edited.topic_info(vectors, texts=texts).drop(columns="documents"),
    )


def test_report_and_explorer(data, tmp_path):
    table, vectors, _ = data
    texts = table["text"].tolist()
    model = VonMisesFisherMixture(3, random_state=0).fit(vectors, texts=texts)
    write_report(model, tmp_path / "report.html", vectors, texts=texts, columns={"month": table["month"]})
    page = (tmp_path / "report.html").read_text()
    assert "harbour" in page
    assert "VonMisesFisherMixture" in page
    with explore(model, vectors, texts=texts, columns={"month": table["month"]}, browser=False) as explorer:
        session = explorer.session
        for visit in session._visits:
            visit.join(60)
        status = session.status()
        assert status["can_edit"]
        assert status["can_rename"]
        assert not status["can_edit_words"]
        best = session.snapshot.topic(0)["documents"]
        assert model.labels_[best[0]["row"]] == 0
        assert session.snapshot.search("rook", None)["n"] > 30
        near = [row for row, *_ in session.snapshot.document(0)["similar"]]
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        assert near == np.argsort(-(unit @ unit[0]), kind="stable")[1:9].tolist()
        x = np.frombuffer(base64.b64decode(json.loads(session.snapshot.places_json)["x"]), "<f4")
        assert len(np.unique(x)) == 300
        effect = session.preview({"do": "merge", "topics": [0, 1]}, session.version)["effect"]
        assert effect["objective_after"] < effect["objective_before"]
        session.apply({"do": "merge", "topics": [0, 1]}, session.version)
        assert session.cuts(0, session.version)
        session.apply({"do": "split", "topic": 0, "seed": 0}, session.version)
        session.undo(session.version)
        session.undo(session.version)
        np.testing.assert_array_equal(explorer.model.means_, model.means_)
        session.learn(2, session.version)
        for work in session._visits:
            work.join(60)
        assert session.status()["error"] is None
        assert explorer.model.edits_[-1]["passes"] == 2


def test_without_texts_clusters_have_numbers(data):
    table, vectors, _ = data
    model = GaussianMixture(3, random_state=0).fit(vectors)
    assert model.topic_names_ == ["cluster 0", "cluster 1", "cluster 2"]
    assert model.document_info(vectors)["name"].str.startswith("cluster").all()
    assert len(model.topics_by(vectors, table["month"])) == 9
    with pytest.raises(ValueError, match="have no words"):
        model.counts(vectors, table["text"])
    with pytest.raises(AttributeError) as error:
        model.topic_info()
    assert "have no words: fit(X, texts=...)" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="2 texts for 300 rows"):
        model.fit(vectors, texts=["boat sail", "sail mast"])
    assert "topics of" not in model._repr_html_inner()


def test_groups_of_rows_have_a_text_each(data):
    _, vectors, subject = data
    groups = np.argsort(np.argsort(subject, kind="stable")) // 5  # rows of one subject, mostly
    texts = [" ".join(SUBJECTS[k] for k in subject[groups == g]) for g in range(60)]
    model = GaussianAdmixture(3, random_state=0).fit(vectors, groups, texts=texts)
    of = [int(np.bincount(subject[model.predict(vectors, groups) == k]).argmax()) for k in range(3)]
    assert [model.top_words(1)[k][0] in SUBJECTS[of[k]] for k in range(3)] == [True] * 3
    assert len(model.document_info(vectors, groups)) == 60


@pytest.fixture(scope="module")
def grouped(data):
    """Rows in no order, of twenty groups with names, each mostly of two subjects; a text beside each row."""
    table, vectors, subject = data
    rng = np.random.default_rng(3)
    group = rng.permutation(np.arange(300) % 20)
    keep = rng.random(300) < np.where(subject == group % 3, 1.0, 0.4)
    names = np.array([f"group {g:02}" for g in group])
    return vectors[keep], names[keep], table["text"].to_numpy()[keep].tolist(), subject[keep]


@pytest.fixture(scope="module", params=[GaussianAdmixture, VonMisesFisherAdmixture])
def admixture(request, grouped):
    vectors, groups, texts, _ = grouped
    return request.param(3, random_state=0).fit(vectors, groups, texts=texts)


def test_texts_beside_rows_give_their_words_to_the_clusters_of_their_rows(admixture, grouped):
    vectors, groups, texts, _ = grouped
    r = admixture.predict_proba(vectors, groups)
    f = admixture._found().texts
    words = f.reading.words.tolist()
    for word in ("boat", "rook"):
        has = np.array([text.split().count(word) for text in texts])
        np.testing.assert_allclose(f.counts.toarray()[:, words.index(word)], has @ r, rtol=1e-5, atol=1e-2)
    with pytest.raises(ValueError, match=r"19 texts for \d+ rows in 20 groups: pass one for each row or group"):
        clone(admixture).fit(vectors, groups, texts=texts[:19])


def test_groups_are_the_documents_of_tables(admixture, grouped):
    vectors, groups, texts, _ = grouped
    theta, names = admixture.transform(vectors, groups), np.unique(groups).tolist()
    table = admixture.document_info(vectors, groups)
    assert table["document"].tolist() == names
    np.testing.assert_array_equal(table["topic"], theta.argmax(axis=1))
    np.testing.assert_allclose(table["weight"], theta.max(axis=1), atol=1e-6)
    np.testing.assert_array_equal(table["rows"], np.unique(groups, return_counts=True)[1])
    scores = admixture.score_samples(vectors, groups)
    np.testing.assert_allclose(table["density"], [scores[groups == name].mean() for name in names], rtol=1e-6)
    assert (admixture.document_info(vectors, groups, min_density=np.inf)["topic"] == -1).all()
    median, r = float(np.median(scores)), admixture.predict_proba(vectors, groups).max(axis=1)
    is_outlier = admixture.predict(vectors, groups, min_density=median, min_weight=0.9) == -1
    np.testing.assert_array_equal(is_outlier, (scores < median) | (r < 0.9))
    info = admixture.topic_info(vectors, groups, texts=texts)
    assert (info["coherence"] > 0).all()
    best = admixture.representative_documents(vectors, groups, texts=texts, n=1)
    for _, row in best.iterrows():
        assert row["text"].split() == " ".join(np.array(texts)[groups == row["document"]]).split()
    n = np.unique(groups, return_counts=True)[1]
    k = int(best["topic"][0])
    assert best["document"][0] == names[int(np.argmax(theta[:, k] * n / (n + 20)))]


def test_columns_of_groups_may_stand_beside_rows(admixture, grouped):
    vectors, groups, texts, _ = grouped
    of_row = [name < "group 10" for name in groups]
    by_row = admixture.topics_by(vectors, of_row, groups)
    by_group = admixture.topics_by(vectors, [g < 10 for g in range(20)], groups)
    assert by_row.equals(by_group)
    assert by_row["documents"].tolist() == [10] * 6
    theta = admixture.transform(vectors, groups)
    np.testing.assert_allclose(by_row["share"][:3], theta[10:].mean(axis=0), atol=1e-6)
    dates = [f"2024-{1 + int(name[6:]) // 10:02}" for name in groups]
    assert len(admixture.topics_over_time(vectors, dates, groups)) == 6
    assert len(admixture.words_by(vectors, of_row, 0, groups, texts=texts))
    with pytest.raises(ValueError, match="the rows of group 'group 00' have several values"):
        admixture.topics_by(vectors, list(range(len(groups))), groups)


def test_clusters_of_groups_are_merged_and_dropped(admixture, grouped, tmp_path):
    vectors, groups, *_ = grouped
    before = admixture.transform(vectors, groups)
    merged = copy.deepcopy(admixture).merge_topics([(0, 2)])
    after = merged.transform(vectors, groups)
    np.testing.assert_allclose(after[:, 0], before[:, [0, 2]].sum(axis=1), atol=0.05)
    assert merged.weight_concentration_prior_.sum() == pytest.approx(admixture.weight_concentration_prior_.sum())
    merged.save(tmp_path / "merged")
    np.testing.assert_array_equal(topmix.load(tmp_path / "merged").transform(vectors, groups), after)
    dropped = copy.deepcopy(admixture).drop_topics([1])
    np.testing.assert_allclose(dropped.transform(vectors, groups).sum(axis=1), 1)
    assert dropped.topic_info().shape[0] == 2
    assert len(admixture.suggest_merges(vectors, groups)) == 3
    process = {"weight_concentration_prior_type": "dirichlet_process", "learner": "batch", "max_iter": 5, "tol": -1.0}
    sticks = type(admixture)(3, random_state=0, **process).fit(vectors, groups).merge_topics([(0, 1)])
    assert sticks.transform(vectors, groups).shape == (20, 2)


@pytest.mark.parametrize("with_texts", ["rows", "groups", None])
def test_a_cluster_of_groups_is_divided_by_its_rows(admixture, grouped, with_texts):
    vectors, groups, texts, subject = grouped
    per_group = [" ".join(np.array(texts)[groups == name]) for name in np.unique(groups)]
    given = {"rows": texts, "groups": per_group, None: None}[with_texts]
    merged = edits.merge(admixture, [0, 1])
    corpus = merged.counts(vectors, groups, given)
    words, alpha = merged._found().texts.counts.toarray(), merged.weight_concentration_prior_
    split = edits.split(merged, corpus, 0)
    assert split.n_components == 3
    assert len(set(zip(split.predict(vectors, groups).tolist(), subject.tolist()))) < 5  # as before, but for some rows
    halves, own = split._found().texts.counts.toarray(), split.weight_concentration_prior_
    np.testing.assert_allclose(halves[0] + halves[2], words[0])  # nothing is lost
    np.testing.assert_allclose(halves[1], words[1])
    np.testing.assert_allclose([own[0] + own[2], own[1]], alpha)
    np.testing.assert_allclose(split._found().model.sizes.sum(), len(vectors), rtol=1e-6)
    first, second = (set(split.top_words(4)[k]) for k in (0, 2))
    if with_texts is None:
        assert first == second
    else:
        assert not first & second
    some = corpus[np.arange(5)]  # groups: rows of others are left out
    np.testing.assert_allclose(
        edits.split(merged, some, 0).means_,
        copy.copy(merged).split_topic(some.vectors.alone(), 0).means_,
        rtol=1e-9,
    )


@pytest.mark.parametrize("Estimator", [GaussianMixture, VonMisesFisherAdmixture])
def test_a_script_makes_the_edits_of_clusters_again(Estimator, grouped, tmp_path, monkeypatch):
    vectors, groups, texts, _ = grouped
    of = [groups] if Estimator is VonMisesFisherAdmixture else []
    np.save(tmp_path / "x.npy", vectors)
    np.save(tmp_path / "groups.npy", groups)
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "texts.csv", index=False)
    model = Estimator(3, random_state=0).fit(vectors, *of, texts=texts)
    model.save(tmp_path / "model")
    corpus = model.counts(vectors, *of, texts=texts)
    edited = edits.learn(edits.split(edits.merge(model, [0, 1]), corpus, 0), corpus, passes=2)
    (tmp_path / "edits.py").write_text(edits.script(edited.edits_, edited))
    files = ["model", "x.npy", *(["groups.npy"] if of else []), "texts.csv", "edited"]
    monkeypatch.setattr("sys.argv", ["edits.py", *(str(tmp_path / name) for name in files)])
    runpy.run_path(str(tmp_path / "edits.py"))
    again = topmix.load(tmp_path / "edited")
    np.testing.assert_array_equal(again.means_, edited.means_)
    np.testing.assert_array_equal(again._found().texts.counts.toarray(), edited._found().texts.counts.toarray())


def test_learning_on_keeps_the_number_of_clusters_and_what_rows_say(admixture, grouped):
    vectors, groups, texts, _ = grouped
    process = clone(admixture).set_params(weight_concentration_prior_type="dirichlet_process", max_iter=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = process.fit(vectors, groups, texts=texts)
    corpus = fit.counts(vectors, groups, texts)
    fewer = edits.merge(fit, [0, 1])
    learned = edits.learn(fewer, corpus, passes=10)
    assert learned.n_components == fewer.n_components  # though a search would find more
    assert learned.weight_concentration_prior_type == "dirichlet_process"
    r, f = learned.predict_proba(vectors, groups), learned._found().texts
    has = np.array([text.split().count("boat") for text in texts])
    column = f.reading.words.tolist().index("boat")
    np.testing.assert_allclose(f.counts.toarray()[:, column], has @ r, rtol=1e-5, atol=1e-2)


def test_a_report_and_an_explorer_of_groups(admixture, grouped, tmp_path):
    vectors, groups, texts, _ = grouped
    parts = {"half": [g < 10 for g in range(20)]}
    write_report(admixture, tmp_path / "r.html", vectors, groups=groups, texts=texts, columns=parts)
    assert "group 07" in (tmp_path / "r.html").read_text()
    with explore(admixture, vectors, groups=groups, texts=texts, columns=parts, browser=False) as explorer:
        session = explorer.session
        assert session.library.n_docs == 20
        assert json.loads(session.snapshot.overview_json)["about"]["unit"] == "rows"
        for visit in session._visits:
            visit.join(60)
        shown = session.snapshot.document(0)
        if isinstance(admixture, VonMisesFisherAdmixture):
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        means = np.array([vectors[groups == name].mean(axis=0) for name in np.unique(groups)])
        unit = means / np.linalg.norm(means, axis=1, keepdims=True)
        assert [row for row, *_ in shown["similar"]] == np.argsort(-(unit @ unit[0]), kind="stable")[1:9].tolist()
        theta = admixture.transform(vectors, groups)
        assert shown["topics"][0] == [int(theta[0].argmax()), pytest.approx(theta[0].max(), abs=1e-3)]
        assert session.snapshot.search("rook", None)["n"] == sum(
            "rook" in " ".join(np.array(texts)[groups == name]) for name in np.unique(groups)
        )
        x = np.frombuffer(base64.b64decode(json.loads(session.snapshot.places_json)["x"]), "<f4")
        assert len(np.unique(x)) == 20
        first = explorer.model
        effect = session.preview({"do": "merge", "topics": [0, 1]}, session.version)
        assert effect["effect"]["objective_after"] < effect["effect"]["objective_before"]
        session.apply({"do": "merge", "topics": [0, 1]}, session.version)
        assert session.cuts(0, session.version)
        session.apply({"do": "split", "topic": 0, "seed": 0}, session.version)
        session.learn(2, session.version)
        for work in session._visits:
            work.join(60)
        assert session.status()["error"] is None
        assert [edit["do"] for edit in session.journal.edits] == ["merge", "split", "learn"]
        learned = explorer.model
        assert learned.n_components == 3
        info = learned.topic_info(session.library.corpus)
        assert (info["coherence"] > 0).all()
        again = edits.replay(admixture, learned.edits_, session.library.corpus)
        np.testing.assert_array_equal(again.means_, learned.means_)
        np.testing.assert_array_equal(again._found().texts.counts.toarray(), learned._found().texts.counts.toarray())
        for _ in range(3):
            session.undo(session.version)
        np.testing.assert_array_equal(explorer.model.means_, first.means_)
    with pytest.raises(ValueError, match="knows no groups"):
        write_report(VonMisesFisherMixture(3).fit(vectors, texts=texts), tmp_path / "x", groups=groups)


def test_clusters_of_counts_have_the_tables_too(data):
    table, _, subject = data
    model = MultinomialMixture(3, random_state=0).fit(table, text="text")
    info = model.topic_info(table)
    assert info["size"].sum() == pytest.approx(300, rel=1e-6)
    assert (info["coherence"] > 0).all()
    np.testing.assert_array_equal(model.labels_, model.document_info(table)["topic"])
    assert len(model.topics_over_time(table, "month")) == 9
    assert model.merge_topics([(0, 1)]).n_components == 2
    assert len(set(zip(model.predict(table).tolist(), subject.tolist()))) == 3


def test_mapped_vectors(data, tmp_path):
    table, vectors, _ = data
    np.save(tmp_path / "vectors.npy", vectors.astype(np.float32))
    table.to_csv(tmp_path / "texts.csv", index=False)
    model = VonMisesFisherMixture(3, random_state=0).fit(tmp_path / "vectors.npy", texts=tmp_path / "texts.csv")
    info = model.topic_info(tmp_path / "vectors.npy", texts=tmp_path / "texts.csv")
    assert (info["coherence"] > 0).all()
    split = model.split_topic(tmp_path / "vectors.npy", 0, texts=tmp_path / "texts.csv")
    assert split.n_components == 4


def test_sweep_finds_the_number_of_clusters(data):
    table, vectors, _ = data
    for estimator in (VonMisesFisherMixture(), GaussianMixture(covariance_type="spherical")):
        found = topmix.sweep(vectors, [2, 3], seeds=2, estimator=estimator, texts=table["text"], verbose=0)
        assert found.recommended == 3
        assert found.sizes[1].mean("stability") > 0.9
        assert found.sizes[1].mean("coherence") > found.sizes[0].mean("coherence")
    alone = topmix.sweep(vectors, [2, 3], seeds=2, estimator=VonMisesFisherMixture(), verbose=0)
    assert alone.recommended == 3
    assert np.isnan(alone.sizes[0].mean("coherence"))
    with pytest.raises(ValueError, match="texts= stand beside vectors"):
        topmix.sweep(table["text"], [2], texts=table["text"])


@pytest.mark.parametrize(
    "Estimator", [GaussianAdmixture, pytest.param(VonMisesFisherAdmixture, marks=pytest.mark.slow)]
)
def test_sweep_finds_the_number_of_clusters_of_groups(grouped, Estimator):
    vectors, groups, texts, _ = grouped
    found = topmix.sweep(vectors, [2, 3], seeds=2, groups=groups, estimator=Estimator(), texts=texts, verbose=0)
    assert found.recommended == 3
    assert (found.n_docs, found.n_held_out) == (14, 6)
    assert found.sizes[1].mean("stability") > 0.9
    assert found.sizes[1].mean("coherence") > 0.4
    # The score is the completion score of a fit that has never seen these groups.
    rows = np.setdiff1d(np.arange(20), np.random.default_rng(0).choice(20, 6, replace=False))
    train = np.isin(groups, np.unique(groups)[rows])
    fit = Estimator(3, random_state=1).fit(vectors[train], groups[train])
    want = fit.completion_score(vectors[~train], groups[~train])
    assert found.fits[3].score == pytest.approx(want, rel=1e-6)
    alone = topmix.sweep(pd.DataFrame(vectors).assign(g=groups), [2, 3], groups="g", estimator=Estimator(), verbose=0)
    assert alone.recommended == 3
    assert np.isnan(alone.sizes[0].mean("coherence"))
    with pytest.raises(ValueError, match=r"19 texts for \d+ rows in 20 groups"):
        topmix.sweep(vectors, [2], groups=groups, estimator=Estimator(), texts=texts[:19], verbose=0)
    with pytest.raises(ValueError, match="knows no groups"):
        topmix.sweep(vectors, [2], groups=groups, estimator=VonMisesFisherMixture(), verbose=0)
    process = Estimator(weight_concentration_prior_type="dirichlet_process")
    with pytest.raises(ValueError, match="by itself under a Dirichlet process"):
        topmix.sweep(vectors, [2], groups=groups, estimator=process, verbose=0)
    with pytest.raises(ValueError, match="0 groups with two rows or more"):
        topmix.sweep(vectors, [2], estimator=Estimator(), verbose=0)
    with pytest.raises(ValueError, match=r"only \d+ rows to learn from"):
        topmix.sweep(vectors, [250], groups=groups, estimator=Estimator(), verbose=0)
