"""A real cluster of three nodes on this machine, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.harness.cluster import three_nodes
from topmix import LDA
from topmix.data import Corpus, sample_lda
from topmix.engines.ray_engine import Ray

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


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A corpus that all machines see."""
    path = tmp_path_factory.mktemp("shared") / "corpus.topmix"
    sample_lda(360, 300, 6, doc_length=60, random_state=0).corpus.save(path)
    return Corpus.open(path)


def same(model: LDA, undisturbed: LDA) -> None:
    np.testing.assert_array_equal(model.components_, undisturbed.components_)
    assert [r.objective for r in model.history_] == [r.objective for r in undisturbed.history_]
