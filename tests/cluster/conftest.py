"""A real cluster of three nodes on this machine, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.harness.cluster import three_nodes
from topmix.engines import Ray

# Ray's own; ours stay errors.
NOT_OURS = (
    "ignore:.*:ResourceWarning:ray",
    "ignore:unclosed:ResourceWarning",
    "ignore:subprocess .* is still running:ResourceWarning",
    "ignore:.*:DeprecationWarning:ray",
    "ignore:.*:FutureWarning:ray",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "cluster" in item.path.parts:
            if isinstance(item, pytest.Function) and "cluster" in item.fixturenames:
                item.add_marker(pytest.mark.xdist_group("ray"))  # one process has the cluster
            for line in NOT_OURS:
                item.add_marker(pytest.mark.filterwarnings(line))


@pytest.fixture(scope="package")
def cluster() -> Iterator[object]:
    """Three nodes with four logical cores each, until the last test here; this process is connected to them."""
    with three_nodes() as made:
        yield made


@pytest.fixture
def three(cluster: object) -> Ray:
    """An engine with a worker on each node. The workers stay for the next test."""
    return Ray(workers=3)
