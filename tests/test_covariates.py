"""Topics that depend on covariates: formulas, fits, effects, files."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.interpolate import BSpline
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

import topmix
from topmix import HDP, LDA
from topmix.data import Corpus
from topmix.inference import Collapsed
from topmix.io.formulas import Design, terms_of
from topmix.learners import Memoized
from topmix.priors import ByGroup, Covariates


def planted(seed, D=240, V=80, K=4, length=60):
    """Counts, columns beside them, the coefficients [K, 3] of intercept, group b and x, and the topics."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.06), K)
    group, x = rng.integers(2, size=D), rng.normal(size=D)
    effects = np.column_stack([np.full(K, -1.0), rng.permutation([1.5, -1.5, 0.0, 0.0]), rng.normal(0, 0.6, K)])
    alpha = np.exp(np.column_stack([np.ones(D), group, x]) @ effects.T)
    theta = np.array([rng.dirichlet(a) for a in alpha])
    X = np.array([rng.multinomial(length, t @ phi) for t in theta])
    return sp.csr_array(X), pd.DataFrame({"group": np.array(["a", "b"])[group], "x": x}), effects, phi


QUICK = {"learner": "batch", "n_jobs": 1}
X, FRAME, EFFECTS, PHI = planted(0)
FORMULA = Covariates("group + x")


@pytest.fixture(scope="module")
def fitted():
    return LDA(4, doc_topic_prior=FORMULA, random_state=0, **QUICK).fit(X, metadata=FRAME)


def matched(lda, phi):
    return linear_sum_assignment(-phi @ lda.topic_word_.T)[1]


@pytest.mark.parametrize("seed", range(5))
def test_planted_effects_are_found(seed):
    X, frame, effects, phi = planted(seed)
    inference = Collapsed(sweeps=40)
    lda = LDA(4, doc_topic_prior=FORMULA, inference=inference, random_state=seed, **QUICK).fit(X, metadata=frame)
    table = lda.effects()
    found = table["estimate"].to_numpy().reshape(4, 3)[matched(lda, phi)]
    assert np.abs(found - effects)[:, 1:].max() < 0.75
    assert np.corrcoef(found[:, 1:].ravel(), effects[:, 1:].ravel())[0, 1] > 0.95
    wide = (table["high"] - table["low"]).to_numpy()
    assert np.all((wide > 0.1) & (wide < 1.5))


def test_effects_are_a_table_by_topic_and_term(fitted):
    table = fitted.effects()
    assert list(table.columns) == ["topic", "name", "term", "estimate", "low", "high"]
    assert list(table["term"][:3]) == ["Intercept", "group[T.b]", "x"]
    assert list(table["topic"]) == list(np.repeat(np.arange(4), 3))
    assert list(table["name"][:1]) == fitted.topic_names_[:1]
    assert np.all((table["low"] < table["estimate"]) & (table["estimate"] < table["high"]))
    narrow = fitted.effects(level=0.5)
    assert np.all(narrow["low"] > table["low"])
    with pytest.raises(ValueError, match="level"):
        fitted.effects(level=2)


def test_expected_shares_are_what_the_prior_expects(fitted):
    asked = pd.DataFrame({"group": ["a", "b", "b"], "x": [0.0, 0.0, 1.5]})
    table = fitted.expected_shares(asked)
    assert list(table.columns) == ["row", "topic", "name", "share", "low", "high"]
    share = table["share"].to_numpy().reshape(3, 4)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    coefficients = fitted.effects()["estimate"].to_numpy().reshape(4, 3)
    alpha = np.exp(np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1.5]]) @ coefficients.T)
    np.testing.assert_allclose(share, alpha / alpha.sum(axis=1, keepdims=True), rtol=1e-6)
    assert np.all((table["low"] < table["share"]) & (table["share"] < table["high"]))
    same = fitted.expected_shares({"group": ["a", "b", "b"], "x": [0.0, 0.0, 1.5]})
    pd.testing.assert_frame_equal(same, table)


def test_history_says_when_effects_were_drawn(fitted):
    phases = [record.phase for record in fitted.history_]
    assert phases.count("drawing") == 100
    assert phases[-1] == "polishing"
    few = clone(fitted).set_params(inference=Collapsed(sweeps=6), max_iter=20).fit(X, metadata=FRAME)
    phases = [record.phase for record in few.history_]
    assert (phases.count("sampling"), phases.count("drawing")) == (6, 8)
    assert phases[-2:] == ["polishing"] * 2
    assert few.effects()["low"].isna().all()
    assert fitted.doc_topic_prior_.shape == (4,)


