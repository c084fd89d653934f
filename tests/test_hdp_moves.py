"""The HDP finds its number of topics: moves gain what they promise, and the bound of the whole corpus rises."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from topmix import HDP, load
from topmix.data import sample_lda
from topmix.engines.local import Serial
from topmix.inference import Collapsed
from topmix.io.reading import Reading
from topmix.learn.fit import Fit
from topmix.learn.topic_moves import _separated, _tokens_of, candidates, decide, renamed_prior, splits
from topmix.learn.topic_search import deletion, split
from topmix.learners import Memoized, State, Stochastic
from topmix.metrics import topic_recovery_error
from topmix.steps.documents import TopicStep

pytestmark = pytest.mark.xdist_group("hdp-moves")  # one process makes the fits that several tests look at
N_TRUE = 5
FEW = {"random_state": 0, "n_jobs": 1, "learner": Memoized(batch_size=200)}  # shards: sticks are updated after each


@pytest.fixture(scope="module")
def sample():
    sizes = 1 / (1 + np.arange(N_TRUE))
    return sample_lda(400, 300, N_TRUE, doc_length=80, topic_sizes=sizes, random_state=0)


@pytest.fixture(scope="module")
def adapted(sample):
    return HDP(3 * N_TRUE, inference="variational", **FEW).fit(sample.corpus)


@pytest.fixture(scope="module")
def polished(sample):
    return HDP(3 * N_TRUE, **FEW).fit(sample.corpus)


def a_fit(sample, cut, K=12, n_shards=3, n_passes=3, hdp=None):
    """Documents as a fit of K topics left them, with the learner that did it and a way to see them after its passes."""
    hdp = hdp or HDP(K, inference="variational", n_jobs=1, random_state=0)
    shards = cut(sample.corpus, n_shards)
    reading = Reading(sample.corpus.n_words)
    problem = hdp._problem(sample.corpus, reading)
    assert problem.step == TopicStep(cold_visits=1)
    model, pseudo_counts = problem.first(np.random.default_rng(0))
    fit = Fit(problem, None)
    fit.workers, fit.state = Serial().open(shards, problem.step, 1), State(pseudo_counts=pseudo_counts)
    fit.batches, fit.lengths = shards.rows, [shard.lengths for shard in shards]
    search = problem.plan(fit, np.random.default_rng(0))
    learner = Memoized().passes(model, fit.workers, fit.state)
    *_, result = itertools.islice(learner, n_passes)
    return search.snapshot(result), learner, search


def test_documents_settle_upwards_and_keep_their_tokens(sample, cut):
    here, *_ = a_fit(sample, cut)
    refreshed = here.under(here.prior)
    settled = refreshed.settled()
    assert here.worth <= refreshed.worth + 1e-6 * abs(here.worth)
    assert refreshed.worth <= settled.worth
    np.testing.assert_allclose(settled.total.S.counts(), here.total.S.counts(), atol=1e-6)


def test_renaming_back_and_forth_changes_nothing(sample, cut):
    here, *_ = a_fit(sample, cut)
    order = np.random.default_rng(0).permutation(here.model.n_components)
    there = here.renamed(order)
    np.testing.assert_allclose(there.total.S.counts()[:, order], here.total.S.counts(), atol=1e-6)
    back = there.renamed(np.argsort(order))
    again = here.under(renamed_prior(here.prior, np.arange(len(order)), here.total.D))
    assert back.worth == pytest.approx(again.worth, rel=1e-10)


def test_a_merge_gains_what_was_predicted(sample, cut):
    """Each pair alone, and all that are accepted together, against the bound recomputed from all statistics."""
    here, learner, search = a_fit(sample, cut)
    K = here.model.n_components
    pairs = candidates(here)
    assert len(pairs) > 2
    assert len({k for pair in pairs for k in pair}) == 2 * len(pairs)
    weighing = search.put(here)
    assert {(min(j, k), max(j, k)) for j, k in enumerate(weighing.partner.tolist()) if k >= 0} == set(pairs)
    result = learner.send(weighing)
    here = search.snapshot(result)
    base = here.under(renamed_prior(here.prior, np.arange(K), here.total.D))
    lost = np.array([result.info["merge_entropy"][j] for j, _ in pairs])
    assert np.all(lost >= 0)
    assert lost.max() > 1
    together = decide(base, pairs, lost)
    assert len(together.gains) > 0
    assert all(gain > 0 for gain in together.gains.values())
    there = base.renamed(together.names, together.lost)
    assert there.model.n_components == K - len(together.gains)
    assert there.worth - base.worth == pytest.approx(sum(together.gains.values()), rel=1e-5)
    for pair, taken in zip(pairs[:3], lost):
        alone = decide(base, [pair], np.array([taken]))
        if alone.gains:
            after = base.renamed(alone.names, alone.lost).worth
            assert after - base.worth == pytest.approx(alone.gains[pair], rel=1e-5)
        too_much = decide(base, [pair], np.array([1e9]))
        assert not too_much.gains


def test_every_move_that_was_kept_raised_the_bound(adapted):
    """A record's moves came before its pass; what was tried and undone leaves the bound where it was."""
    history = adapted.history_
    kept = {
        k: g for r in history for k, g in r.moves.items() if not k.startswith(("try", "polish")) and "undone" not in k
    }
    assert kept
    assert all(gain > 0 for gain in kept.values())
    on_trial, best = False, -np.inf
    for record in history:
        verdict = any(key.startswith(("renew", "birth", "split", "delete")) for key in record.moves)
        on_trial = any(key.startswith("try") for key in record.moves) or (on_trial and not verdict)
        if not on_trial:
            assert record.objective > best - 1e-6 * abs(best)
            best = record.objective


