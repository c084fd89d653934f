"""A live explorer: a page on the loopback address to watch a fit, read documents, edit topics and learn on.

topmix.explore(model, corpus)

session.py    the state that all browsers share; live.py has its events and the fit that it watches,
              journal.py its memory on disk, preview.py what an edit would do
snapshot.py   one state of the model, as the page sees it; library.py has the documents, mixes.py their topics
app.py        the addresses; exports.py answers some of them; widget.py brings them into a cell of a notebook
"""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import topmix.pages.web  # noqa: F401 - first: it says which packages are missing
from topmix.api import load
from topmix.fitted.frames import DataFrame, frame
from topmix.pages.explorer.app import make_app
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.other import OtherModel
from topmix.pages.explorer.session import Session
from topmix.pages.explorer.widget import Channel, in_notebook
from topmix.pages.web import Server
from topmix.views.model import Model, ModelView

__all__ = ["Explorer", "Library", "Session", "explore"]


class Explorer:
    """A running explorer. `close` ends it; `url` is its address with the token. As the last line of a cell of a
    notebook it shows itself there, without a port (with `topmix[notebook]`)."""

    def __init__(self, session: Session, *, port: int = 0, token: str | None = ""):
        self.session = session
        self._port, self._token = port, token
        self._channel: Channel | None = None

    @cached_property
    def server(self) -> Server:
        """Made when it is asked for: a cell of a notebook does without."""
        return Server(make_app(self.session), port=self._port, token=self._token, on_stop=self.session.events.close)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def model(self) -> Model | None:
        """The model as it is now, with the edits that were accepted."""
        return None if self.session.snapshot is None else self.session.snapshot.model

    @property
    def channel(self) -> Channel:
        """To the page in a notebook; its `widget` is an anywidget, for notebooks that want to place it themselves."""
        if self._channel is None:
            self._channel = Channel(self.session)
        return self._channel

    @property
    def selected_topics(self) -> list[int]:
        """The topic that the page in the notebook shows, as its row in `model.components_`, if there is one."""
        asked = {} if self._channel is None else self._channel.shown
        snapshot = self.session.snapshot
        if snapshot is None or not asked.get("topic", "").isdecimal():
            return []
        return [k for k in [snapshot.row_of(int(asked["topic"]))] if k is not None]

    @property
    def selected_documents(self) -> DataFrame:
        """The document that the page in the notebook shows as a whole; or those of the lasso, where the map of
        documents is open; or those that were found last, the best first. A table: document, name, main topic, its
        share, and the columns that were given."""
        snapshot, channel = self.session.snapshot, self._channel
        if snapshot is None or channel is None:
            return frame({"document": [], "name": [], "topic": [], "share": []})
        return frame(snapshot.table(channel.documents(snapshot)))

    def start(self) -> Explorer:
        self.server.start()
        return self

    def open_browser(self) -> None:
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Until Ctrl-C."""
        self.server.wait()

    def close(self) -> None:
        self.session.close()
        if self._channel is not None:
            self._channel.close()
        if "server" in vars(self):
            self.server.stop()
        else:
            self.session.events.close()
        if self.session.library is not None:
            self.session.library.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Explorer at {self.url}" if "server" in vars(self) else f"Explorer of {self.session.title}"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noopener">Open the explorer</a>'

    def _ipython_display_(self) -> None:
        """In a notebook the page itself; before it a table and a map of the topics, which the page hides, and which are
        what a notebook that was saved still shows."""
        if "server" in vars(self) or not in_notebook():
            raise NotImplementedError  # then IPython shows what the other methods return
        self.channel.display("" if self.model is None else str(self.model._repr_html_()))

    def _display_(self) -> object:
        """The same in marimo."""
        return self.channel.widget if in_notebook() else self._repr_html_()


def explore(
    model: Model | str | os.PathLike[str],
    corpus: object = None,
    *,
    texts: Iterable[str] | None = None,
    groups: object = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    held_out: object = None,
    other: Model | str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    port: int = 0,
    browser: bool | None = None,
) -> Explorer:
    """Serves a page on the loopback address to look into a model and to edit it, and opens a browser. In a notebook,
    with `topmix[notebook]`, the page is shown in the cell instead, and there is no server.

    Parameters
    ----------
    model
        A fitted topic model or mixture of counts, or the path of a model file.
    corpus : what `model.transform` takes, or None
        The documents. Without them there are topics to look at, and no learning on.
    texts : iterable of str or None
        The texts of the documents in the same order. A list of strings as `corpus` is its own texts.
    groups : as in `fit`, or None
        The group of each row of `corpus`, where the model is an admixture. Then a document is a group, and `texts` has
        one for each row, or for each group.
    columns : table or None
        What is written beside the documents, such as dates or authors: {name: values}, or a DataFrame.
    held_out : what `model.transform` takes, or None
        Documents that an edit is scored by. None takes a sample of the corpus.
    other : fitted model, path or None
        Another model, whose topics are shown beside those that correspond to them.
    path : str or path or None
        The file of the model: edits are kept beside it, in PATH.session, and a later explorer goes on from there.
    title : str or None
        The title of the page.
    port : int
        0 takes one that is free.
    browser : bool or None
        Whether to open a browser. None opens one, except in a notebook that can show the page itself; False and True
        serve the page there too.

    Returns
    -------
    Explorer
        It serves until `close()`, or the end of the program. Its `model` is the model with the accepted edits.

    Examples
    --------
    >>> import topmix
    >>> texts = ["apples and pears", "pears and plums", "ships and sails", "sails and masts"] * 10
    >>> model = topmix.LDA(2, random_state=0).fit(texts)
    >>> with topmix.explore(model, texts, browser=False) as explorer:
    ...     explorer.url.startswith("http://127.0.0.1:")
    True
    """
    if isinstance(model, str | os.PathLike):
        first: Model = load(model)
        path = model if path is None else path
    else:
        first = model
    name = title or (type(first).__name__ if path is None else Path(path).stem)
    session = Session(library_of(first, corpus, texts, columns, held_out, groups), name)
    session.open(first, None if path is None else Path(path))
    if isinstance(other, str | os.PathLike):
        session.other = OtherModel(load(other), Path(other).name)
    elif other is not None:
        session.other = OtherModel(other, type(other).__name__)
    explorer = Explorer(session, port=port)
    if browser is None and in_notebook():
        return explorer
    explorer.start()
    if browser is not False:
        explorer.open_browser()
    return explorer


def library_of(
    model: Model,
    given: object,
    texts: Iterable[str] | None = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    held_out: object = None,
    groups: object = None,
) -> Library | None:
    """The documents in the words of a model; None where there are none."""
    view = ModelView(model)
    corpus, texts = view.read(given, texts, groups)
    return None if corpus is None else Library(corpus, view.topics.words, texts, columns, view.read(held_out)[0])
