"""Topics with versions: words of topics that change over time or differ between groups."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln
from sklearn.base import clone

import topmix
import topmix.plot
import topmix.report
from topmix import HDP, LDA, LabelledLDA
from topmix.apps.page.topics import depends
from topmix.data import Corpus
from topmix.inference import Collapsed, Variational
from topmix.io.priors import VersionColumn
from topmix.models.topic_words import TopicWords
from topmix.models.word_versions import WordVersions, words_of
from topmix.models.words import WordStats, WordTotal
from topmix.priors import ByGroup, Covariates, OverTime

T, K, V = 6, 4, 120


def planted(seed, per_version=60, length=80):
    """Each topic has 12 words of its own, and 3 more that only one period has."""
    rng = np.random.default_rng(seed)
    phi = np.full((T, K, V), 1e-4)
    for k in range(K):
        phi[:, k, 12 * k : 12 * k + 12] += rng.dirichlet(np.full(12, 5.0))
        for t in range(T):
            first = 12 * K + (k * T + t) * 3
            phi[t, k, first : first + 3] += 0.15
    phi /= phi.sum(axis=2, keepdims=True)
    t = np.repeat(np.arange(T), per_version)
    theta = rng.dirichlet(np.full(K, 0.2), len(t))
    X = np.array([rng.multinomial(length, a @ phi[b]) for a, b in zip(theta, t)])
    order = rng.permutation(len(t))
    return (
        sp.csr_array(X[order]),
        pd.DataFrame({"year": 2000 + t[order], "group": np.array(list("abcdef"))[t[order]]}),
        phi,
    )


X, FRAME, PHI = planted(0)
QUICK = {"inference": Collapsed(sweeps=20), "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module", params=[OverTime("year"), ByGroup("group")], ids=["time", "group"])
def fitted(request):
    return LDA(K, topic_word_prior=request.param, **QUICK).fit(X, metadata=FRAME)


def matched(lda):
    return linear_sum_assignment(-PHI.mean(axis=0) @ lda.topic_word_.T)[1]


def period_words(k, t):
    first = 12 * K + (k * T + t) * 3
    return {str(v) for v in range(first, first + 3)}


@pytest.mark.parametrize("prior", [OverTime("year"), ByGroup("group")])
@pytest.mark.parametrize("seed", range(3))
def test_planted_words_of_each_period_are_found(prior, seed):
    X, frame, phi = planted(seed)
    lda = LDA(K, topic_word_prior=prior, **QUICK | {"random_state": seed}).fit(X, metadata=frame)
    order = linear_sum_assignment(-phi.mean(axis=0) @ lda.topic_word_.T)[1]
    for t, version in enumerate(lda.versions_):
        found = lda.topic_word_of(version)[order]
        assert np.abs(found - phi[t]).sum(axis=1).max() < 0.35  # total variation, twice
        shared = np.abs(lda.topic_word_[order] - phi[t]).sum(axis=1)
        assert (np.abs(found - phi[t]).sum(axis=1) < 0.5 * shared).all()


def test_tables_have_the_words_that_were_planted(fitted):
    order = matched(fitted)
    table = fitted.words_by(n_words=12)
    changed = fitted.changed_words(n_words=18)
    for k in range(K):
        for t, version in enumerate(fitted.versions_):
            rows = table[(table["topic"] == order[k]) & (table["version"] == version)]
            assert period_words(k, t) <= set(rows["word"])
            assert rows["weight"].is_monotonic_decreasing
        words = set(changed[changed["topic"] == order[k]]["word"])
        assert words == set().union(*(period_words(k, t) for t in range(T)))
    first = changed[changed["word"].isin(period_words(0, 0)) & (changed["topic"] == order[0])]
    assert (first["highest"] == fitted.versions_[0]).all()
    assert (fitted.words_by(topic=1, n_words=3)["topic"] == 1).all()
    info = fitted.topic_versions()
    assert list(info.columns) == ["topic", "name", "version", "tokens", "share", "distance", "state"]
    assert np.isclose(info["tokens"].sum(), X.sum(), rtol=1e-4)
    assert np.allclose(info.groupby("version")["share"].sum(), 1.0)


def test_trends_over_time_begin_and_fade():
    X, frame, _ = planted(1)
    lda = LDA(K, topic_word_prior=OverTime("year"), **QUICK).fit(X, metadata=frame)
    order = linear_sum_assignment(-PHI.mean(axis=0) @ lda.topic_word_.T)[1]
    changed = lda.changed_words(n_words=18).set_index(["topic", "word"])["trend"]
    assert all(changed[order[0], w] == "falls" for w in period_words(0, 0))
    assert all(changed[order[0], w] == "rises" for w in period_words(0, T - 1))
    keep = ~((frame["year"] < 2003) & (X[:, :12].sum(axis=1) > 4))  # no documents on topic 0 in early years
    later = LDA(K, topic_word_prior=OverTime("year"), **QUICK).fit(X[keep.to_numpy()], metadata=frame[keep])
    info = later.topic_versions()
    born = info[info["state"] == "begins"]
    assert len(born) == 1
    assert born["version"].tolist() == ["2003-01-01"]


def slow(counts, place, rho, gamma, eta, rounds):
    """NumPy with every array dense: counts [T, V, K]."""
    W = np.ones((len(counts), len(counts))) if place is None else gamma ** np.abs(place[:, None] - place[None, :])
    m = counts.copy()

    def priors(m):
        parent = np.tensordot(W, m, 1) + eta
        return rho * parent / parent.sum(axis=1, keepdims=True)

    for _ in range(rounds):
        a = priors(m)
        m = np.where(counts > 1, a * (digamma(a + counts) - digamma(a)), counts)
    a = priors(m)
    f = np.where(counts > 1, gammaln(a + counts) - gammaln(a), counts * np.log(a))
    N = counts.sum(axis=1)
    bound = float(f.sum() + (gammaln(rho) - gammaln(rho + N)).sum())
    if place is None:
        psi = a[0] / rho
        bound += eta * float(np.log(psi).sum())
    return a, bound


def drawn_counts(seed, n_versions=5, n_words=30, n_topics=3):
    rng = np.random.default_rng(seed)
    dense = rng.gamma(0.3, 8.0, (n_versions, n_words, n_topics)) * (rng.random((n_versions, n_words, n_topics)) < 0.6)
    dense = dense.astype(np.float32)
    dense[2] *= np.arange(n_words)[:, None] < 7
    made = []
    for n in dense:
        cols = np.flatnonzero(n.any(axis=1)).astype(np.int32)
        rows = sp.csr_array(n[cols])
        topic = rows.indices.astype(np.uint16)
        made.append(WordStats(cols, rows.indptr.astype(np.int64), topic, rows.data, n.sum(axis=0, dtype=np.float64)))
    return dense.astype(np.float64), made


@pytest.mark.parametrize("place", [None, np.array([0.0, 1.0, 2.0, 5.0, 6.0])])
@pytest.mark.parametrize("posterior", ["collapsed", "variational"])
def test_parents_and_bound_equal_the_slow_ones(place, posterior):
    dense, counts = drawn_counts(0)
    rho = np.array([20.0, 50.0, 400.0])
    like = TopicWords(np.full((1, 1), 0.1), WordTotal.zeros(30, 3), posterior)
    made = WordVersions.start(counts, np.zeros(0) if place is None else place, rho, 0.7, like, 0.01)
    a, bound = slow(dense, place, rho, 0.7, 0.01, 2)
    assert np.isclose(made.bound(), bound, rtol=1e-6)
    for t in range(5):
        words = made.words(t)
        expected = dense[t] + a[t]
        assert np.allclose(words.pseudo_counts(), expected.T, rtol=1e-5)
        assert np.allclose(words.norm(), expected.sum(axis=0), rtol=1e-6)
        assert np.allclose(made.mean(t), (expected / expected.sum(axis=0)).T, rtol=1e-5)


def test_rounds_of_a_shared_parent_lift_the_bound():
    for seed in range(5):
        _, counts = drawn_counts(seed)
        like = TopicWords(np.full((1, 1), 0.1), WordTotal.zeros(30, 3), "variational")
        now = WordVersions.start(counts, np.zeros(0), np.array([20.0, 50.0, 400.0]), 1.0, like, 0.01)
        bounds = [(now := now.redrawn(1)).bound() for _ in range(30)]
        assert np.all(np.diff(bounds) > -1e-6 * abs(bounds[0]))
        assert bounds[-1] > bounds[0]


def test_the_objective_rises_with_groups_and_variational_inference():
    inference = Variational(min_topic_mass=0.0)
    lda = LDA(
        K, topic_word_prior=ByGroup("group"), inference=inference, tol=0.0, n_active=None, n_jobs=1, random_state=0
    )
    lda.fit(X, metadata=FRAME)
    found = [record.objective for record in lda.history_ if record.phase == "versions"]
    assert len(found) > 3
    assert np.all(np.diff(found[2:]) > -1e-7 * abs(found[0]))  # documents start from their words twice


def test_versions_predict_better_than_shared_topics(fitted):
    fresh, frame, _ = planted(7)
    plain = LDA(K, **QUICK).fit(X)
    assert fitted.score(fresh, metadata=frame) > fitted.score(fresh) + 0.05 * fresh.sum()
    assert fitted.score(fresh, metadata=frame) > plain.score(fresh) + 0.05 * fresh.sum()
    assert fitted.perplexity(fresh, metadata=frame) < fitted.perplexity(fresh)


def test_rows_of_transform_are_those_of_their_version(fitted):
    theta = fitted.transform(X, metadata=FRAME)
    assert np.allclose(theta.sum(axis=1), 1.0)
    some = np.array([5, 80, 7, 200])
    assert np.allclose(fitted.transform(X[some], metadata=FRAME.iloc[some]), theta[some], atol=1e-6)
    sparse = fitted.transform(X, metadata=FRAME, sparse_output=True)
    assert np.abs(sparse.toarray() - theta).max() < 0.1
    with pytest.raises(ValueError, match="3 values for 4"):
        fitted.transform(X[:4], metadata=FRAME[:3])


def test_unseen_versions_have_the_parent_or_the_nearest_period():
    by_group = LDA(K, topic_word_prior=ByGroup("group"), **QUICK).fit(X, metadata=FRAME)
    new = by_group.transform(X[:5], metadata={"group": ["other"] * 5})
    assert np.allclose(new.sum(axis=1), 1.0)
    assert not np.array_equal(new, by_group.transform(X[:5], metadata={"group": ["a"] * 5}))
    with pytest.raises(ValueError, match="no version 'other'; there are 'a', 'b'"):
        by_group.topic_word_of("other")
    over_time = LDA(K, topic_word_prior=OverTime("year"), **QUICK).fit(X, metadata=FRAME)
    last = over_time.transform(X[:5], metadata={"year": [2005] * 5})
    assert np.array_equal(over_time.transform(X[:5], metadata={"year": [2050] * 5}), last)
    assert np.array_equal(over_time.topic_word_of(1990), over_time.topic_word_of("2000-05-01"))


def test_a_file_has_the_versions(fitted, tmp_path):
    fitted.save(tmp_path / "model.topmix")
    loaded = topmix.load(tmp_path / "model.topmix")
    assert loaded.topic_word_prior == fitted.topic_word_prior
    assert loaded.versions_ == fitted.versions_
    for version in fitted.versions_:
        assert np.array_equal(loaded.topic_word_of(version), fitted.topic_word_of(version))
    assert np.array_equal(loaded.transform(X, metadata=FRAME), fitted.transform(X, metadata=FRAME))
    assert loaded.history_[-1].phase == "versions"
    assert loaded.changed_words().equals(fitted.changed_words())


@pytest.mark.parametrize("settings", [{"n_jobs": 3}, {"engine": "serial"}])
def test_the_same_bits_for_any_threads(settings):
    prior = OverTime("year")
    one = LDA(K, topic_word_prior=prior, **QUICK).fit(X, metadata=FRAME)
    other = LDA(K, topic_word_prior=prior, **QUICK | settings).fit(X, metadata=FRAME)
    assert all(np.array_equal(one.topic_word_of(v), other.topic_word_of(v)) for v in one.versions_)
    assert one.objective_ == other.objective_


@pytest.mark.parametrize(
    "settings",
    [{"learner": "batch"}, {"learner": "stochastic"}, {"learner": "asynchronous", "inference": "variational"}],
)
def test_every_learner_ends_with_versions(settings):
    lda = LDA(K, topic_word_prior=OverTime("year"), **QUICK | settings).fit(X, metadata=FRAME)
    assert lda.history_[-1].phase == "versions"
    assert len(lda.versions_) == T
    assert np.isclose(lda.components_.sum(), X.sum() + lda.topic_word_prior_ * V * K, rtol=1e-4)


def test_columns_of_a_table_and_covariates_beside_versions():
    texts = ["apples pears plums", "ships sails masts", "pears plums", "sails masts anchors"] * 15
    table = pd.DataFrame({"text": texts, "day": pd.date_range("2020-01-15", periods=60, freq="10D")})
    lda = LDA(2, topic_word_prior=OverTime("day", freq="quarter"), random_state=0, max_iter=3)
    lda.fit(table, text="text")
    assert lda.versions_[:2] == ["2020-01-01", "2020-04-01"]
    assert set(lda.words_by()["word"]) <= {"apples", "pears", "plums", "ships", "sails", "masts", "anchors"}
    both = LDA(K, doc_topic_prior=Covariates("group"), topic_word_prior=OverTime("year"), max_iter=4)
    both.fit(X, metadata=FRAME)
    assert len(both.effects()) == K * 6
    assert both.transform(X, metadata=FRAME).shape == (X.shape[0], K)


def test_years_of_files_and_gaps_between_periods(tmp_path):
    column, version = OverTime("year").versions({"year": [2001, "2001-06-02", 2004.0, 2001]}, 4)
    assert column.names == ("2001-01-01", "2004-01-01")
    assert version.tolist() == [0, 0, 1, 0]
    assert np.diff(column.place).tolist() == [3.0]
    path = tmp_path / "texts.csv"
    path.write_text("text,year\napples pears,2001\nships sails,2002\napples ships,2002\n")
    assert OverTime("year").versions(path, 3)[1].tolist() == [0, 1, 1]


def test_errors_say_what_to_do(fitted):
    with pytest.raises(ValueError, match="freq='decade' is not one of"):
        OverTime("year", freq="decade")
    with pytest.raises(ValueError, match="no column 'when'"):
        LDA(K, topic_word_prior=OverTime("when")).fit(X, metadata=FRAME)
    with pytest.raises(ValueError, match="no value for 1 of"):
        LDA(K, topic_word_prior=ByGroup("g")).fit(X, metadata={"g": [None, *FRAME["group"][1:]]})
    with pytest.raises(ValueError, match="is not a date"):
        LDA(K, topic_word_prior=OverTime("group")).fit(X, metadata=FRAME)
    with pytest.raises(ValueError, match="partial_fit learns nothing of columns"):
        LDA(K, topic_word_prior=ByGroup("group")).partial_fit(X)
    with pytest.raises(ValueError, match="needs inference='collapsed' or 'variational'"):
        LDA(K, topic_word_prior=ByGroup("group"), inference="cvb0").fit(X, metadata=FRAME)
    with pytest.raises(ValueError, match="cannot be combined with seeds"):
        LDA(K, topic_word_prior=ByGroup("group"), seeds=[[0, 1]]).fit(X, metadata=FRAME)
    with pytest.raises(ValueError, match="cannot be edited yet"):
        clone(fitted).fit(X, metadata=FRAME).drop_topics([0])
    with pytest.raises(ValueError, match="topic_word_prior must be"):
        HDP(topic_word_prior=ByGroup("group")).fit(X)
    with pytest.raises(ValueError, match="LabelledLDA has no ByGroup"):
        LabelledLDA(topic_word_prior=ByGroup("group")).fit(X, FRAME["group"])
    with pytest.raises(ValueError, match="one version of each topic"):
        LDA(K, max_iter=1).fit(X).words_by()
    with pytest.raises(ValueError, match="needs all three"):
        fitted.words_by(X, "group")
    with pytest.raises(ValueError, match="makes 6000 versions"):
        ByGroup("g").versions({"g": list(range(6000))}, 6000)


@pytest.mark.parametrize(
    "about",
    [
        {"column": 1, "names": ["a"], "freq": None},
        {"column": "a", "names": [], "freq": None},
        {"column": "a", "names": ["b", "b"], "freq": None},
        {"column": "a", "names": ["2001-01-01", "2000-01-01"], "freq": "year"},
        {"column": "a", "names": ["x"], "freq": "year"},
        {"column": "a", "names": ["2001-01-01"], "freq": "age"},
    ],
)
def test_forged_versions_are_refused(about):
    with pytest.raises(topmix.base.fields.ModelFileError):
        VersionColumn.read(about)


def test_a_checkpoint_continues_and_empty_documents_are_no_error(tmp_path):
    some = sp.vstack([X, sp.csr_array((2, V))], format="csr")
    frame = pd.concat([FRAME, FRAME[:2]])
    whole = LDA(K, topic_word_prior=OverTime("year"), **QUICK).fit(some, metadata=frame)
    lda = LDA(K, topic_word_prior=OverTime("year"), **QUICK)
    lda.fit(some, metadata=frame, checkpoint=tmp_path / "c")
    again = clone(lda).fit(some, metadata=frame, checkpoint=tmp_path / "c")
    assert np.array_equal(whole.topic_word_of(2003), again.topic_word_of(2003))
    assert again.transform(Corpus.from_scipy(some)).shape == (len(frame), K)


def test_words_of_entries():
    _, counts = drawn_counts(1)
    n = counts[0]
    assert len(words_of(n)) == len(n.value)


def test_pages_and_a_plot_show_versions(fitted, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    ax = topmix.plot.words_by(fitted, 1, n=4)
    assert len(ax.get_lines()) == 4
    with pytest.raises(ValueError, match="no word 'x'"):
        topmix.plot.words_by(fitted, 1, words=["x"])
    shown = depends(fitted._fitted)["depends"]["versions"]
    assert shown["names"] == fitted.versions_
    assert len(shown["words"]) == K
    k = int(matched(fitted)[0])
    assert period_words(0, 1) <= set(shown["words"][k][1])
    topmix.report.write_report(fitted, tmp_path / "report.html")
    assert '"depends":{"versions":' in (tmp_path / "report.html").read_text()


def test_pages_show_effects():
    lda = LDA(K, doc_topic_prior=Covariates("group"), max_iter=2, random_state=0).fit(X, metadata=FRAME)
    shown = depends(lda._fitted)["depends"]["effects"]
    assert shown["terms"][0] == "Intercept"
    assert np.shape(shown["rows"]) == (K, 6, 3)
    assert np.allclose([row[1][0] for row in shown["rows"]], lda.effects()["estimate"][1::6], rtol=1e-3)
    assert shown["rows"][0][0][1] is None  # no draws, no interval
    assert depends(LDA(K, max_iter=1).fit(X)._fitted) == {}
