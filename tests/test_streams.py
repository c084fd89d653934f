"""topmix.Stream: each batch once, words that come and go, reports, and a folder that survives a kill."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import topmix
from topmix import HDP, LDA, MultinomialMixture, Stream
from topmix.base.fields import ModelFileError, write_file
from topmix.data import Corpus, Vectorizer, sample_lda
from topmix.learners import Stochastic
from topmix.selection.stream_folder import STATE, Lexicon, bounded
from topmix.streaming import InUseError

WORDS, SIZE = 60, 40
NAMES = [f"w{v}" for v in range(WORDS)]


def lda(**more):
    return LDA(**{"n_components": 4, "inference": "scvb0", "n_jobs": 1, "random_state": 0} | more)


@pytest.fixture(scope="module")
def batches():
    """Twelve batches in which rare words turn up late, each with its words in another order."""
    X = sample_lda(12 * SIZE, WORDS, 4, doc_length=20, random_state=1).corpus.to_scipy()
    rng, made = np.random.default_rng(0), []
    for b in range(12):
        part, order = X[b * SIZE : (b + 1) * SIZE].toarray(), rng.permutation(WORDS)
        part[:, 30 + 5 * b :] = 0
        made.append(Corpus.from_scipy(part[:, order], vocabulary=[NAMES[v] for v in order]))
    return made


def state(stream):
    """All that a stream is, as bytes."""
    kept, model = stream._kept, stream.model
    parts = [model.components_.tobytes(), model.model_.words.total.counts().tobytes(), kept.words.documents.tobytes()]
    return parts, kept.words.names, kept.words.waiting, kept.ids, repr(kept.records)


def learned(batches, *, path=None, **more):
    stream = Stream(lda(learner=Stochastic(half_life=200)), path, **{"admit": 3, "max_words": 50} | more)
    for b, batch in enumerate(batches):
        stream.learn(batch, id=b)
    return stream


def test_a_batch_is_learned_once(batches):
    stream = learned(batches[:4])
    before = state(stream)
    assert stream.learn(batches[3], id=3) is None
    assert state(stream) == before
    assert [id in stream for id in (3, 4, "3")] == [True, False, False]
    assert stream.learn(batches[3]).batch == 5  # without an id it is learned again
    assert (stream.n_batches, stream.n_documents) == (5, 5 * SIZE)


def test_ids_and_records_are_bounded(batches):
    stream = learned(batches[:6], remember=2)
    assert (stream._kept.ids, list(stream.info()["batch"])) == ([4, 5], [5, 6])
    assert 3 not in stream


def test_where_all_words_are_known_a_stream_is_partial_fit(batches):
    named = [batch.in_words(NAMES).corpus for batch in batches]
    named[0] = Corpus.from_scipy(named[0].to_scipy().toarray() + np.eye(SIZE, WORDS) + np.eye(SIZE, WORDS, 20), NAMES)
    stream, model = Stream(lda(), admit=1), lda()
    for batch in named:
        stream.learn(batch)
        model.partial_fit(batch)
    np.testing.assert_array_equal(stream.model.components_, model.components_)


def test_words_enter_when_enough_documents_had_them():
    def batch(**words):  # word -> documents that have it
        texts = [[word for word, n in words.items() if d < n] for d in range(10)]
        return Vectorizer().fit_transform(texts)

    stream = Stream(lda(n_components=2), admit=4)
    first = stream.learn(batch(sail=10, boat=4, rook=3))
    assert list(stream.model.feature_names_in_) == ["boat", "sail"]
    assert (first.unknown, first.admitted, first.words) == (1.0, 2, 2)
    assert math.isnan(first.score)
    second = stream.learn(batch(sail=10, rook=1, bishop=1))
    assert list(stream.model.feature_names_in_) == ["boat", "sail", "rook"]
    assert (second.unknown, second.admitted, second.words) == (2 / 12, 1, 3)
    assert stream._kept.words.waiting == {"bishop": 1.0}
    assert stream.model.transform(batch(sail=10, boat=9)[[0]].keep_words(["sail"]).to_scipy() @ [[0, 1, 0]]).shape == (
        1,
        2,
    )


def test_the_rarest_words_retire(batches):
    stream = learned(batches, max_words=25)
    info, model = stream.info(), stream.model
    assert info["words"].max() <= 25
    assert info["retired"].sum() > 0
    assert model.components_.shape == (4, 25) == (4, len(model.feature_names_in_))
    assert len(stream._kept.words.waiting) <= 25
    rows = [batch.in_words(NAMES).corpus.to_scipy() for batch in batches]
    fade = 0.5 ** (SIZE / 200)
    seen = np.zeros(WORDS)
    for X in rows:
        seen = fade * seen + (X > 0).sum(axis=0)
    known = [NAMES.index(word) for word in model.feature_names_in_]
    assert np.sort(seen[known])[5] >= np.sort(np.delete(seen, known))[-1]  # some were counted from later on
    assert np.all(stream._kept.words.documents <= seen[known] * (1 + 1e-12))


def test_counts_of_waiting_words_are_bounded_and_nearly_right():
    rng = np.random.default_rng(0)
    counts: dict[str, float] = {}
    truth = np.zeros(1000)
    for _ in range(300):
        words = rng.zipf(1.5, 40)
        for v in words[words < 1000]:
            truth[v] += 1
            counts[str(v)] = counts.get(str(v), 0.0) + 1
        counts = bounded(counts, 50)
        assert len(counts) <= 50
    for v in range(1000):
        assert truth[v] - truth.sum() / 51 <= counts.get(str(v), 0.0) <= truth[v]


def test_a_batch_that_fails_changes_nothing(batches, tmp_path):
    stream = learned(batches[:3], path=tmp_path / "s")
    before, files = state(stream), sorted(p.name for p in (tmp_path / "s").iterdir())
    for bad, message in (([], "X is empty"), (batches[0].to_scipy(), "known by name"), (batches[0][[]], "0 documents")):
        with pytest.raises(ValueError, match=message):
            stream.learn(bad, id="bad")
    with pytest.raises(ValueError, match="twice"):
        stream.learn(Corpus.from_scipy(np.ones((2, 2)), vocabulary=["a", "a"]))
    with pytest.raises(ValueError, match="string or an integer"):
        stream.learn(batches[3], id=1.5)
    stream.model.partial_fit(batches[4])  # on a copy
    assert state(stream) == before
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == files == ["lock", "model-3", "state"]


def test_a_batch_is_read_as_a_fit_reads_it(tmp_path):
    texts = ["wind sail boat"] * 20 + ["rook bishop board", "zugzwang"] * 10
    frame = pd.DataFrame({"text": texts, "year": 2024})
    frame.to_csv(tmp_path / "batch.csv", index=False)
    forms = (texts, np.array(texts), iter(texts), frame, tmp_path / "batch.csv")
    found = [state(learned([batch, texts[:20]])) for batch in forms]
    assert all(one == found[0] for one in found)


def test_a_stream_that_is_opened_again_has_the_same_bits(batches, tmp_path):
    want = learned(batches)
    learned(batches[:5], path=tmp_path / "s")
    again = learned(batches, path=tmp_path / "s")  # all batches are sent again
    assert state(again) == state(want)
    assert topmix.load(tmp_path / "s" / "model-12").n_components == 4


def test_what_was_not_saved_is_sent_again(batches, tmp_path):
    learned(batches[:8], path=tmp_path / "s", save_every=3)
    again = learned(batches[:7], path=tmp_path / "s", save_every=3)
    assert (again.n_batches, state(again)) == (7, state(learned(batches[:7])))
    again.save()
    assert Stream(lda(learner=Stochastic(half_life=200)), tmp_path / "s").n_batches == 7


def test_a_crash_while_the_folder_is_written_leaves_the_stream_before(batches, tmp_path, monkeypatch):
    stream = learned(batches[:3], path=tmp_path / "s")
    before = state(stream)
    with monkeypatch.context() as broken:
        broken.setattr("topmix.selection.stream_folder.write_file", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stream.learn(batches[3], id=3)
    assert state(stream) == before
    assert (tmp_path / "s" / "model-4").exists()  # written, and named by nobody
    (tmp_path / "s" / ".state.12345678.whole.topmix-tmp").write_text("half")
    again = learned([], path=tmp_path / "s")
    assert state(again) == before
    again.learn(batches[3], id=3)
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == ["lock", "model-4", "state"]
    assert state(again) == state(learned(batches[:4]))


CHILD = """
import sys
sys.path.insert(0, {tests!r})
from test_streams import learned, thirty_batches
learned(thirty_batches(), path=sys.argv[1])
"""


def thirty_batches():
    X = sample_lda(30 * SIZE, WORDS, 4, doc_length=20, random_state=2).corpus.to_scipy()
    return [Corpus.from_scipy(X[b * SIZE : (b + 1) * SIZE], vocabulary=NAMES) for b in range(30)]


def test_a_stream_that_is_killed_ends_with_the_same_bits(tmp_path):
    """After it has learned something; benchmarks/stream.py does it twenty times."""
    command = [sys.executable, "-c", CHILD.format(tests=str(Path(__file__).parent)), str(tmp_path / "s")]
    child = subprocess.Popen(command)
    while child.poll() is None and not any(p.name != "model-1" for p in (tmp_path / "s").glob("model-*")):
        time.sleep(0.002)
    time.sleep(0.02)
    assert child.poll() is None, "it ended before it could be killed"
    child.kill()
    child.wait()
    stopped = learned([], path=tmp_path / "s")
    assert 0 < stopped.n_batches < 30
    assert subprocess.run(command, check=False).returncode == 0
    assert state(learned([], path=tmp_path / "s")) == state(learned(thirty_batches()))


HOLDER = """
import sys
sys.path.insert(0, {tests!r})
from test_streams import learned, thirty_batches
stream = learned(thirty_batches()[:2], path=sys.argv[1])
print("learned", flush=True)
for line in sys.stdin:
    stream.learn(thirty_batches()[int(line)], id=int(line))
    print("learned", flush=True)
