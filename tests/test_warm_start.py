"""A fit that starts from another one has the parameters of now: priors are those, and what cannot change is refused."""

import numpy as np
import pytest

import topmix
from topmix import (
    HDP,
    LDA,
    CombinatorialLDA,
    GaussianAdmixture,
    GaussianMixture,
    GibbsLDA,
    MultinomialMixture,
    SupervisedLDA,
    VonMisesFisherAdmixture,
    VonMisesFisherMixture,
)
from topmix.data import sample_lda

RNG = np.random.default_rng(0)
CORPUS = sample_lda(60, 30, 3, doc_length=40, random_state=0).corpus
X = 4 * RNG.normal(size=(3, 3))[RNG.integers(0, 3, 150)] + RNG.normal(size=(150, 3))
GROUPS = {"groups": np.repeat(np.arange(15), 10)}
PROCESS = {"weight_concentration_prior_type": "dirichlet_process"}
MAKE = {
    "LDA": (LDA, CORPUS, {"max_iter": 3}, {}),
    "SupervisedLDA": (SupervisedLDA, CORPUS, {"max_iter": 3, "response_weight": 1.0}, {"y": np.arange(60) % 2}),
    "HDP": (HDP, CORPUS, {"max_iter": 12}, {}),
    "GibbsLDA": (GibbsLDA, CORPUS, {"max_iter": 3}, {}),
    "CombinatorialLDA": (CombinatorialLDA, CORPUS, {"max_iter": 3}, {}),
    "MultinomialMixture": (MultinomialMixture, CORPUS, {}, {}),
    "GaussianMixture": (GaussianMixture, X, {}, {}),
    "vb": (GaussianMixture, X, {"objective": "vb"}, {}),
    "VonMisesFisherMixture": (VonMisesFisherMixture, X, {}, {}),
    "GaussianAdmixture": (GaussianAdmixture, X, {}, GROUPS),
    "process": (GaussianAdmixture, X, PROCESS, GROUPS),
    "VonMisesFisherAdmixture": (VonMisesFisherAdmixture, X, {}, GROUPS),
}


def again(name, changed, path=None):
    """A fit, and another one from there after some parameters changed."""
    make, data, given, beside = MAKE[name]
    tol = {} if name == "GibbsLDA" else {"tol": -np.inf}
    model = make(3, random_state=0, n_jobs=1, **{"max_iter": 4} | tol | given).fit(data, **beside)
    if path is not None:
        model.save(path)
        model = topmix.load(path)
    return model.set_params(warm_start=True, **changed).fit(data, **beside)


def prior(model):
    return model.model_.prior


def gaussian(model):
    return model.model_.likelihood.prior


HONOURED = [
    ("LDA", {"doc_topic_prior": 2.0}, lambda m: m.doc_topic_prior_, 2.0),
    ("LDA", {"doc_topic_prior": [1.0, 2.0, 3.0]}, lambda m: m.doc_topic_prior_, [1.0, 2.0, 3.0]),
    ("LDA", {"doc_topic_prior": "auto"}, lambda m: prior(m).learned, True),
    ("LDA", {"topic_word_prior": 0.5}, lambda m: m.topic_word_prior_, 0.5),
    ("LDA", {"topic_word_prior": "auto"}, lambda m: m.model_.words.learned, True),
    ("LDA", {"inference": "variational"}, lambda m: m.model_.words.posterior == prior(m).posterior == "variational", 1),
    ("SupervisedLDA", {"doc_topic_prior": 2.0}, lambda m: m.doc_topic_prior_, 2.0),
    ("HDP", {"doc_topic_prior": (2.0, 3.0)}, lambda m: (m.concentration_, m.weight_concentration_), (2.0, 3.0)),
    ("HDP", {"topic_word_prior": 0.5}, lambda m: m.topic_word_prior_, 0.5),
    ("GibbsLDA", {"doc_topic_prior": 2.0}, lambda m: m.doc_topic_prior_, 2.0),
    ("GibbsLDA", {"topic_word_prior": 0.5}, lambda m: m.topic_word_prior_, 0.5),
    ("CombinatorialLDA", {"penalty": 2.0}, lambda m: m.penalty_, 2.0),
    ("MultinomialMixture", {"topic_word_prior": 3.0}, lambda m: m.components_.min(), 3.0),
    ("MultinomialMixture", {"weight_concentration_prior": 9.0}, lambda m: m.model_.allocation.prior, 9.0),
    ("GaussianMixture", {"reg_covar": 50.0}, lambda m: m._gaussian.frame.covariances_back(gaussian(m).reg)[0, 0], 50.0),
    ("GaussianAdmixture", {"reg_covar": 50.0}, lambda m: np.diagonal(m.covariances_, 0, 1, 2).min() > 5, True),
    ("GaussianMixture", {"mean_precision_prior": 50.0}, lambda m: gaussian(m).beta, 50.0),
    ("vb", {"mean_prior": [1.0, 2.0, 3.0]}, lambda m: m._gaussian.frame.points_back(gaussian(m).m), [1.0, 2.0, 3.0]),
    ("GaussianMixture", {"weight_concentration_prior": 9.0}, lambda m: m.model_.allocation.prior, 9.0),
    ("VonMisesFisherMixture", {"max_concentration": 2.0}, lambda m: m.concentrations_.max(), 2.0),
    ("VonMisesFisherMixture", {"prior_rows": 50.0}, lambda m: m.model_.likelihood.prior_rows, 50.0),
    ("GaussianAdmixture", {"weight_concentration_prior": 3.0}, lambda m: prior(m).alpha, [3.0] * 3),
    ("process", {"weight_concentration_prior": 3.0}, lambda m: prior(m).concentration, 3.0),
    ("VonMisesFisherAdmixture", {"max_concentration": 2.0}, lambda m: m.concentrations_.max(), 2.0),
]


