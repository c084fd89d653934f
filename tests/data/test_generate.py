"""sample_lda draws from LDA: shapes, bookkeeping, and moments against the model's."""

import numpy as np
import pytest

from topmix.data import sample_lda


@pytest.fixture(scope="module")
def sample():
    return sample_lda(2003, 307, 7, doc_length=60, topic_word_prior=0.1, doc_topic_prior=0.5, random_state=0)


def per_token(sample):
    """(document, word, topic) of every token, from the corpus and z."""
    X = sample.corpus.to_scipy()
    count = X.data.astype(int)
    doc = np.repeat(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), count)
    return doc, np.repeat(X.indices, count), sample.assignments


def test_shapes_and_sums(sample):
    assert sample.corpus.shape == (2003, 307)
    assert sample.topic_word.shape == (7, 307)
    assert sample.doc_topic.shape == (2003, 7)
    np.testing.assert_allclose(sample.topic_word.sum(axis=1), 1)
    np.testing.assert_allclose(sample.doc_topic.sum(axis=1), 1)
    assert len(sample.assignments) == sample.corpus.value.sum()
    assert len(sample.corpus.vocabulary) == 307
    doc, word, _ = per_token(sample)
    assert np.all(np.diff(doc * 307 + word) >= 0)


def test_words_follow_their_topics(sample):
    _, word, z = per_token(sample)
    for k in range(7):
        n = np.bincount(word[z == k], minlength=307)
        expected = n.sum() * sample.topic_word[k]
        assert np.all(n[sample.topic_word[k] == 0] == 0)
        large = expected > 5
        chi2 = ((n - expected)[large] ** 2 / expected[large]).sum()
        assert abs(chi2 - large.sum()) < 5 * np.sqrt(2 * large.sum())


def test_topics_follow_their_documents(sample):
    doc, _, z = per_token(sample)
    n = np.zeros((2003, 7))
    np.add.at(n, (doc, z), 1)
    N = n.sum(axis=1, keepdims=True)
    variance = N * sample.doc_topic * (1 - sample.doc_topic)
    score = (n - N * sample.doc_topic)[variance > 1] / np.sqrt(variance[variance > 1])
    assert abs(score.mean()) < 5 / np.sqrt(score.size)
    assert score.var() == pytest.approx(1, abs=0.1)


def test_mixtures_and_lengths_have_the_moments_of_the_prior(sample):
    mean, var = sample.doc_topic.mean(axis=0), sample.doc_topic.var(axis=0)
    np.testing.assert_allclose(mean, 1 / 7, atol=0.03)
    np.testing.assert_allclose(var, (1 / 7) * (6 / 7) / (7 * 0.5 + 1), rtol=0.15)
    lengths = sample.corpus.to_scipy().sum(axis=1)
    assert lengths.mean() == pytest.approx(60, abs=1)
    assert lengths.var() == pytest.approx(60, rel=0.15)


def test_topic_sizes_set_the_shares():
    sizes = 1 / np.arange(1, 6)
    s = sample_lda(4000, 50, 5, doc_length=50, doc_topic_prior=0.4, topic_sizes=sizes, random_state=1)
    shares = np.bincount(s.assignments, minlength=5) / len(s.assignments)
    np.testing.assert_allclose(shares, sizes / sizes.sum(), atol=0.03)


def test_fixed_lengths_and_given_topics():
    phi = np.array([[1, 1, 0, 0], [0, 0, 3, 1]])
    s = sample_lda(200, doc_length=20, topic_word=phi, length_distribution="fixed", random_state=2)
    np.testing.assert_allclose(s.topic_word, [[0.5, 0.5, 0, 0], [0, 0, 0.75, 0.25]])
    assert set(s.corpus.to_scipy().sum(axis=1)) == {20}
    _, word, z = per_token(s)
    np.testing.assert_array_equal(z, word // 2)


def test_same_seed_same_sample():
    a, b, c = (sample_lda(50, 40, 3, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(a.assignments, b.assignments)
    assert (a.corpus.to_scipy() != b.corpus.to_scipy()).nnz == 0
    assert not np.array_equal(a.topic_word, c.topic_word)
    d, e = (sample_lda(50, 40, 3, random_state=np.random.RandomState(0)) for _ in range(2))
    np.testing.assert_array_equal(d.assignments, e.assignments)


def test_extreme_priors_stay_finite():
    s = sample_lda(100, 2000, 5, doc_length=3, doc_topic_prior=1e-4, topic_word_prior=1e-4, random_state=0)
    assert np.isfinite(s.topic_word).all()
    assert np.isfinite(s.doc_topic).all()
    assert s.corpus.shape == (100, 2000)  # with documents of no words among them: Poisson(3) gives some


@pytest.mark.parametrize(
    ("kwargs", "match"),
    [
        ({"n_docs": 0}, "n_docs=0"), ({"n_words": 0}, "n_words"), ({"doc_length": 0}, "positive length"),
        ({"doc_length": 2.5, "length_distribution": "fixed"}, "whole number"),
        ({"length_distribution": "zipf"}, "choose"),
        ({"doc_topic_prior": -1}, "positive"), ({"doc_topic_prior": [1, 2]}, "10 entries"),
        ({"topic_sizes": np.zeros(10)}, "positive"), ({"topic_word": [1, 2]}, "topics, words"),
        ({"topic_word": [[0, 0]]}, "every row"), ({"topic_word": [[np.nan, 1]]}, "finite"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(kwargs, match):
    with pytest.raises(ValueError, match=match):
        sample_lda(**kwargs)
