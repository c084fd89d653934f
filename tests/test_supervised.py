"""Supervised LDA: topics that explain responses, which new documents are then predicted to have."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, linear_sum_assignment
from scipy.special import logsumexp, softmax
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import topmix
from tests.twins.topics import Options, Responses, topics_step
from topmix import LDA, LabelledLDA, SupervisedLDA
from topmix.corpus.design import DesignRows
from topmix.corpus.shard import Shard
from topmix.estimators.supervised import WEIGHTS
from topmix.inference import Collapsed, Variational
from topmix.models.document_prior import DocTopics, DocumentPrior
from topmix.models.response_prior import RIDGE, Responded, ResponsePrior

from .pairs import pairs
from .test_topics_step import make_table
from .topic_data import dense_docs, make_corpus, native_shard

KINDS = ["categorical", "gaussian"]


def planted(seed, alike=0.0, D=400, V=120, length=40):
    """Counts, classes, numbers and topics. Two pairs of topics have words in common, and responses tell them apart."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.05), 6)
    phi[1], phi[3] = alike * phi[0] + (1 - alike) * phi[1], alike * phi[2] + (1 - alike) * phi[3]
    theta = rng.dirichlet(np.full(6, 0.2), D)
    X = sp.csr_array(np.array([rng.multinomial(length, t @ phi) for t in theta], np.float32))
    effects = np.array([3.0, -3.0, 2.0, -2.0, 0.0, 0.0])
    classes = (rng.random(D) < 1 / (1 + np.exp(-3 * theta @ effects))).astype(int)
    return X, np.array(["no", "yes"])[classes], 7.0 + 2.0 * theta @ effects + rng.normal(0, 0.3, D), phi


X, CLASS, NUMBER, PHI = planted(0)
TRAIN, TEST = slice(0, 300), slice(300, None)
Y = {"categorical": CLASS, "gaussian": NUMBER}
QUICK = {"inference": Collapsed(sweeps=20), "response_weight": 1.0, "random_state": 0, "n_jobs": 1}
OF_LDA = {name: value for name, value in QUICK.items() if name != "response_weight"}


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    return SupervisedLDA(6, response=request.param, **QUICK).fit(X[TRAIN], Y[request.param][TRAIN])


def responses(rng, kind, D, K):
    y = rng.integers(3, size=D) if kind == "categorical" else rng.normal(size=D)
    eta = rng.normal(0, 3.0, (3 if kind == "categorical" else 1, K))
    return Responses(eta.astype(np.float32).astype(float), y.astype(np.float32).astype(float),
                     0.0 if kind == "categorical" else 4.0, 2.0)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "posterior", "L", "restarts"),
    pairs(KINDS, ["variational", "collapsed"], [3, 20], [0, 2]),
)
@pytest.mark.parametrize("select_often", [False, True])
def test_kernel_equals_its_twin(core, kind, posterior, L, restarts, select_often):
    rng, K = np.random.default_rng(3), 20
    opt = Options(posterior, False, select_often, L=L, eps=0.3, max_iter=8, tol=0.01, restarts=restarts)
    corpus = make_corpus(rng)
    shard, said = Shard.of(corpus), responses(rng, kind, corpus.shape[0], K)
    table, alpha = make_table(rng, len(shard.cols), K), rng.uniform(0.01, 0.3, K).astype(np.float32)
    want = topics_step(shard.indptr, shard.index, shard.value, table, alpha, opt, responses=said)
    sure = want.margin > (1e-3 if restarts else 5e-5)  # what responses say is a term of float32 in a judgement
    assert sure.mean() > 0.4
    given = core.Responses(said.eta.astype(np.float32), said.y.astype(np.float32), said.precision, said.weight)

    def run(threads):
        return core.topics_step(
            native_shard(core, shard), table, alpha, core.DocumentOptions(**asdict(opt)), None, None, True, threads,
            core.TopicScratch(), None, given,
        )  # fmt: skip

    words, docs, H, _ = run(1)
    np.testing.assert_allclose(dense_docs(docs, shard.n_rows, K)[sure], want.docs[sure], rtol=3e-3, atol=3e-3)
    again = run(3)
    assert again[2] == H
    np.testing.assert_array_equal(again[1][2], docs[2])
    np.testing.assert_array_equal(again[0][2], words[2])
    without = topics_step(shard.indptr, shard.index, shard.value, table, alpha, opt)
    assert np.abs(without.docs - want.docs).max() > 1.0  # responses do something


