"""What `import topmix` and `topmix --help` load. Modules are counted, not seconds, which depend on the machine."""

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "ray", "grpc", "cupy", "starlette", "uvicorn")
HELP = """
import contextlib, io
from topmix.cli import main
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
        (HELP, ("--help",), (), 400),
    ],
)
def test_starting_loads_little(code, arguments, forbidden, most):
    before = set(modules_after(""))
    after = modules_after(code, *arguments)
    heavy = {name.partition(".")[0] for name in after} & {*HEAVY, *forbidden}
    assert not heavy, f"loaded before anything was asked for: {sorted(heavy)}"
    assert len(set(after) - before) < most
