"""The state that all browsers share: a model and how it came to be. Its version grows with every change.

Whoever changes something says which version he has seen; a change of something older is refused. Readers take the
snapshot once and work on it, so that nobody sees half of an edit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from topmix.apps.explorer.library import Library
from topmix.apps.explorer.live import Events, Journal, Watch
from topmix.apps.explorer.snapshot import Snapshot, some_topics
from topmix.apps.page import Json, as_json
from topmix.apps.web import Refused
from topmix.base.checks import whole_number
from topmix.learn.history import Record
from topmix.results.topics import Edit
from topmix.selection import edits
from topmix.selection.edits import Scores
from topmix.selection.views import Model

MODELS_KEPT = 12  # for undo; older ones are made again from the first
CUTS = 3  # of a topic that is to be split
MOST_PASSES = 1000
FIRST_PAGE = 0.5  # seconds that the background waits, because a page is being opened

logger = logging.getLogger(__name__)


class Shown(NamedTuple):
    """What belongs together. It is replaced as a whole, so that readers need no lock."""

    version: int = 0
    snapshot: Snapshot | None = None
    edits: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()
    passes: tuple[list[object], ...] = ()  # of the fit that runs: as in the history of an overview


class Session:
    def __init__(self, library: Library | None, title: str = "topmix"):
        self.library, self.title, self.events = library, title, Events()
        self.corpus = None if library is None else library.corpus
        self.seed = 0  # of learning on
        self.watch: Watch | None = None  # of the fit that runs
        self.busy: str | None = None  # what is being done: "fit", "learn" or None
        self.error: str | None = None  # of the last thing that was done in the background
        self.journal = Journal(None)
        self._shown = Shown()
        self._models: dict[int, Model] = {}  # by the number of edits that were made
        # The edit that was previewed, and what `apply` would make again: before it, the edit, after it, its scores.
        self._tried: tuple[Snapshot, Edit, Model, Scores | None] | None = None
        self._lock = threading.RLock()  # held by whoever changes something, which may take long
        self._visits: list[threading.Thread] = []
        self._closed = threading.Event()

    @property
    def version(self) -> int:
        return self._shown.version

    @property
    def snapshot(self) -> Snapshot | None:
        return self._shown.snapshot

    # What is shown.

    def open(self, model: Model, path: Path | None = None) -> None:
        """Begins with a fitted model. Edits beside its file are made again."""
        with self._lock:
            self.journal, self._models = Journal(path), {0: model}
            if self.journal.edits:
                model = self._made(self.journal.edits)
            self._move(self.journal.edits, self.journal.undone, model, write=False)
            self.busy = self.watch = None  # now: who sees that the fit is over sees its model too
        self.events.publish("status")

    def show(self, model: Model) -> None:
        """A new snapshot, during a fit."""
        made = Snapshot(model, self.library, self.snapshot, is_passing=True)
        _ = made.overview_json  # now, and not when somebody asks
        made.index.prepare()
        with self._lock:
            self._swap(made)

    def _swap(self, made: Snapshot) -> None:
        self._tried = None
        done, undone = tuple(self.journal.edits), tuple(self.journal.undone)
        self._shown = Shown(self.version + 1, made, done, undone, self._shown.passes)
        self.events.publish("state", version=self.version)

    def _move(
        self, done: list[Edit], undone: list[Edit], model: Model, scores: Scores | None = None, *, write: bool = True
    ) -> None:
        """The model after these edits is what is shown from now on. Its documents are visited in the background."""
        made = Snapshot(model, self.library, self.snapshot)
        _ = made.overview_json  # now, and not when somebody asks
        if scores is not None:
            made.scores = scores
        self.journal.move(done, undone, write=write)  # before anybody sees it
        self._models = {n: kept for n, kept in self._models.items() if n <= len(done) + len(undone)}
        self._models[len(done)] = model
        for n in sorted(self._models)[1:-MODELS_KEPT]:
            del self._models[n]
        self._swap(made)
        self._start(lambda: self._visit(made), "the map or the topics of the documents could not be computed")

    def _start(self, work: Callable[[], None], trouble: str) -> None:
        """In the background; `close` waits for it. The page says what the trouble is, if it fails."""

        def run() -> None:
            try:
                work()
            except Exception:
                self._failed(trouble)

        visit = threading.Thread(target=run, name="topmix-background", daemon=True)
        self._visits = [*(other for other in self._visits if other.is_alive()), visit]
        visit.start()

    def _failed(self, trouble: str) -> None:
        logger.exception(trouble)
        self.error = f"{trouble}; the log of the server says why"
        self.events.publish("status")

    def _visit(self, snapshot: Snapshot) -> None:
        """What only clicks need, and would slow down the first page."""
        self._closed.wait(FIRST_PAGE)
        if snapshot.positions is None:
            snapshot.positions = snapshot.topics.places
            del snapshot.overview_json
            if self.snapshot is snapshot:
                self.events.publish("state", version=self.version)
        snapshot.index.prepare()
        if self.library is not None:
            _ = self.library.by_word
        snapshot.compute_mixes(lambda: not self._closed.is_set())
        if not self._closed.is_set():
            _ = snapshot.scores  # which the first preview asks for
        if self.snapshot is snapshot:
            self.events.publish("documents", version=self.version)

    def overview(self) -> str:
        """The status, the passes of the fit that runs, and the overview of the snapshot that belongs to them or null,
        as JSON: the last is long, and the same for everybody."""
        shown = self._shown
        overview = "null" if shown.snapshot is None else shown.snapshot.overview_json
        status, passes = as_json(self.status(shown)), as_json(shown.passes)
        return f'{{"status":{status},"passes":{passes},"overview":{overview}}}'

    def status(self, shown: Shown | None = None) -> Json:
        shown = self._shown if shown is None else shown
        watch, snapshot, library = self.watch, shown.snapshot, self.library
        model = None if snapshot is None or self.busy is not None else snapshot.model  # that can be changed now
        said = [] if snapshot is None else snapshot.numbering.edits  # with the numbers that stay with topics
        return {
            "version": shown.version,
            "busy": self.busy,
            "error": self.error,
            "paused": watch is not None and watch.paused,
            "edits": list(shown.edits),
            "undone": list(shown.undone),
            "said": said[len(said) - len(shown.edits) :],
            "can_edit": model is not None and edits.can_edit(model),
            "can_edit_words": model is not None and edits.can_edit_words(model),
            "can_rename": model is not None,
            "has_documents": library is not None,
            "documents_ready": snapshot is not None and snapshot.mixes is not None,
            "has_held_out": library is not None and library.held_out is not None,
            "columns": [] if library is None else [column.about() for column in library.columns.values()],
        }

    # A fit that is watched.

    def publish_pass(self, record: Record) -> None:
        row: list[object] = [record.n_pass, round(record.seconds, 3), float(record.objective), record.phase]
        with self._lock:
            before = () if record.n_pass == 1 else self._shown.passes  # 1: of another start of the fit
            self._shown = self._shown._replace(passes=(*before, row))
            self.events.publish("pass", row=row)

    def watching(self, what: str = "fit", *, is_interrupted: Callable[[], bool] = lambda: False) -> Watch:
        """The callback of a fit that begins now."""
        with self._lock:
            self.watch = Watch(self.show, self.publish_pass, is_interrupted)
            self.busy, self._shown = what, self._shown._replace(passes=())
            return self.watch

    def control(self, action: object) -> None:
        watch = self.watch
        if watch is None or self.busy is None:
            raise Refused("nothing is being learned")
        if action not in ("pause", "resume", "stop"):
            raise ValueError("an action is pause, resume or stop")
        if action == "stop":
            watch.stop()
        else:
            watch.paused = action == "pause"
        self.events.publish("status")

    # Edits.

    def preview(self, edit: object, version: object) -> Json:
        """What an edit would do to the scores, and to the words of its topics. Nothing is changed."""
        now, edit = self._ready(version), checked_edit(edit)
        after = edits.apply(now.model, edit, self.corpus)
        scores, effect = None, None
        if self.library is not None and edit["do"] != "rename":
            scores = self.library.scorer.scores(after)
            effect = edits.Effect(*now.scores, *scores)._asdict()
        self._tried = now, edit, after, scores
        return {"effect": effect, "words": now.changed_words(after, edit)}

    def cuts(self, topic: object, version: object) -> list[Json]:
        """Ways to split a topic: the words of both sides, and what the second has of the tokens."""
        now = self._ready(version)
        k = now.checked(topic)
        if self.library is None:
            raise ValueError("a split needs the documents")
        ways: list[Json] = []
        seen: list[set[str]] = []
        for seed in range(CUTS):
            topics = some_topics(edits.split(now.model, self.library.corpus, k, seed=seed), [k, now.n_topics])
            first, second = (topics.words_of(ids) for ids in topics.top(8))
            if {*first[:4]} not in seen:
                seen += [{*first[:4]}, {*second[:4]}]
                part = float(topics.share[1] / max(topics.share.sum(), 1e-300))
                ways.append({"seed": seed, "first": first, "second": second, "part": part})
        return ways

    def apply(self, edit: object, version: object) -> None:
        edit = checked_edit(edit)
        with self._lock:
            now = self._ready(version)
            if self._tried is not None and self._tried[0] is now and self._tried[1] == edit:
                self._accept(edit, *self._tried[2:])
            else:
                self._accept(edit, edits.apply(now.model, edit, self.corpus))

    def undo(self, version: object) -> None:
        with self._lock:
            self._ready(version)
            if not self.journal.edits:
                raise Refused("there is nothing to undo")
            *done, last = self.journal.edits
            self._move(done, [*self.journal.undone, last], self._made(done))

    def redo(self, version: object) -> None:
        with self._lock:
            self._ready(version)
            if not self.journal.undone:
                raise Refused("there is nothing to redo")
            *undone, last = self.journal.undone
            done = [*self.journal.edits, last]
            self._move(done, undone, self._made(done))

    def learn(self, passes: object, version: object) -> None:
        """Learns on in the background; the page can watch it, and stop it."""
        n = whole_number(passes, "passes")
        if n > MOST_PASSES:
            raise ValueError(f"passes must be at most {MOST_PASSES}")
        with self._lock:
            model = self._ready(version).model
            if not edits.can_edit(model) or self.library is None:
                raise Refused("learning on needs LDA, HDP or clusters of vectors, and the documents")
            watch, self.error = self.watching("learn"), None
            self._start(lambda: self._learn(model, n, watch), "learning on failed")
        self.events.publish("status")

    def _learn(self, model: Model, passes: int, watch: Watch) -> None:
        after: Model | None = None
        try:
            after = edits.learn(model, self.corpus, passes=passes, seed=self.seed, callbacks=[watch])
        except Exception:
            self._failed("learning on failed")
        with self._lock:
            try:
                if after is not None:
                    self._accept(after.edits_[-1], after)
            except (OSError, ValueError) as error:
                after, self.error = None, f"what was learned could not be kept: {error}"
            if after is None:
                self._move(self.journal.edits, self.journal.undone, model, write=False)
            self.busy = self.watch = None  # now: who sees that it is over sees the edit too
        self.events.publish("status")

    def close(self) -> None:
        """Ends what runs. What was accepted is in the journal."""
        if self.watch is not None:
            self.watch.stop()
        self._closed.set()
        # A thread that is inside a kernel when Python ends would abort the whole process.
        for visit in self._visits:
            visit.join(60)
        self.events.close()

    def _accept(self, edit: Edit, after: Model, scores: Scores | None = None) -> None:
        before = self.journal.edits
        self._models = {n: kept for n, kept in self._models.items() if n <= len(before)}
        self._move([*before, edit], [], after, scores)

    def _made(self, done: list[Edit]) -> Model:
        """The model after these edits: kept, or made again from the nearest one that is."""
        kept = max(n for n in self._models if n <= len(done))
        return edits.replay(self._models[kept], done[kept:], self.corpus)

    def _ready(self, version: object) -> Snapshot:
        """What is shown, where it can be changed now and the one who asks has seen it."""
        shown = self._shown
        if self.busy is not None or shown.snapshot is None:
            raise Refused("the model is being learned: stop or wait first")
        if version != shown.version:
            raise Refused("the model has changed meanwhile, perhaps in another window: look again")
        return shown.snapshot


def checked_edit(edit: object) -> Edit:
    checked = edits.checked(edit)
    if checked["do"] == "learn":
        raise ValueError("learning on is another request, and has no preview")
    return checked
