"""Options of reading and printing, each once, with its effect."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import topmix
from topmix import LDA
from topmix.apps.command import app
from topmix.data import Corpus, from_texts, read_corpus, sample_lda, write_corpus
from topmix.selection.views import view_of

TEXTS = ["Red fox fox", "red owl fox", "blue owl", "Größe 1234 fox"]


def run(*args):
    done = CliRunner().invoke(app, [str(a) for a in args])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def words_of(lines, tmp_path):
    """words_of(*options): the vocabulary that `topmix convert` makes of TEXTS with these options."""

    def convert(*options):
        run("convert", lines, tmp_path / "out.topmix", *options)
        return list(Corpus.open(tmp_path / "out.topmix").vocabulary)

    return convert


EVERY_WORD = ["blue", "fox", "größe", "owl", "red"]  # and 1234, which is left out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], EVERY_WORD),
        (["--no-clean"], ["1234", *EVERY_WORD]),
        (["--min-df", "2"], ["fox", "owl", "red"]),
        (["--min-df", "0.6"], ["fox"]),
        (["--max-df", "2"], ["blue", "größe", "owl", "red"]),
        (["--max-df", "0.3"], ["blue", "größe"]),
        (["--max-features", "2"], ["fox", "owl"]),
        (["--token-pattern", "[a-z]{4,}"], ["blue"]),
        (["--no-lowercase"], ["Größe", "Red", "blue", "fox", "owl", "red"]),
        (["--strip-accents", "unicode"], ["blue", "fox", "große", "owl", "red"]),
        (["--ngram-range", "2,2", "--min-df", "1"], ["blue owl", "fox fox", "owl fox", "red fox", "red owl"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else "",
)  # fmt: skip
def test_options_of_words_choose_the_vocabulary(words_of, options, words):
    assert words_of("--max-df", "1.0", *options) == words


def test_counts_can_lose_their_stop_words(tmp_path):
    corpus = from_texts(["the red fox", "the blue owl"], token_pattern=r"\w+")
    write_corpus(corpus, tmp_path / "x.mtx")
    for options, words in (
        ((), ["blue", "fox", "owl", "red", "the"]),
        (("--stop-words", "english"), ["blue", "fox", "owl", "red"]),
    ):
        run("convert", tmp_path / "x.mtx", tmp_path / "x.topmix", *options)
        assert list(Corpus.open(tmp_path / "x.topmix").vocabulary) == words
    (tmp_path / "mine.txt").write_text("the owl")
    run("convert", tmp_path / "x.mtx", tmp_path / "x.topmix", "--stop-words", tmp_path / "mine.txt")
    assert Corpus.open(tmp_path / "x.topmix").to_scipy().toarray().tolist() == [[0, 1, 1], [1, 0, 0]]


def test_the_n_largest_topics_have_other_names_than_shares_of_topics(work, model, tmp_path):
    run("infer", model, work / "new", "-o", tmp_path / "top.csv", "--top", "2")
    header, *rows = csv.reader((tmp_path / "top.csv").read_text().splitlines())
    assert header == ["id", "best_1", "share_1", "best_2", "share_2"]
    assert all(int(row[1]) in range(4) and float(row[2]) >= float(row[4]) for row in rows)


def test_format_says_how_a_file_is_read(lines, tmp_path):
    table = tmp_path / "docs.data"
    table.write_text("text,id\nred fox,a\nblue owl,b\n")
    said = json.loads(run("convert", table, tmp_path / "a.topmix", "--format", "csv", "--json"))
    assert said["n_docs"] == 2
    assert list(Corpus.open(tmp_path / "a.topmix").names) == ["a", "b"]
    run("convert", table, tmp_path / "b.topmix", "--format", "lines")
    assert Corpus.open(tmp_path / "b.topmix").n_docs == 3  # the header is a document then
    done = CliRunner().invoke(app, ["convert", str(table), str(tmp_path / "c.topmix"), "--format", "xls"])
    assert done.exit_code == 1
    assert "unknown format 'xls'" in " ".join(done.stderr.split())


def test_vocabulary_names_the_words(tmp_path):
    (tmp_path / "docword.x.txt").write_text("1\n2\n1\n1 1 3\n")
    (tmp_path / "words.list").write_text("fox\nowl\n")
    run("convert", tmp_path / "docword.x.txt", tmp_path / "x.topmix", "--vocabulary", tmp_path / "words.list")
    assert list(Corpus.open(tmp_path / "x.topmix").vocabulary) == ["fox", "owl"]


def test_encoding_and_errors_say_how_bytes_are_read(tmp_path):
    (tmp_path / "x.txt").write_bytes("caf\xe9 fox\n".encode("latin-1"))
    for options, word in ((["--encoding", "latin-1"], "caf\xe9"), (["--errors", "ignore"], "caf")):
        run("convert", tmp_path / "x.txt", tmp_path / "x.topmix", *options)
        assert list(Corpus.open(tmp_path / "x.topmix").vocabulary) == [word, "fox"]


def test_to_sets_the_format_of_a_corpus(lines, tmp_path):
    run("convert", lines, tmp_path / "counts.out", "--to", "mtx")
    assert (tmp_path / "counts.out").read_bytes().startswith(b"%%MatrixMarket")
    assert list(read_corpus(tmp_path / "counts.out", format="mtx").vocabulary) == EVERY_WORD


def test_to_sets_the_format_of_a_model_and_of_rows(work, model, tmp_path):
    run("convert", model, tmp_path / "topics.out", "--to", "tsv")
    header = (tmp_path / "topics.out").read_text().splitlines()[0]
    assert header.split("\t") == ["topic", "share", "rank", "word", "probability"]
    run("infer", model, work / "new", "-o", tmp_path / "theta.out", "--to", "csv")
    header, *rows = csv.reader((tmp_path / "theta.out").read_text().splitlines())
    assert header == ["id", "topic_0", "topic_1", "topic_2", "topic_3"]
    assert len(rows) == 5


def test_max_docs_limits_the_documents_of_the_completion_score(tmp_path):
    corpus = sample_lda(40, 50, 3, doc_length=40, random_state=0).corpus
    corpus.save(tmp_path / "c.topmix")
    LDA(3, max_iter=3, random_state=0).fit(corpus).save(tmp_path / "m")

    def scores(*options):
        return json.loads(run("eval", tmp_path / "m", tmp_path / "c.topmix", "--json", *options))

    everything, enough, few, other = (
        scores(*options)
        for options in ([], ["--max-docs", "40"], ["--max-docs", "5"], ["--max-docs", "5", "--seed", "1"])
    )
    assert everything == enough
    assert len({everything["completion_score"], few["completion_score"], other["completion_score"]}) == 3
    assert few["n_docs"] == 40  # of the other scores
    assert few["npmi"] == everything["npmi"]
    phi, rows = topmix.load(tmp_path / "m").topic_word_, np.sort(np.random.default_rng(0).choice(40, 5, replace=False))
    assert few["completion_score"] == topmix.metrics.completion_score(phi, corpus[rows])


def test_all_prints_every_topic(tmp_path):
    corpus = sample_lda(60, 80, 5, doc_length=30, random_state=0).corpus
    LDA(45, max_iter=1, random_state=0).fit(corpus).save(tmp_path / "m")
    short, whole = run("topics", tmp_path / "m"), run("topics", tmp_path / "m", "--all")
    numbers = [set(map(int, re.findall(r"^ +(\d+) +[\d.]+%", text, re.MULTILINE))) for text in (short, whole)]
    assert len(numbers[0]) <= 40
    assert numbers[1] == set(range(45))
    assert f"These are {len(numbers[0])} of 45; --all prints all" in short
    assert "--all" not in whole


def test_words_and_relevance_choose_the_words_of_a_topic(tmp_path):
    corpus = sample_lda(60, 80, 5, doc_length=30, topic_word_prior=0.5, random_state=0).corpus
    LDA(5, max_iter=5, random_state=0).fit(corpus).save(tmp_path / "m")
    plain, short, specific = (
        json.loads(run("topics", tmp_path / "m", "--json", *options))["topics"][0]
        for options in ([], ["--words", "3"], ["--words", "8", "--relevance", "0"])
    )
    assert short["words"] == plain["words"][:3]
    view = view_of(topmix.load(tmp_path / "m"))
    lift = view.topic_word[plain["topic"]] / view.frequency
    found = lift[[view.words.index(word) for word in specific["words"]]]
    np.testing.assert_allclose(found, np.sort(lift)[::-1][:8])  # words may be equally specific


def test_title_stands_at_the_top_of_a_report(model, tmp_path):
    run("report", model, "-o", tmp_path / "r.html", "--title", "Mine <b>")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<title>Mine &lt;b&gt;</title>" in page
    assert "<h1>Mine &lt;b&gt;</h1>" in page
    run("report", model, "-o", tmp_path / "r.html")
    assert "<h1>model</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_fields_name_the_text_and_the_document(work, model, tmp_path, subjects):
    path = tmp_path / "docs.csv"
    path.write_text(f"key,title,body\nk1,{' '.join(subjects['chess'])},{' '.join(subjects['music'])}\n")
    shares = {}
    for field in ("title", "body"):
        row = json.loads(run("infer", model, path, "--field", field, "--id-field", "key"))
        assert row["id"] == "k1"
        shares[field] = int(np.argmax(row["theta"]))
    told = topmix.load(model).top_words(10)
    assert set(told[shares["title"]]) == set(subjects["chess"])
    assert set(told[shares["body"]]) == set(subjects["music"])


def test_pattern_chooses_files_of_a_folder(tmp_path):
    for name in ("a.txt", "b.md", "c.md"):
        (tmp_path / name).write_text("red fox")
    run("convert", tmp_path, tmp_path / "out.topmix", "--pattern", "*.md")
    assert list(Corpus.open(tmp_path / "out.topmix").names) == ["b.md", "c.md"]


def test_options_of_text_are_refused_for_counts(tmp_path):
    write_corpus(sample_lda(5, 10, 2, random_state=0).corpus, tmp_path / "x.mtx")
    done = CliRunner().invoke(app, ["convert", str(tmp_path / "x.mtx"), str(tmp_path / "y.topmix"), "--min-df", "2"])
    assert done.exit_code == 1
    assert "for text only" in " ".join(done.stderr.split())
    assert not (tmp_path / "y.topmix").exists()
