"""The state that all browsers share: a model and how it came to be. Its version grows with every change.

Whoever changes something says which version he has seen; a change of something older is refused. Readers take the
snapshot once and work on it, so that nobody sees half of an edit.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from topmix import edits
from topmix.data.corpus import Corpus
from topmix.edits import Edit
from topmix.fitting.history import Record
from topmix.pages.assets import Json, as_json
from topmix.pages.explorer.journal import Journal
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.live import Events, Watch
from topmix.pages.explorer.other import OtherModel
from topmix.pages.explorer.preview import changed_words, moved_documents, some_topics
from topmix.pages.explorer.snapshot import Snapshot
from topmix.pages.web import Refused
from topmix.parameters.checks import whole_number
from topmix.views.model import Model

MODELS_KEPT = 12  # for undo; older ones are made again from the first
CUTS = 3  # of a topic that is to be split
MOST_PASSES = 1000
FIRST_PAGE = 2.0  # seconds that the background waits for a page that is being opened

logger = logging.getLogger(__name__)


class Previewed(NamedTuple):
    """An edit that was previewed: what is remembered if it is accepted, and the snapshot, which is being made."""

    version: int
    edit: Edit
    edits: list[Edit]
    snapshot: Future[Snapshot]


class Session:
    def __init__(self, library: Library | None, title: str = "topmix"):
        self.library, self.title, self.events = library, title, Events()
        self.other: OtherModel | None = None  # to compare with
        self.seed = 0  # of learning on
        self.has_parquet = importlib.util.find_spec("pyarrow") is not None  # tables can be written so
        self.version = 0
        self.watch: Watch | None = None  # of the fit that runs
        self.busy: str | None = None  # what is being done: "fit", "learn" or None
        self.passes: list[list[object]] = []  # of the fit that runs: as in the history of an overview
        self.error: str | None = None  # of the last thing that was done in the background
        self.snapshot: Snapshot | None = None
        self.path: Path | None = None
        self.journal = Journal(None)
        self._models: dict[int, Model] = {}  # by the number of edits that were made
        self._joined: set[int] = set()  # numbers of edits that are undone with the one before
        self._tried: Previewed | None = None
        self._desk: tuple[Library, edits.Desk] | None = None
        self._changing = threading.RLock()  # held by whoever changes the model, which may take long
        self._together = threading.RLock()  # held for moments: version, snapshot and journal belong together
        self._thread: threading.Thread | None = None
        self._visits: list[threading.Thread] = []
        self._closed = False
        self._seen = threading.Event()  # a page has the first overview

    # What is shown.

    def open(self, model: Model, path: Path | None = None) -> None:
        """Begins with a fitted model. Edits beside its file are made again."""
        with self._changing:
            self.path, self.journal = path, Journal(path)
            self._models = {0: model}
            if self.journal.edits:
                model = edits.replay(model, self.journal.edits, self._corpus())
            self._move(self.journal.edits, self.journal.undone, model, write=False)
            self.busy = self.watch = None  # now: who sees that the fit is over sees its model too
        self.events.publish("status")

    def show(self, model: Model) -> None:
        """A new snapshot, during a fit."""
        made = Snapshot(model, self.library, self.snapshot, is_passing=True)
        made.prepare()
        made.prepare_words()
        with self._together:
            self._swap(made)

    def _swap(self, made: Snapshot) -> None:
        self.snapshot, self._tried = made, None
        self.version += 1
        self.events.publish("state", version=self.version)

    def _move(
        self, done: list[Edit], undone: list[Edit], model: Model, *, write: bool = True, made: Snapshot | None = None
    ) -> None:
        """The model after these edits is what is shown from now on. Its documents are visited in the background."""
        if made is None:
            made = Snapshot(model, self.library, self.snapshot)
            made.prepare()
        with self._together:
            self.journal.move(done, undone, write=write)  # before anybody sees it
            self._models = {n: kept for n, kept in self._models.items() if n <= len(done) + len(undone)}
            self._models[len(done)] = model
            for n in sorted(self._models)[1:-MODELS_KEPT]:
                del self._models[n]
            self._swap(made)
        if made.is_rough:
            self._start(lambda: self._refine(made), "topmix-map")
        self._start(lambda: self._visit(made), "topmix-documents")

    def _wait_for_page(self) -> None:
        """What only clicks need would slow down the first page."""
        self._seen.wait(FIRST_PAGE)
        self._seen.set()

    def _refine(self, snapshot: Snapshot) -> None:
        """Pages glide from the quick map to the one of reports and files."""
        self._wait_for_page()
        try:
            snapshot.refine()
        except Exception:
            logger.exception("the map of topics")
            self.error = "the map of the topics could not be computed; the log of the server says why"
        if self.snapshot is snapshot:
            self.events.publish("state", version=self.version)

    def _start(self, work: Callable[[], None], name: str) -> None:
        """In the background; `close` waits for it."""
        self._visits = [visit for visit in self._visits if visit.is_alive()]
        visit = threading.Thread(target=work, name=name, daemon=True)
        self._visits.append(visit)
        visit.start()

    def _visit(self, snapshot: Snapshot) -> None:
        self._wait_for_page()
        try:
            snapshot.prepare_words()
            if self.library is not None:
                self.library.prepare()
            snapshot.compute_mixes(lambda: not self._closed)
            if not self._closed:
                _ = self._before(snapshot)  # which the first preview asks for
        except Exception:
            logger.exception("the topics of the documents")
            self.error = "the topics of the documents could not be computed; the log of the server says why"
        if self.snapshot is snapshot:
            self.events.publish("documents", version=self.version)

    def overview(self) -> str:
        """The status, the passes of the fit that runs, and the overview of the snapshot that belongs to them or null,
        as JSON: the last is long, and the same for everybody."""
        with self._together:
            snapshot, status, passes = self.snapshot, self.status(), list(self.passes)
        self._seen.set()
        shown = "null" if snapshot is None else snapshot.overview_json
        return f'{{"status":{as_json(status)},"passes":{as_json(passes)},"overview":{shown}}}'

    def status(self) -> Json:
        with self._together:
            watch = self.watch
            snapshot, library = self.snapshot, self.library
            return {
                "version": self.version,
                "busy": self.busy,
                "error": self.error,
                "paused": watch is not None and watch.paused,
                "limit": None if watch is None else watch.limit,
                "edits": list(self.journal.edits),
                "undone": list(self.journal.undone),
                "said": self._said(),
                "can_edit": snapshot is not None and self.busy is None and edits.can_edit(snapshot.model),
                "can_edit_words": snapshot is not None and self.busy is None and edits.can_edit_words(snapshot.model),
                "can_rename": snapshot is not None and self.busy is None,
                "has_parquet": self.has_parquet,
                "has_other": self.other is not None,
                "has_documents": library is not None,
                "documents_ready": snapshot is not None and snapshot.mixes is not None,
                "has_held_out": library is not None and library.held_out is not None,
                "columns": [] if library is None else [c.about() for c in library.columns.values()],
            }

    def _said(self) -> list[Edit]:
        """The edits with the numbers that stay with topics."""
        said = [] if self.snapshot is None else self.snapshot.numbering.edits
        return said[len(said) - len(self.journal.edits) :]

    # A fit that is watched.

    def publish_pass(self, record: Record) -> None:
        row = [record.n_pass, round(record.seconds, 3), float(record.objective), record.phase]
        with self._together:
            if record.n_pass == 1:  # of another start of the fit
                self.passes = []
            self.passes.append(row)
            self.events.publish("pass", row=row)

    def watching(
        self, what: str = "fit", *, limit: float | None = None, is_interrupted: Callable[[], bool] = lambda: False
    ) -> Watch:
        """The callback of a fit that begins now."""
        self.watch, self.busy = Watch(self.show, self.publish_pass, limit=limit, is_interrupted=is_interrupted), what
        self.passes = []
        return self.watch

    def control(self, action: str, limit: object = None) -> None:
        watch = self.watch
        if watch is None or self.busy is None:
            raise Refused("nothing is being learned")
        if action == "pause":
            watch.pause()
        elif action == "resume":
            watch.resume()
        elif action == "stop":
            watch.stop()
        elif action == "limit":
            watch.set_limit(limit)
        else:
            raise ValueError("an action is pause, resume, stop or limit")
        self.events.publish("status")

    # Edits.

    def preview(self, edit: object, version: object) -> Json:
        """What an edit would do to the scores, to the words of its topics, and to documents. Nothing is changed."""
        model, corpus, now = self._ready(version), self._corpus(), self.snapshot
        assert now is not None
        edit = edits.checked(edit)
        if edit["do"] == "learn":
            raise ValueError("learning on has no preview")
        if self.library is None or corpus is None or edit["do"] == "rename":
            after = edits.apply(model, edit, corpus)
            self._try(edit, edits.Tried([edit], after, (None, None)), now)
            return {"effect": None, "words": changed_words(now, after, edit), "moved": None}
        desk = self._at(self.library)
        with desk.at(model):
            (a, b), tried = self._before(now), desk.tried(model, edit)
            c, d = tried.scores
            found: Json = {
                "effect": edits.Effect(a, c, b, d)._asdict(),
                "words": changed_words(now, tried.model, edit),
                "moved": moved_documents(now, tried.model, self.library, desk),
            }
        self._try(edit, tried, now)
        return found

    def _at(self, library: Library) -> edits.Desk:
        """Where edits are tried."""
        if self._desk is None or self._desk[0] is not library:
            self._desk = library, edits.Desk(library.corpus, library.held_out)
        return self._desk[1]

    def _before(self, now: Snapshot) -> edits.Scores:
        """The scores that edits are compared with."""
        return (None, None) if self.library is None else self._at(self.library).before(now.model)

    def _try(self, edit: Edit, tried: edits.Tried, now: Snapshot) -> None:
        """Makes the snapshot that `apply` will want, while somebody reads what the edit would do."""
        made: Future[Snapshot] = Future()
        self._tried = Previewed(self.version, edit, tried.edits, made)

        def work() -> None:
            try:
                made.set_result(self._made_of(tried, now))
            except Exception as error:
                made.set_exception(error)

        self._start(work, "topmix-preview")

    def _made_of(self, tried: edits.Tried, now: Snapshot | None) -> Snapshot:
        after = tried.model if self.library is None else self._at(self.library).accepted(tried)
        snapshot = Snapshot(after, self.library, now)
        snapshot.prepare()
        return snapshot

    def cuts(self, topic: int, version: object) -> list[Json]:
        """Ways to split a topic: the words of both sides, and what the second has of the tokens."""
        model, corpus, now = self._ready(version), self._corpus(), self.snapshot
        if corpus is None or self.library is None or now is None:
            raise ValueError("a split needs the documents")
        found: list[Json] = []
        seen: list[set[str]] = []
        desk = self._at(self.library)
        for seed in range(CUTS):
            with desk.at(model):
                after = edits.split(desk.here(model), corpus, topic, seed=seed)
                topics = some_topics(after, [topic, now.n_topics], now.topics)
            first, second = (topics.words_of(ids) for ids in topics.top(8))
            if {*first[:4]} not in seen:
                seen += [{*first[:4]}, {*second[:4]}]
                part = float(topics.share[1] / max(topics.share.sum(), 1e-300))
                found.append({"seed": seed, "first": first, "second": second, "part": part})
        return found

    def apply(self, edit: object, version: object) -> None:
        edit = edits.checked(edit)
        if edit["do"] == "learn":
            raise ValueError("learning on is another request")
        with self._changing:
            model = self._ready(version)
            tried = self._tried
            if tried is not None and (tried.version, tried.edit) == (self.version, edit):
                made = tried.snapshot.result()
                self._accept(tried.edits, made.model, made)
            elif self.library is None or edit["do"] == "rename":
                self._accept([edit], edits.apply(model, edit, self._corpus()))
            else:
                now = self._at(self.library).tried(model, edit)
                made = self._made_of(now, self.snapshot)
                self._accept(now.edits, made.model, made)

    def undo(self, version: object) -> None:
        with self._changing:
            self._ready(version)
            if not self.journal.edits:
                raise Refused("there is nothing to undo")
            made = self.journal.edits
            n = 2 if len(made) in self._joined else 1
            done, last = made[:-n], made[: -n - 1 : -1]
            self._move(done, [*self.journal.undone, *last], self._made(done))

    def redo(self, version: object) -> None:
        with self._changing:
            self._ready(version)
            if not self.journal.undone:
                raise Refused("there is nothing to redo")
            made, undone = self.journal.edits, self.journal.undone
            n = 2 if len(made) + 2 in self._joined else 1
            done = [*made, *undone[: -n - 1 : -1]]
            self._move(done, undone[:-n], self._made(done))

    def learn(self, passes: object, version: object) -> None:
        """Learns on in the background; the page can watch it, and stop it."""
        n = whole_number(passes, "passes")
        if n > MOST_PASSES:
            raise ValueError(f"passes must be at most {MOST_PASSES}")
        with self._changing:
            model = self._ready(version)
            if not edits.can_edit(model) or self.library is None:
                raise Refused("learning on needs LDA, HDP or clusters of vectors, and the documents")
            watch = self.watching("learn")
            self.error = None
            self._thread = threading.Thread(
                target=self._learn, args=[model, n, watch], name="topmix-learn", daemon=True
            )
            self._thread.start()
        self.events.publish("status")

    def _learn(self, model: Model, passes: int, watch: Watch) -> None:
        corpus, failed = self._corpus(), True
        try:
            after = edits.learn(model, corpus, passes=passes, seed=self.seed, callbacks=[watch])
            failed = False
        except Exception:
            logger.exception("learning on")
            self.error = "learning on failed; the log of the server says why"
        with self._changing:
            try:
                if not failed:
                    self._accept([after.edits_[-1]], after)
            except (OSError, ValueError) as error:
                failed, self.error = True, f"what was learned could not be kept: {error}"
            if failed:
                self._move(self.journal.edits, self.journal.undone, model, write=False)
            self.busy = self.watch = None  # now: who sees that it is over sees the edit too
        self.events.publish("status")

    def script(self) -> str:
        return edits.script(self.journal.edits, None if self.snapshot is None else self.snapshot.model)

    def close(self) -> None:
        """Ends what runs. What was accepted is in the journal."""
        if self.watch is not None:
            self.watch.stop()
        self._closed = True
        self._seen.set()
        # A thread that is inside a kernel when Python ends would abort the whole process.
        for thread in (self._thread, *self._visits):
            if thread is not None:
                thread.join(60)
        if self._desk is not None:
            self._desk[1].close()
        self.events.close()

    def _accept(self, new: list[Edit], after: Model, made: Snapshot | None = None) -> None:
        before = self.journal.edits
        self._models = {n: kept for n, kept in self._models.items() if n <= len(before)}
        self._move([*before, *new], [], after, made=made)
        self._joined = {n for n in self._joined if n <= len(before)}
        if len(new) > 1:
            self._joined.add(len(before) + len(new))

    def _made(self, done: list[Edit]) -> Model:
        """The model after these edits: kept, or made again from the nearest one that is."""
        kept = max(n for n in self._models if n <= len(done))
        return edits.replay(self._models[kept], done[kept:], self._corpus())

    def _corpus(self) -> Corpus | None:
        return None if self.library is None else self.library.corpus

    def _ready(self, version: object) -> Model:
        """The model, where it can be changed now and the one who asks has seen it."""
        if self.busy is not None or self.snapshot is None:
            raise Refused("the model is being learned: stop or wait first")
        if version != self.version:
            raise Refused("the model has changed meanwhile, perhaps in another window: look again")
        return self.snapshot.model
