"""Ctrl-C in Python: a fit ends with what it has learned, in a script, an interactive interpreter and a notebook kernel,
and in each phase. The signal comes from outside, and mostly while native code runs."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

FITTING = """
import sys, warnings
warnings.simplefilter("ignore")
from topmix import LDA
from topmix.data import sample_lda
from topmix.inference import Collapsed
corpus = sample_lda(400, 200, 8, doc_length=60, random_state=0).corpus
class Tell:
    def __init__(self, phase):
        self.phase, self.told = phase, False
    def __call__(self, record, view):
        if record.phase == self.phase and not self.told:
            self.told = True
            print("now", self.phase, flush=True)

def begin(phase):
    return LDA(10, inference=Collapsed(sweeps=40), random_state=0, tol=-1e9, callbacks=[Tell(phase)])

def left(lda):
    theta = lda.transform(corpus)
    print("left", lda.n_iter_, bool(theta.shape == (400, 10)), flush=True)

"""
SCRIPT = """
for phase in ("learning", "sampling", "polishing"):
    lda = begin(phase)
    try:
        lda.fit(corpus)
    except KeyboardInterrupt:
        left(lda)
"""
# As ipykernel runs a cell: in an event loop of the main thread, with Python's own handler for the time of the cell.
KERNEL = """
import asyncio, signal
async def cell(code):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        exec(compile(code, "<cell>", "exec"), globals())
    except KeyboardInterrupt:
        await asyncio.sleep(0)
        left(lda)
    finally:
        signal.signal(signal.SIGINT, before)

async def kernel():
    for phase in ("learning", "sampling", "polishing"):
        await cell(f"lda = begin({phase!r})")
        await cell("lda.fit(corpus)")

asyncio.run(kernel())
"""
PHASES = ("learning", "sampling", "polishing")


def said(lines, wanted):
    """The next line that begins so."""
    for line in lines:
        if line.startswith(wanted):
            return line
    raise AssertionError(f"the program ended without {wanted!r}")


@pytest.mark.parametrize("host", ["script", "kernel"])
def test_a_fit_that_is_interrupted_from_outside_leaves_its_topics(host):
    code = FITTING + {"script": SCRIPT, "kernel": KERNEL}[host]
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
        for phase in PHASES:
            said(program.stdout, f"now {phase}")
            program.send_signal(signal.SIGINT)
            _, n_iter, is_whole = said(program.stdout, "left").split()
            assert (int(n_iter) > 0, is_whole) == (True, "True")
    assert program.returncode == 0


def test_ctrl_c_in_an_interactive_interpreter_leaves_the_topics():
    us, them = pty.openpty()
    environment = os.environ | {"TERM": "dumb", "PYTHON_BASIC_REPL": "1"}
    program = subprocess.Popen(
        [sys.executable, "-q", "-i", "-c", FITTING], stdin=them, stdout=them, stderr=them, env=environment,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(them)
    seen = ""

    def wait_for(text):
        nonlocal seen
        until = time.monotonic() + 120  # of a machine that does other things: it ends when the text is there
        while text not in seen:
            assert select.select([us], [], [], max(until - time.monotonic(), 0.0))[0], seen
            seen += os.read(us, 4096).decode(errors="replace")
        seen = seen.partition(text)[2]

    try:
        wait_for(">>> ")
        for phase in PHASES:
            os.write(us, f"lda = begin('{phase}'); lda.fit(corpus)\n".encode())
            wait_for(f"\nnow {phase}")
            os.write(us, b"\x03")  # the key, which the terminal makes a signal of
            wait_for("KeyboardInterrupt")
            wait_for(">>> ")
            os.write(us, b"left(lda)\n")
            wait_for("\nleft ")
            wait_for("True")
            wait_for(">>> ")
        os.write(us, b"\x04")
        assert program.wait(60) == 0
    finally:
        program.kill()
        program.wait()
        os.close(us)
