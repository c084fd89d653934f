"""Every estimator finds what is there: planted topics and clusters, and classes of real data. The worst of five seeds
counts. An estimator that runs and finds nothing fails, and so does one that has no entry here."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import normalized_mutual_info_score

from topmix.data import sample_lda
from topmix.estimators import ESTIMATORS

SEEDS = range(5)
PLANTED = sample_lda(300, 150, 5, doc_length=50, random_state=1)


def topics_of(model):
    """The mean cosine of planted topics with the topics that were found, matched one to one."""
    true, found = PLANTED.topic_word, model.topic_word_
    true, found = (T / np.linalg.norm(T, axis=1, keepdims=True) for T in (true, found))
    cosine = true @ found.T
    return cosine[linear_sum_assignment(-cosine)].mean()


def planted(least, **settings):
    def check(Estimator):
        for seed in SEEDS:
            assert topics_of(Estimator(5, random_state=seed, **settings).fit(PLANTED.corpus)) > least

    return check


def labels(data, K, least, **settings):
    """NMI of clusters with classes that scikit-learn ships."""
    X, y = data(return_X_y=True)

    def check(Estimator):
        for seed in SEEDS:
            found = Estimator(K, random_state=seed, **settings).fit(X).predict(X)
            assert normalized_mutual_info_score(y, found) > least

    return check


def bags(data, K, least, **settings):
    """NMI of clusters with classes, where rows come in bags that mix the classes in proportions of their own."""
    X, y = data(return_X_y=True)
    rng = np.random.default_rng(0)
    mixes = rng.dirichlet(np.full(K, 0.1), len(y) // 10)
    groups = np.array([rng.choice(len(mixes), p=mixes[:, k] / mixes[:, k].sum()) for k in y])

    def check(Estimator):
        for seed in SEEDS:
            found = Estimator(K, random_state=seed, **settings).fit(X, groups).predict(X, groups)
            assert normalized_mutual_info_score(y, found) > least

    return check


def groups_of(draw, least):
    """Planted clusters, which overlap, and 200 groups of 30 rows: the proportions of groups are within `least` of those
    that were drawn, summed over clusters, on average. A mixture would have twice as much."""
    rng = np.random.default_rng(1)
    centres, theta = rng.normal(size=(6, 5)), rng.dirichlet(np.full(6, 0.2), 200)
    z = np.concatenate([rng.choice(6, 30, p=p) for p in theta])
    X, groups = draw(centres[z], rng), np.repeat(np.arange(200), 30)
    drawn = np.eye(6)[z].reshape(200, 30, 6).mean(axis=1)

    def check(Estimator):
        for seed in SEEDS:
            model = Estimator(6, random_state=seed).fit(X, groups)
            table = np.zeros((6, 6))
            np.add.at(table, (z, model.predict(X, groups)), 1)
            true, found = linear_sum_assignment(-table)
            away = np.abs(model.transform(X, groups)[:, found] - drawn[:, true]).sum(axis=1).mean()
            assert away < least, away

    return check


def around(centres, rng):
    return 1.5 * centres + rng.normal(size=centres.shape)


QUALITY = {
    "LDA": [planted(0.97)],
    "HDP": [planted(0.97, search=None, n_init=3)],
    "GibbsLDA": [planted(0.97, max_iter=80)],
    "CombinatorialLDA": [planted(0.95)],
    "GaussianMixture": [labels(load_iris, 3, 0.88), labels(load_digits, 10, 0.65, covariance_type="diag")],
    "MultinomialMixture": [labels(load_digits, 10, 0.68)],
    "VonMisesFisherMixture": [labels(load_digits, 10, 0.6)],
    "GaussianAdmixture": [groups_of(around, 0.2), bags(load_digits, 10, 0.7, covariance_type="diag")],
    "VonMisesFisherAdmixture": [groups_of(around, 0.22), bags(load_digits, 10, 0.7)],
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_there_is_found(name):
    for check in QUALITY[name]:
        check(ESTIMATORS[name])
