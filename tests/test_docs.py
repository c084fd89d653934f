"""Every code block of the README and of docs/ runs, public names are documented, and the site builds without warnings.

The blocks of a page run in order and share their names. Comments hold what the test needs and the reader does not:
`<!-- setup ... -->` is Python that runs before the next block, `<!-- files -->` creates text files to read,
`<!-- needs LIBRARY -->` skips the page if the library is not installed, and `<!-- not run: WHY -->` skips the next
block. In shell blocks, only the lines that start with `topmix` run.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from topmix import HDP, LDA, GibbsLDA
from topmix.apps.command import app
from topmix.corpus.demo import cache_path
from topmix.data import from_texts
from topmix.estimators import ESTIMATORS
from topmix.estimators.declared import FAMILIES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PIECES = re.compile(
    r"<!-- setup\n(?P<setup>.*?)-->|<!-- (?P<mark>files|needs \w+|not run: [^>]*?) -->"
    r"|^```(?P<kind>python|sh)\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
SUBJECTS = {
    "sailing": "wind sail boat harbour anchor mast keel rudder tide rope",
    "chess": "pawn rook bishop knight queen king castle board gambit endgame",
    "music": "melody chord rhythm tempo violin piano singer concert tune octave",
}


def make_files(folder: Path) -> None:
    for place, n_texts in (("docs", 12), ("new", 3)):
        (folder / place).mkdir(exist_ok=True)
        for subject, words in SUBJECTS.items():
            for n in range(n_texts):
                (folder / place / f"{subject}{n}.txt").write_text(" ".join((words.split() * 3)[n : n + 15]))
    rows = [f"{n},Nothing,{words}" for n, words in enumerate(list(SUBJECTS.values()) * 10)]
    (folder / "reviews.csv").write_text("\n".join(["key,title,body", *rows]))


@pytest.fixture
def quickly(tmp_path, monkeypatch):
    """Pages are about what to write, not about how far a fit gets: few passes where a page does not say how many, and a
    small demo corpus."""
    for cls in (LDA, HDP, GibbsLDA):
        monkeypatch.setattr(cls, "max_iter", 10)
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path / "cache"))
    texts = {f"{subject}.f{n}": " ".join((words.split() * 4)[n : n + 20]) for subject, words in SUBJECTS.items()
             for n in range(20)}  # fmt: skip
    cache_path().parent.mkdir()
    from_texts(texts.values(), names=texts).save(cache_path())


FIRST = ("README", "index", "components", "texts")  # what people copy; the other pages are for `make test-all`


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page.stem in FIRST else pytest.mark.slow, id=page.stem) for page in PAGES],
)
def test_code_blocks_run(page, tmp_path, monkeypatch, quickly, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for library in re.findall(r"<!-- needs (\w+) -->", text):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another library
            pytest.importorskip(library, reason=f"{library} is not installed")
    names: dict[str, object] = {"__name__": "page"}
    left_out = False
    for piece in PIECES.finditer(text):
        line = text[: piece.start()].count("\n") + 1
        if piece["mark"] == "files":
            make_files(tmp_path)
        elif piece["mark"]:
            left_out = piece["mark"].startswith("not run")
        elif piece["setup"]:
            exec(compile(piece["setup"], f"{page.name}, setup at line {line}", "exec"), names)
        elif left_out:
            left_out = False
        elif piece["kind"] == "python":
            exec(compile("\n" * line + piece["code"], page.name, "exec"), names)
        else:
            for command in re.findall(r"^topmix (.*)$", piece["code"], re.MULTILINE):
                done = CliRunner().invoke(app, shlex.split(command, comments=True))
                assert done.exit_code == 0, f"{page.name}: topmix {command}\n{done.output}"


def test_no_command_of_the_readme_writes_over_what_another_wrote():
    written = re.findall(r"^topmix .* -o (\S+)", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    assert len(written) > 2
    assert len({*written}) == len(written)


# Base classes, registries and protocols are for people who extend topmix; the parts of a fit are the estimators' own.
NOT_FOR_USERS = {
    "INFERENCES", "Inference", "LEARNERS", "Learner", "PassResult", "Passes", "State", "Task", "ENGINES", "Engine",
    "ShardResult", "Watched", "Workers", "SEARCHES", "SAMPLERS", "Sampler", "Callback",
    "FitProgress", "StopOnInterrupt",
}  # fmt: skip


@pytest.mark.parametrize(
    "module", ["inference", "learners", "engines", "search", "chains", "fitting", "data", "metrics", "model_selection"]
)
def test_every_public_name_is_on_the_api_page(module):
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(rf"^::: topmix\.{module}\.(\w+)$", page, re.MULTILINE))
    assert listed == set(importlib.import_module(f"topmix.{module}").__all__) - NOT_FOR_USERS


@pytest.mark.parametrize("family", FAMILIES)
def test_every_component_and_setting_is_on_its_page(family):
    page = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
    for component in FAMILIES[family].values():
        assert f"`{component.__name__}" in page or f"={component.__name__}(" in page
        for setting in component().settings():
            assert f"`{setting}`" in page, f"{component.__name__}.{setting}"


@pytest.mark.slow  # a minute
def test_the_site_is_built_without_a_warning(tmp_path):
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings_handlers") is None:
        pytest.skip("MkDocs is not installed: pip install --group docs")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
                          cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (ROOT / "docs").glob("*.md"):
        built = tmp_path / (page.stem if page.stem != "index" else "") / "index.html"
        assert built.exists(), f"{page.name} is not in the site"
    listed = (tmp_path / "api" / "index.html").read_text(encoding="utf-8")
    for name, cls in ESTIMATORS.items():  # each class has a page of its own, and the list leads to it
        assert f"{name}/#{cls.__module__}.{name}" in listed
        assert "random_state" in (tmp_path / "api" / name / "index.html").read_text(encoding="utf-8")
    parts = json.loads((tmp_path / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert "#install" in [part["location"] for part in parts if part["title"] == "Install"]
    words = {w for part in parts for w in re.sub("<[^>]+>", " ", part["text"]).split()}
    assert max(len(word) for word in words) < 100, max(words, key=len)  # a table of a notebook was one word


def test_the_site_has_five_parts_and_every_page_is_in_one():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = site.partition("\nnav:\n")[2].partition("\nmarkdown_extensions:")[0]
    assert re.findall(r"^  - (.+):$", nav, re.MULTILINE) == ["Learn", "Use", "Choose", "Scale", "Reference"]
    docs = ROOT / "docs"
    pages = [str(page.relative_to(docs)) for page in [*docs.glob("*.md"), *docs.glob("tutorials/*.md")]]
    assert sorted(re.findall(r": (\S+\.md)$", nav, re.MULTILINE)) == sorted(pages)
    assert "Clusters" not in nav  # are what a mixture finds, not machines


def test_the_start_page_begins_with_the_install_line_a_picture_three_cards_and_the_chart():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    start = page.partition("\n## Install")[0]
    places = [start.index(what) for what in ("pip install topmix", "img/explorer.png", "grid cards", "img/speed.svg")]
    assert places == sorted(places)
    assert re.findall(r"^- \*\*(.+)\*\*$", start, re.MULTILINE) == [
        "I have texts",
        "I have a table",
        "I do not write code",
    ]
    assert (ROOT / "docs" / "benchmarks.md").read_text().split("\n")[4].startswith("![seconds until")


def test_every_row_of_the_table_of_security_names_tests_that_are_there():
    table = (ROOT / "SECURITY.md").read_text().split("\n## ")[2]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    for row in rows[2:]:  # after the headings
        named = re.findall(r"`([^`]+)`", row.split("|")[-2])
        assert named, row
        for name in named:
            place = ROOT / "tests" / name
            files = sorted(place.glob("test_*.py")) if name.endswith("/") else [place]
            assert files, name
            assert all(re.search(r"^def test_", file.read_text(), re.MULTILINE) for file in files), name
