"""Topics of single cells: from an AnnData and back into it."""

import numpy as np
import pytest
import scipy.sparse as sp

from topmix import sc

anndata = pytest.importorskip("anndata", reason="anndata is not installed")


@pytest.fixture
def cells():
    """103 cells of 60 regions, in three planted kinds of twenty regions each."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=103)
    likely = np.where(np.arange(60) // 20 == kind[:, None], 0.6, 0.05)
    adata = anndata.AnnData(sp.csr_matrix((rng.random((103, 60)) < likely).astype(np.float32)))
    adata.obs["kind"] = kind
    return adata


def test_lda_writes_into_an_anndata(cells):
    model = sc.lda(cells, 3, random_state=0, key="programmes")
    assert cells.obsm["X_programmes"].shape == (103, 3)
    assert cells.varm["programmes"].shape == (60, 3)
    assert set(cells.obs["programmes"]) <= {0, 1, 2}
    assert "programmes" in cells.uns
    np.testing.assert_allclose(model.transform(cells), cells.obsm["X_programmes"], rtol=1e-6)


def test_kinds_of_cells_are_found(cells):
    sc.lda(cells, 3, random_state=0)
    for kind in range(3):
        of_kind = cells.obs["topics"][cells.obs["kind"] == kind]
        assert of_kind.value_counts(normalize=True).iloc[0] > 0.9
    assert cells.obs["topics"].nunique() == 3


def test_other_cells_are_annotated_by_a_model(cells):
    model = sc.lda(cells[:80].copy(), 3, random_state=0)
    others = cells[80:].copy()
    assert sc.annotate(others, model, key="of_model") is others
    np.testing.assert_allclose(others.obsm["X_of_model"], model.transform(others), rtol=1e-6)
