"""Readers of raw text: what they yield, and that errors name the file and the line."""

import csv
import gzip
import json

import pytest

from topmix.data import from_texts, read_corpus, read_texts, sample_lda, write_corpus
from topmix.io.readers import look, text_format


def write(path, text, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_json_lines(tmp_path, suffix):
    rows = [
        {"id": "a", "text": "Größe\u2028one", "title": "T"},
        {"text": "two", "title": None},
        {"id": 7, "text": "", "title": "U"},
    ]
    path = write(tmp_path / f"x{suffix}", "\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n\n")
    assert list(read_texts(path)) == [("a", "Größe\u2028one"), ("2", "two"), ("7", "")]
    assert next(read_texts(str(path), field=["title", "text"])) == ("a", "T\nGröße\u2028one")
    assert list(read_texts(path, field="title", id_field="text"))[1] == ("two", "")


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".csv.gz", ",")])
def test_csv_with_quotes_newlines_and_a_byte_order_mark(tmp_path, suffix, delimiter):
    text = delimiter.join(["id", "text"]) + "\r\n" + delimiter.join(["a", '"x ""q"", y\nz"']) + "\r\n\r\nb" + delimiter
    path = write(tmp_path / f"x{suffix}", "\ufeff" + text)
    assert list(read_texts(path)) == [("a", 'x "q", y\nz'), ("b", "")]


def test_csv_fields_may_be_long_and_the_limit_of_the_process_stays(tmp_path):
    before = csv.field_size_limit()
    path = write(tmp_path / "x.csv", "text\n" + "word " * 100_000 + "\n")
    for _, text in read_texts(path):
        assert len(text) == 500_000
        assert csv.field_size_limit() == before


def test_one_document_a_line(tmp_path):
    path = write(tmp_path / "x.txt", "one\r\n\ntwo \u2028 three\x0bfour\n")
    assert list(read_texts(path)) == [("1", "one"), ("2", ""), ("3", "two \u2028 three\x0bfour")]


def test_folder_is_read_in_sorted_order_without_hidden_files(tmp_path):
    for name in ("b.txt", "a/z.txt", "a/y.txt.gz", ".hidden.txt", ".git/c.txt", "a/.d/e.txt", "notes.md", "a.txt"):
        write(tmp_path / name, name)
    with pytest.warns(UserWarning, match=r"only \*\.txt files are read.*1 \.md"):
        assert [name for name, _ in read_texts(tmp_path)] == ["a/y.txt.gz", "a/z.txt", "a.txt", "b.txt"]
    assert list(read_texts(tmp_path, pattern="*.md")) == [("notes.md", "notes.md")]


def test_format_is_known_by_name(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "full" / "a.txt", "x")
    names = {
        "a.JSONL": "jsonl",
        "a.csv.gz": "csv",
        "a.tsv": "tsv",
        "a.txt": "lines",
        "a.npz": None,
        "a": None,
        ".gz": None,
    }
    assert {name: text_format(name) for name in names} == names
    assert (text_format(tmp_path / "empty"), text_format(tmp_path / "full")) == ("folder", "folder")


def test_a_corpus_of_a_path_equals_from_texts(tmp_path):
    path = write(tmp_path / "x.txt", "the red fox\nthe blue fox\n")
    a = read_corpus(path, stop_words=["the"], min_df=2)
    b = from_texts(["the red fox", "the blue fox"], names=["1", "2"], stop_words=["the"], min_df=2)
    assert (list(a.vocabulary), list(a.names)) == (list(b.vocabulary), list(b.names)) == (["fox"], ["1", "2"])
    assert (a.to_scipy() != b.to_scipy()).nnz == 0


