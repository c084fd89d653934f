"""What a person does with the command, in that order, and what they would check."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import topmix
from topmix import LDA
from topmix.apps.command import COMMANDS, Commands, app
from topmix.data import Corpus, from_texts, read_corpus, sample_lda, write_corpus
from topmix.estimators import ESTIMATORS as MODELS
from topmix.estimators.admixture import AdmixtureEstimator
from topmix.explorer import Explorer

ALL = list(COMMANDS)
ONCE = ("--n-init", "1", "--max-iter", "5")  # where nothing depends on the best of ten fits, or on how far one gets


def call(*args, **more):
    """The command in this process: quicker, where being a process does not matter."""
    return CliRunner().invoke(app, [str(a) for a in args], **more)


def out_of(*args, **more):
    done = call(*args, **more)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_fit_finds_the_subjects_of_a_folder(fitted, model, subjects):
    assert fitted.stderr == ""  # nobody watches
    assert "\x1b" not in fitted.stdout
    rows = re.findall(r"^ +\d+ +([\d.]+)%  (.*)$", fitted.stdout, re.MULTILINE)
    assert len(rows) == 4
    found = {next(s for s, words in subjects.items() if set(row.split()) <= set(words)) for _, row in rows}
    assert found == set(subjects)
    loaded = topmix.load(model)
    assert (loaded.n_components, loaded.random_state, loaded.callbacks) == (4, 1, None)
    assert loaded.tokenizer_["min_df"] == "auto"


TEXTS = {
    "english": ["the wind is in the sail of the boat and it is out of harbour", "a king and a queen are on the board",
                "the tide was low, so that they were at the anchor", "the rook took the bishop and that was it"],
    "deutsch": ["der Wind ist im Segel und das Boot ist nicht im Hafen", "der König und die Dame sind auf dem Brett",
                "die Flut war nicht hoch und das Boot lag vor dem Anker", "der Turm schlug den Läufer und das war es"],
}  # fmt: skip


@pytest.mark.parametrize(("language", "stop_words"), [("english", "english"), ("deutsch", None)])
@pytest.mark.parametrize("kind", ["folder", "csv"])
def test_the_command_learns_what_python_learns(tmp_path, language, stop_words, kind):
    """From the same texts: the same words are left out, and the topics have the same bits."""
    texts = [f"{text} {TEXTS[language][n % 3]}" for n, text in enumerate(TEXTS[language] * 10)]
    if kind == "folder":
        (tmp_path / "docs").mkdir()
        for n, text in enumerate(texts):
            (tmp_path / "docs" / f"{n:02d}.txt").write_text(text, encoding="utf-8")
    else:
        rows = [f'{n},"{text}"' for n, text in enumerate(texts)]
        (tmp_path / "docs.csv").write_text("\n".join(["id,text", *rows]), encoding="utf-8")
    path = str(tmp_path / ("docs" if kind == "folder" else "docs.csv"))
    out_of("fit", path, "-k", "3", "--seed", "0", "--n-init", "2", "--max-iter", "4", "-o", tmp_path / "model", "-q")
    found = topmix.load(tmp_path / "model")
    expected = LDA(3, random_state=0, n_init=2, max_iter=4).fit(path)
    assert found.tokenizer_ == expected.tokenizer_
    assert found.tokenizer_["stop_words"] == stop_words
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert np.array_equal(found.components_, expected.components_)


def test_topics_as_json_and_as_a_table(model, subjects):
    about = json.loads(out_of("topics", model, "--json", "-n", "5"))
    assert about["n_components"] == len(about["topics"]) == 4
    assert sum(topic["share"] for topic in about["topics"]) == pytest.approx(1)
    phi = topmix.load(model).topic_word_
    names = topmix.load(model).feature_names_in_.tolist()
    for topic in about["topics"]:
        assert any(set(topic["words"]) <= set(words) for words in subjects.values())
        assert topic["probabilities"] == sorted(topic["probabilities"], reverse=True)
        column = names.index(topic["words"][0])
        assert topic["probabilities"][0] == phi[topic["topic"], column] == phi[topic["topic"]].max()
    assert re.findall(r"^ +\d+ +[\d.]+%", out_of("topics", model), re.MULTILINE)
    specific = json.loads(out_of("topics", model, "--relevance", "0", "--json"))
    assert {t["topic"] for t in specific["topics"]} == {t["topic"] for t in about["topics"]}


def test_infer_writes_a_row_a_document_that_sums_to_one(work, model, monkeypatch, subjects):
    monkeypatch.chdir(work)
    done = call("infer", "model", "new/", "-o", "theta.jsonl")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    rows = [json.loads(line) for line in (work / "theta.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == sorted([*(f"{s}.txt" for s in subjects), "nothing.txt"])
    theta = np.array([row["theta"] for row in rows])
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-5)
    told = topmix.load(model).top_words(10)
    for row in rows:
        subject = row["id"].removesuffix(".txt")
        if subject in subjects:
            assert set(told[int(np.argmax(row["theta"]))]) == set(subjects[subject])
        else:  # nothing that the model knows
            np.testing.assert_allclose(row["theta"], 0.25, rtol=1e-4)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_infer_writes_tables_too(work, model, kind, tmp_path):
    path = tmp_path / f"theta.{kind}"
    said = json.loads(out_of("infer", model, work / "new", "-o", path, "--json"))
    assert said["n_docs"] == 5
    assert said["n_unknown_tokens"] == 14  # Zeppelins, and "the" and "and", which all documents of the fit have
    assert said["n_empty"] == 1
    if kind == "parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        names, theta = table["id"].to_pylist(), np.array(table["theta"].to_pylist())
    else:
        header, *rows = csv.reader(path.read_text().splitlines(), delimiter="\t" if kind == "tsv" else ",")
        assert header == ["id", "topic_0", "topic_1", "topic_2", "topic_3"]
        names, theta = [row[0] for row in rows], np.array([row[1:] for row in rows], float)
    assert names[0] == "baking.txt"
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-5)


def test_eval_says_when_the_documents_are_those_of_the_fit(work, model, tmp_path):
    done = call("eval", model, work / "docs", "--json")
    assert json.loads(done.stdout)["training_documents"] is True
    assert "warning: the model was fitted on these documents" in done.stderr
    done = call("eval", model, work / "new", "--json")
    assert json.loads(done.stdout)["training_documents"] is False
    assert "fitted on these" not in done.stderr


def test_infer_streams_through_a_pipe(model, subjects):
    lines = [" ".join(words) for words in subjects.values()]
    rows = [json.loads(line) for line in out_of("infer", model, "-", "--top", "1", input="\n".join(lines)).splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert len({row["topics"][0][0] for row in rows}) == 4
    record = json.dumps({"id": "mine", "text": lines[0]})
    assert json.loads(out_of("infer", model, "-", input=record))["id"] == "mine"


def test_infer_knows_words_by_name_in_counts(work, model, tmp_path, subjects):
    corpus = from_texts(["zeppelin " + " ".join(words) for words in reversed(subjects.values())])
    write_corpus(corpus, tmp_path / "counts.mtx")
    rows = [json.loads(line) for line in out_of("infer", model, tmp_path / "counts.mtx").splitlines()]
    told = topmix.load(model).top_words(10)
    best = [set(told[int(np.argmax(row["theta"]))]) for row in rows]
    assert best == [set(words) for words in reversed(subjects.values())]


def test_eval_gives_finite_numbers(work, model):
    scores = json.loads(out_of("eval", model, work / "new", "--json", "--reference", work / "docs"))
    for name in ("completion_score", "perplexity", "npmi", "umass", "cv", "diversity"):
        assert np.isfinite(scores[name]), name
    assert scores["completion_score"] > -3.0  # ten words a subject: log 10 = 2.3, where all forty would be 3.7
    assert scores["npmi"] > 0
    assert scores["diversity"] == 1
    assert "completion score" in out_of("eval", model, work / "new")


def test_convert_a_corpus_then_fit_it(work, tmp_path):
    how = ("--json", "--max-df", "1.0", "--stop-words", "none")
    assert json.loads(out_of("convert", work / "docs", tmp_path / "docs.topmix", *how))["n_docs"] == 100
    corpus = Corpus.open(tmp_path / "docs.topmix", verify=True)
    assert "the" in corpus.vocabulary
    assert corpus.names[0] == "baking/00.txt"
    out_of("convert", tmp_path / "docs.topmix", tmp_path / "docs.mtx.gz")
    assert read_corpus(tmp_path / "docs.mtx.gz").n_tokens == corpus.n_tokens
    said = json.loads(out_of("fit", tmp_path / "docs.topmix", "-k", "3", "-o", tmp_path / "m", "--json", *ONCE))
    assert (said["n_docs"], said["n_components"]) == (100, 3)


def test_convert_a_model(model, work, tmp_path):
    out_of("convert", model, tmp_path / "topics.csv")
    header, first, *_ = csv.reader((tmp_path / "topics.csv").read_text().splitlines())
    assert header == ["topic", "share", "rank", "word", "probability"]
    assert first[3] == topmix.load(model).top_words(1)[0][0]
    out_of("convert", model, tmp_path / "vis.json", "--corpus", work / "docs")
    assert len(json.loads((tmp_path / "vis.json").read_text())["doc_lengths"]) == 100


@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_can_be_fitted_and_asked(name, work, tmp_path):
    cls = MODELS[name]
    if cls().__sklearn_tags__().input_tags.positive_only:
        data = work / "docs"
    else:
        data = tmp_path / "rows.csv"
        rows = np.random.default_rng(0).normal(size=(60, 3)) + 5 * (np.arange(60) % 2)[:, None]
        data.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in rows))
    groups = ()
    if issubclass(cls, AdmixtureEstimator):
        (tmp_path / "groups.csv").write_text("\n".join(f"image {n % 7}" for n in range(60)))
        groups = ("--groups", tmp_path / "groups.csv")
    said = json.loads(out_of("fit", data, "--model", name, "-k", "4", "-o", tmp_path / "m", "--json", *groups, *ONCE))
    assert said["estimator"] == name
    assert said["n_iter"] >= 1
    assert out_of("topics", tmp_path / "m")
    assert json.loads(out_of("eval", tmp_path / "m", data, "--json", *groups))
    rows = [json.loads(line) for line in out_of("infer", tmp_path / "m", data, *groups).splitlines()]
    np.testing.assert_allclose(np.sum([row["theta"] for row in rows], axis=1), 1, atol=1e-4)


@pytest.fixture
def patches(tmp_path):
    """Rows, the names of their groups in no order, and files with either or both."""
    rng = np.random.default_rng(0)
    names, z = np.array([f"img {d}" for d in rng.integers(0, 12, 240)]), rng.integers(0, 2, 240)
    X = rng.normal(size=(240, 3)) + 6 * z[:, None]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "groups.npy", names)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(image=names)
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame[["image"]].to_csv(tmp_path / "groups.csv", index=False)
    frame[["image"]].to_csv(tmp_path / "bare.txt", index=False, header=False)
    frame.rename(columns={"image": "group"}).to_csv(tmp_path / "many.csv", index=False)
    return X, names


@pytest.mark.parametrize(
    ("data", "groups"),
    [
        ("x.npy", "groups.csv"),
        ("x.npy", "groups.npy"),
        ("x.npy", "bare.txt"),
        ("x.npy", "many.csv"),
        ("x.csv", "image"),
        ("x.parquet", "image"),
    ],
)
def test_models_of_groups(patches, data, groups, tmp_path):
    X, names = patches
    of = ("--groups", tmp_path / groups if "." in groups else groups)
    how = ("--model", "gaussian-admixture", "-k", "2", "-o", tmp_path / "m", *ONCE)
    said = json.loads(out_of("fit", tmp_path / data, *of, *how, "--json"))
    assert (said["n_rows"], said["n_groups"], said["n_features"]) == (240, len(set(names)), 3)
    rows = [json.loads(line) for line in out_of("infer", tmp_path / "m", tmp_path / data, *of).splitlines()]
    assert [row["id"] for row in rows] == sorted(set(names))
    table = X if data == "x.npy" else pd.DataFrame(X, columns=["a", "b", "c"])
    want = topmix.load(tmp_path / "m").transform(table, names)
    np.testing.assert_allclose([row["theta"] for row in rows], want, atol=1e-4)
    scores = json.loads(out_of("eval", tmp_path / "m", tmp_path / data, *of, "--json"))
    assert scores["completion_score"] == pytest.approx(scores["log_likelihood"], abs=0.5)


def test_groups_with_a_text_each_have_words(patches, tmp_path):
    titles = pd.DataFrame({"text": [f"{'cat sofa' if d % 2 else 'tree lake'} picture {d}" for d in range(12)]})
    titles.to_csv(tmp_path / "titles.csv", index=False)
    files = (tmp_path / "x.npy", "--groups", tmp_path / "groups.csv", "--texts", tmp_path / "titles.csv")
    out_of("fit", *files, "--model", "gaussian-admixture", "-k", "2", "-o", tmp_path / "m", *ONCE)
    assert "tree" in out_of("topics", tmp_path / "m")


SUBJECTS = ["boat sail sea harbour wind ship mast tide", "chess rook queen king board pawn mate knight"]


@pytest.fixture(params=["parquet", "csv"])
def sentences(request, tmp_path):
    """A table of sentences: their vectors, their words, the paper of each and its year."""
    rng = np.random.default_rng(0)
    z, paper = rng.integers(0, 2, 240), rng.integers(0, 24, 240)
    said = [f"# {' '.join(rng.choice(SUBJECTS[k].split(), 6))}, he said" for k in z]
    X = rng.normal(size=(240, 3)).astype(np.float32) + 6 * np.eye(3, dtype=np.float32)[z]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table = table.assign(sentence=said, paper=[f"p{d:02}" for d in paper], year=2000 + paper // 8)
    path = tmp_path / f"sentences.{request.param}"
    if request.param == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    return path, table


def test_sentences_of_papers_in_one_table(sentences, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        Explorer, "wait", lambda explorer: seen.append((explorer.session, explorer.session.library.text(7)))
    )
    path, table = sentences
    model, beside = tmp_path / "m", ["--texts", "sentence", "--groups", "paper"]
    how = ["--model", "vmf-admixture", "-k", "2", "-o", model]
    explored = ["--explore", "--no-browser", "--column", "year"]
    said = json.loads(out_of("fit", path, *beside, *explored, *how, "--json", *ONCE))
    ((session, text),) = seen
    assert (session.library.n_docs, list(session.library.columns)) == (24, ["year"])
    shown = session.library.corpus.vectors
    np.testing.assert_allclose(np.linalg.norm(shown.rows.data[:9], axis=1), 1, atol=1e-5)
    assert shown.texts.shape[0] == 240  # the words of each row, for edits
    assert text.count("he said") == (table["paper"] == "p07").sum()
    assert (said["n_rows"], said["n_groups"], said["n_features"]) == (240, 24, 3)
    assert {frozenset(topic["words"]) for topic in said["topics"]} == {frozenset(s.split()) for s in SUBJECTS}
    X, fitted = table[["a", "b", "c"]], topmix.load(model)
    want = topmix.VonMisesFisherAdmixture(2, random_state=0).fit(X, table["paper"], texts=table["sentence"])
    np.testing.assert_allclose(fitted.means_, want.means_, rtol=1e-5)
    r = fitted.predict_proba(X, table["paper"])
    at, f = fitted._found().texts.reading.words.tolist().index("rook"), fitted._found().texts
    rook = table["sentence"].str.count(r"\brook\b")
    np.testing.assert_allclose(f.counts.toarray()[:, at], rook @ r, rtol=1e-4, atol=0.01)  # row by row
    out_of("report", model, "-o", tmp_path / "r.html", "--corpus", path, *beside, "--column", "year")
    page = (tmp_path / "r.html").read_text()
    assert "p07" in page
    assert "he said" in page
    assert '"year"' in page
    rows = [json.loads(line) for line in out_of("infer", model, path, "--groups", "paper").splitlines()]
    assert [row["id"] for row in rows] == sorted(set(table["paper"]))
    np.testing.assert_allclose([row["theta"] for row in rows], fitted.transform(X, table["paper"]), atol=1e-5)
    scores = json.loads(out_of("eval", model, path, "--groups", "paper", "--json"))
    assert scores["completion_score"] == pytest.approx(fitted.completion_score(X, table["paper"]), abs=1e-5)
    np.save(tmp_path / "v.npy", X.to_numpy())
    texts = ["--texts", path, "--field", "sentence", "--groups", "paper"]  # a column beside the texts
    found = out_of("sweep", tmp_path / "v.npy", *texts, *how[:2], "-k", "1,2", "--seeds", "2", "--json")
    assert json.loads(found)["recommended"] == 2
    assert "knows no groups" in call("sweep", path, "--groups", "paper", "--model", "vmf").output
    out_of("fit", path, *beside, *how, "--resume", "-q", *ONCE)


def test_groups_that_are_not_there_are_asked_for(patches, work, tmp_path):
    def refused(*words):
        done = call(*words)
        assert done.exit_code != 0
        return " ".join(done.output.split())

    how = ("--model", "gaussian-admixture", "-k", "2", "-o", tmp_path / "m", *ONCE)
    assert "needs the group of each row" in refused("fit", tmp_path / "x.npy", *how)
    assert "has no columns" in refused("fit", tmp_path / "x.npy", "--groups", "image", *how)
    assert "no column 'picture'" in refused("fit", tmp_path / "x.csv", "--groups", "picture", *how)
    assert "no column 'picture'" in refused("fit", tmp_path / "x.parquet", "--groups", "picture", *how)
    (tmp_path / "few.csv").write_text("a\nb\n")
    assert "must name the group of each of 240 rows" in refused(
        "fit", tmp_path / "x.npy", "--groups", tmp_path / "few.csv", *how
    )
    assert "knows no groups" in refused("fit", work / "docs", "--groups", "image", "-o", tmp_path / "m", *ONCE)
    out_of("fit", tmp_path / "x.csv", "--groups", "image", *how)
    assert "needs the group" in refused("infer", tmp_path / "m", tmp_path / "x.npy")
    assert "have no words" in refused("report", tmp_path / "m", "-o", tmp_path / "r.html")
    report = ("report", tmp_path / "m", "-o", tmp_path / "r.html", "--corpus", tmp_path / "x.npy")
    assert "needs the group" in refused(*report)
    assert "there is no file" in refused(*report, "--texts", "title", "--groups", tmp_path / "groups.csv")
    assert "in groups of rows" in refused("convert", tmp_path / "m", tmp_path / "other")


def test_same_seed_same_model_for_any_threads(work, tmp_path):
    for name, seed, threads in (("a", 3, 1), ("b", 3, 3), ("c", 4, 1)):
        out_of("fit", work / "docs", "-k", "4", "-o", tmp_path / name, "--seed", seed, "--threads", threads, *ONCE)
    a, b, c = (topmix.load(tmp_path / name).components_ for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_a_csv_column_with_its_own_words(work, tmp_path, subjects):
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "title", "body"])
        writer.writerows([n, "Nothing", " ".join(subjects["chess"][n % 5 :])] for n in range(30))
    stop = tmp_path / "stop.txt"
    stop.write_text("pawn\nrook\n")
    out_of("fit", path, "--field", "title,body", "--id-field", "key", "-k", "2", "-o", tmp_path / "m", "-q",
           "--stop-words", stop, "--max-df", "1.0", "--ngram-range", "1,2", *ONCE)  # fmt: skip
    words = topmix.load(tmp_path / "m").feature_names_in_.tolist()
    assert "bishop knight" in words
    assert "pawn" not in words


def test_folders_of_other_texts(work, tmp_path, subjects):
    for name in ("a.md", "b.md", "picture.png", ".hidden.md"):
        (tmp_path / name).write_bytes(b"\x89PNG" if name.endswith("png") else " ".join(subjects["chess"]).encode())
    said = json.loads(out_of("fit", tmp_path, "-k", "1", "-o", tmp_path / "m", "--json", *ONCE))
    assert said["n_docs"] == 2
    rows = [json.loads(line)["id"] for line in out_of("infer", tmp_path / "m", tmp_path).splitlines()]
    assert rows == ["a.md", "b.md"]
    done = call("fit", tmp_path, "-o", tmp_path / "m", "--pattern", "*.png")
    assert done.exit_code == 1
    assert "see --encoding and --errors" in " ".join(done.stderr.split())
    (tmp_path / "news").mkdir()
    for n in range(3):
        (tmp_path / "news" / str(n)).write_text("rook bishop rook")  # as many old corpora have it
    assert json.loads(out_of("fit", tmp_path / "news", "-k", "1", "-o", tmp_path / "m", "--json", *ONCE))["n_docs"] == 3


def test_checkpoint_goes_on_with_the_same_bits(work, tmp_path):
    common = ["fit", work / "docs", "-k", "3", "-q", "--tol", "-1e9", "-o"]
    out_of(*common, tmp_path / "whole", "--max-iter", "5", "--n-init", "1")
    kept = ["--checkpoint", tmp_path / "c", "--checkpoint-every", "2"]
    out_of(*common, tmp_path / "half", "--max-iter", "2", *kept)
    out_of(*common, tmp_path / "half", "--max-iter", "5", *kept)
    whole, half = topmix.load(tmp_path / "whole"), topmix.load(tmp_path / "half")
    np.testing.assert_array_equal(whole.components_, half.components_)


@pytest.mark.parametrize("name", ["vmf", "gaussian-admixture"])
def test_checkpoint_of_clusters_goes_on_with_the_same_bits(name, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(80, 3)))
    np.save(tmp_path / "groups.npy", np.arange(80) % 7)
    groups = ["--groups", tmp_path / "groups.npy"] if "admixture" in name else []
    common = ["fit", tmp_path / "rows.npy", "--model", name, "-k", "3", "-q", "--tol", "-1e9", *groups, "-o"]
    out_of(*common, tmp_path / "whole", "--max-iter", "24")
    kept = ["--checkpoint", tmp_path / "c", "--checkpoint-every", "2"]
    out_of(*common, tmp_path / "half", "--max-iter", "20", *kept)
    out_of(*common, tmp_path / "half", "--max-iter", "24", *kept)
    whole, half = topmix.load(tmp_path / "whole"), topmix.load(tmp_path / "half")
    np.testing.assert_array_equal(whole.means_, half.means_)


def test_resume_goes_on_from_the_model(work, tmp_path):
    common = ["fit", work / "docs", "-o", tmp_path / "m", "--json", "--tol", "-1e9", "--max-iter", "1"]
    out_of(*common, "-k", "5", "--seed", "1")
    before = topmix.load(tmp_path / "m").topic_word_
    out_of(*common, "-k", "5", "--seed", "2", "-o", tmp_path / "other")
    assert json.loads(out_of(*common, "--resume", "--seed", "2"))["n_components"] == 5
    after, other = topmix.load(tmp_path / "m").topic_word_, topmix.load(tmp_path / "other").topic_word_
    assert not np.array_equal(before, after)  # it learned
    # Each topic is nearer to where it stood than to where another seed starts it.
    assert np.all(np.abs(after - before).sum(axis=1) < np.abs(after - other).sum(axis=1))


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_saves_what_there_is(tmp_path, start):
    sample_lda(300, 200, 5, doc_length=50, random_state=0).corpus.save(tmp_path / "c.topmix")
    command = ["fit", "c.topmix", "-k", "20", "-o", "m", "--max-iter", "100000", "--tol=-1e9", "--checkpoint", "c"]
    with start(*command, cwd=tmp_path) as process:
        while not (tmp_path / "c").exists():  # the first pass is over
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
    assert process.returncode == 130
    assert "saved in m" in error
    assert "Traceback" not in error
    assert topmix.load(tmp_path / "m").n_iter_ >= 1


MISTAKES = {
    "no such docs": (["fit", "nowhere", "-k", "3", "-o", "{tmp}/m"], 1, "nowhere: there is no such file or folder"),
    "no output": (["fit", "{docs}"], 2, "--output"),
    "no folder for it": (["fit", "{docs}", "-o", "{tmp}/a/b/m"], 1, "does not exist"),
    "a folder as output": (["fit", "{docs}", "-o", "{tmp}"], 1, "is a folder"),
    "a number that is none": (["fit", "{docs}", "-o", "{tmp}/m", "-k", "many"], 2, "whole number"),
    "too many topics": (["fit", "{docs}", "-o", "{tmp}/m", "-k", "1000000"], 1, "n_components"),
    "no such learner": (["fit", "{docs}", "-o", "{tmp}/m", "--learner", "slow"], 2, "is not one of memoized"),
    "no such model": (["fit", "{docs}", "-o", "{tmp}/m", "--model", "BERT"], 2, "LDA"),
    "a setting of another model": (
        ["fit", "{docs}", "-o", "{tmp}/m", "--model", "multinomial-mixture", "--burn-in", "2"], 2, "--burn-in"),
    "no such field": (["fit", "{docs}", "-o", "{tmp}/m", "--field", "x"], 1, "field"),
    "a strange time": (["fit", "{docs}", "-o", "{tmp}/m", "--max-time", "soon"], 2, "90s"),
    "no such stop words": (["fit", "{docs}", "-o", "{tmp}/m", "--stop-words", "none.txt"], 1, "word per line"),
    "no model": (["topics", "nowhere"], 1, "nowhere: there is no such model file"),
    "not a model": (["topics", "{docs}/baking/00.txt"], 1, "this is not a topmix model"),
    "a folder as model": (["topics", "{docs}"], 1, "is a folder"),
    "no new docs": (["infer", "{model}", "nowhere"], 1, "there is no such file or folder"),
    "a format that is none": (["infer", "{model}", "{docs}", "-o", "{tmp}/x.xls"], 1, "jsonl"),
    "a conversion that is none": (["convert", "{model}", "{tmp}/x.xls"], 1, "mallet"),
    "no such command": (["fitt"], 2, "fitt"),
}  # fmt: skip


@pytest.mark.parametrize(("args", "code", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained_in_a_line(args, code, message, work, model, tmp_path):
    places = {"tmp": tmp_path, "docs": work / "docs", "model": model}
    done = call(*(arg.format(**places) for arg in args))
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_no_traceback_from_a_process_either(run, tmp_path):
    (tmp_path / "m").write_bytes(b"\x10\0\0\0\0\0\0\0 not a model at all")
    done = run("topics", tmp_path / "m")
    assert done.returncode == 1
    assert done.stderr.startswith("topmix: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ALL)
def test_help_of_every_command_teaches(name):
    text = out_of(name, "--help")
    assert all(option in text for option in ("--json", "--seed", "--threads"))
    assert COMMANDS[name] in text.splitlines()[2]
    assert name == "demo" or f"topmix {name} " in text.split("Arguments")[0].split(COMMANDS[name])[1]


def test_help_does_not_load_what_only_a_fit_needs(run):
    import sys

    code = "import sys, topmix.apps.command; print([m for m in ('sklearn', 'scipy', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert isinstance(app.info.cls, type)
    assert issubclass(app.info.cls, Commands)


def test_shell_completion_knows_commands_and_choices(run):
    for words, wanted in (("topmix ", "fit"), ("topmix fit --learner ", "memoized")):
        done = run(env={"_TOPMIX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))})
        assert wanted in done.stdout.split(), (words, done.stdout, done.stderr)


def test_report_opens(work, model):
    out_of("report", model, "-o", work / "report.html", "--corpus", work / "docs")
    page = (work / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert re.search(r'"name":"baking/\d\d.txt"', page)


def test_vectors_with_texts_beside_them(tmp_path):
    rng = np.random.default_rng(0)
    subjects = ["boat sail sea harbour wind ship mast tide", "chess rook queen king board pawn mate knight"]
    subject = rng.integers(0, 2, 120)
    vectors, titles, model = tmp_path / "x.npy", tmp_path / "titles.csv", tmp_path / "m"
    np.save(vectors, rng.normal(size=(120, 5)) + 5 * np.eye(5)[subject])
    rows = [f"{' '.join(rng.choice(subjects[k].split(), 6))},{2000 + n // 60}" for n, k in enumerate(subject)]
    titles.write_text("title,year\n" + "\n".join(rows))
    beside = ["--texts", titles, "--field", "title"]
    done = call("fit", vectors, *beside, "--model", "vmf", "-k", "2", "-o", model, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["n_rows"] == 120
    assert {frozenset(topic["words"]) for topic in found["topics"]} == {frozenset(s.split()) for s in subjects}
    done = call("topics", model)
    assert "rook" in done.stdout
    done = call("report", model, "-o", tmp_path / "r.html", "--corpus", vectors, *beside, "--column", "year")
    assert done.exit_code == 0, done.output
    assert "harbour" in (tmp_path / "r.html").read_text()
    done = call("sweep", vectors, *beside, "--model", "gmm", "-k", "1,2", "--seeds", "2", "--json")
    assert json.loads(done.stdout)["recommended"] == 2, done.output
    done = call("fit", vectors, *beside, "-o", model)
    assert done.exit_code == 2
    assert "stand beside vectors" in " ".join(done.output.split())
    assert call("fit", vectors, *beside, "--model", "vmf", "-k", "2", "-o", model, "--resume", "-q").exit_code == 0
