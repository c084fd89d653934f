"""A live explorer: a page on the loopback address to watch a fit, read documents, edit topics and learn on.

topmix.explore(model, corpus)

session.py    the state that all browsers share; live.py has its events, the fit that it watches, and its memory on disk
snapshot.py   one state of the model, as the page sees it
app.py        the addresses
"""

from __future__ import annotations

import html
import os
import webbrowser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from topmix.corpus.corpus import Corpus
from topmix.estimators import load
from topmix.selection.views import Model, ModelView

if TYPE_CHECKING:  # these need Starlette, and `from topmix import *` does without it
    from topmix.apps.explorer.session import Session


class Explorer:
    """A running explorer. `close` ends it; `url` is its address with the token. In a notebook it shows a link."""

    def __init__(self, session: Session, *, port: int = 0, token: str | None = ""):
        from topmix.apps.explorer.app import make_app
        from topmix.apps.web.server import Server

        self.session = session
        self._folder: TemporaryDirectory[str] | None = None
        self.server = Server(make_app(session), port=port, token=token)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def model(self) -> Model | None:
        """The model as it is now, with the edits that were accepted."""
        return None if self.session.snapshot is None else self.session.snapshot.model

    def start(self) -> Explorer:
        self.server.start()
        return self

    def open_browser(self) -> None:
        """By way of a file that leads to the address, and that its owner alone can read: all users of this machine see
        the arguments of a browser."""
        self._folder = self._folder or TemporaryDirectory(prefix="topmix-")
        page = Path(self._folder.name, "explorer.html")
        page.touch(0o600)
        url = html.escape(self.url)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">The explorer</a>')
        webbrowser.open(page.as_uri())

    def wait(self) -> None:
        """Until Ctrl-C."""
        self.server.wait()

    @contextmanager
    def until_interrupt(self) -> Iterator[None]:
        """Ctrl-C is the ordinary end of what is done inside, at any moment of it. Then the explorer is closed."""
        try:
            yield
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        self.session.close()
        self.server.stop()
        if self._folder is not None:
            self._folder.cleanup()

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
    groups: object = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    held_out: object = None,
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
    groups : as in `fit`, or None
        The group of each row of `corpus`, where the model is an admixture. Then a document is a group, and `texts` has
        one for each row, or for each group.
    columns : table or None
        What is written beside the documents, such as dates or authors: {name: values}, or a DataFrame.
    held_out : what `model.transform` takes, or None
        Documents that an edit is scored by. None takes a sample of the corpus.
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
    from topmix.apps.explorer.library import Library
    from topmix.apps.explorer.session import Session

    if isinstance(model, str | os.PathLike):
        path = model if path is None else path
        view = ModelView(load(model))
    else:
        view = ModelView(model)
    documents, texts = view.read(corpus, texts, groups)
    library = None
    if documents is not None:
        library = Library(documents, view.topics.words, texts, columns, view.read(held_out)[0])
    session = Session(library, title or (view.kind if path is None else Path(path).stem))
    session.open(view.model, None if path is None else Path(path))
    explorer = Explorer(session, port=port).start()
    if browser:
        explorer.open_browser()
    return explorer


def waiting_explorer(
    corpus: Corpus | None,
    texts: Iterable[str] | None = None,
    columns: Mapping[str, Sequence[object]] | None = None,
    *,
    title: str,
    port: int = 0,
) -> Explorer:
    """An explorer for a fit that is about to begin. A page that comes before the first pass waits for it."""
    from topmix.apps.explorer.library import Library
    from topmix.apps.explorer.session import Session

    assert corpus is not None
    words = corpus.vocabulary or range(corpus.n_words)
    session = Session(Library(corpus, [str(word) for word in words], texts, columns), title)
    session.busy = "fit"
    return Explorer(session, port=port).start()
