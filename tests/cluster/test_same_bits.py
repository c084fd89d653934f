"""What workers on a cluster compute has the bits of engine="threads"."""

import itertools

import numpy as np
import pytest

from topmix import (
    HDP,
    LDA,
    GaussianAdmixture,
    GaussianMixture,
    LabelledLDA,
    MultinomialMixture,
    SupervisedLDA,
    VonMisesFisherMixture,
)
from topmix.data import Corpus, sample_lda
from topmix.engines.ray_engine import Ray
from topmix.inference import CVB0, SCVB0, Variational
from topmix.learners import Batch, Memoized, State, Stochastic
from topmix.priors import ByGroup, Covariates

ROUNDS = Memoized(batch_size=13, batches_per_update=3)
TOPICS = {
    "LDA": LDA(4, max_iter=3),
    "LDA, rounds": LDA(4, max_iter=4, learner=ROUNDS),
    "LDA, batch": LDA(4, max_iter=3, learner="batch"),
    "LDA, stochastic": LDA(4, max_iter=2, learner=Stochastic(batch_size=25)),
    "LDA, variational": LDA(4, max_iter=3, inference=Variational(restarts=1), doc_topic_prior="auto", learner=ROUNDS),
    "LDA, SCVB0": LDA(4, max_iter=2, inference=SCVB0(), learner=Stochastic(batch_size=40)),
    "LDA, CVB0": LDA(4, max_iter=2, inference=CVB0(), learner=ROUNDS),
    "HDP": HDP(4, search=None, max_iter=3),
    "HDP, search": HDP(4, max_iter=30, learner=Memoized(batch_size=30, batches_per_update=2)),
}
MIXTURES = {
    "MultinomialMixture": MultinomialMixture(4, max_iter=3, n_active=2, learner=ROUNDS),
    "GaussianMixture": GaussianMixture(4, max_iter=3, n_active=2, learner=ROUNDS),
    "GaussianMixture, candidates": GaussianMixture(6, max_iter=3, n_active=2, candidates=3, learner=ROUNDS),
    "GaussianMixture, batch": GaussianMixture(4, max_iter=3, learner="batch", covariance_type="diag"),
    "VonMisesFisherMixture": VonMisesFisherMixture(4, max_iter=3, n_active=2),
    "GaussianAdmixture": GaussianAdmixture(4, max_iter=3, n_active=2, learner=Memoized(batch_size=2)),
}


@pytest.fixture(scope="module")
def corpus():
    return sample_lda(120, 80, 4, doc_length=40, random_state=0).corpus