def test_every_way_to_pass_columns_gives_the_same_topics(fitted, tmp_path):
    lda = clone(fitted).set_params(max_iter=3)
    first = lda.fit(X, metadata=FRAME).components_
    for beside in (pl.from_pandas(FRAME), {"group": list(FRAME["group"]), "x": FRAME["x"]}):
        np.testing.assert_array_equal(lda.fit(Corpus.from_scipy(X), metadata=beside).components_, first)
    texts = [" ".join(f"w{v:02}" for v in np.repeat(np.arange(80), row)) for row in X.toarray()]
    table = FRAME.assign(text=texts)
    in_table = lda.fit(table, text="text").components_
    theta = lda.transform(table)
    np.testing.assert_array_equal(lda.transform(texts, metadata=FRAME), theta)
    assert not np.array_equal(lda.transform(texts), theta)  # the mean prior
    table.to_csv(tmp_path / "texts.csv", index=False)
    np.testing.assert_allclose(lda.fit(tmp_path / "texts.csv", text="text").components_, in_table)
    np.testing.assert_allclose(lda.transform(tmp_path / "texts.csv"), theta, rtol=1e-4, atol=1e-6)


def test_documents_are_transformed_with_their_own_prior(fitted):
    none = sp.csr_array((2, X.shape[1]))
    asked = FRAME.iloc[:2]
    share = fitted.expected_shares(asked)["share"].to_numpy().reshape(2, 4)
    np.testing.assert_allclose(fitted.transform(none, metadata=asked), share)
    mean = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    np.testing.assert_allclose(fitted.transform(none), [mean, mean])
    dense = fitted.transform(X, metadata=FRAME)
    few = fitted.transform(X, metadata=FRAME, sparse_output=True)
    used = few.toarray() > 0
    np.testing.assert_allclose(few.toarray()[used], dense[used], rtol=1e-6)
    assert fitted.score(X, metadata=FRAME) != fitted.score(X)
    np.testing.assert_array_equal(clone(fitted).set_params(max_iter=2).fit_transform(X, metadata=FRAME).shape, (240, 4))


def test_a_model_in_a_file_has_the_same_effects(fitted, tmp_path):
    fitted.save(tmp_path / "m.topmix")
    loaded = topmix.load(tmp_path / "m.topmix")
    assert loaded.doc_topic_prior == FORMULA
    pd.testing.assert_frame_equal(loaded.effects(), fitted.effects())
    np.testing.assert_array_equal(loaded.transform(X, metadata=FRAME), fitted.transform(X, metadata=FRAME))


@pytest.mark.parametrize("stop", [3, 20, 60])
def test_a_resumed_fit_equals_an_uninterrupted_one(stop, tmp_path):
    lda = LDA(
        4, doc_topic_prior=FORMULA, inference=Collapsed(sweeps=12), random_state=0, callbacks=[], max_iter=None, **QUICK
    )

    class Stop(Exception):
        pass

    def stops(record, view):
        if record.n_pass == stop + 1:
            raise Stop

    path = tmp_path / "checkpoint"
    with pytest.raises(Stop):
        clone(lda).set_params(callbacks=[stops]).fit(X, metadata=FRAME, checkpoint=path)
    resumed = clone(lda).fit(X, metadata=FRAME, checkpoint=path)
    whole = clone(lda).fit(X, metadata=FRAME)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    pd.testing.assert_frame_equal(resumed.effects(), whole.effects())
    with pytest.raises(ValueError, match="covariates"):
        clone(lda).fit(X, metadata=FRAME.assign(x=0.0), checkpoint=path)


@pytest.mark.parametrize(
    "settings",
    [
        {"inference": "variational"},
        {"inference": "variational", "learner": "stochastic"},
        {"inference": "cvb0"},
        {"inference": "scvb0", "learner": "stochastic"},
        {"inference": Collapsed(sweeps=0)},
    ],
    ids=str,
)
def test_every_inference_learns_effects(settings):
    settings = {**QUICK, "n_active": None, "max_iter": 40, "tol": -1e9, **settings}
    lda = LDA(4, doc_topic_prior=FORMULA, random_state=0, **settings).fit(X, metadata=FRAME)
    table = lda.effects()
    found = table["estimate"].to_numpy().reshape(4, 3)[matched(lda, PHI)]
    assert found[EFFECTS[:, 1] > 1, 1] > 1
    assert found[EFFECTS[:, 1] < -1, 1] < -0.8
    assert table["low"].isna().all()  # nothing was drawn


