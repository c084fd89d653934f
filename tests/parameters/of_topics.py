"""Facts about parameters of topic models and of chains."""

from __future__ import annotations

import numpy as np
import pytest

from topmix import Seeds
from topmix.chains import Parallel, Sequential
from topmix.engines.local import Serial
from topmix.inference import Collapsed, Variational
from topmix.search import TopicSearch

from .facts import CHAINS, ESTIMATORS, FEW, TOPICS, X, differ, fact, found, in_use, same


@fact("inference", *TOPICS)
def inference_is_what_was_asked_for(fit):
    assert fit().model_.words.posterior == fit(inference=Collapsed()).model_.words.posterior == "collapsed"
    assert fit(inference="variational").model_.words.posterior == "variational"
    if fit.name == "LDA":
        assert differ(fit(inference="cvb0"), fit(learner="batch"))
        assert differ(fit(inference="scvb0", learner="stochastic"), fit(learner="stochastic"))
    else:
        with pytest.raises(ValueError, match="HDP needs inference"):
            fit(inference="cvb0")


@fact("n_active", *TOPICS)
def a_word_keeps_so_many_topics(fit):
    word = np.zeros((1, 30))
    word[0, X.sum(axis=0).argmax()] = 50
    for L in (1, 3):
        model = fit(n_active=L, inference=Variational(min_topic_mass=0.0))
        assert model.transform(word, sparse_output=True).nnz <= L
    assert fit(n_active=None, inference=Variational(min_topic_mass=0.0)).transform(word, sparse_output=True).nnz == 4


@fact("doc_topic_prior", "LDA", "GibbsLDA")
def alpha_is_what_an_empty_document_has(fit):
    alpha = np.array([0.1, 0.2, 0.3, 0.4])
    model = fit(doc_topic_prior=alpha)
    np.testing.assert_allclose(model.transform(np.zeros((1, 30)))[0], alpha)
    assert fit(doc_topic_prior=0.3).doc_topic_prior_ == 0.3
    assert fit().doc_topic_prior_ == 0.5 / 4
    learned = {"sampler": Parallel(learn_every=2)} if fit.name == "GibbsLDA" else {}
    assert len(set(fit(doc_topic_prior="auto", **learned).doc_topic_prior_)) == 4


@fact("doc_topic_prior", "HDP")
def alpha_is_shared_by_topics(fit):
    model = fit(doc_topic_prior=2.0)
    np.testing.assert_allclose(model.doc_topic_prior_, 2 * model.topic_shares_)
    assert fit().concentration_ == 0.5
    assert fit(doc_topic_prior="auto", max_iter=8).concentration_ != 0.5


@fact("smoothing", "CombinatorialLDA")
def smoothing_is_added_to_counts(fit):
    np.testing.assert_allclose(fit(smoothing=0.7).components_ - fit(smoothing=0.2).components_, 0.5)


@fact("exchanges", "CombinatorialLDA")
def without_exchanges_the_third_pass_is_another(fit):
    with_them, without = (fit(exchanges=x, max_iter=4, tol=-np.inf, n_components=8) for x in (True, False))
    assert [r.objective for r in with_them.history_] != [r.objective for r in without.history_]


@fact("early_smoothing", "CombinatorialLDA")
def without_early_smoothing_the_first_pass_is_another(fit):
    smooth, plain = (fit(early_smoothing=x, max_iter=1) for x in (True, False))
    assert smooth.history_[0].objective != plain.history_[0].objective


@fact("seeds", *TOPICS, "GibbsLDA")
def seed_words_are_in_their_topic(fit):
    model = fit(seeds=Seeds([None, [3, 7]], strength=5.0))
    assert np.all(model.topic_word_[:, [3, 7]].argmax(axis=0) == 1)
    assert same(fit(seeds=[None, [3, 7]]), fit(seeds=Seeds([None, [3, 7]])))
    weak, strong = (fit(seeds=Seeds([[3, 7]], strength=s)) for s in (0.1, 3.0))
    assert np.all(strong.components_[0, [3, 7]] > weak.components_[0, [3, 7]])
    model = fit(seeds=Seeds(ban={0: [3]}, pin={2: [7]}))
    assert model.topic_word_[0, 3] < 1e-9
    assert model.topic_word_[[0, 1, 3], 7].max() < 1e-9 < model.topic_word_[2, 7]


@fact("max_time", *ESTIMATORS)
def seconds_end_a_fit(fit):
    assert fit(max_time=1e-9).n_iter_ == 1
    assert fit(max_time=1e9).n_iter_ == fit().n_iter_ > 1