@pytest.mark.parametrize(
    ("name", "text", "kwargs", "match"),
    [
        ("x.jsonl", '{"text": "a"}\n{"text": \n', {}, r"x\.jsonl: line 2: not JSON"),
        ("x.jsonl", '{"text": "a"}\n[1]\n', {}, "line 2: expected a JSON object, found list"),
        ("x.jsonl", '{"body": "a"}\n', {}, "line 1: no field 'text'; there are 'body'"),
        ("x.jsonl", '{"text": 3}\n', {}, "line 1: the field 'text' is not a string but int"),
        ("x.jsonl", '{"text": "a"}\n', {"id_field": "key"}, "line 1: no field 'key'"),
        ("x.jsonl", '{"text": "a"}\n', {"field": []}, "an empty list"),
        ("x.csv", "id,body\n1,a\n", {}, r"x\.csv: no column 'text'; the header has 'id', 'body'"),
        ("x.csv", "", {}, "the header has nothing"),
        ("x.csv", "id,text\n1,a\n2\n", {}, "line 3: 1 fields, but the header has 2"),
        ("x.csv", 'id,text\n1,"a\n', {}, "line 2: unexpected end"),
        ("x.txt", "a\n", {"field": "text"}, "has no fields"),
        ("x.txt", "a\n", {"pattern": "*"}, "for folders"),
        ("x.bin", "a\n", {}, "not a known kind of text file"),
    ],
)
def test_errors_name_file_and_line(tmp_path, name, text, kwargs, match):
    path = write(tmp_path / name, text)
    with pytest.raises(ValueError, match=match):
        list(read_texts(path, **kwargs))


@pytest.mark.parametrize("name", ["x.txt", "x.jsonl", "x.csv", "folder/x.txt"])
def test_wrong_encoding_names_the_file(tmp_path, name):
    path = write(tmp_path / name, "text\ncaf\xe9\n", encoding="latin-1")
    path = path.parent if "/" in name else path
    if name.endswith("jsonl"):
        path.write_bytes(b'{"text": "caf\xe9"}\n')
    with pytest.raises(ValueError, match=rf"x\.{name.split('.')[1]}: not utf-8 .*errors="):
        list(read_texts(path))
    assert "caf\xe9" in list(read_texts(path, encoding="latin-1"))[-1][1]
    assert "caf\ufffd" in list(read_texts(path, errors="replace"))[-1][1]


def test_broken_gzip_names_the_file(tmp_path):
    path = write(tmp_path / "x.txt.gz", "line\n" * 1000)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match=r"x\.txt\.gz: near byte .*gzip stream is damaged"):
        list(read_texts(path))


def test_texts_of_other_kinds_in_a_folder_are_not_left_out_silently(tmp_path):
    for name in ("a.md", "b.md", "c.rst", ".hidden.md"):
        (tmp_path / name).write_text("fox")
    assert [name for name, _ in read_texts(tmp_path, pattern="*.md")] == ["a.md", "b.md"]
    (tmp_path / "d.txt").write_text("owl")
    with pytest.warns(UserWarning, match=r"left out \(2 \.md, 1 \.rst\): pass pattern='\*\.md'"):
        assert [name for name, _ in read_texts(tmp_path)] == ["d.txt"]
    assert len(list(read_texts(tmp_path, pattern="*"))) == 4


@pytest.mark.parametrize("suffix", [".md", ""])
def test_a_folder_without_txt_files_has_those_of_its_most_common_kind(suffix, tmp_path):
    for name in (f"a{suffix}", f"b{suffix}", f"c{suffix}", "d.rst", "picture.png"):
        (tmp_path / name).write_text("fox")
    with pytest.warns(UserWarning, match=r"left out \(1 \.rst\)"):
        assert [name for name, _ in read_texts(tmp_path)] == [f"a{suffix}", f"b{suffix}", f"c{suffix}"]


def test_missing_path_and_folder_without_texts(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_texts(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="holds no"):
        read_texts(tmp_path)


def test_what_is_at_a_path(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one two"}\n{"text": "two"}\n')
    (tmp_path / "b.txt").write_text("one two\ntwo\n")
    write_corpus(sample_lda(5, 7, 2, random_state=0).corpus, tmp_path / "docword.c.txt")
    found = {path.name: look(path) for path in sorted(tmp_path.iterdir()) if not path.name.startswith("vocab")}
    assert {name: (source.texts, source.counts and source.counts.name) for name, source in found.items()} == {
        "a.jsonl": ("jsonl", None),
        "b.txt": ("lines", None),
        "docword.c.txt": (None, "uci"),
    }
    assert [read_corpus(source.path).n_docs for source in found.values()] == [2, 2, 5]