def test_the_same_bits_for_any_number_of_threads(fitted):
    learner = Memoized(batch_size=80)
    lda = clone(fitted).set_params(learner=learner, inference=Collapsed(sweeps=5), max_iter=25, n_jobs=1)
    one = lda.fit(X, metadata=FRAME)
    assert [record.phase for record in one.history_].count("drawing") > 9
    for other in ({"n_jobs": 3}, {"engine": "serial"}):
        again = clone(lda).set_params(**other).fit(X, metadata=FRAME)
        np.testing.assert_array_equal(again.components_, one.components_)
        np.testing.assert_array_equal(again.effects()["estimate"], one.effects()["estimate"])


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (
            FRAME.assign(x=FRAME["x"].where(FRAME.index != 17)),
            "column 'x' has no value for 1 of 240 documents, document 17",
        ),
        (FRAME.drop(columns="x"), "no column 'x'"),
        (FRAME.iloc[:9], "9 values for 240 documents"),
        (FRAME.assign(x=np.inf), "infinite"),
        (FRAME.assign(group=[f"g{i}" for i in range(240)]), "240 different values"),
    ],
)
def test_columns_that_cannot_be_used_are_an_error(frame, error):
    with pytest.raises(ValueError, match=error):
        LDA(4, doc_topic_prior=FORMULA).fit(X, metadata=frame)


def test_what_has_no_covariates_says_so(fitted):
    with pytest.raises(ValueError, match="metadata= has the columns of Covariates"):
        LDA(2, max_iter=1).fit(X, metadata=FRAME)
    plain = LDA(2, max_iter=1, random_state=0).fit(X)
    for ask in (plain.effects, lambda: plain.expected_shares(FRAME)):
        with pytest.raises(ValueError, match="no covariates"):
            ask()
    with pytest.raises(ValueError, match="metadata= is for models"):
        plain.transform(X, metadata=FRAME)
    with pytest.raises(ValueError, match="has 'c', and the fit knew 'a', 'b'"):
        fitted.transform(X[:1], metadata={"group": ["c"], "x": [0.0]})
    with pytest.raises(ValueError, match="2 values for 240 documents"):
        fitted.transform(X, metadata=FRAME.iloc[:2])
    with pytest.raises(ValueError, match="partial_fit"):
        LDA(2, doc_topic_prior=FORMULA).partial_fit(X)
    with pytest.raises(ValueError, match="asynchronous"):
        LDA(2, doc_topic_prior=FORMULA, inference="variational", learner="asynchronous").fit(X, metadata=FRAME)
    with pytest.raises(ValueError, match="doc_topic_prior"):
        HDP(2, doc_topic_prior=FORMULA).fit(X, metadata=FRAME)


def test_topics_can_be_dropped_and_not_merged(fitted):
    lda = fitted._with(fitted._fitted)
    lda.drop_topics([1])
    assert list(lda.effects()["topic"].unique()) == [0, 1, 2]
    kept = fitted.effects()
    np.testing.assert_array_equal(lda.effects()["estimate"], kept["estimate"][kept["topic"] != 1])
    with pytest.raises(ValueError, match="cannot be merged"):
        lda.merge_topics([(0, 1)])


def test_a_warm_start_goes_on_from_the_effects(fitted):
    lda = fitted._with(fitted._fitted).set_params(warm_start=True, max_iter=2)
    lda.fit(X, metadata=FRAME)
    np.testing.assert_allclose(lda.effects()["estimate"], fitted.effects()["estimate"], atol=1.0)


def test_formulas_become_terms():
    assert terms_of("a + b") == [("a",), ("b",)]
    assert terms_of("a*b + a:c") == [("a",), ("b",), ("a", "b"), ("a", "c")]
    assert terms_of("~ `my column` + C(b)") == [("`my column`",), ("C(b)",)]
    assert terms_of("a + a") == [("a",)]


