"""Presets are the papers' algorithms: they fit, and have the settings that the papers give."""

import numpy as np
import pytest

from topmix import CombinatorialLDA, GibbsLDA, presets
from topmix.chains import Sequential
from topmix.data import sample_lda
from topmix.metrics import topic_recovery_error

SMALL = {"max_iter": 2, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def sample():
    return sample_lda(80, 50, 4, doc_length=30, random_state=0)


TOPICS = {
    "sparse_lda": lambda: presets.sparse_lda(4, 2, batch_size=20),
    "sparse_lda, dense": lambda: presets.sparse_lda(4, None),
    "sparse_lda, stochastic": lambda: presets.sparse_lda(4, 2, learner="stochastic", batch_size=20),
    "scvb0": lambda: presets.scvb0(4, batch_size=20),
    "cvb0": lambda: presets.cvb0(4),
    "stochastic_vb": lambda: presets.stochastic_vb(4, 5, 0.5, batch_size=20),
    "batch_vb": lambda: presets.batch_vb(4),
    "esvi_lda": lambda: presets.esvi_lda(4, 2),
    "restarted_hdp": lambda: presets.restarted_hdp(4),
    "word_refine": lambda: presets.word_refine(4),
    "word": lambda: presets.word_refine(4, algorithm="word"),
    "gibbs": lambda: presets.gibbs(4, 0.1, 0.1).set_params(burn_in=1, thin=1),
}


@pytest.mark.parametrize("name", TOPICS)
def test_a_preset_of_topics_fits(sample, name):
    fitted = TOPICS[name]().set_params(**SMALL).fit(sample.corpus)
    assert fitted.topic_word_.shape == (4, 50)
    np.testing.assert_allclose(fitted.topic_word_.sum(axis=1), 1.0)
    assert fitted.n_iter_ == 2  # no tolerance ends it


OBJECTIVES = {"sparse_gmm": "vb", "esvi_gmm": "vb", "gsdmm": "vb"}
MIXTURES = {
    "sparse_gmm": lambda: presets.sparse_gmm(4, 2, batch_size=50),
    "sparse_gmm, dense": lambda: presets.sparse_gmm(4, None, batch_size=50),
    "esvi_gmm": lambda: presets.esvi_gmm(4, n_features=3),
    "esvi_gmm, prior": lambda: presets.esvi_gmm(4, 2, n_features=3, nu0=5.0, W0=0.5),
}


@pytest.mark.parametrize("make", [presets.sparse_gmm, presets.esvi_gmm])
def test_a_preset_of_mixtures_fits(make):
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert make(4, 2).set_params(**SMALL).fit(X).means_.shape == (4, 3)


def test_presets_of_mixtures_climb_what_the_papers_climb():
    made = {name: getattr(presets, name) for name in presets.__all__}
    mixtures = {name: make for name, make in made.items() if make.__annotations__["return"].endswith("Mixture")}
    assert {name: make(4).objective for name, make in mixtures.items()} == OBJECTIVES


@pytest.mark.parametrize("name", MIXTURES)
def test_a_preset_of_mixtures_has_a_bound_that_never_falls(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * np.array([0.3, 1.0, 3.0, 9.0])[rng.integers(4, size=400)][:, None]
    model = MIXTURES[name]().set_params(max_iter=30, random_state=0, n_jobs=1)
    if name.startswith("esvi"):
        model.set_params(learner="batch")  # workers see what others have done to clusters when these come by
    bound = np.array([record.objective for record in model.fit(X).history_])
    assert np.all(np.diff(bound) > -1e-9 * np.abs(bound[1:]))
    assert bound[-1] > bound[0]


def test_esvi_gmm_has_the_priors_of_the_paper():
    """Zhang et al. (2019), Appendix E: the first is tuned for each data set."""
    model = presets.esvi_gmm(256, n_features=2, nu0=300_000, W0=0.1)
    assert (model.weight_concentration_prior, model.mean_precision_prior) == (5.0, 1.0)
    assert (model.degrees_of_freedom_prior, model.init_params) == (300_000, "k-means++")
    np.testing.assert_array_equal(model.mean_prior, np.zeros(2))
    np.testing.assert_array_equal(model.covariance_prior, 10.0 * np.eye(2))
    fitted = presets.esvi_gmm(2, n_features=2, nu0=300_000, W0=0.1).set_params(**SMALL).fit(np.eye(2)[[0, 1] * 9])
    np.testing.assert_allclose(fitted.covariances_, np.broadcast_to(10.0 / 300_000 * np.eye(2), (2, 2, 2)), atol=1e-4)
    with pytest.raises(ValueError, match="give n_features too"):
        presets.esvi_gmm(4, W0=0.1)


def test_sparse_lda_is_the_algorithm_of_the_paper():
    """Hughes & Sudderth (2016), sections 5 and 6 and Appendix D."""
    lda = presets.sparse_lda(200, 8)
    how = lda.inference
    assert (how.selection, how.cold_visits, how.max_doc_update_iter, how.doc_tol) == ("often", None, 100, 0.05)
    assert how.restarts == 5
    assert (lda.doc_topic_prior, lda.topic_word_prior, lda.init) == (0.5 / 200, 0.1, "documents")
    assert presets.sparse_lda(200, None).inference.min_topic_mass == 0.0


def test_scvb0_has_the_step_sizes_of_the_paper():
    lda = presets.scvb0(50)
    assert (lda.learner.scale, lda.learner.offset, lda.learner.decay, lda.learner.batch_size) == (10, 1000, 0.9, 100)
    assert (lda.inference.doc_scale, lda.inference.doc_offset, lda.inference.doc_decay) == (1, 10, 0.9)
    assert (lda.doc_topic_prior, lda.topic_word_prior, lda.n_active) == (0.1, 0.01, None)


def test_gibbs_is_the_plain_exact_chain():
    chain = presets.gibbs(5, 0.1, 0.1)
    assert chain.sampler == Sequential(annealing=0)
    assert (chain.max_iter, chain.burn_in, chain.thin) == (3300, 3000, 30)
    assert isinstance(chain, GibbsLDA)


def test_word_refine_has_neither_exchanges_nor_smoothing(monkeypatch):
    """Without them an exchange is never tried, and the first pass is Word under the counts as they are."""
    import topmix.learn.tokens as module

    x = sample_lda(100, 60, 4, doc_length=40, random_state=1)
    called = []
    monkeypatch.setattr(module, "exchange", lambda *a: called.append(a) or 0.0)
    presets.word_refine(4).set_params(random_state=0, n_jobs=1).fit(x.corpus)
    assert not called
    CombinatorialLDA(4, random_state=0, n_jobs=1, max_iter=4, tol=-np.inf).fit(x.corpus)
    assert called


def test_early_smoothing_and_exchanges_find_better_topics_than_the_plain_algorithm():
    """The paper's text alone freezes from a random start; docs/papers.md has the figures."""
    x = sample_lda(600, 400, 12, doc_length=60, doc_topic_prior=0.05, topic_word_prior=0.03, random_state=0)
    plain = presets.word_refine(12).set_params(random_state=0, n_jobs=1).fit(x.corpus)
    ours = CombinatorialLDA(12, max_iter=10, tol=-np.inf, random_state=0, n_jobs=1).fit(x.corpus)
    assert topic_recovery_error(ours.topic_word_, x.topic_word) < topic_recovery_error(plain.topic_word_, x.topic_word)
    assert ours.objective_ < plain.objective_


def test_gsdmm_finds_short_texts_and_leaves_clusters_empty():
    """Yin & Wang (2014): far more clusters than there are, of which few are used."""
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=400)
    phi = np.full((3, 30), 0.02) + np.kron(np.eye(3), np.full(10, 0.08))
    X = np.array([rng.multinomial(8, phi[k] / phi[k].sum()) for k in z])
    model = presets.gsdmm(20).set_params(random_state=0).fit(X)
    assert (model.weight_concentration_prior, model.topic_word_prior, model.n_active) == (0.1, 0.1, 1)
    table = np.zeros((3, 20))
    np.add.at(table, (z, model.predict(X)), 1)
    assert table.max(axis=0).sum() > 0.9 * len(z)
    assert np.count_nonzero(table.sum(axis=0)) < 12
