"""Topics over time and by groups: shares with intervals, and the words that differ."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from topmix import LDA
from topmix.data import Vectorizer
from topmix.io.columns import periods_of
from topmix.results.covariates import prevalence

SEA = ["boat", "sail", "sea", "harbour", "wind", "ship", "mast"]
CHESS = ["chess", "rook", "queen", "king", "board", "pawn", "mate"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(SEA if i < 30 else CHESS, 12)) for i in range(60)]
DATES = [f"2024-{1 + i // 10:02}-{1 + i % 10:02}" for i in range(60)]
FRAME = pd.DataFrame({"text": TEXTS, "date": DATES, "paper": ["a", "b"] * 30})


@pytest.fixture(scope="module")
def model():
    return LDA(2, random_state=0, max_iter=5).fit(FRAME)


def test_shares_of_months(model):
    table = model.topics_over_time(FRAME, "date")
    assert list(table.columns) == ["period", "topic", "name", "share", "low", "high", "documents"]
    assert list(table["period"].unique()) == list(pd.to_datetime([f"2024-{m:02}-01" for m in range(1, 7)]))
    sea = table[table["topic"] == model.predict([" ".join(SEA)])[0]]
    np.testing.assert_allclose(sea["share"], [1, 1, 1, 0, 0, 0], atol=0.02)
    np.testing.assert_allclose(table.groupby("period")["share"].sum(), 1)
    assert ((table["low"] <= table["share"] + 1e-12) & (table["share"] <= table["high"] + 1e-12)).all()
    assert (table["documents"] == 10).all()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "polars", "values", "stamps"])
def test_dates_from_everywhere(kind, model, tmp_path):
    wanted = model.topics_over_time(FRAME, "date", freq="quarter")
    path = tmp_path / f"table.{kind}"
    if kind == "csv":
        FRAME.to_csv(path)
    elif kind == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        FRAME.assign(date=pd.to_datetime(FRAME["date"])).to_parquet(path)
    X = {"polars": pl.from_pandas(FRAME), "values": TEXTS, "stamps": TEXTS}.get(kind, path)
    column = {"values": DATES, "stamps": pd.to_datetime(FRAME["date"])}.get(kind, "date")
    pd.testing.assert_frame_equal(model.topics_over_time(X, column, freq="quarter"), wanted)


def test_periods():
    dates = ["2024-02-29", datetime.date(2023, 12, 31), None, 1999, "2024-05-01T10:00:00Z", float("nan")]
    wanted = {
        "year": ["2024-01-01", "2023-01-01", "NaT", "1999-01-01", "2024-01-01", "NaT"],
        "quarter": ["2024-01-01", "2023-10-01", "NaT", "1999-01-01", "2024-04-01", "NaT"],
        "month": ["2024-02-01", "2023-12-01", "NaT", "1999-01-01", "2024-05-01", "NaT"],
        "week": ["2024-02-26", "2023-12-25", "NaT", "1998-12-28", "2024-04-29", "NaT"],  # Mondays
        "day": ["2024-02-29", "2023-12-31", "NaT", "1999-01-01", "2024-05-01", "NaT"],
    }
    for freq, days in wanted.items():
        np.testing.assert_array_equal(periods_of(dates, freq), np.array(days, "datetime64[D]"))


def test_dates_of_many_kinds():
    day = np.datetime64("2024-05-31")
    for same in (
        *(
            "2024-05-31",
            " 20240531 ",
            "20240531T101500Z",
            "2024-05-31 10:15",
            np.str_("2024-05-31+02:00"),
            "2024-05-31Z",
        ),
        *(20240531, np.int64(20240531), datetime.date(2024, 5, 31), datetime.datetime(2024, 5, 31, 23)),
        *(pd.Timestamp("2024-05-31 23:00"), pd.Timestamp("2024-05-31 23:00", tz="Europe/Berlin")),
        np.datetime64("2024-05-31T23:59"),
    ):
        assert periods_of([same], "day") == [day], same
    texts = ["2024-05-01", "1999-01-01", "1999-01-01", "1999-01-01", "0001-01-01", "9999-12-31"]
    found = periods_of(["2024-05", np.int32(1999), "1999", 1999, 1, "9999-12-31"], "day")
    np.testing.assert_array_equal(found, np.array(texts, "datetime64[D]"))


NO_DAYS = [
    *(0, -5, 10_000, 202405, 20241301, 20240230, 10**30, True, np.True_, 2024.0),
    *("202405", "20240101123", "0000", "12345", "2024-5-3", "2024-0531", "2024-13-01", "2024-02-30", "-0044-01-01"),
    *(
        "10000-01-01",
        "today",
        "now",
        np.datetime64("20240-01-01"),
        np.datetime64("-0001-01-01"),
        np.timedelta64(5, "D"),
    ),
]


@pytest.mark.parametrize("wrong", NO_DAYS, ids=str)
def test_what_is_no_day_of_the_years_1_to_9999_is_refused(wrong):
    with pytest.raises(ValueError, match="is not a date such as"):
        periods_of([wrong], "day")


def test_shares_of_groups_leave_out_documents_without_words_or_group(model):
    texts, groups = [*TEXTS, "unknown words", "boat sail"], [*FRAME["paper"], "a", None]
    table = model.topics_by(texts, groups)
    pd.testing.assert_frame_equal(table, model.topics_by(FRAME, "paper"))
    assert list(table["documents"]) == [30] * 4


def test_intervals_hold_what_they_promise():
    """The interval of the mean of 50 documents holds the true mean in about 90% of 200 draws."""
    rng, hit = np.random.default_rng(1), 0
    for draw in range(200):
        p = rng.beta(2, 5, 50)
        shares = sp.csr_array(np.column_stack([p, 1 - p]))
        _, _, low, high = prevalence(shares, np.zeros(50, int), 1, 0.9, draw)
        hit += low[0, 0] <= 2 / 7 <= high[0, 0]
    assert 165 <= hit <= 193


def test_words_that_differ_between_groups():
    rng = np.random.default_rng(0)
    words = {"a": [*SEA, "yacht", "yacht"], "b": [*SEA, "trawler", "trawler"]}
    texts = [" ".join(rng.choice(words["ab"[i % 2]], 20)) for i in range(60)] + TEXTS[30:]
    groups = ["a", "b"] * 45
    model = LDA(2, random_state=0, max_iter=8, seeds=[["boat", "sail"]]).fit(texts, vectorizer=Vectorizer())
    table = model.words_by(texts, groups, 0, n_words=2)
    first = table.groupby("group").first()
    assert first["word"].to_dict() == {"a": "yacht", "b": "trawler"}
    assert (first["z"] > 2).all()
    assert first["count"]["a"] == pytest.approx(sum(text.count("yacht") for text in texts), rel=0.05)


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda m: m.topics_over_time(FRAME, "when"), "no column 'when'"),
        (lambda m: m.topics_over_time(TEXTS, "date"), "has no columns"),
        (lambda m: m.topics_over_time(FRAME, ["x"] * 60), "'x' is not a date"),
        (lambda m: m.topics_over_time(FRAME, "date", freq="hour"), "freq='hour'"),
        (lambda m: m.topics_by(FRAME, ["a"]), "1 values for 60 documents"),
        (lambda m: m.topics_by(FRAME, [None] * 60), "no document has a value"),
        (lambda m: m.topics_by(FRAME, "paper", level=2), "level"),
        (lambda m: m.words_by(FRAME, "paper", 7), "7 is not a topic"),
        (lambda m: m.topics_by(iter(TEXTS), ["a"] * 60), "pass a list"),
    ],
)
def test_errors_say_what_to_do(ask, match, model):
    with pytest.raises(ValueError, match=match):
        ask(model)
