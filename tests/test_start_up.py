"""What `import topmix` and `topmix --help` load. Modules are counted, not seconds, which depend on the machine."""

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "ray", "grpc", "cupy", "starlette", "uvicorn")
HELP = """
import contextlib, io
from topmix.apps.command import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


def modules_after(code, *arguments):
    said = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(' '.join(sys.modules))", *arguments],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return said.split()


@pytest.mark.parametrize(
    ("code", "arguments", "forbidden", "most"),
    [
        ("import topmix", (), ("numpy", "typer", "rich"), 80),
        (HELP, ("--help",), ("numpy",), 400),
    ],
)
def test_starting_loads_little(code, arguments, forbidden, most):
    before = set(modules_after(""))
    after = modules_after(code, *arguments)
    heavy = {name.partition(".")[0] for name in after} & {*HEAVY, *forbidden}
    assert not heavy, f"loaded before anything was asked for: {sorted(heavy)}"
    assert len(set(after) - before) < most


def test_a_short_command_leaves_out_what_scikit_learn_imports_for_others():
    """test_cli.py has the demo."""
    after = {*modules_after(HELP, "topics", "--help")}
    assert "topmix.estimators.lda" in after
    assert not after & {"scipy.stats._stats_py", "scipy.optimize", "pandas.core.api", "sklearn.metrics"}
    assert len(after) < 1400


def test_a_module_that_waits_is_whole_when_it_is_used():
    code = """
import sys
from topmix.apps.command import Deferring
with Deferring():
    import pandas, scipy.stats
assert "pandas.core.api" not in sys.modules
from scipy.stats import rankdata
assert pandas.Series([3, 1]).rank().tolist() == rankdata([3, 1]).tolist() == [2, 1]
"""
    assert "pandas.core.api" in modules_after(code)
