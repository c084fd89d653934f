"""tools/install.py: what somebody who waits for the compiler gets to read."""

import sys

import pytest

from tools import install


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("  Installing build dependencies: started", "fetching what compiles topmix"),
        ("Collecting numpy>=1.26 (from topmix==0.1.0)", "needs numpy"),
        (
            "Processing /wheels/scikit_learn-1.9.1-cp311-cp311-linux_x86_64.whl (from topmix==0.1.0)",
            "needs scikit-learn",
        ),
        ("  -- topmix: instruction sets avx512", "compiling the kernels for avx512"),
        (
            "  [7/24] Building CXX object CMakeFiles/_core_base.dir/cpp/bind/topics.cpp.o",
            "compiled topics, 17 files left",
        ),
        ("  [24/24] Linking CXX shared module _core_base.abi3.so", "linked _core_base, 0 files left"),
        ("  -- Detecting CXX compiler ABI info", None),
    ],
)
def test_a_line_of_pip_becomes_a_step_with_what_is_left(line, says):
    assert install.meaning(line) == says


def test_a_failure_shows_how_it_ended_and_where_the_rest_is(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert install.main(["--no-index", "./nothing-here"]) != 0
    shown = capfd.readouterr()
    assert shown.out.startswith("   0 s  pip install --no-index ./nothing-here")
    assert "nothing-here" in shown.err
    assert str(install.LOG) in shown.err
    assert "nothing-here" in install.LOG.read_text()


def test_an_install_that_works_says_so_with_its_status(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "true")  # a pip that does nothing
    assert install.main(["."]) == 0
    assert capfd.readouterr().err == ""