@fact("init", *TOPICS)
def topics_start_where_they_are_told_to(fit):
    given = np.random.default_rng(0).gamma(1, 1, (4, 30))
    start = fit(init=given, max_iter=0)
    np.testing.assert_allclose(start.components_, given + start.topic_word_prior_)
    assert same(fit(init=start, max_iter=0), fit(init=start.components_, max_iter=0))
    starts = {name: fit(init=name, max_iter=0) for name in ("auto", "blended", "documents", "random")}
    assert same(starts["auto"], starts["blended"])
    assert differ(starts["blended"], starts["documents"])
    assert np.ptp(starts["random"].components_) < 1.0  # near-uniform


@fact("search", "HDP")
def the_number_of_topics_is_found_or_kept(fit):
    assert len(found(fit(search=None))) == 4
    searched = fit(data=FEW, search=TopicSearch(max_topics=8), n_components=1, max_iter=200, tol=1e-3)
    assert 1 < len(found(searched)) <= 8
    assert any(record.moves for record in searched.history_)


# Chains


@fact("sampler", "GibbsLDA")
def samplers_are_two_chains(fit):
    assert differ(fit(sampler="parallel"), fit(sampler="sequential"))
    assert same(fit(sampler=Sequential()), fit(sampler="sequential"))
    seen = []
    fit(sampler=Parallel(batch_size=40), callbacks=[lambda _, view: seen.append(view._model.bounds)])
    assert seen[0] == [0, 40, 80, 90]
    alphas = []
    watch = [lambda _, view: alphas.append(view._model.prior.alpha.sum())]
    fit(sampler=Parallel(learn_every=3, annealing=0), doc_topic_prior="auto", max_iter=8, callbacks=watch)
    assert (np.flatnonzero(np.diff(alphas)) + 1).tolist() == [3, 6]  # sweeps that began with another alpha
    first = {}
    for n in (0, 3):
        sizes = []
        count = [lambda _, view, sizes=sizes: sizes.append(len(view._model.topics().topic))]
        fit(sampler=Parallel(annealing=n), n_components=20, callbacks=count)
        first[n] = sizes[0]
    assert first[3] > first[0]  # documents have many topics at first
    with pytest.raises(ValueError, match="annealing"):
        fit(sampler=Parallel(annealing=4))  # more than the burn-in


@fact("burn_in", "GibbsLDA")
def sweeps_before_samples(fit):
    assert [fit(burn_in=n, thin=1, sampler=Parallel(annealing=0)).n_samples_ for n in (0, 2, 6)] == [6, 4, 0]


@fact("thin", "GibbsLDA")
def sweeps_between_samples(fit):
    assert [fit(burn_in=0, thin=n, sampler=Parallel(annealing=0)).n_samples_ for n in (1, 2, 4)] == [6, 3, 1]


@fact("engine", "GibbsLDA")
def engines_of_the_processor_change_no_bit(fit):
    runs = [fit(engine=engine, n_jobs=3) for engine in ("threads", "serial", Serial())]
    assert all(same(run, runs[0]) for run in runs)
    with pytest.raises(ValueError, match="engine='magic' is not one of"):
        fit(engine="magic")


@fact("init", *CHAINS)
def tokens_start_where_they_are_told_to(fit):
    topics = np.zeros(int(X.sum()), int)
    settings = {"penalty": 1e6, "algorithm": "word"} if fit.name == "CombinatorialLDA" else {"n_components": 4}
    one = fit(init=topics, max_iter=1, **settings)
    assert one.components_[0].sum() > fit(init="random", max_iter=1, **settings).components_[0].sum()
    again = fit(init=fit(init=topics, max_iter=1, **settings), max_iter=1, **settings)
    assert again.history_[0].objective != fit(init="random", max_iter=1, **settings).history_[0].objective
    with pytest.raises(ValueError, match="init="):
        fit(init="magic")


@fact("penalty", "CombinatorialLDA")
def a_topic_costs(fit):
    few, many = (fit(penalty=penalty, max_iter=10) for penalty in (50.0, 0.5))
    assert in_use(few) < in_use(many)
    assert fit(penalty="auto").penalty_ == pytest.approx(np.log(4) + np.log(X.sum() / 90))


@fact("algorithm", "CombinatorialLDA")
def algorithms_go_further_and_further(fit):
    ends = [fit(algorithm=name, init="random", max_iter=10).objective_ for name in ("basic", "word", "word+refine")]
    assert ends[2] < min(ends[:2])
    assert ends[0] != ends[1]
