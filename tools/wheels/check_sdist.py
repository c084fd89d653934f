"""Builds topmix from its sdist without a network, where only the build requirements are installed, and imports it.

    python tools/wheels/check_sdist.py [--isas "avx2;avx512"]        --isas base builds the baseline alone

The build requirements come from the sdist's own pyproject.toml, not from this folder's. `unshare` takes the network
away; where it cannot (other systems, or a container without user namespaces), pip looks into no index and proxies
lead nowhere.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_NETWORK = ["unshare", "--map-root-user", "--net"]
# topmix itself needs no more than this to be imported; the estimators need the rest.
RUNS_WITH = ["nanobind-backend"]
WORKS = "import topmix, topmix._core as c; print(f'{topmix.__file__}: topmix {topmix.__version__}, {c.isa}')"
FORBIDDEN = (".so", ".pyc", ".whl", ".o")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isas")
    given = parser.parse_args()
    found = sorted((ROOT / "dist").glob("topmix-*.tar.gz"))
    if len(found) != 1:
        raise SystemExit(f"dist has {len(found)} sdists; `make sdist` makes one")
    sdist, folder = found[0], ROOT / "build" / "sdist-check"
    requires = contents(sdist)
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [python, "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "pip>=25.1", *requires, *RUNS_WITH, "cmake", "ninja"], check=True)

    env = offline(python.parent)
    start = NO_NETWORK if can_cut_the_network() else []
    print(f"building {sdist.name} {'without a network' if start else 'with PIP_NO_INDEX alone'}", flush=True)
    settings = [f"-Ccmake.define.TOPMIX_ISAS={given.isas}"] if given.isas else []
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sdist, *settings]
    subprocess.run([*start, *pip, *build], check=True, env=env, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*start, *pip, "install", "--quiet", "--no-deps", wheel], check=True, env=env, cwd=folder)
    said = subprocess.run([*start, python, "-c", WORKS], check=True, env=env, cwd=folder, capture_output=True).stdout
    if not Path(said.decode().partition(":")[0]).is_relative_to(folder):
        raise SystemExit(f"another topmix was imported: {said.decode()}")
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (sdist, wheel))
    print(f"{said.decode().partition(': ')[2].strip()}; {sizes}")
    return 0


def contents(sdist: Path) -> list[str]:
    """The build requirements. Fails if the archive has something that was built, or lacks the tests."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2]: name for name in archive.getnames()}
        built = [name for name in names if name.endswith(FORBIDDEN)]
        if built:
            raise SystemExit(f"{sdist.name} has files that were built: {', '.join(built[:5])}")
        if "tests/conftest.py" not in names:
            raise SystemExit(f"{sdist.name} has no tests")
        file = archive.extractfile(names["pyproject.toml"])
        assert file is not None
        requires: list[str] = tomllib.loads(file.read().decode())["build-system"]["requires"]
    return requires


def offline(bin_folder: Path) -> dict[str, str]:
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "no_proxy", "NO_PROXY")}
    path = f"{bin_folder}{os.pathsep}{env['PATH']}"
    return {**env, **nowhere, "PIP_NO_INDEX": "1", "PATH": path}


def can_cut_the_network() -> bool:
    return shutil.which("unshare") is not None and not subprocess.run([*NO_NETWORK, "true"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