@pytest.fixture(scope="module")
def saved(corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("shared") / "corpus.topmix"
    corpus.save(path)
    return Corpus.open(path)


def like(estimator, engine, **parameters):
    return type(estimator)(**estimator.get_params(deep=False) | {"random_state": 0, "engine": engine} | parameters)


def same_history(a, b):
    assert [(r.objective, r.moves, r.effort) for r in a.history_] == [
        (r.objective, r.moves, r.effort) for r in b.history_
    ]


@pytest.mark.parametrize("name", TOPICS)
def test_topics(name, three, corpus, saved):
    one, two = (like(TOPICS[name], e, tol=-np.inf if "search" not in name else 1e-3) for e in ("threads", three))
    one.fit(corpus)
    two.fit(saved)
    np.testing.assert_array_equal(one.components_, two.components_)
    same_history(one, two)
    np.testing.assert_array_equal(one.transform(corpus), two.transform(corpus))
    assert one.score(corpus) == two.score(saved)
    for model in (one, two):
        model.partial_fit(corpus[:60]).partial_fit(corpus[60:])
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize(
    ("model", "column"),
    [
        (LDA(4, doc_topic_prior=Covariates("group + x"), max_iter=3), None),
        (LDA(4, topic_word_prior=ByGroup("group"), max_iter=2), None),
        (LabelledLDA(2, max_iter=2), "group"),
        (SupervisedLDA(4, max_iter=2, response_weight=5.0), "group"),
        (SupervisedLDA(4, max_iter=2, response="gaussian", response_weight=5.0), "x"),
    ],
    ids=["Covariates", "ByGroup", "LabelledLDA", "classes", "numbers"],
)
def test_topics_that_depend_on_columns(model, column, three, corpus):
    frame = {"group": [("a", "b")[d % 2] for d in range(120)], "x": np.linspace(-1, 1, 120).tolist()}
    beside = {"metadata": frame} if column is None else {"y": frame[column]}
    one, two = (like(model, engine, tol=-np.inf).fit(corpus, **beside) for engine in ("threads", three))
    np.testing.assert_array_equal(one.components_, two.components_)
    same_history(one, two)
    more = {"metadata": frame} if column is None else {}
    np.testing.assert_array_equal(one.transform(corpus, **more), two.transform(corpus, **more))
    if column is not None:
        np.testing.assert_array_equal(one.predict(corpus), two.predict(corpus))


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures(name, three, corpus, tmp_path):
    X = corpus.to_scipy() if name.startswith("M") else np.random.default_rng(0).normal(size=(120, 5))
    if name in ("GaussianMixture", "GaussianAdmixture"):  # rows that workers read for themselves
        np.save(tmp_path / "rows.npy", X)
        X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    one, two = (like(MIXTURES[name], engine, tol=-np.inf) for engine in ("threads", three))
    groups = [np.arange(120) % 9] if "Admixture" in name else []
    for model in (one, two):
        model.fit(X, *groups, sample_weight=np.linspace(0.5, 1.5, 120))
    same_history(one, two)
    for verb in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(one, verb)(X, *groups), getattr(two, verb)(X, *groups))
    for model in (one, two):
        model.partial_fit(X[:60])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_any_number_of_workers(three, corpus):
    engines = Ray(workers=1), Ray(workers=2), three
    models = [LDA(4, max_iter=3, learner=ROUNDS, random_state=0, engine=engine).fit(corpus) for engine in engines]
    for other in models[1:]:
        np.testing.assert_array_equal(other.components_, models[0].components_)
    for engine in engines[:2]:
        engine.release()


@pytest.mark.slow  # tests/conformance has it without Ray
@pytest.mark.parametrize("name", ["LDA, rounds", "HDP, search"])
def test_a_checkpoint_is_continued_by_any_engine(name, three, corpus, tmp_path):
    whole = like(TOPICS[name], "threads").fit(corpus)

    class Crash(Exception):
        pass

    def crash(record, view):
        if record.n_pass > whole.n_iter_ // 2:
            raise Crash

    for first, then in ((three, "serial"), ("threads", three)):
        path = tmp_path / str(first)
        with pytest.raises(Crash):
            like(TOPICS[name], first, callbacks=[crash]).fit(corpus, checkpoint=path)
        resumed = like(TOPICS[name], then).fit(corpus, checkpoint=path)
        np.testing.assert_array_equal(resumed.components_, whole.components_)
        assert [r.objective for r in resumed.history_] == [r.objective for r in whole.history_]


@pytest.mark.slow  # the estimators above have the same learners
@pytest.mark.parametrize("learner", [Memoized(), Memoized(batches_per_update=4), Batch(), Stochastic()])
def test_learners_on_a_cluster(learner, three, corpus, cut):
    """As tests/conformance asks of every engine: the total, the model and the memory, pass by pass."""
    from topmix.engines.local import Threads
    from topmix.models.document_prior import DocumentPrior
    from topmix.models.topic_words import TopicWords
    from topmix.models.topics import TopicModel
    from topmix.models.words import WordTotal
    from topmix.steps.documents import TopicStep

    raw = np.random.default_rng(1).gamma(1.0, 1.0, (80, 5))
    found = []
    for engine in (Threads(), three):
        words = TopicWords(np.full((1, 1), 0.1), WordTotal.of(raw.copy()), "collapsed")
        model = TopicModel(DocumentPrior(np.full(5, 0.1), "collapsed"), words)
        workers = engine.open(cut(corpus, 9), TopicStep(cold_visits=1), 1)
        passes = []
        for m, total, info in itertools.islice(learner.passes(model, workers, State()), 3):
            docs = [visit.docs for _, visit in sorted(workers.recall().items())]
            passes.append([m.words.total.counts(), total.S.counts(), total.T, total.H, info["iterations"]])
            passes[-1] += [array for d in docs for array in (d.indptr, d.topic, d.count)]
        found.append(passes)
        workers.close()
    for one, two in zip(*found, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)