@pytest.mark.filterwarnings("ignore:reg_covar=50")  # it is large, so that its effect is seen
@pytest.mark.parametrize(("name", "changed", "read", "wanted"), HONOURED, ids=[f"{c[0]}-{c[1]}" for c in HONOURED])
def test_a_warm_start_has_the_priors_of_now(name, changed, read, wanted, tmp_path):
    for path in (None, tmp_path / "model"):
        np.testing.assert_allclose(read(again(name, changed, path)), wanted, rtol=1e-9)


REFUSED = [
    ("GaussianMixture", {"covariance_type": "diag"}, "covariance_type='full', but it is now 'diag'"),
    ("GaussianMixture", {"zero_mean": True}, "zero_mean"),
    ("GaussianMixture", {"objective": "ml"}, "objective"),
    ("GaussianMixture", {"covariance_prior": np.eye(3)}, "covariance_prior"),
    ("GaussianMixture", {"degrees_of_freedom_prior": 9.0}, "degrees_of_freedom_prior"),
    ("GaussianMixture", PROCESS, "weight_concentration_prior_type"),
    ("GaussianAdmixture", PROCESS, "weight_concentration_prior_type='dirichlet_distribution', but"),
    ("VonMisesFisherMixture", {"concentration_type": "tied"}, "concentration_type"),
    ("LDA", {"seeds": [[1, 2]]}, "seeds"),
    ("GibbsLDA", {"seeds": [[1, 2]]}, "seeds"),
    ("CombinatorialLDA", {"n_components": 4}, "n_components=3, but it is now 4"),
]


@pytest.mark.parametrize(("name", "changed", "said"), REFUSED, ids=[f"{c[0]}-{next(iter(c[1]))}" for c in REFUSED])
def test_a_warm_start_refuses_what_the_model_cannot_follow(name, changed, said, tmp_path):
    for path in (None, tmp_path / "model"):
        with pytest.raises(ValueError, match=f"warm_start keeps .*{said}"):
            again(name, changed, path)


def test_priors_that_were_learned_or_chosen_stay_where_nothing_changed():
    model = LDA(3, doc_topic_prior="auto", max_iter=4, random_state=0, warm_start=True).fit(CORPUS)
    learned = model.doc_topic_prior_
    np.testing.assert_array_equal(
        model.set_params(topic_word_prior=0.5, max_iter=0).fit(CORPUS).doc_topic_prior_, learned
    )
    model = GaussianMixture(20, random_state=0, warm_start=True).fit(X)
    chosen = gaussian(model).nu
    assert chosen > 0.01
    assert gaussian(model.set_params(reg_covar=0.1).fit(X)).nu == chosen


def test_a_stream_starts_a_fit_with_the_priors_of_now():
    model = LDA(3, random_state=0).partial_fit(CORPUS).set_params(doc_topic_prior=2.0, warm_start=True)
    assert model.partial_fit(CORPUS).fit(CORPUS).doc_topic_prior_ == 2.0
