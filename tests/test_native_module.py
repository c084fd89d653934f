"""Which native build is loaded, and what happens without one."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import topmix
from topmix import _core


def run(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


def test_without_the_native_module_the_import_fails_and_says_what_to_do(tmp_path):
    package = Path(topmix.__file__).parent
    shutil.copytree(package, tmp_path / "topmix", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    # -S, and the folder first: no editable install may lend its own native module
    paths = os.pathsep.join([str(tmp_path), *(p for p in sys.path if p.endswith("site-packages"))])
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import topmix"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "ImportError: topmix is installed without its native module" in done.stderr
    assert "pip install" in done.stderr


def test_the_best_build_for_this_processor_is_loaded_unless_told_otherwise():
    assert _core.isa == os.environ.get("TOPMIX_ISA", _core.supported_isas()[0])
    done = run("from topmix import _core; print(_core.isa)", TOPMIX_ISA="base")
    assert done.stdout.strip() == "base"


@pytest.mark.parametrize("wrong", ["neon9", "AVX2"])
def test_an_instruction_set_that_is_not_there_is_refused(wrong):
    done = run("import topmix", TOPMIX_ISA=wrong)
    assert done.returncode != 0
    assert f"TOPMIX_ISA='{wrong}'" in done.stderr


def test_there_is_a_build_for_each_instruction_set_of_this_processor():
    """Tests that take the fixture `core` would otherwise run on fewer of them, and nobody would notice."""
    wanted = os.environ.get("TOPMIX_BUILT_ISAS", " ".join(_core.supported_isas())).split()
    missing = [isa for isa in wanted if importlib.util.find_spec(f"topmix._core_{isa}") is None]
    assert not missing, (
        f"there is no build for {', '.join(missing)}: `make develop` makes all of them. "
        "To test fewer on purpose, name those that there are: TOPMIX_BUILT_ISAS='base avx512'"
    )