def test_the_true_number_of_topics_is_found_from_too_many(sample, adapted, polished):
    for hdp in (adapted, polished):
        assert abs(hdp.model_.n_components - N_TRUE) <= 1
        assert hdp.history_[0].n_components == 3 * N_TRUE
        assert hdp.history_[-1].n_components == len(hdp.components_)
        assert hdp.converged_
        assert topic_recovery_error(hdp.topic_word_, sample.topic_word) < 0.4


def test_the_true_number_of_topics_is_found_from_one(sample):
    hdp = HDP(1, **FEW).fit(sample.corpus)
    assert abs(hdp.model_.n_components - N_TRUE) <= 1
    assert topic_recovery_error(hdp.topic_word_, sample.topic_word) < 0.4
    assert any(key.startswith("renew") and "undone" not in key for r in hdp.history_ for key in r.moves)


def test_polishing_leaves_the_number_of_topics_alone(polished):
    begin = next(i for i, record in enumerate(polished.history_) if "polish" in record.moves)
    assert len({record.n_components for record in polished.history_[begin:]}) == 1
    assert polished.model_.words.posterior == "collapsed"
    assert not any(record.moves for record in polished.history_[begin + 1 :])
    objectives = [record.objective for record in polished.history_]
    assert polished.elbo_ == objectives[-1] < max(objectives)  # a bound still, but no longer the highest


def test_tokens_of_all_topics_are_the_documents(sample, cut):
    here, *_ = a_fit(sample, cut)
    X, N = sample.corpus.to_scipy(), here.counts().tocsr()
    table = here.model.words.tables(np.arange(300, dtype=np.int32)).table
    parts = [_tokens_of(k, X[:50], N[:50], lambda words: table[words], here.prior.alpha).toarray() for k in range(12)]
    np.testing.assert_allclose(sum(parts), X[:50].toarray(), rtol=1e-6)
    np.testing.assert_allclose([p.sum() for p in parts], N[:50].sum(axis=0), rtol=0.05, atol=1.0)


def test_a_topic_of_two_subjects_falls_into_them(sample, cut):
    """Two of the true topics, merged by hand, and told apart again by their documents' words."""
    counts = np.zeros((300, N_TRUE))
    np.add.at(counts, (token_words(sample), sample.assignments), 1.0)
    model = HDP(N_TRUE, inference="variational", random_state=0, n_jobs=1, init=counts.T)
    here, *_ = a_fit(sample, cut, hdp=model, K=N_TRUE)
    names = np.array([0, 1, 1, 2, 3])
    blended = here.renamed(names)
    words, alpha = blended.model.words, blended.prior.alpha
    rows, rng = sample.corpus.to_scipy().__getitem__, np.random.default_rng(0)
    (found,) = splits(rows, blended.counts(), words.table_of, alpha, [1], rng)
    both = blended.total.S.counts()[:, 1]
    halves = np.stack([both * found.share, both * (1.0 - found.share)])
    assert topic_recovery_error(halves, sample.topic_word[1:3]) < 0.7 * topic_recovery_error(
        np.stack([both, both]), sample.topic_word[1:3]
    )


