"""A stream that forgets by days: what counts is the age of documents, not how many came since."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

from tests.hostile import forged
from topmix import LDA, Stream
from topmix.base.fields import ModelFileError
from topmix.data import Corpus, sample_lda
from topmix.learners import Stochastic
from topmix.selection.stream import day_number
from topmix.selection.stream_folder import Age

WORDS, SIZE, DAYS = 60, 40, 16
NAMES = [f"w{v}" for v in range(WORDS)]


@pytest.fixture(scope="module")
def batches():
    """Half of the batches have other topics than the first half."""
    topics = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.1), 4)
    made = []
    for k in (0, 2):
        drawn = sample_lda(DAYS * SIZE // 2, WORDS, 2, doc_length=20, topic_word=topics[k : k + 2], random_state=k)
        X = drawn.corpus.to_scipy()
        made += [Corpus.from_scipy(X[b : b + SIZE], vocabulary=NAMES) for b in range(0, len(drawn.corpus), SIZE)]
    return made


def date(day):
    return datetime.date(2024, 1, 1) + datetime.timedelta(days=day)


def stream(path=None, *, days=2.0, **more):
    model = LDA(2, learner=Stochastic(offset=100.0, **more), n_jobs=1, random_state=0)
    return Stream(model, path, admit=1, half_life_days=days)


def learned(batches, to, *, every=1):
    for day, batch in enumerate(batches):
        to.learn(batch, id=day, date=date(every * day))
    return to


def test_ages_are_sums_of_what_is_left_of_each_document():
    age, days, sizes = Age(), [3, 3, 5, 4, 40], [10, 20, 5, 7, 1]
    for day, n in zip(days, sizes):
        age, left, half_life = age.after(day, n, 2.0)
        if half_life is not None:  # the step gives new documents their share of what is remembered
            assert 1.0 - 0.5 ** (n / half_life) == pytest.approx(min(n / age.remembered, 1.0))
    counted = [3, 3, 5, 5, 40]  # the fourth is late
    assert age.remembered == pytest.approx(sum(n * 0.5 ** ((40 - day) / 2) for n, day in zip(sizes, counted)))
    assert (age.day, left) == (40, 0.5**17.5)


def test_a_stream_that_forgets_by_days_follows_a_change_faster_the_more_days_go_by(batches):
    def last_score(every, days):
        return learned(batches, stream(days=days), every=every).info()["score"].iloc[-1]

    slow, fast = last_score(1, 1000.0), last_score(1, 2.0)
    assert fast > slow + 0.05
    assert last_score(5, 10.0) == fast  # five times as long, and five times as many days between batches
    learner = Stochastic(offset=100.0, half_life=2 * SIZE)
    by_documents = Stream(LDA(2, learner=learner, n_jobs=1, random_state=0), admit=1)
    for batch in batches:
        by_documents.learn(batch)
    assert fast == pytest.approx(by_documents.info()["score"].iloc[-1], abs=0.1)


def test_a_stream_that_is_opened_again_has_the_same_bits(batches, tmp_path):
    want = learned(batches[:9], stream())
    learned(batches[:4], stream(tmp_path / "s"))
    again = learned(batches[:9], stream(tmp_path / "s"))
    np.testing.assert_array_equal(again.model.components_, want.model.components_)
    assert again._kept.age == want._kept.age
    np.testing.assert_array_equal(again._kept.words.documents, want._kept.words.documents)
    assert list(again.info()["date"]) == [str(date(day)) for day in range(9)]
    assert again.model.learner == Stochastic(offset=100.0)  # the parameter is the user's


def test_dates_are_checked(batches, tmp_path):
    with pytest.raises(ValueError, match="needs its date"):
        stream().learn(batches[0])
    with pytest.raises(ValueError, match="is not a date"):
        stream().learn(batches[0], date="yesterday")
    with pytest.raises(ValueError, match="pass one of them"):
        stream(half_life=100.0)
    with pytest.raises(ValueError, match="half_life_days"):
        stream(days=0.0)
    for wrong in ("20240132", 20241301, 10_000, "0000-01-01"):
        with pytest.raises(ValueError, match="is not a date"):
            stream().learn(batches[0], date=wrong)
    assert day_number("20240101") == day_number(20240101) == day_number("2024-01-01")
    assert day_number("1970-01-03T12:00") == day_number(datetime.datetime(1970, 1, 3, 23)) == 2
    assert math.isnan(stream(days=None).learn(batches[0], date=date(0)).score)  # a date alone is recorded


def test_a_folder_with_a_day_that_no_calendar_has_is_refused(batches, tmp_path):
    learned(batches[:2], stream(tmp_path / "s"))
    whole = (tmp_path / "s" / "state").read_bytes()
    for day in (20_240_101 * 365, -800_000, 1.5, True, "2024"):
        (tmp_path / "s" / "state").write_bytes(forged(whole, lambda about, day=day: about.update(day=day)))
        with pytest.raises(ModelFileError, match="age of a stream"):
            stream(tmp_path / "s")