def test_wrong_responses_are_an_error(core):
    rng = np.random.default_rng(0)
    shard = Shard.of(make_corpus(rng))
    table, alpha, n = make_table(rng, len(shard.cols), 4), np.full(4, 0.1, np.float32), shard.n_rows
    good = np.ones((2, 4), np.float32), np.zeros(n, np.float32), 0.0, 1.0

    def step(*given, exclude=False):
        options = core.DocumentOptions(**asdict(Options(L=4, exclude=exclude)))
        core.topics_step(native_shard(core, shard), table, alpha, options, None, None, True, 1, core.TopicScratch(),
                         None, core.Responses(*given))  # fmt: skip

    step(*good)
    with pytest.raises(ValueError, match="left out"):
        step(*good, exclude=True)
    for place, bad, error in [
        (0, np.ones((2, 3), np.float32), "fit this shard"),
        (0, np.full((2, 4), np.nan, np.float32), "finite"),
        (1, np.zeros(n - 1, np.float32), "fit this shard"),
        (1, np.full(n, 2, np.float32), "classes"),
        (1, np.full(n, -1, np.float32), "classes"),
        (1, np.full(n, 0.5, np.float32), "classes"),
        (2, -1.0, "not negative"),
        (2, 1.0, "one row"),
        (3, np.inf, "not negative"),
    ]:
        with pytest.raises(ValueError, match=error):
            step(*(bad if i == place else value for i, value in enumerate(good)))


def documents(rng, D=12, K=5):
    N = rng.gamma(0.5, 20.0, (D, K)) * (rng.random((D, K)) < 0.6)
    N[0] = 0  # a document without words
    where = np.nonzero(N)
    indptr = np.concatenate([[0], np.cumsum((N > 0).sum(axis=1))])
    return N, DocTopics(indptr, where[1].astype(np.uint16), N[where].astype(np.float32))


