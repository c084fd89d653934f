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


def run(code, *options, **env):
    return subprocess.run(
        [sys.executable, *options, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


def alone(folder, **env):
    """Imports topmix from the folder. -S, and the folder first: no editable install may lend its own native module."""
    paths = os.pathsep.join([str(folder), *(p for p in sys.path if p.endswith("site-packages"))])
    return run("import topmix", "-S", PYTHONPATH=paths, **env)


def test_without_the_native_module_the_import_fails_and_says_what_to_do(tmp_path):
    package = Path(topmix.__file__).parent
    shutil.copytree(package, tmp_path / "topmix", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    done = alone(tmp_path)
    assert done.returncode != 0
    assert "ImportError: topmix is installed without its native module" in done.stderr
    assert "pip install" in done.stderr


def test_an_install_for_a_better_processor_says_so_instead_of_crashing(tmp_path):
    """What asks the processor, and what was built, are stand-ins here: the second must not be opened."""
    package = Path(topmix.__file__).parent
    shutil.copytree(package, tmp_path / "topmix", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    (tmp_path / "topmix" / "_cpu.py").write_text("def supported_isas():\n    return ['base']\n")
    (tmp_path / "topmix" / "_core_avx512.py").write_text("raise SystemExit('illegal instruction')\n")
    for wanted in ("", "avx512"):
        done = alone(tmp_path, TOPMIX_ISA=wanted)
        assert done.returncode == 1
        assert "illegal instruction" not in done.stderr
        assert "this processor runs base" in done.stderr
    done = alone(tmp_path, TOPMIX_ISA="")
    assert "compiled on another machine, for processors with avx512" in done.stderr
    assert "pip install" in done.stderr


def built():
    return [isa for isa in _core.supported_isas() if importlib.util.find_spec(f"topmix._core_{isa}")]


def test_the_best_build_for_this_processor_is_loaded_unless_told_otherwise():
    assert _core.isa == os.environ.get("TOPMIX_ISA", built()[0])
    for isa in built():
        done = run("from topmix import _core; print(_core.isa)", TOPMIX_ISA=isa)
        assert done.stdout.strip() == isa


@pytest.mark.parametrize("wrong", ["neon9", "AVX2"])
def test_an_instruction_set_that_is_not_there_is_refused(wrong):
    done = run("import topmix", TOPMIX_ISA=wrong)
    assert done.returncode != 0
    assert f"TOPMIX_ISA='{wrong}'" in done.stderr


def test_the_best_instruction_set_of_this_processor_is_built():
    """Or those that TOPMIX_BUILT_ISAS names: with fewer, tests that take the fixture `core` would run on fewer of them,
    and nobody would notice."""
    wanted = os.environ.get("TOPMIX_BUILT_ISAS", _core.supported_isas()[0]).split()
    missing = sorted(set(wanted) - set(built()))
    assert not missing, f"there is no build for {', '.join(missing)}: `make develop ISAS=all` makes all of them"
