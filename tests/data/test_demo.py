"""The built-in corpus: real documents, the same every time, read from sources once and from the cache afterwards."""

import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn.cluster

from topmix.corpus import demo
from topmix.corpus.demo import clean
from topmix.data import Vectorizer, demo_corpus

pytestmark = pytest.mark.xdist_group("demo")  # one process reads the documentation


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOPMIX_CACHE", str(tmp_path_factory.mktemp("cache")))
        before = set(sys.modules)
        corpus = demo_corpus()
        assert not {"antigravity", "this"} & (set(sys.modules) - before)
        yield corpus


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Twenty made-up documents instead of the installed ones, and a count of how often they were read."""
    read = []

    def documentation(min_words):
        read.append(min_words)
        return {f"pkg.f{i}": f"alpha beta gamma delta {'omega ' * i}" for i in range(20)}

    monkeypatch.setattr(demo, "installed_documentation", documentation)
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path / "deep" / "cache"))
    monkeypatch.setattr(demo, "STOP_WORDS", "")
    monkeypatch.setattr(demo, "Vectorizer", lambda **kw: Vectorizer(token_pattern=kw["token_pattern"]))
    return read


@pytest.mark.slow  # reads all documentation on this machine, twenty seconds
def test_thousands_of_real_documents(corpus):
    X = corpus.to_scipy()
    assert X.shape[0] > 3000
    assert X.shape[1] > 2000
    assert len(set(corpus.names)) == X.shape[0]
    assert list(corpus.names) == sorted(corpus.names)
    assert np.median(X.sum(axis=1)) > 20
    assert {
        "numpy.linalg.svd",
        "scipy.stats.bootstrap",
        "sklearn.cluster.KMeans",
        "json.dumps",
    } <= set(corpus.names)


@pytest.mark.slow  # as above
def test_words_are_about_something(corpus):
    words = set(corpus.vocabulary)
    assert {"eigenvalues", "regression", "socket", "gaussian", "directory"} <= words
    assert not words & {"parameters", "returns", "ndarray", "optional", "the", "versionadded"}


@pytest.mark.slow  # as above
def test_the_cache_gives_the_same_corpus(corpus):
    again = demo_corpus()
    assert list(again.names) == list(corpus.names)
    assert list(again.vocabulary) == list(corpus.vocabulary)
    assert (again.to_scipy() != corpus.to_scipy()).nnz == 0
    assert again.meta == corpus.meta
    assert again.n_tokens == corpus.n_tokens
    assert again.path is None  # in memory: a fit of a mapped corpus reads its rows again in each pass


def test_sources_are_read_in_the_same_order():
    folder = Path(sklearn.cluster.__file__).parent
    first, second = (list(demo._docstrings(folder, ("sklearn", "cluster"))) for _ in range(2))
    assert first == second
    assert not any(part.startswith("_") for name, _ in first for part in name.split("."))


def test_documentation_is_read_once(few):
    demo_corpus()
    demo_corpus()
    assert len(few) == 1
    demo_corpus(refresh=True)
    assert len(few) == 2


@pytest.mark.parametrize(
    "content",
    [
        lambda whole: b"",
        lambda whole: b"not a corpus",
        lambda whole: whole[:-1],
        lambda whole: whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
    ],
)
def test_a_broken_cache_is_made_again(few, content):
    whole = demo_corpus()
    demo.cache_path().write_bytes(content(demo.cache_path().read_bytes()))
    assert (demo_corpus().to_scipy() != whole.to_scipy()).nnz == 0
    assert len(few) == 2
    demo_corpus()
    assert len(few) == 2


def test_a_cache_that_cannot_be_written_does_no_harm(few, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path / "file"))
    assert demo_corpus().shape[0] == 20
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]  # no scratch files stay behind


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("TOPMIX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert demo.cache_path().parent == tmp_path / "topmix"
    monkeypatch.setenv("TOPMIX_CACHE", str(tmp_path / "own"))
    assert demo.cache_path().parent == tmp_path / "own"


DOC = """f(x, /, out=None)

    Norm of a :class:`~pkg.Vector`, as in [1]_ and :ref:`the guide <guide>`.

    .. versionadded:: 1.2

    Parameters
    ----------
    x, y : array_like
        The vectors.
    *args : tuple

    Returns
    -------
    out : float
        The ``np.float64`` norm :math:`\\sqrt{x}`.

    .. math::

        a = b

    More prose.

    See Also
    --------
    other : something else

    Examples
    --------
    An example follows.

    >>> f(3)
    3

    References
    ----------
    .. [1] Somebody, https://example.org
"""


def test_clean_leaves_the_prose():
    prose = "Norm of a Vector , as in and the guide . 1.2 The vectors. The norm . More prose. An example follows."
    assert " ".join(clean(DOC).split()) == prose
