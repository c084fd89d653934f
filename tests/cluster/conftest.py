"""A real cluster of three nodes on this machine, for all tests of this folder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest

from topmix.engines import Ray

STORE = 100 * 2**20  # bytes of each node's object store

# Ray's own; ours stay errors.
NOT_OURS = (
    "ignore:.*:ResourceWarning:ray",
    "ignore:unclosed:ResourceWarning",
    "ignore:subprocess .* is still running:ResourceWarning",
    "ignore:.*:DeprecationWarning:ray",
    "ignore:.*:FutureWarning:ray",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "cluster" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("ray"))  # one process has the cluster
            for line in NOT_OURS:
                item.add_marker(pytest.mark.filterwarnings(line))


@pytest.fixture(scope="session")
def cluster() -> Iterator[object]:
    """Three nodes with four logical cores each; this process is connected to them."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of a change to come
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

        about = {"num_cpus": 4, "object_store_memory": STORE}
        # Small objects would stay with the driver: here even they lie on the nodes that made them, as large ones do.
        settings = {"max_direct_call_object_size": 1000, "health_check_period_ms": 1000}
        head = {**about, "include_dashboard": False, "_system_config": settings}
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            made.add_node(**about)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def three(cluster: object) -> Ray:
    """An engine with a worker on each node. The workers stay for the next test."""
    return Ray(workers=3)