"""


def test_one_process_at_a_time_has_the_folder(tmp_path):
    """The second one is told who the first is, and since when; what the first has learned stays. A kill ends it."""
    path, batches = tmp_path / "s", thirty_batches()
    command = [sys.executable, "-c", HOLDER.format(tests=str(Path(__file__).parent)), str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "learned\n"
        for _ in range(2):
            with pytest.raises(InUseError, match=f"is being written to by process {holder.pid} on .*, since 20"):
                learned(batches[:3], path=path)
        print(2, file=holder.stdin, flush=True)
        assert holder.stdout.readline() == "learned\n"
        assert learned([], path=path).n_batches == 3  # it may be looked at
        with pytest.raises(InUseError):
            learned([], path=path).save()
    finally:
        holder.kill()
        holder.communicate()
    again = learned([], path=path)
    assert state(again) == state(learned(batches[:3]))
    again.learn(batches[3], id=3)
    assert again.n_batches == 4


def test_of_two_streams_of_a_process_the_one_that_is_behind_writes_nothing(batches, tmp_path):
    """Whichever it is, also where both began before there was a folder, or where the folder was deleted."""
    for before in (0, 2):
        path = tmp_path / f"s{before}"
        first = learned(batches[:before], path=path)
        second = learned(batches[:before], path=path)
        assert second.learn(batches[2], id=2).batch == before + 1
        with pytest.raises(InUseError, match="has changed since this stream read it"):
            first.learn(batches[3], id=3)
        assert first.n_batches == before
        with pytest.raises(InUseError):
            first.save() if before else first.learn(batches[3], id=3)
        second.learn(batches[3], id=3)
        assert state(learned([], path=path)) == state(second)
        shutil.rmtree(path)
        with pytest.raises(InUseError):
            second.learn(batches[4], id=4)
        assert learned(batches[:1], path=path).n_batches == 1


def test_threads_with_streams_of_their_own_lose_no_batch_that_was_acknowledged(batches, tmp_path):
    acknowledged, refused = [], []

    def work(mine):
        for b in mine:
            try:
                learned([], path=tmp_path / "s").learn(batches[b], id=b)
                acknowledged.append(b)
            except InUseError:
                refused.append(b)

    threads = [threading.Thread(target=work, args=[range(n, 12, 3)]) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = learned([], path=tmp_path / "s")
    assert sorted(found._kept.ids) == sorted(acknowledged)
    assert len(acknowledged) + len(refused) == 12
    assert found.n_batches == len(acknowledged) >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_write_to_the_folder_of_its_parent(batches, tmp_path):
    stream = learned(batches[:2], path=tmp_path / "s")
    child = os.fork()
    if not child:  # nothing of pytest may run here
        try:
            stream.save()
            os._exit(1)
        except InUseError:
            os._exit(7)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    stream.learn(batches[2], id=2)


def test_a_folder_that_lost_a_part_is_refused_and_stays_as_it_is(batches, tmp_path):
    stream = learned(batches[:3], path=tmp_path / "s")
    for lost, said in (
        (STATE, "'state' that belongs to it is gone"),
        ("model-3", "state belongs to the model '.*model-3', which is gone"),
    ):
        (tmp_path / "s" / lost).rename(tmp_path / "away")
        with pytest.raises(ModelFileError, match=said):
            learned(batches[:1], path=tmp_path / "s")
        (tmp_path / "away").rename(tmp_path / "s" / lost)
        assert state(learned([], path=tmp_path / "s")) == state(stream)


def test_a_kill_in_the_first_batch_leaves_a_folder_to_begin_in(batches, tmp_path, monkeypatch):
    """At each of its steps: the state without a model, the model, the state that names it."""
    for writes in range(3):
        done = []

        def some(*arguments, writes=writes, done=done, **more):
            if len(done) == writes:
                raise KeyboardInterrupt
            done.append(write_file(*arguments, **more))

        with monkeypatch.context() as broken:
            broken.setattr("topmix.selection.stream_folder.write_file", some)
            broken.setattr("topmix.estimators.files.write_file", some)
            with pytest.raises(KeyboardInterrupt):
                learned(batches[:1], path=tmp_path / f"s{writes}")
        assert learned([], path=tmp_path / f"s{writes}").n_batches == 0
        assert state(learned(batches[:2], path=tmp_path / f"s{writes}")) == state(learned(batches[:2]))


def test_a_change_of_topics_is_reported():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, 0.1), 4)
    halves = [
        sample_lda(12 * SIZE, WORDS, 2, doc_length=20, topic_word=topics[k : k + 2], random_state=k) for k in (0, 2)
    ]
    stream = Stream(lda(learner=Stochastic(half_life=150)), admit=1)
    for half in halves:
        X = half.corpus.to_scipy()
        for b in range(12):
            stream.learn(Corpus.from_scipy(X[b * SIZE : (b + 1) * SIZE], vocabulary=NAMES))
    info = stream.info()
    assert isinstance(info, pd.DataFrame)
    assert list(info["batch"]) == list(range(1, 25))
    usual, at, end = info["score"][8:12].mean(), info["score"][12], info["score"][20:].mean()
    assert at < min(usual, end) - 0.5
    assert info["drift"][12] > 2 * info["drift"][8:12].max()
    assert min(len(info["grown"][12]), len(info["shrunk"][12])) > 0
    assert stream.score(Corpus.from_scipy(X, vocabulary=NAMES)) == pytest.approx(end, abs=0.3)


def test_texts_are_cut_as_in_the_first_batch(tmp_path):
    first = ["The wind and the sail of the boat"] * 6 + ["The rook and the bishop"] * 6
    stream = Stream(lda(n_components=2), tmp_path / "s", admit=2)
    stream.learn(first)
    assert list(stream.model.feature_names_in_) == ["bishop", "boat", "rook", "sail", "wind"]
    stream = Stream(lda(n_components=2), tmp_path / "s", admit=2)
    stream.learn(["Wind of the mast"] * 3)
    assert list(stream.model.feature_names_in_)[5:] == ["mast"]
    assert stream.model.transform(["mast and sail"]).shape == (1, 2)
    stream = Stream(lda(n_components=2), admit=2, vectorizer=Vectorizer(lowercase=False, min_df=100))
    stream.learn(first)
    assert "The" in stream.model.feature_names_in_


def test_a_fitted_model_is_continued(batches):
    model = lda(max_iter=2).fit(batches[3])
    before = model.components_.copy()
    stream = Stream(model, admit=2)
    assert stream.learn(batches[5]).score < 0
    np.testing.assert_array_equal(model.components_, before)
    assert list(stream.model.feature_names_in_[:WORDS]) == list(model.feature_names_in_)
    with pytest.raises(ValueError, match="by name"):
        Stream(lda(max_iter=1).fit(batches[0].to_scipy()))


def test_an_hdp_can_be_the_model(batches):
    stream = Stream(HDP(5, random_state=0, n_jobs=1), admit=2, max_words=30)
    for batch in batches[:4]:
        stream.learn(batch)
    assert stream.model.components_.shape == (5, 30)


def test_what_makes_no_sense_is_refused(batches, tmp_path):
    for bad in ({"admit": 0}, {"max_words": 0}, {"remember": 0}, {"save_every": 0}, {"vectorizer": "english"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Stream(lda(), **bad)
    with pytest.raises(ValueError, match="LDA or an HDP"):
        Stream(MultinomialMixture(2))
    stream = Stream(lda(), admit=1000)
    for attempt in (
        lambda: stream.learn(batches[0]),
        lambda: stream.model,
        lambda: stream.score(batches[0]),
        stream.save,
    ):
        with pytest.raises(ValueError, match=r"1000 documents|learned nothing|no folder"):
            attempt()
    learned(batches[:2], path=tmp_path / "s")
    with pytest.raises(ValueError, match="n_components was 4 and is 5"):
        Stream(lda(n_components=5, learner=Stochastic(half_life=200)), tmp_path / "s")
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match="kept in a folder"):
        Stream(lda(), tmp_path / "file")
    kept = (tmp_path / "s" / STATE).read_bytes()
    for damaged in (kept[:-3], kept.replace(b'"n_batches', b'"n_bitches'), b""):
        (tmp_path / "s" / STATE).write_bytes(damaged)
        with pytest.raises(ModelFileError, match=STATE):
            learned([], path=tmp_path / "s")
    (tmp_path / "s" / STATE).write_bytes(kept)
    (tmp_path / "s" / "model-2").unlink()
    with pytest.raises(ModelFileError, match="model-2"):
        learned([], path=tmp_path / "s")


def test_one_value_per_word_cannot_lose_words(batches):
    words = Lexicon(["a", "b"], np.array([1.0, 2.0]))
    assert words.unknown(Corpus.from_scipy(np.ones((1, 2)), vocabulary=["a", "c"])) == 0.5
    stream = Stream(lda(topic_word_prior=np.full(30, 0.1)), admit=1, max_words=30)
    first = batches[0].in_words(NAMES[:30]).corpus
    stream.learn(Corpus.from_scipy(first.to_scipy().toarray() + np.eye(SIZE, 30), NAMES[:30]))
    with pytest.raises(ValueError, match=r"one value per word|one per word"):
        stream.learn(Corpus.from_scipy(np.ones((99, 1)), vocabulary=["new"]))