def token_words(sample):
    X = sample.corpus.to_scipy()
    return np.repeat(X.indices, X.data.astype(int))


def test_proposals_move_tokens_and_lose_none(sample, cut):
    here, *_ = a_fit(sample, cut)
    K = here.model.n_components
    lengths = np.concatenate(here.lengths)
    rng = np.random.default_rng(0)
    in_two = split(here, np.arange(K), lambda docs: sample.corpus.to_scipy()[docs], rng)
    without = deletion(here, np.array([2, 7, 9]))
    for proposal in (in_two, without):
        docs = [visit.docs for visit in proposal.memory.values()]
        tokens = np.concatenate([np.add.reduceat(np.append(d.count, 0), d.indptr[:-1]) for d in docs])
        np.testing.assert_allclose(tokens, lengths, rtol=1e-4)
        assert max(d.topic.max() for d in docs) < proposal.model.n_components
        assert proposal.model.prior.sticks.shares()[:-1].sum() < 1
    assert without.model.n_components == K - 3
    assert in_two.model.n_components > K
    np.testing.assert_allclose(in_two.model.words.total.raw.sum(axis=1), here.total.S.counts().sum(axis=1))


@pytest.mark.parametrize("passes_later", [0, 1, 2])
def test_a_fit_that_is_stopped_in_a_trial_ends_where_the_trial_began(sample, passes_later):
    seen = []

    def stop(record, view):
        seen.append(record)
        return any("try" in what for r in seen[-1 - passes_later :][:1] for what in r.moves)

    hdp = HDP(9, inference="variational", random_state=0, n_jobs=1, callbacks=[stop]).fit(sample.corpus)
    before = seen[-2 - passes_later]
    assert "stopped" in hdp.history_[-1].moves
    assert hdp.history_[-1].n_components == len(hdp.components_) == hdp.model_.n_components
    assert hdp.elbo_ >= before.objective - 1e-6 * abs(before.objective)
    if passes_later < 2:  # not yet judged
        assert len(hdp.components_) <= before.n_components < seen[-1].n_components


@pytest.mark.parametrize("max_iter", [1, 4, 9])
def test_running_out_of_passes_is_not_convergence(sample, max_iter):
    """However quiet it is: with a tolerance of a whole nat a token there is nothing but trials."""
    hdp = HDP(4, tol=1.0, max_iter=max_iter, random_state=0, n_jobs=1).fit(sample.corpus)
    assert not hdp.converged_
    assert hdp.n_iter_ == max_iter


def test_the_prior_of_words_is_learned_while_topics_come_and_go(sample):
    hdp = HDP(8, inference="variational", topic_word_prior="auto", max_iter=12, **FEW).fit(sample.corpus)
    fixed = HDP(8, inference="variational", max_iter=12, **FEW).fit(sample.corpus)
    assert hdp.topic_word_prior_ != fixed.topic_word_prior_
    assert hdp.elbo_ > fixed.elbo_


def test_topics_are_looked_for_under_one_prior_and_end_under_a_firm_one(sample, polished):
    """All sizes are compared under one eta; what predicts has another, and is reported as `smoothing` says."""
    assert polished.topic_word_prior_ == 0.2
    reported = polished.components_ - 0.2 + 0.08
    np.testing.assert_allclose(polished.topic_word_, reported / reported.sum(axis=1, keepdims=True))
    given = HDP(4, topic_word_prior=0.05, inference=Collapsed(smoothing=0.2), max_iter=8, **FEW).fit(sample.corpus)
    assert given.topic_word_prior_ == 0.05
    reported = given.components_ - 0.05 + 0.2
    np.testing.assert_allclose(given.topic_word_, reported / reported.sum(axis=1, keepdims=True))

    priors = []
    again = HDP(4, warm_start=True, max_iter=8, **FEW)
    again.callbacks = [lambda record, view: priors.append(view.fitted().topic_word_prior_)]
    again.fit(sample.corpus).fit(sample.corpus)  # the second search too begins as searches do
    assert priors == 2 * ([0.03] * 6 + [0.2] * 2)


