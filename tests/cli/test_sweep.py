"""`topmix sweep`: how many topics, from the shell."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from topmix import LDA, Seeds
from topmix.apps.command import app

QUICK = ("--inference.sweeps", "0", "--max-iter", "4")


def call(*args):
    return CliRunner().invoke(app, ["sweep", *map(str, args)])


def test_it_shows_a_table_and_writes_a_page(work, tmp_path):
    page = tmp_path / "sweep.html"
    done = call(work / "docs", "-k", "2,4", "--seeds", "2", "--html", page, *QUICK)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""  # nobody watches
    assert done.stdout.splitlines()[0].split()[:2] == ["topics", "score"]
    assert "Recommended: 4 topics." in done.stdout
    assert "&lt;" not in page.read_text(encoding="utf-8").split("<body>")[1]
    assert "How many topics? docs" in page.read_text(encoding="utf-8")


def test_json_has_every_fit(work):
    done = call(work / "docs", "-k", "4,2", "--seeds", "2", "--seed", "5", "--held-out", "0.25", "--json", *QUICK)
    found = json.loads(done.stdout)
    assert (found["recommended"], found["n_docs"], found["n_held_out"]) == (4, 75, 25)
    assert [(fit["n_components"], fit["seed"]) for fit in found["fits"]] == [(2, 5), (2, 6), (4, 5), (4, 6)]
    assert found["sizes"][1]["score"]["mean"] == pytest.approx(sum(fit["score"] for fit in found["fits"][2:]) / 2)


@pytest.mark.parametrize(("options", "code", "said"), [
    (("-k", "2,many"), 2, "'many' is not a whole number"),
    (("-k", "2,400"), 1, "only 67 documents to learn from"),
    (("-k", "0"), 1, "an integer from 1"),
    (("-k", "2", "--held-out", "some"), 2, "'some' is not a number"),
    (("-k", "2", "--model", "multinomial-mixture"), 2, "MultinomialMixture is not a topic model"),
    (("-k", "2", "--model", "hdp"), 1, "or with --search none"),
    (("-k", "2", "--html", "nowhere/page.html"), 1, "does not exist; make it first"),
])  # fmt: skip
def test_bad_options_are_explained(work, options, code, said):
    done = call(work / "docs", *options)
    assert done.exit_code == code
    assert said in " ".join(done.output.split())


def test_words_steer_every_fit(work, tmp_path, monkeypatch):
    seen = []
    fit = LDA.fit
    monkeypatch.setattr(LDA, "fit", lambda self, *args, **more: seen.append(self) or fit(self, *args, **more))
    words = LDA(2, max_iter=1, random_state=0).fit(str(work / "docs")).feature_names_in_[:3]
    (tmp_path / "seeds.txt").write_text(f"{words[0]} {words[1]}\n\n-{words[2]}\n")
    seen.clear()
    done = call(work / "docs", "-k", "3,4", "--seeds", "1", "--seed-words", tmp_path / "seeds.txt", *QUICK)
    assert done.exit_code == 0, done.output
    assert [model.seeds for model in seen] == [Seeds([[words[0], words[1]]], ban={2: [words[2]]})] * 2
    done = call(work / "docs", "-k", "3", "--seed-words", tmp_path / "none.txt", *QUICK)
    assert (done.exit_code, "--seed-words" in done.output) == (2, True)


def test_ctrl_c_shows_what_was_measured(work, monkeypatch):
    fit, calls = LDA.fit, []

    def stop_at_the_second(self, *args, **kwargs):
        calls.append(self)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(LDA, "fit", stop_at_the_second)
    done = call(work / "docs", "-k", "2,4", *QUICK)
    assert done.exit_code == 130
    assert "after 1 of 6 fits" in " ".join(done.stdout.split())
    calls.append(None)
    calls[:] = calls[:1]
    done = call(work / "docs", "-k", "2,4", *QUICK)
    assert done.exit_code == 130
    assert "before the first fit ended" in done.output
