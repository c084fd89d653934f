"""A live explorer: a page on the loopback address to watch a fit, read documents, edit topics and learn on.

topmix.explore(model, corpus)

session.py    the state that all browsers share; live.py has its events and the fit that it watches,
              journal.py its memory on disk, preview.py what an edit would do
snapshot.py   one state of the model, as the page sees it; library.py has the documents, mixes.py their topics
app.py        the addresses; exports.py answers some of them
"""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import topmix.pages.web  # noqa: F401 - first: it says which packages are missing
from topmix.api import load
from topmix.pages.explorer.app import make_app
from topmix.pages.explorer.library import Library
from topmix.pages.explorer.other import OtherModel
from topmix.pages.explorer.session import Session
from topmix.pages.web import Server
from topmix.views.model import Model, ModelView

__all__ = ["Explorer", "Library", "Session", "explore"]


class Explorer:
    """A running explorer. `close` ends it; `url` is its address with the token."""

    def __init__(self, session: Session, *, port: int = 0, token: str | None = ""):
        self.session = session
        self.server = Server(make_app(session), port=port, token=token, on_stop=session.events.close)
        self.url = self.server.url

    @property
    def model(self) -> Model | None:
        """The model as it is now, with the edits that were accepted."""
        return None if self.session.snapshot is None else self.session.snapshot.model

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
        self.server.stop()
        if self.session.library is not None:
            self.session.library.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Explorer at {self.url}"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noopener">Open the explorer</a>'


def explore(
    model: Model | str | os.PathLike[str],
    corpus: object = None,
    *,
    texts: Iterable[str] | None = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    held_out: object = None,
    other: Model | str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    port: int = 0,
    browser: bool = True,
) -> Explorer:
    """Serves a page on the loopback address to look into a model and to edit it, and opens a browser.

    Parameters
    ----------
    model
        A fitted topic model or mixture of counts, or the path of a model file.
    corpus : what `model.transform` takes, or None
        The documents. Without them there are topics to look at, and no learning on.
    texts : iterable of str or None
        The texts of the documents in the same order. A list of strings as `corpus` is its own texts.
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
    browser : bool
        Whether to open a browser.

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
    session = Session(library_of(first, corpus, texts, columns, held_out), name)
    session.open(first, None if path is None else Path(path))
    if isinstance(other, str | os.PathLike):
        session.other = OtherModel(load(other), Path(other).name)
    elif other is not None:
        session.other = OtherModel(other, type(other).__name__)
    explorer = Explorer(session, port=port).start()
    if browser:
        explorer.open_browser()
    return explorer


def library_of(
    model: Model,
    given: object,
    texts: Iterable[str] | None = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    held_out: object = None,
) -> Library | None:
    """The documents in the words of a model; None where there are none."""
    view = ModelView(model)
    corpus, texts = view.read(given, texts)
    return None if corpus is None else Library(corpus, view.topics.words, texts, columns, view.read(held_out)[0])
