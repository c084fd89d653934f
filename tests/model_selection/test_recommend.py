"""The recommended size is the smallest whose score is as good as the best; the reason says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from topmix.selection.measure import MeasuredFit, Size
from topmix.selection.sweep import recommend, standard_error

N_TOKENS = np.full(40, 5.0)


def size_of(K, *scores, noise=0.0, stability=0.9):
    """Fits with these scores; documents differ by `noise` nats per token."""
    rng = np.random.default_rng(K)
    fits = []
    for seed, score in enumerate(scores):
        each = rng.normal(size=len(N_TOKENS))
        log_likelihood = N_TOKENS * (score + noise * (each - each.mean()))
        fits.append(MeasuredFit(K, seed, score, 0.1, 0.9, 1.0, log_likelihood, stability))
    return Size(K, tuple(fits))


def test_the_smallest_within_the_tolerance_is_chosen():
    sizes = [size_of(10, -7.5, -7.5), size_of(20, -7.308, -7.308), size_of(40, -7.3, -7.3), size_of(80, -7.4, -7.4)]
    found = recommend(sizes, N_TOKENS, 0.01)
    assert found.n_components == 20
    assert "0.008 below that of 40 topics (the tolerance is 0.01" in found.reason
    assert recommend(sizes, N_TOKENS, 0.001).n_components == 40


def test_differences_within_the_standard_error_count_as_none():
    sizes = [size_of(10, -7.33, noise=0.5), size_of(40, -7.30, noise=0.5), size_of(80, -7.35, noise=0.5)]
    found = recommend(sizes, N_TOKENS, 0.0)
    assert found.n_components == 10
    assert "within the standard error" in found.reason
    by_seeds = [size_of(10, -7.36, -7.30), size_of(40, -7.34, -7.28), size_of(80, -7.5, -7.5)]
    assert recommend(by_seeds, N_TOKENS, 0.0).n_components == 10  # 0.02 apart, and seeds vary by 0.03


def test_the_standard_error_is_that_of_paired_differences_and_of_seeds():
    a, b = size_of(10, -7.3, noise=0.4), size_of(20, -7.2, noise=0.4)
    per_token = (b.log_likelihood() - a.log_likelihood()) / 5.0
    expected = np.std(per_token, ddof=1) / np.sqrt(40)
    assert standard_error(b, a, N_TOKENS, 0.0) == pytest.approx(expected, rel=1e-12)
    assert standard_error(b, a, N_TOKENS, 0.01) == pytest.approx(np.sqrt(expected**2 + 0.02), rel=1e-12)
    assert standard_error(a, a, N_TOKENS, 0.01) == 0.0


@pytest.mark.parametrize(("scores", "chosen", "said"), [
    ((-7.5, -7.4, -7.3), 40, "the largest size that was tried, and more topics may be better: try 80 and 160"),
    ((-7.3, -7.4, -7.5), 10, "the smallest size that was tried, and fewer topics may be better: try 5"),
    ((-7.301, -7.3, -7.5), 10, "the smallest size that was tried, and fewer topics may predict as well: try 5"),
    ((-7.5, -7.305, -7.3), 20, "The score still rises at the largest size, but by too little to matter"),
    ((-7.5, -7.3, -7.4), 20, "20 topics have the best score, -7.300. The best smaller size, 10, is 0.200 lower"),
])  # fmt: skip
def test_the_reason_says_where_the_range_ends(scores, chosen, said):
    found = recommend([size_of(K, s, s) for K, s in zip((10, 20, 40), scores)], N_TOKENS, 0.01)
    assert found.n_components == chosen
    assert said in found.reason


def test_one_size_and_no_finite_score_are_told():
    assert "the only size" in recommend([size_of(5, -7.0, -7.0)], N_TOKENS, 0.01).reason
    broken = size_of(5, -np.inf)
    assert recommend([broken], N_TOKENS, 0.01).n_components is None
    assert recommend([size_of(3, -7.0), broken], N_TOKENS, 0.01).n_components == 3


def test_topics_that_depend_on_the_seed_are_told():
    found = recommend([size_of(5, -7.0, -7.0, stability=0.4)], N_TOKENS, 0.01)
    assert "differ from seed to seed" in found.reason


def test_sizes_that_the_data_does_not_tell_apart_are_named():
    sizes = [size_of(K, s, s) for K, s in ((10, -7.5), (20, -7.305), (40, -7.3), (60, -7.304), (80, -7.4))]
    found = recommend(sizes, N_TOKENS, 0.01)
    assert found.n_components == 20
    assert found.between == (20, 60)
    assert "between 20 and 60" in found.reason
    assert recommend(sizes[:2], N_TOKENS, 0.01).between is None


def test_a_size_with_clearly_less_stable_topics_is_told_apart():
    def stable(K, alike):
        fits = [replace(fit, stability=alike, alike=np.full(K, alike)) for fit in size_of(K, -7.3, -7.3).fits]
        return Size(K, tuple(fits))

    found = recommend([stable(20, 0.9), stable(40, 0.5)], N_TOKENS, 0.01)
    assert found.between is None
    assert recommend([stable(20, 0.9), stable(40, 0.9)], N_TOKENS, 0.01).between == (20, 40)