def prior_of(rng, kind, K=5):
    eta = rng.normal(0, 2.0, (3 if kind == "categorical" else 1, K))
    return ResponsePrior(np.full(K, 0.1), "variational", False, coefficients=eta, precision=float(kind == "gaussian"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_likelihood_is_a_bound(kind):
    """Of E log p(y | mean of z), with tokens drawn one by one; and for many tokens of the log at the mean."""
    rng = np.random.default_rng(1)
    prior, n = prior_of(rng, kind), 6
    eta, r = prior.coefficients, rng.dirichlet(np.full(5, 0.5), n)  # responsibilities of the tokens
    y = 1.0
    docs = DocTopics(np.array([0, 5]), np.arange(5, dtype=np.uint16), r.sum(axis=0).astype(np.float32))
    z = np.stack([rng.choice(5, size=100_000, p=row) for row in r], axis=1)
    scores = eta[:, z].mean(axis=2)  # [outputs, draws]

    def log_p(scores):
        if kind == "categorical":
            return scores[1] - logsumexp(scores, axis=0)
        return -0.5 * np.log(2 * np.pi) - 0.5 * (y - scores[0]) ** 2

    bound = prior.log_likelihood(Responded.of(docs, np.array([y])))[0]
    expected = log_p(scores).mean()
    assert expected - 0.5 < bound <= expected + 0.01
    many = replace(docs, count=docs.count * 10_000)
    at_mean = log_p(eta @ r.mean(axis=0)[:, None])[0]
    assert prior.log_likelihood(Responded.of(many, np.array([y])))[0] == pytest.approx(at_mean, abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_coefficients_are_where_the_gradient_is_zero(kind):
    rng = np.random.default_rng(2)
    _, docs = documents(rng)
    y = rng.integers(3, size=12).astype(float) if kind == "categorical" else rng.normal(size=12)
    found, prior = Responded.of(docs, y), prior_of(rng, kind)
    before = None
    for _ in range(40):
        now = prior.responding_to(found)
        value = now.log_likelihood(found).sum() - 0.5 * RIDGE * np.sum(now.coefficients**2)
        assert before is None or value >= before - 1e-9  # never lower
        prior, before = now, value

    def objective(x):
        at = replace(prior, coefficients=x.reshape(prior.coefficients.shape))
        return at.log_likelihood(found).sum() - 0.5 * RIDGE * np.sum(x**2)

    slope = approx_fprime(prior.coefficients.ravel(), objective, 1e-6)
    assert np.abs(slope).max() < 1e-2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_statistics_are_those_of_documents_and_what_responses_say(kind, posterior):
    rng = np.random.default_rng(4)
    N, docs = documents(rng)
    y = rng.integers(3, size=12).astype(float) if kind == "categorical" else rng.normal(size=12)
    prior = replace(prior_of(rng, kind), posterior=posterior, weight=3.0)
    lengths = N.sum(axis=1)
    here = prior.of(DesignRows.of(y[:, None]))
    stats = here.summarise(None, docs, lengths, 1.0)
    plain = DocumentPrior(prior.alpha, posterior)
    want = plain.bound(plain.summarise(None, docs, lengths, 1.0))
    said = prior.log_likelihood(Responded.of(docs, y)).sum()
    assert prior.bound(stats) == pytest.approx(want + 3 * (said - 0.5 * RIDGE * np.sum(prior.coefficients**2)))
    a = prior.of(DesignRows.of(y[:5, None])).summarise(None, docs.of(slice(0, 5)), lengths[:5], 1.0)
    b = prior.of(DesignRows.of(y[5:, None])).summarise(None, docs.of(slice(5, 12)), lengths[5:], 0.0)
    np.testing.assert_allclose(a.T + b.T, stats.T)
    assert prior.documents(stats) == pytest.approx(plain.documents(plain.summarise(None, docs, lengths, 1.0)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_rises(kind):
    """Words, documents and responses together; steps of Newton's kind inside a document need not be exact."""
    inference = Variational(min_topic_mass=0.0, doc_tol=1e-4, max_doc_update_iter=400, cold_visits=1)
    settings = {"learner": "batch", "n_active": None, "tol": -1.0, "max_iter": 12, "random_state": 0, "n_jobs": 1}
    model = SupervisedLDA(6, response=kind, response_weight=3.0, inference=inference, **settings)
    model.fit(X[TRAIN], Y[kind][TRAIN])
    found = [record.objective for record in model.history_ if record.phase == "responding"]
    assert len(found) == 10
    assert np.all(np.diff(found) > -1e-3)
    assert found[-1] > found[0] + 1.0
    assert model.elbo_ == found[-1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_planted_topics_and_responses_are_found(kind, seed):
    X, classes, numbers, phi = planted(seed)
    y = {"categorical": classes, "gaussian": numbers}[kind]
    model = SupervisedLDA(6, response=kind, **QUICK | {"random_state": seed}).fit(X[TRAIN], y[TRAIN])
    found = model.topic_word_[linear_sum_assignment(-phi @ model.topic_word_.T)[1]]
    cosine = np.sum(phi * found, axis=1) / np.linalg.norm(phi, axis=1) / np.linalg.norm(found, axis=1)
    assert cosine.min() > 0.9
    assert model.score(X[TEST], y[TEST]) > {"categorical": 0.8, "gaussian": 0.9}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_responses_tell_topics_apart_that_words_do_not(kind):
    gain = []
    for seed, weight in enumerate((10.0, 10.0, None)):
        X, classes, numbers, _ = planted(seed, alike=0.8)
        y = {"categorical": classes, "gaussian": numbers}[kind]
        model = SupervisedLDA(6, response=kind, **OF_LDA).set_params(random_state=seed, response_weight=weight)
        model.fit(X[TRAIN], y[TRAIN])
        assert model.response_weight_ in WEIGHTS
        lda = LDA(6, **OF_LDA).set_params(random_state=seed).fit(X[TRAIN])
        after = LogisticRegression(C=100) if kind == "categorical" else Ridge(0.01)
        after.fit(lda.transform(X[TRAIN]), y[TRAIN])
        gain.append(model.score(X[TEST], y[TEST]) - after.score(lda.transform(X[TEST]), y[TEST]))
    assert np.mean(gain) > {"categorical": 0.02, "gaussian": 0.15}[kind]


def test_responses_change_topics_and_their_weight_how_much(fitted):
    plain = LDA(6, **OF_LDA).fit(X[TRAIN])
    strong = clone(fitted).set_params(response_weight=100.0).fit(X[TRAIN], Y[fitted.response][TRAIN])
    far = [np.abs(model.topic_word_ - plain.topic_word_).sum() for model in (fitted, strong)]
    assert 0 < far[0] < far[1]


def test_without_weight_the_topics_are_those_of_lda(fitted):
    plain = LDA(6, **OF_LDA).fit(X[TRAIN])
    none = clone(fitted).set_params(response_weight=0.0).fit(X[TRAIN], Y[fitted.response][TRAIN])
    np.testing.assert_array_equal(none.topic_word_, plain.topic_word_)
    assert none.response_weight_ == 0.0
    assert fitted.response_weight_ == 1.0


def test_the_weight_is_chosen_the_same_way_by_any_number_of_threads(fitted):
    y = Y[fitted.response][:120]
    one, three = (clone(fitted).set_params(response_weight=None, n_jobs=n).fit(X[:120], y) for n in (1, 3))
    np.testing.assert_array_equal(one.components_, three.components_)
    assert one.response_weight_ == three.response_weight_
    few = clone(fitted).set_params(response_weight=None).fit(X[:60], y[:60])
    assert few.response_weight_ == 1.0  # too few documents to choose on


def test_predictions_are_regressions_on_shares(fitted):
    theta = fitted.transform(X[TEST])
    x = theta @ fitted.coef_.T + fitted.intercept_
    if fitted.response == "gaussian":
        np.testing.assert_allclose(fitted.predict(X[TEST]), x[:, 0])
        assert is_regressor(fitted)
        assert not hasattr(fitted, "predict_proba")
        assert not hasattr(fitted, "classes_")
        residual = NUMBER[TEST] - x[:, 0]
        r2 = 1 - np.sum(residual**2) / np.sum((NUMBER[TEST] - NUMBER[TEST].mean()) ** 2)
        assert fitted.score(X[TEST], NUMBER[TEST]) == pytest.approx(r2)
        return
    proba = fitted.predict_proba(X[TEST])
    np.testing.assert_allclose(proba, softmax(np.column_stack([np.zeros(100), x[:, 0]]), axis=1))
    np.testing.assert_array_equal(fitted.predict(X[TEST]), fitted.classes_[proba.argmax(axis=1)])
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.score(X[TEST], CLASS[TEST]) == np.mean(fitted.predict(X[TEST]) == CLASS[TEST])
    assert is_classifier(fitted)


def test_a_model_in_a_file_predicts_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m.topmix")
    loaded = topmix.load(tmp_path / "m.topmix")
    np.testing.assert_array_equal(loaded.predict(X[TEST]), fitted.predict(X[TEST]))
    np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    assert loaded.get_params()["response"] == fitted.response


def test_a_resumed_fit_equals_an_uninterrupted_one(fitted, tmp_path):
    path, y = tmp_path / "checkpoint", Y[fitted.response][TRAIN]
    clone(fitted).set_params(max_iter=2).fit(X[TRAIN], y, checkpoint=path)
    long = clone(fitted).set_params(inference=Collapsed(sweeps=0))
    again = clone(long).fit(X[TRAIN], y, checkpoint=tmp_path / "other")
    same = clone(long).fit(X[TRAIN], y, checkpoint=tmp_path / "other")
    np.testing.assert_array_equal(again.components_, same.components_)
    np.testing.assert_array_equal(long.fit(X[TRAIN], y).components_, same.components_)
    with pytest.raises(ValueError, match="covariates"):
        clone(long).fit(X[TRAIN], y[::-1], checkpoint=tmp_path / "other")


@pytest.mark.parametrize(
    "settings",
    [{"n_jobs": 3}, {"engine": "serial"}, {"learner": "stochastic"}, {"learner": "batch"},
     {"inference": "variational"}, {"inference": "variational", "learner": "asynchronous", "n_jobs": 2},
     {"doc_topic_prior": "auto"}, {"seeds": [[3, 7]]}],
    ids=str,
)  # fmt: skip
def test_engines_learners_and_priors(fitted, settings):
    y = Y[fitted.response]
    model = clone(fitted).set_params(**settings).fit(X[TRAIN], y[TRAIN])
    if ("n_jobs" in settings and "learner" not in settings) or "engine" in settings:
        np.testing.assert_array_equal(model.components_, fitted.components_)
        np.testing.assert_array_equal(model.coef_, fitted.coef_)
    assert model.score(X[TEST], y[TEST]) > 0.5
    assert model.history_[-1].phase == "responding"
    assert [record.n_pass for record in model.history_] == list(range(1, model.n_iter_ + 1))


@pytest.mark.parametrize("estimator", [SupervisedLDA(2), LabelledLDA()], ids=str)
def test_streams_have_no_responses(estimator):
    with pytest.raises(ValueError, match="needs y"):
        topmix.Stream(estimator)


def test_a_warm_start_goes_on(fitted):
    y = Y[fitted.response][TRAIN]
    model = clone(fitted).set_params(warm_start=True, max_iter=3).fit(X[TRAIN], y)
    before = model.elbo_
    assert model.fit(X[TRAIN], y).elbo_ > before - 1.0
    assert model.doc_topic_prior_ == pytest.approx(0.5 / 6)


@pytest.mark.parametrize(
    ("kind", "y", "error"),
    [
        ("categorical", None, "requires y"),
        ("categorical", CLASS[:7], "7 values for 300"),
        ("categorical", [None, *CLASS[1:300]], "one class"),
        ("categorical", [["a", "b"]] * 300, "one class"),
        ("categorical", np.linspace(0, 1, 300), "continuous"),
        ("categorical", np.where(CLASS[TRAIN] == CLASS[0], 1e199, 0.0), "continuous numbers"),
        ("gaussian", np.where(np.arange(300) == 3, -1e200, NUMBER[TRAIN]), r"value of -1e\+200; .* Divide y"),
        ("gaussian", NUMBER[:7], "7 values for 300"),
        ("gaussian", np.where(np.arange(300) == 3, np.nan, 1.0), "NaN"),
        ("gaussian", ["a"] * 300, "could not convert"),
        ("ordinal", NUMBER[TRAIN], "is not one of"),
    ],
)
def test_responses_that_cannot_be_used_are_an_error(kind, y, error):
    with pytest.raises(ValueError, match=error):
        SupervisedLDA(6, response=kind).fit(X[TRAIN], y)


@pytest.mark.parametrize("scale", [1e-200, 1e80])
def test_numbers_of_any_unit_are_predicted(scale):
    model, other = (
        SupervisedLDA(6, response="gaussian", response_weight=10.0, max_iter=3, random_state=0, n_jobs=1).fit(
            X[TRAIN], unit * NUMBER[TRAIN]
        )
        for unit in (1.0, scale)
    )
    np.testing.assert_allclose(other.predict(X[TEST]) / scale, model.predict(X[TEST]), rtol=0.2, atol=0.2)


def test_whole_numbers_are_shown_as_given():
    model = SupervisedLDA(2, response_weight=0.0, max_iter=1, random_state=0)
    assert model.fit(X[TRAIN], [2, 10**30] * 150).classes_.tolist() == [2, 10**30]
    assert model.fit(X[TRAIN], [2.0, 2.0**53] * 150).classes_.tolist() == [2, 2**53]


def test_what_responses_have_not_is_said(fitted):
    y = Y[fitted.response][TRAIN]
    for settings, error in [
        ({"inference": "cvb0"}, "needs inference="),
        ({"doc_topic_prior": topmix.priors.Covariates("a")}, "no Covariates"),
        ({"topic_word_prior": topmix.priors.ByGroup("a")}, "no ByGroup"),
        ({"response_weight": -1.0}, "response_weight"),
    ]:
        with pytest.raises(ValueError, match=error):
            clone(fitted).set_params(**settings).fit(X[TRAIN], y)
    with pytest.raises(TypeError, match="metadata"):
        clone(fitted).fit(X[TRAIN], y, metadata={"a": y})
    with pytest.raises(ValueError, match="compares with responses"):
        fitted.score(X[TEST])
    with pytest.raises(ValueError, match="min_weight"):
        fitted.predict(X[TEST], min_weight=0.5)
    with pytest.raises(ValueError, match="topics were edited"):
        fitted._with(fitted._fitted).merge_topics([(0, 1)]).predict(X[TEST])
    assert not hasattr(fitted, "partial_fit")


SMALL = {"response_weight": 10.0, "max_iter": 2, "n_jobs": 1, "random_state": 0}


@parametrize_with_checks([SupervisedLDA(2, response=kind, **SMALL) for kind in KINDS])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_an_edited_model_has_no_coefficients():
    model = SupervisedLDA(3, max_iter=2, response_weight=1.0, random_state=0).fit(X, CLASS).merge_topics([(0, 1)])
    assert not any(hasattr(model, name) for name in ("coef_", "intercept_", "classes_", "response_weight_"))
    with pytest.raises(ValueError, match="topics were edited"):
        model.predict(X)
