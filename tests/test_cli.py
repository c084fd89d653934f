"""The command as a user meets it: a process with arguments, output and an exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from typer.testing import CliRunner

import topmix.apps.command.topics_command
from topmix.apps.command import app
from topmix.apps.command.topics_command import NEXT_STEPS
from topmix.corpus.demo import cache_path
from topmix.data import from_texts
from topmix.fitting import FitProgress

TOPMIX = Path(sysconfig.get_path("scripts")) / ("topmix.exe" if sys.platform == "win32" else "topmix")
SUBJECTS = {
    "baking": ["flour", "butter", "sugar", "dough", "oven", "bread", "cake", "crust", "yeast", "knead"],
    "sailing": ["wind", "sail", "boat", "harbour", "anchor", "mast", "keel", "rudder", "tide", "rope"],
    "chess": ["pawn", "rook", "bishop", "knight", "queen", "king", "castle", "board", "gambit", "endgame"],
    "music": ["melody", "chord", "rhythm", "tempo", "violin", "piano", "singer", "concert", "tune", "octave"],
    "weather": ["rain", "snow", "cloud", "storm", "sunny", "thunder", "frost", "humid", "fog", "hail"],
    "garden": ["soil", "seed", "flower", "weed", "hedge", "lawn", "prune", "compost", "bloom", "tulip"],
    "money": ["bank", "loan", "credit", "interest", "coin", "market", "stock", "price", "invoice", "budget"],
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """An environment where the demo corpus is 210 made-up documents of seven subjects, already in the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOPMIX_CACHE", str(tmp_path_factory.mktemp("cache")))
        texts = {
            f"package.a_rather_long_module_name.{subject}.Document{n}": " ".join(
                words[(n + i * i) % 10] for i in range(30 + n % 7)
            )
            for n in range(30)
            for subject, words in SUBJECTS.items()
        }
        from_texts(texts.values(), names=texts).save(cache_path())
        env = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE")}
        yield {**env, "COLUMNS": "80", "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}


def run(env, *args):
    return subprocess.run([TOPMIX, *args], env=env, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_demo_prints_a_table_of_topics(small):
    done = run(small, "demo", "--topics", "7", "--passes", "30")
    assert done.returncode == 0
    assert done.stderr == ""  # no progress where nobody watches
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = re.findall(r"^ +\d+ +([\d.]+)%  (.*)$", done.stdout, re.MULTILINE)
    shares = [float(share) for share, _ in rows]
    assert len(rows) == 7
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=1)
    for _, row in rows:
        assert any(set(row.split()) <= set(words) for words in SUBJECTS.values())
    assert NEXT_STEPS.splitlines()[0] in done.stdout


def test_demo_loads_only_what_it_needs(small):
    """Modules are counted, not seconds, which depend on the machine."""
    done = run({**small, "PYTHONPROFILEIMPORTTIME": "1"}, "demo", "--topics", "7", "--passes", "2")
    loaded = [line.split("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert "topmix.estimators.topics" in loaded
    heavy = {
        *("scipy.stats._stats_py", "scipy.optimize", "scipy.interpolate", "pandas.core.api"),
        *(
            "sklearn.metrics",
            "sklearn.cluster",
            "sklearn.feature_extraction",
            "topmix.cuda.topics",
            "topmix.cuda.mixture",
        ),
    }
    assert not heavy & {*loaded}
    assert len(loaded) < 1400


def test_demo_json_has_every_topic(small):
    done = CliRunner().invoke(app, ["demo", "--topics", "10", "--passes", "2", "--show", "1", "--json"])
    assert done.exit_code == 0
    out = json.loads(done.stdout)
    assert len(out["topics"]) == 10
    assert sum(topic["share"] for topic in out["topics"]) == pytest.approx(1)
    assert len(out["history"]) == 2
    assert out["n_docs"] == 210
    assert len(out["topics"][0]["words"]) == 8


@pytest.mark.slow  # three programs
def test_same_seed_same_topics_for_any_threads(small):
    outs = [json.loads(run(small, "demo", "--topics", "5", "--seed", s, "--threads", t, "--json").stdout)
            for s, t in (("3", "1"), ("3", "3"), ("4", "1"))]  # fmt: skip
    assert outs[0]["topics"] == outs[1]["topics"]
    assert outs[0]["topics"] != outs[2]["topics"]


def test_show_cuts_the_table_and_says_so(small):
    done = CliRunner().invoke(app, ["demo", "--topics", "7", "--show", "2", "--passes", "2"])
    assert len(re.findall(r"^ +\d+ +[\d.]+%", done.stdout, re.MULTILINE)) == 2
    assert "--show 7 prints all" in " ".join(done.stdout.split())


def test_help_teaches(small):
    for args in (["--help"], ["-h"], []):
        done = CliRunner().invoke(app, args)
        text = done.stdout + done.stderr
        assert done.exit_code == (0 if args else 2)
        assert "topmix demo" in text
        assert "from topmix import LDA" in text
    text = CliRunner().invoke(app, ["demo", "--help"]).stdout
    assert all(option in text for option in ("--json", "--seed", "--threads", "--topics", "no download"))


def test_version(small):
    assert run(small, "--version").stdout == f"topmix {topmix.__version__}\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["demo", "--topics", "0"], 2, "--topics"),
        (["demo", "--topics", "many"], 2, "--topics"),
        (["nonsense"], 2, "nonsense"),
        (["demo", "--topics", "1000000"], 1, "n_components"),
        (["demo", "--seed", "99999999999"], 1, "Seed"),
    ],
)
def test_mistakes_are_explained(small, args, code, message):
    done = CliRunner().invoke(app, args)  # tests/cli has such a process
    assert done.exit_code == code
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_is_no_disaster(small):
    command = [TOPMIX, "demo", "--passes", "2"]
    process = subprocess.Popen(command, env=small, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(60)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_sees_progress(small):
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [TOPMIX, "demo", "--topics", "5", "--passes", "5"], env=small, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 4096):
                seen += block
        except OSError:  # Linux says so when the other side has closed
            pass
        os.close(ours)
        assert b"\x1b" not in process.stdout.read()  # results stay clean
    assert b"Learning" in seen
    assert b"passes" in seen
    assert b"per token" in seen


def test_the_first_interrupt_ends_the_fit_and_shows_what_there_is(small, monkeypatch):
    monkeypatch.setattr(FitProgress, "__call__", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    done = CliRunner().invoke(app, ["demo", "--topics", "7"])
    assert done.exit_code == 130
    assert "7 topics stopped by Ctrl-C" in done.output
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_before_the_first_pass_is_one_line(small, monkeypatch):
    monkeypatch.setattr(topmix.apps.command.topics_command, "demo_corpus", lambda: signal.raise_signal(signal.SIGINT))
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 130
    assert done.output.strip() == "topmix: stopped by Ctrl-C before there was a result"


def test_the_next_steps_work_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(topmix.LDA, "max_iter", 10)
    texts = [" ".join(words[n % 7 : n % 7 + 4]) for words in SUBJECTS.values() for n in range(30)]
    exec(NEXT_STEPS, {"texts": texts})
    assert "flour" in capsys.readouterr().out
    assert topmix.load("topics.model").n_components == 50


@pytest.mark.slow
def test_the_real_demo_finds_topics(demo_cache):
    out = json.loads(run(demo_cache, "demo", "--json").stdout)
    assert len(out["topics"]) == 40
    assert out["topics"][0]["share"] < 0.15  # no topic swallows the others
    together = [set(topic["words"]) for topic in out["topics"]]
    assert any({"hypothesis", "null", "test"} <= words for words in together)
    assert any({"sparse", "matrix"} <= words for words in together)


INTERRUPTED_IMPORT = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)

module, sys.argv[1:] = sys.argv[1], ["topics", "none"]
sys.meta_path.insert(0, Interrupt())
from topmix.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "topmix.apps.command.topics_command", "sklearn"])
def test_ctrl_c_while_modules_are_imported_is_no_traceback(module, tmp_path):
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_the_package_is_a_command_too():
    done = subprocess.run([sys.executable, "-m", "topmix", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"topmix {topmix.__version__}\n"