@pytest.mark.parametrize(
    "formula",
    [
        "",
        " ",
        "a +",
        "+ a",
        "a.b",
        "exp(a)",
        "__import__('os').getcwd()",
        "C(a, b)",
        "bs(a, b)",
        "bs(a)",
        "bs(a, 2)",
        "bs(a, 999)",
        "C(a, 4)",
        "(a",
        3,
        "a-b",
    ],
)
def test_what_is_no_formula_is_an_error(formula):
    with pytest.raises(ValueError, match=r"formula"):
        Covariates(formula)


@pytest.mark.parametrize("formula", ["*".join(f"a{i}" for i in range(60)), "a + " * 10_000 + "a"], ids=["*", "+"])
def test_a_formula_that_would_take_for_ever_is_an_error(formula):
    with pytest.raises(ValueError, match=r"a formula .* at most"):
        Covariates(formula)


COLUMNS = {
    "s": ["b", "a", "c", "a", "b", "c", "a"],
    "n": [3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0],
    "m": [1, 0, 2, 0, 1, 5, 3],
    "flag": [True, False, True, True, False, False, True],
}


@pytest.mark.parametrize("formula", ["s + n", "s * n", "n:m", "s*n*m", "C(m) + log(n)", "flag + n"])
def test_coefficients_are_in_the_users_units(formula):
    """A linear predictor is the same from columns as they are and from standardised ones."""
    design, rows = Covariates(formula).design(COLUMNS, 7)
    x = rows.x[rows.row]
    coefficients = np.random.default_rng(0).normal(size=x.shape[1])
    table = pd.DataFrame(COLUMNS)
    raw = []
    for name in design.names:
        column = np.ones(7)
        for factor in [] if name == "Intercept" else name.split(":"):
            text, _, level = factor.partition("[T.")
            values = table[text.removeprefix("C(").removeprefix("log(").rstrip(")")]
            if level:
                column = column * (values.astype(str) == level.rstrip("]"))
            else:
                column = column * (np.log(values) if text.startswith("log") else values)
        raw.append(column)
    if formula == "n:m":  # without n and m, numbers stay measured from their mean
        assert design.units()[1, 1] == pytest.approx(1 / (np.std(COLUMNS["n"]) * np.std(COLUMNS["m"])))
        return
    np.testing.assert_allclose(np.stack(raw, axis=1) @ (design.units() @ coefficients), x @ coefficients)


@pytest.mark.parametrize("formula", ["s * n", "C(m) + log(n)"])
def test_a_design_in_a_file_makes_the_same_columns(formula):
    design, rows = Covariates(formula).design(COLUMNS, 7)
    again = Design.read(json.loads(json.dumps(design.about())))
    part = again.rows({name: values[2:5] for name, values in COLUMNS.items()})
    np.testing.assert_allclose(part.x[part.row], rows.x[rows.row][2:5])


@pytest.mark.parametrize(
    "damage",
    [
        {"terms": []},
        {"terms": [["other"]]},
        {"factors": []},
        {"factors": [{"text": "__import__('os')", "levels": ["a"], "mean": [], "scale": [], "knots": []}]},
        {"factors": [{"text": "s", "levels": [1], "mean": [], "scale": [], "knots": []}]},
        {"factors": [{"text": "s", "levels": [], "mean": [0], "scale": [0], "knots": []}]},
        {"factors": [{"text": "s", "levels": [], "mean": ["nan"], "scale": [1], "knots": []}]},
        {"factors": [{"text": "s", "levels": [], "mean": [0] * 3, "scale": [1] * 3, "knots": [2, 1]}]},
        {"factors": [{"text": "s", "levels": [], "mean": [0] * 2, "scale": [1] * 2, "knots": [1]}]},
        {"factors": [{"text": "s", "levels": [], "mean": [0], "scale": [1], "knots": [1, 2]}]},
        {"factors": 3},
    ],
)
def test_a_damaged_design_is_refused(damage):
    design, _ = Covariates("s").design(COLUMNS, 7)
    with pytest.raises(ValueError, match="make no sense"):
        Design.read(design.about() | damage)