def test_few_documents_are_not_cut_in_many_batches(sample):
    def n_batches(n, learner=Memoized()):  # noqa: B008  (immutable)
        corpus = sample.corpus[:n]
        problem = HDP(2, learner=learner)._problem(corpus, Reading(corpus.n_words))
        return len(learner.batches(corpus, problem.n_active, np.random.default_rng(0), problem.batches))

    for n, batches in ((10, 1), (59, 1), (60, 2), (400, 10)):
        assert n_batches(n) == batches
    assert n_batches(60, Memoized(batch_size=10)) == 6


def test_documents_do_not_start_from_their_words_twice_in_vain(adapted, polished):
    for hdp in (adapted, polished):
        moves = [what for record in hdp.history_ for what in record.moves if not what.endswith("undone")]
        told = [what.split()[0] if what != "try refresh" else what for what in moves]
        told = [what for what in told if what in ("try refresh", "birth", "split")]
        assert "try refresh" in told
        assert ("try refresh", "try refresh") not in itertools.pairwise(told)


def test_a_topic_of_nothing_is_not_split(sample):
    X = sp.csr_array(sample.corpus[:9].to_scipy())
    assert _separated(sp.csr_array(X * 1e-4), np.random.default_rng(0)) is None
    assert _separated(X, np.random.default_rng(0)).shape == (2, X.shape[1])


def test_no_more_topics_than_half_the_documents(sample):
    few = HDP(3, max_iter=60, topic_word_prior=1e-3, **FEW).fit(sample.corpus[:24])
    assert max(record.n_components for record in few.history_) <= 12


def test_topics_are_in_order_of_size(adapted):
    sizes = adapted.model_.words.total.totals
    assert np.all(np.diff(sizes) < 0.05 * sizes[:-1])  # as of the last pass but one
    assert adapted.topic_shares_.sum() < 1


def test_an_adapted_model_is_saved_with_its_moves(adapted, sample, tmp_path):
    adapted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(sample.corpus), adapted.transform(sample.corpus))
    assert again.history_ == adapted.history_
    assert again.n_components == 3 * N_TRUE


@pytest.mark.slow  # eight seconds; tests/conformance has every part of it
def test_the_same_bits_for_any_number_of_threads():
    """Until after the first trials; a whole fit is compared where it was interrupted."""
    corpus = sample_lda(900, 300, N_TRUE, doc_length=80, random_state=0).corpus
    assert corpus.nnz > 1.5 * (1 << 14)  # entries whose entropies one chunk merges
    for learner in (Memoized(), Memoized(batch_size=900), Memoized(batch_size=100, batches_per_update=3)):
        how = {"random_state": 0, "learner": learner, "max_iter": 30}
        one, three = (HDP(3 * N_TRUE, n_jobs=n, **how).fit(corpus) for n in (1, 3))
        np.testing.assert_array_equal(one.components_, three.components_)
        assert [(r.objective, r.moves) for r in one.history_] == [(r.objective, r.moves) for r in three.history_]


def test_a_stream_keeps_what_it_knew_of_the_sticks(sample):
    hdp = HDP(8, random_state=0, learner=Stochastic(total_samples=400))
    for start in range(0, 400, 100):
        hdp.partial_fit(sample.corpus[start : start + 100])
    assert hdp.model_.prior.D > 100
    assert np.all(hdp.topic_shares_ > 0)


def test_what_cannot_be_is_refused(sample):
    for given in (-1.0, "magic", (0.5, -1.0), ("auto", "magic"), (0.5, 1.0, 2.0)):
        with pytest.raises(ValueError, match="doc_topic_prior"):
            HDP(4, doc_topic_prior=given).fit(sample.corpus)
    with pytest.raises(ValueError, match="topic_word_prior"):
        HDP(4, topic_word_prior=np.full((4, 300), 0.1)).fit(sample.corpus)


def test_concentrations_are_kept_or_learned(sample):
    def fit(given, **more):
        settings = {"max_iter": 4, "tol": -np.inf, "search": None, "random_state": 0, "n_jobs": 1} | more
        return HDP(4, doc_topic_prior=given, **settings).fit(sample.corpus[:150])

    assert fit(None).weight_concentration_ == 10.0
    pair = fit((0.7, 3.0))
    assert (pair.concentration_, pair.weight_concentration_) == (0.7, 3.0)
    assert fit((0.7, "auto"), max_iter=8).weight_concentration_ != 10.0
    small, large = (fit((None, g)).topic_shares_.sum() for g in (1.0, 100.0))
    assert small > large  # more is left for topics that are not there yet


