"""Edits with documents and topics on the device: the model learns on, with the bits of separate fits."""

import numpy as np
import pytest
import scipy.sparse as sp

from topmix import LDA, edits
from topmix.data import Corpus
from topmix.engines.resident import Resident
from topmix.learners import Memoized
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.session import Session

EDITS = (
    {"do": "merge", "topics": [1, 3]},
    {"do": "delete", "topic": 2},
    {"do": "split", "topic": 0, "seed": 0},
    {"do": "seed", "words": ["3", "5"], "topic": None, "strength": 1.0},
    {"do": "move", "document": 4, "topic": 1},
)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.1), 4)
    counts = np.array([rng.multinomial(15, rng.dirichlet(np.full(4, 0.2)) @ topics) for _ in range(60)])
    return Corpus.from_scipy(sp.csr_array(counts), [str(v) for v in range(20)])


@pytest.fixture
def model(corpus, engine):
    # As many topics of a word after a merger and a deletion: kernels are compiled for each number of them.
    settings = {"n_active": 3, "inference": "collapsed", "learner": Memoized(batch_size=30)}
    return LDA(5, engine=engine, max_iter=2, random_state=0, **settings).fit(corpus)


@pytest.fixture(autouse=True)
def few_passes(monkeypatch):
    monkeypatch.setattr(edits, "MOST_PASSES", 3)


# An edit is made on the processor. The device learns on from it, with fewer topics or with more.
FEWER_AND_MORE = ("merge", "split")


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(edit, id=edit["do"], marks=[pytest.mark.slow] if edit["do"] not in FEWER_AND_MORE else [])
        for edit in EDITS
    ],
)
def test_an_edit_is_tried_on_the_device_with_the_bits_of_separate_fits(model, corpus, edit):
    desk = edits.Desk(corpus)
    before = desk.before(model)
    tried = desk.tried(model, edit)
    assert [each["do"] for each in tried.edits] == [edit["do"], "learn"]
    assert tried.edits[1]["passes"] == 3
    kept = desk.accepted(tried)
    again = edits.replay(model, tried.edits, corpus)
    np.testing.assert_array_equal(kept.components_, again.components_)
    np.testing.assert_array_equal(kept.doc_topic_prior_, again.doc_topic_prior_)
    assert kept.edits_ == again.edits_
    assert kept.get_params() == again.get_params()
    np.testing.assert_allclose(tried.scores, edits.scores_of(again, corpus), rtol=1e-9)
    np.testing.assert_allclose(before, edits.scores_of(edits.learn(model, corpus, passes=3), corpus), rtol=1e-9)
    second = desk.tried(kept, {"do": "delete", "topic": 0})  # from the model that is on the device
    after = edits.replay(again, second.edits, corpus)
    np.testing.assert_array_equal(desk.accepted(second).components_, after.components_)
    desk.close()


def test_documents_are_copied_to_the_device_once(model, corpus, monkeypatch):
    desk = edits.Desk(corpus)
    desk.tried(model, EDITS[0])
    monkeypatch.setattr("topmix.cuda.topics.CorpusOnDevice.of", lambda *given: pytest.fail("documents were copied"))
    monkeypatch.setattr("topmix.cuda.words.DeviceWordTotal.on_host", lambda self: pytest.fail("topics were fetched"))
    desk.tried(model, EDITS[1])


def test_edits_that_a_device_has_no_kernel_for_are_scored_as_they_are(model, corpus):
    desk = edits.Desk(corpus)
    tried = desk.tried(model, {"do": "ban", "topic": 0, "words": ["3"]})
    assert [each["do"] for each in tried.edits] == ["ban"]
    assert tried.model is desk.accepted(tried)
    assert not isinstance(tried.model.engine, Resident)
    assert desk.tried(tried.model, EDITS[0]).edits == [EDITS[0]]


def asked(session, what, *given):
    """One thing after another: two threads cannot run emulated kernels at once."""
    for visit in session._visits:
        visit.join()
    return what(*given, session.version)


def test_an_accepted_edit_and_what_was_learned_after_it_are_undone_together(model, corpus):
    session = Session(Library(corpus, corpus.vocabulary))
    session.open(model)
    effect = asked(session, session.preview, EDITS[0])["effect"]
    assert effect["completion_before"] != effect["completion_after"]
    asked(session, session.apply, EDITS[0])
    after = session.snapshot.model
    assert [edit["do"] for edit in session.journal.edits] == ["merge", "learn"]
    assert not isinstance(after.engine, Resident)
    asked(session, session.undo)
    assert session.journal.edits == []
    assert session.snapshot.model is model
    asked(session, session.redo)
    assert [edit["do"] for edit in session.journal.edits] == ["merge", "learn"]
    assert session.snapshot.model is after
    asked(session, session.undo)
    asked(session, session.apply, {"do": "rename", "topic": 0, "name": "Sailing"})
    asked(session, session.apply, EDITS[1])  # without a preview
    assert [edit["do"] for edit in session.journal.edits] == ["rename", "delete", "learn"]
    asked(session, session.undo)
    asked(session, session.undo)
    assert session.journal.edits == []
    session.close()
