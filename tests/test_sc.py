"""Topics of single cells: the fields that pycisTopic documents, its measures, binarised topics, and BED files."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from topmix import sc

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def cells():
    """103 cells of 60 regions, in three planted kinds of twenty regions each."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=103)
    likely = np.where(np.arange(60) // 20 == kind[:, None], 0.6, 0.05)
    counts = (rng.random((103, 60)) < likely).astype(np.int32)
    names = [f"chr{1 + n % 3}:{1000 * n}-{1000 * n + 500}" for n in range(60)]
    return SimpleNamespace(
        binary_matrix=sp.csr_matrix(counts.T),
        region_names=names,
        cell_names=[f"cell{n}" for n in range(103)],
        kind=kind,
    )


@pytest.fixture(scope="module")
def models(cells, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    made = sc.run_cgs_models_mallet(cells, n_topics=[3, 7], n_iter=20, alpha=5, save_path=str(folder / "new"),
                                    mallet_path="/nowhere/mallet", tmp_path="/nowhere", reuse_corpus=True)  # fmt: skip
    return made, folder / "new"


def test_a_model_has_the_fields_of_pycistopic(cells, models):
    (model, larger), folder = models
    assert (model.n_topic, model.n_cells, model.n_regions, larger.n_topic) == (3, 103, 60, 7)
    assert list(model.metrics.columns) == ["Arun_2010", "Cao_Juan_2009", "Mimno_2011", "loglikelihood"]
    assert list(model.metrics.index) == ["Metric"]
    topics = ["Topic1", "Topic2", "Topic3"]
    assert list(model.cell_topic.index) == topics
    assert list(model.cell_topic.columns) == cells.cell_names
    assert list(model.topic_region.columns) == topics
    assert list(model.topic_region.index) == cells.region_names
    np.testing.assert_allclose(model.cell_topic.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(model.topic_region.sum(), 1, rtol=1e-6)
    for table, column in (
        (model.coherence, "Mimno_2011"),
        (model.marg_topic, "Marg_Topic"),
        (model.topic_ass, "Assignments"),
    ):
        assert list(table.columns) == ["Topic", column]
        assert list(table["Topic"]) == [1, 2, 3]
    assert model.marg_topic["Marg_Topic"].sum() == pytest.approx(1)
    assert model.topic_ass["Assignments"].sum() == pytest.approx(cells.binary_matrix.sum(), rel=1e-5)
    said = model.parameters["Parameter"]
    assert said["package"] == "topmix"
    assert said["n_topics"] == 3
    assert said["alpha"] == 5
    assert said["time"] > 0
    assert model.cell_topic_harmony == []
    assert "3 topics" in str(model)
    with open(folder / "Topic3.pkl", "rb") as file:
        pd.testing.assert_frame_equal(pickle.load(file).topic_region, model.topic_region)


@pytest.mark.parametrize("n_iter", [20, 2])  # memoized passes, and stochastic ones
def test_kinds_of_cells_are_found_and_threads_do_not_matter(cells, n_iter):
    model, again = (sc.run_cgs_models_mallet(cells, [3], n_cpu=n, n_iter=n_iter, alpha=5)[0] for n in (1, 7))
    main = model.cell_topic.to_numpy().argmax(axis=0)
    for kind in range(3):
        assert np.mean(main[cells.kind == kind] == np.bincount(main[cells.kind == kind]).argmax()) > 0.9
    assert len(np.unique(main)) == 3
    pd.testing.assert_frame_equal(again.topic_region, model.topic_region)


def test_measures_are_those_of_their_papers(cells, models):
    model = models[0][0]
    phi, theta = model.topic_region.to_numpy().T, model.cell_topic.to_numpy().T
    X = cells.binary_matrix.T.toarray()
    lengths, said = X.sum(axis=1), model.metrics.loc["Metric"]
    spread, shares = np.linalg.svd(phi, compute_uv=False), np.sort(lengths @ theta)[::-1]
    spread, shares = spread / spread.sum(), shares / shares.sum()
    divergence = sum(a * np.log(a / b) + b * np.log(b / a) for a, b in zip(spread, shares))
    assert said["Arun_2010"] == pytest.approx(divergence, rel=1e-6)
    cosines = [phi[a] @ phi[b] / np.linalg.norm(phi[a]) / np.linalg.norm(phi[b]) for a in range(3) for b in range(a)]
    assert said["Cao_Juan_2009"] == pytest.approx(np.mean(cosines))
    for k in range(3):
        best = np.argsort(-phi[k], kind="stable")[:20]
        pairs = [np.log((np.sum(X[:, best[m]] * X[:, best[n]]) + 1e-12) / X[:, best[n]].sum())
                 for m in range(1, 20) for n in range(m)]  # fmt: skip
        assert model.coherence["Mimno_2011"][k] == pytest.approx(np.mean(pairs), rel=1e-6)
    assert said["Mimno_2011"] == pytest.approx(model.coherence["Mimno_2011"].mean())


def test_log_likelihood_is_the_probability_of_tokens_drawn_one_after_another():
    words, topics, documents = [0, 1, 1, 2], [0, 1, 1, 1], [0, 0, 1, 1]
    alpha, eta, total = 0.7, 0.3, 0.0
    of_words, of_documents = np.zeros((2, 3)), np.zeros((2, 2))
    for w, k, d in zip(words, topics, documents):
        total += np.log((of_words[k, w] + eta) / (of_words[k].sum() + 3 * eta))
        total += np.log((of_documents[d, k] + alpha) / (of_documents[d].sum() + 2 * alpha))
        of_words[k, w] += 1
        of_documents[d, k] += 1
    assert sc.log_likelihood(of_words, of_documents, alpha, eta) == pytest.approx(total)


def test_regions_of_a_topic_are_those_above_the_gap(models):
    rng = np.random.default_rng(1)
    low, high = rng.normal(0.1, 0.02, 900), rng.normal(0.8, 0.05, 100)
    table = pd.DataFrame({"Topic1": np.r_[low, high]}, index=[f"r{n}" for n in range(1000)])
    assert set(sc.binarize(table)["Topic1"].index) == {f"r{n}" for n in range(900, 1000)}
    best = sc.binarize(table, "ntop", n=5)["Topic1"]["Topic1"]
    assert list(best) == sorted(high, reverse=True)[:5]
    with pytest.raises(ValueError, match="otsu"):
        sc.binarize(table, "mean")
    with pytest.raises(ValueError, match="at least 1"):
        sc.binarize(table, "ntop", n=0)


def test_a_bed_file_per_topic(models, tmp_path):
    regions = sc.binarize(models[0][0].topic_region, "ntop", n=4)
    paths = sc.write_bed(regions, tmp_path / "beds")
    assert [path.name for path in paths] == ["Topic1.bed", "Topic2.bed", "Topic3.bed"]
    for line, name in zip(paths[0].read_text().splitlines(), regions["Topic1"].index):
        chromosome, start, end, named, value = line.split("\t")
        assert f"{chromosome}:{start}-{end}" == name == named
        assert float(value) > 0
    with pytest.raises(ValueError, match="chr1:100-600"):
        sc.write_bed({"T": pd.DataFrame({"T": [1.0]}, index=["GATA1"])}, tmp_path)


def test_lda_writes_into_an_anndata(cells):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(cells.binary_matrix.T.tocsr().astype(np.float32))
    model = sc.lda(adata, 3, random_state=0, key="programmes")
    assert adata.obsm["X_programmes"].shape == (103, 3)
    assert adata.varm["programmes"].shape == (60, 3)
    assert set(adata.obs["programmes"]) <= {0, 1, 2}
    assert "programmes" in adata.uns
    np.testing.assert_allclose(model.transform(adata), adata.obsm["X_programmes"], rtol=1e-6)