def test_a_refreshment_keeps_the_topics_and_forgets_the_documents(sample, cut):
    here, _, search = a_fit(sample, cut)
    proposal = search._move(here, "refresh")
    assert proposal.memory is None
    np.testing.assert_allclose(proposal.model.words.total.raw, here.total.S.counts(), atol=1e-6)
    np.testing.assert_allclose(proposal.model.prior.sticks.shares(), here.prior.sticks.shares(), rtol=1e-6)


def test_given_topics_are_not_exchanged_for_others(sample):
    """Moves may change them one by one; starting anew would lose them."""
    given = HDP(4, init=sample.topic_word[:4] * 1000, max_iter=20, **FEW).fit(sample.corpus)
    again = HDP(4, warm_start=True, max_iter=20, **FEW).fit(sample.corpus).fit(sample.corpus)
    for hdp in (given, again):
        assert not any("renew" in what for record in hdp.history_ for what in record.moves)


class Crash(Exception):
    pass


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        pytest.param({"inference": "variational", "topic_word_prior": "auto"}, marks=pytest.mark.slow),
    ],  # its file is the same
)
def test_a_search_that_was_interrupted_goes_on_with_the_same_bits(sample, tmp_path, parameters):
    """Interrupted while topics start anew, in other trials, and in the last passes; each time from the last file."""
    parameters = parameters | {"random_state": 0, "max_iter": 70, "learner": Memoized(batch_size=200)}
    whole = HDP(9, n_jobs=1, **parameters).fit(sample.corpus)
    path, n = tmp_path / "kept", whole.n_iter_
    assert n > 50
    for stop in (7, 19, 43, n - 2):

        def crash(record, view, stop=stop):
            if record.n_pass > stop:
                raise Crash

        interrupted = HDP(9, n_jobs=1, callbacks=[crash], **parameters)
        with pytest.raises(Crash):
            interrupted.fit(sample.corpus, checkpoint=path)
        assert path.exists() or stop < 10  # not before the first topics stand
    for _ in range(2):  # what is finished may be run again
        resumed = HDP(9, n_jobs=2, **parameters).fit(sample.corpus, checkpoint=path)
        np.testing.assert_array_equal(resumed.components_, whole.components_)
        np.testing.assert_array_equal(resumed.topic_shares_, whole.topic_shares_)
        assert [(r.objective, r.moves) for r in resumed.history_] == [(r.objective, r.moves) for r in whole.history_]
        assert resumed.converged_ == whole.converged_
    with pytest.raises(ValueError, match="another fit"):
        HDP(8, **parameters).fit(sample.corpus, checkpoint=path)


@pytest.mark.parametrize("parameters", [{"search": None}, {"learner": "batch"}, {"learner": "stochastic"}])
def test_checkpoints_of_a_fixed_number_of_topics(sample, tmp_path, parameters):
    def fitted(max_iter, **more):
        hdp = HDP(6, random_state=0, n_jobs=1, max_iter=max_iter, tol=-np.inf, doc_topic_prior="auto", **parameters)
        return hdp.fit(sample.corpus, **more)

    fitted(3, checkpoint=tmp_path / "kept")
    resumed, whole = fitted(6, checkpoint=tmp_path / "kept"), fitted(6)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.doc_topic_prior_, whole.doc_topic_prior_)
    assert [r.objective for r in resumed.history_] == [r.objective for r in whole.history_]


def test_edited_topics_are_learned_on_from(sample):
    hdp = HDP(6, search=None, max_iter=5, warm_start=True, **FEW).fit(sample.corpus)
    words, shares = hdp.model_.words.total.counts(), hdp.topic_shares_
    hdp.merge_topics([(0, 3)])
    np.testing.assert_allclose(hdp.model_.words.total.counts()[:, 0], words[:, 0] + words[:, 3])
    np.testing.assert_allclose(hdp.topic_shares_, [shares[0] + shares[3], *shares[[1, 2, 4, 5]]])
    hdp.drop_topics([1]).seed_topics([[1, 2, 3]])
    assert hdp.n_components == len(hdp.components_) == 5
    assert hdp.topic_shares_.sum() < 1
    assert hdp.fit(sample.corpus).model_.n_components == 5
    adaptive = HDP(6, max_iter=20, warm_start=True, **FEW).fit(sample.corpus)
    left = adaptive.drop_topics([0]).n_components
    assert adaptive.fit(sample.corpus).history_[0].n_components == left
