"""Fixtures that several test files share, hypothesis profiles, and the list of allowed skips."""

from __future__ import annotations

import faulthandler
import importlib
import os
import platform
import re
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from types import ModuleType

import joblib
import numpy as np
import pytest
from hypothesis import settings

from topmix import _core
from topmix.corpus.shard import Shards
from topmix.data import Corpus, Rows

# "repeat" draws the same examples in every run, so that a failure comes from the change under test.
# HYPOTHESIS_PROFILE=explore draws new and more examples. There is no deadline: a busy machine is not a bug, and
# pytest-timeout ends a test that hangs.
settings.register_profile("repeat", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# A skip hides a test. The run fails when a test is skipped for a reason that no pattern here matches completely.
# Packages of the `test` dependency group are never a reason: they must be installed.
ALLOWED_SKIPS = {
    # Packages that are not in the `test` group.
    r"anndata is not installed": "it holds pandas back at version 2, and the other tests are for the latest",
    r"there is no chromium here": "the browser tests need a browser of 200 MB",
    r"node is not installed": "the scripts of the report are also checked in a browser",
    r"MkDocs is not installed: pip install --group docs": "`make test-all` installs it, `make wheel-check` does not",
    r"stubs are made by nanobind's stubgen": "nanobind is in the `native` group",
    r"scikit-learn's callbacks came with 1\.9": "older versions of scikit-learn are supported without callbacks",
    r"SCIPY_ARRAY_API is not set: .*": "scikit-learn's check of the array API, which the estimators do not support",
    # Platforms.
    r"needs (a pseudo-terminal|POSIX signals)|no SIGKILL": "Windows has none",
    r"reads /proc|this system has no /proc|RssAnon is Linux's": "memory is measured on Linux only",
    r"NVRTC has no package for this platform": "NVIDIA has none for macOS",
    r"hosts need (root on Linux|iproute2, util-linux and /dev/net/tun)": "network namespaces are made by root",
    # Combinations of an estimator or learner with a test that asks for something it does not have.
    r"a step follows one batch: .*|deltas arrive in any order": "these learners promise no monotone bound",
    r"it has n_jobs workers, who do not wait for each other": "asynchronous learning with several workers",
    r"takes (dense rows|any finite number|vectors)|dense rows use all columns": "mixtures of vectors take no counts",
    r"has no \w+": "the estimator has no such parameter",
    r"\w+ does not have a decision_function method\.": "scikit-learn's check of classifiers that have one",
}
if sys.version_info >= (3, 14):
    ALLOWED_SKIPS[r"(gensim|pyLDAvis|tomotopy) is not installed"] = "no wheels for this version of Python yet"
elif platform.machine() not in ("x86_64", "AMD64", "aarch64"):
    ALLOWED_SKIPS[r"tomotopy is not installed"] = "no wheels for this processor, and minutes to compile"


STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipCheck(), "topmix-skip-check")
    config.stash[STDERR] = os.dup(2)  # before it is captured
    # A shell starts jobs in the background with Ctrl-C ignored, and whatever they start inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup` tests of a file with the same fixtures for all of it run in one process, which makes each
    of these once."""
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("xdist_group"):
            continue
        known = item._fixtureinfo.name2fixturedefs
        chosen = item.callspec.indices if hasattr(item, "callspec") else {}
        shared = [f"{name}{chosen.get(name, '')}" for name in sorted(known) if known[name][-1].scope == "module"]
        if shared:
            item.add_marker(pytest.mark.xdist_group(" ".join([item.path.parent.name, item.path.stem, *shared])))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure that is expected is shown without the lines around it: to find them thousands are parsed."""
    style = item.config.option.tbstyle
    if item.get_closest_marker("xfail"):
        item.config.option.tbstyle = "native"
    try:
        return (yield)
    finally:
        item.config.option.tbstyle = style


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Ray takes Python's handlers of crashes away when it shuts down, and the next crash would be silent."""
    if "ray" in sys.modules:
        faulthandler.disable()
        faulthandler.enable(file=item.config.stash[STDERR])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one process more than cores, because tests of clusters, browsers and programs wait for others."""
    limit = os.environ.pop("LOKY_MAX_CPU_COUNT", None)  # of each process
    try:
        return joblib.cpu_count() + 1
    finally:
        if limit is not None:
            os.environ["LOKY_MAX_CPU_COUNT"] = limit


class SkipCheck:
    """Collects skips with reasons that are not in ALLOWED_SKIPS, and fails the session when there are any.

    With pytest-xdist the workers send all their reports to the controller, which alone decides.
    """

    def __init__(self) -> None:
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look_at(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look_at(report)

    def _look_at(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not any(re.fullmatch(pattern, reason) for pattern in ALLOWED_SKIPS):
            line = f"{report.nodeid}: {reason}"
            if line not in self.unexpected:  # each xdist worker collects the same files
                self.unexpected.append(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unexpected and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unexpected:
            terminalreporter.section("skips that tests/conftest.py:ALLOWED_SKIPS does not list", red=True)
            for line in self.unexpected:
                terminalreporter.line(line)


def _builds() -> list[str]:
    found = []
    for isa in _core.supported_isas():
        try:
            importlib.import_module(f"topmix._core_{isa}")
        except ModuleNotFoundError:
            continue
        found.append(isa)
    return found


@pytest.fixture(params=_builds())
def core(request: pytest.FixtureRequest) -> ModuleType:
    """The native module, once for each instruction set that this machine supports."""
    return importlib.import_module(f"topmix._core_{request.param}")


@pytest.fixture(autouse=True)
def same_numbers(request: pytest.FixtureRequest) -> None:
    """A test draws the same numbers whichever tests ran before it in its process."""
    for name in ("RNG", "rng"):
        if isinstance(getattr(getattr(request, "module", None), name, None), np.random.Generator):
            setattr(request.module, name, np.random.default_rng(0))


@pytest.fixture
def cut() -> Callable[..., Shards]:
    """cut(corpus, 3) makes three shards of consecutive rows; cut(corpus, [0, 5, 9]) makes the shards 0:5 and 5:9."""

    def shards(corpus: Corpus | Rows, bounds: int | Sequence[int], weight: np.ndarray | None = None) -> Shards:
        if isinstance(bounds, int):
            bounds = [n * len(corpus) // bounds for n in range(bounds + 1)]
        return Shards(corpus, [slice(a, b) for a, b in pairwise(bounds)], weight)

    return shards


@pytest.fixture(scope="session")
def demo_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables with a cache folder of this run: the demo corpus is read once, not taken from the user.

    Processes of pytest-xdist share the folder. A corpus that two of them write at the same time is the same, and whole.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    return {**os.environ, "TOPMIX_CACHE": str(folder / "demo-cache")}
