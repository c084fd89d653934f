"""A token pattern cannot hang: it comes from a model file that somebody else may have written.

Each test has a process of its own: pytest-timeout uses the alarm of this one.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from topmix import LDA
from topmix.data import Vectorizer

SLOW = r"(?:\w+\w+)+!"  # tries every way to cut a word
TEXT = "ordinary " + "x" * 60

needs_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")


def run(code, *args):
    lines = (
        "import signal, sys, threading, time, topmix.corpus.tokens",
        "from topmix.data import Vectorizer",
        "from topmix.corpus.tokens import time_limit",
        "topmix.corpus.tokens.SECONDS_PER_TEXT = 0.2",
        code,
    )
    command = [sys.executable, "-c", "\n".join(lines), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


@pytest.fixture
def hostile(tmp_path):
    """A model file whose pattern takes for ever."""
    texts = ["red fox owl", "blue fox owl", "red blue fox"] * 3
    model = LDA(2, max_iter=2, random_state=0).fit(texts, vectorizer=Vectorizer(token_pattern=r"(?u)\b[a-z]+?\b"))
    reading = replace(model._fitted.reading, tokenizer=model.tokenizer_ | {"token_pattern": SLOW}, vectorizer=None)
    model._fitted = replace(model._fitted, reading=reading)
    model.save(tmp_path / "m.topmix")
    return tmp_path / "m.topmix"


@needs_signals
def test_a_slow_pattern_is_refused():
    said = run("Vectorizer(token_pattern=sys.argv[1]).fit_transform([sys.argv[2]])", SLOW, TEXT)
    assert "ValueError" in said
    assert "takes more than 0.2 seconds for one text" in said


@needs_signals
@pytest.mark.parametrize(
    "use",
    [
        "topmix.load(sys.argv[1]).transform([sys.argv[2]])",
        pytest.param(
            "topmix.report.write_report(topmix.load(sys.argv[1]), sys.argv[3], "
            "Vectorizer(vocabulary=['blue', 'fox', 'owl', 'red']).transform(['red fox']), texts=[sys.argv[2]])",
            marks=pytest.mark.slow,  # the same rules for texts
        ),
    ],
)
def test_a_model_file_cannot_hang_what_reads_texts(hostile, tmp_path, use):
    said = run(f"import topmix.report; {use}", hostile, "x" * 60 + " red fox", tmp_path / "a.html")
    assert "takes more than 0.2 seconds for one text" in said


@needs_signals
def test_the_command_does_not_hang(hostile, tmp_path):
    (tmp_path / "new.txt").write_text(TEXT + "\n")
    code = "import topmix.apps.command; sys.argv[0] = 'topmix'; topmix.apps.command.main()"
    said = run(code, "infer", hostile, tmp_path / "new.txt", "-o", tmp_path / "out.csv")
    assert "takes more than 0.2 seconds" in " ".join(said.split())
    assert not (tmp_path / "out.csv").exists()


@needs_signals
def test_the_alarm_is_left_as_it_was():
    code = """if True:
        assert Vectorizer(token_pattern=r"[a-z]+(?:-[a-z]+)*").fit_transform(["a-b c"]).n_words == 2
        try:
            with time_limit(0.05, "late"):
                time.sleep(60)
        except ValueError as error:
            print(error)
        print(signal.getsignal(signal.SIGALRM) == signal.SIG_DFL, signal.getitimer(signal.ITIMER_REAL)[0])
    """
    assert run("exec(sys.argv[1])", code).split() == ["late", "True", "0.0"]


@needs_signals
def test_somebody_elses_alarm_is_not_touched_and_other_threads_have_no_limit():
    code = """if True:
        def wait():
            with time_limit(0.01, "late"):
                time.sleep(0.2)
            print("done")
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
        signal.signal(signal.SIGALRM, lambda *_: print("rung"))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        wait()
    """
    assert run("exec(sys.argv[1])", code).split() == ["done", "rung", "done"]


@pytest.mark.parametrize("pattern", ["(?:" * 5000 + "a" + ")" * 5000, r"\w{99999999999999999999}", "["])
def test_patterns_that_cannot_be_compiled(pattern):
    with pytest.raises((re.error, OverflowError, RecursionError)):
        re.compile(pattern)
    with pytest.raises(ValueError, match="is not a regular expression"):
        Vectorizer(token_pattern=pattern).fit_transform(["a b"])