def test_a_spline_spans_what_cubic_b_splines_with_knots_at_quantiles_do():
    n = np.sort(np.random.default_rng(0).normal(size=50))
    for df, formula in ((4, "bs(n, 4)"), (7, "bs(n, df=7)")):
        design, rows = Covariates(formula).design({"n": n}, 50)
        x = rows.x[rows.row]
        assert x.shape == (50, df + 1)
        inner = np.quantile(n, np.linspace(0, 1, df - 1), method="nearest")
        wanted = BSpline.design_matrix(n, np.r_[[inner[0]] * 3, inner, [inner[-1]] * 3], 3).toarray()
        np.testing.assert_allclose(x @ np.linalg.lstsq(x, wanted, rcond=None)[0], wanted, atol=1e-9)
        again = Design.read(json.loads(json.dumps(design.about()))).rows({"n": n[:9]})
        np.testing.assert_array_equal(again.x[again.row], x[:9])
        beyond = design.rows({"n": [n[0] - 1.0, n[-1] + 1.0]})
        assert np.isfinite(beyond.x).all()
        with pytest.raises(ValueError, match="a spline is infinite there"):
            design.rows({"n": [1e200]})


def test_splines_of_few_different_numbers():
    assert Covariates("bs(n, 9)").design({"n": [1.0, 2.0, 3.0] * 5}, 15)[1].x.shape == (3, 5)  # three knots
    with pytest.raises(ValueError, match="needs a column with different numbers"):
        Covariates("bs(n, 4)").design({"n": [1.0] * 5}, 5)


@pytest.mark.parametrize("as_given", [pd.DataFrame, dict, pl.DataFrame], ids=["pandas", "arrays", "polars"])
def test_columns_of_numbers_are_read_as_they_are(as_given):
    """As a list of the same values: C(year) too, and 32 bits. Documents with equal values share a row."""
    rng = np.random.default_rng(0)
    columns = {"year": rng.integers(2010, 2014, 60), "x": rng.integers(3, size=60).astype(np.float32) / 3}
    listed = {name: values.tolist() for name, values in columns.items()}
    formula = Covariates("C(year) * x")
    design, rows = formula.design(as_given(columns), 60)
    wanted, same = formula.design(listed, 60)
    assert design.about() == wanted.about()
    np.testing.assert_array_equal(rows.x[rows.row], same.x[same.row])
    assert len(rows.x) == len(np.unique(rows.x, axis=0)) == 12
    np.testing.assert_array_equal(rows.x[rows.row], design.rows(listed).x[design.rows(listed).row])
    with pytest.raises(ValueError, match="there are 60 values for 61 documents"):
        formula.design(as_given(columns), 61)
    columns["x"][7] = np.nan
    with pytest.raises(ValueError, match="no value for 1 of 60 documents, document 7"):
        formula.design(as_given(columns), 60)


@pytest.mark.parametrize(
    "prior", [{"doc_topic_prior": FORMULA}, {"topic_word_prior": ByGroup("group")}], ids=["x", "words"]
)
def test_sweeps_and_a_consensus_have_the_columns_of_their_documents(prior):
    lda = LDA(4, inference=Collapsed(sweeps=3), max_iter=8, **QUICK, **prior)
    corpus = Corpus.from_scipy(X)
    result = topmix.sweep(corpus, [2, 4], seeds=1, estimator=lda, metadata=FRAME, verbose=0)
    assert [size.n_components for size in result.sizes] == [2, 4]
    agreed = topmix.consensus(corpus, 4, fits=2, estimator=lda, metadata=FRAME, verbose=0)
    model = agreed.model
    if "doc_topic_prior" in prior:
        found = model.effects()["estimate"].to_numpy().reshape(4, 3)[matched(model, PHI)]
        assert np.corrcoef(found[:, 1:].ravel(), EFFECTS[:, 1:].ravel())[0, 1] > 0.9
    else:
        assert model.versions_ == ["a", "b"]
    assert model.transform(corpus, metadata=FRAME[::-1]).shape == (240, 4)
    with pytest.raises(ValueError, match="a Corpus has no columns"):
        topmix.sweep(corpus, [2, 4], estimator=lda, verbose=0)
    for call in topmix.sweep, topmix.consensus:
        with pytest.raises(ValueError, match="depend on nothing"):
            call(corpus, metadata=FRAME)
    with pytest.raises(ValueError, match="240 values for 239 documents"):
        topmix.consensus(corpus[:239], 4, fits=2, estimator=lda, metadata=FRAME, verbose=0)
