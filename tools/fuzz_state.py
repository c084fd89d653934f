"""Entry points for fuzzers, continued: what topmix keeps for itself, and what it is asked over HTTP.

Random changes of a file nearly always fail at its checksums. Here the input is the table of the file, as JSON, and the
target seals it: checksums are right, and the checks behind them are reached. The first byte of an input says which file
it belongs to. What is let through is used, and may refuse with ValueError; it reaches nothing outside of its folder.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import random
import shutil
import socket
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.hostile import forged, reach

TEXTS = ["apples and pears and plums", "pears and plums", "ships and sails and masts", "sails and masts"] * 6
COMMON = {"max_iter": 2, "random_state": 0, "n_jobs": 1}
SMALL = 200  # passes, starts, threads and words that a forged file may ask for: more is not wrong, and takes long


@cache
def saved() -> list[tuple[bytes, Any]]:
    """Models of every kind, as files, with data for each."""
    import numpy as np

    import topmix

    rows = np.random.default_rng(0).normal(size=(40, 3))
    of_texts = [topmix.LDA(2, **COMMON), topmix.HDP(3, search=None, **COMMON), topmix.GibbsLDA(2, **COMMON)]
    of_texts += [topmix.CombinatorialLDA(2, **COMMON), topmix.MultinomialMixture(2, **COMMON)]
    of_rows = [topmix.GaussianMixture(2, **COMMON), topmix.VonMisesFisherMixture(2, **COMMON)]
    found: list[tuple[bytes, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for model, X in [*((m, TEXTS) for m in of_texts), *((m, rows) for m in of_rows)]:
            model.fit(X).save(Path(folder, "model"))
            found.append((Path(folder, "model").read_bytes(), X))
    return found


def table_of(file: bytes) -> bytes:
    """The JSON in a file."""
    header = json.loads(file[8 : 8 + int.from_bytes(file[:8], "little")])
    return str(header["__metadata__"]["model"]).encode()


def sealed(file: bytes, table: bytes) -> bytes:
    """The file with another table. What is no JSON stays out: the other targets have such files."""
    try:
        about = json.loads(table)
    except (ValueError, RecursionError):
        return file
    return forged(file, lambda old: (old.clear(), old.update(about)) if isinstance(about, dict) else None)  # type: ignore[arg-type]


def _is_small(value: object) -> bool:
    """Whether a forged file asks for little work: a million passes are no mistake of ours."""
    if isinstance(value, dict):
        return all(map(_is_small, value.values()))
    if isinstance(value, list):
        return all(map(_is_small, value))
    return not isinstance(value, int) or abs(value) <= SMALL


def model(data: bytes, folder: Path) -> None:
    import topmix
    from topmix.base.fields import ModelFileError

    file, X = saved()[data[0] % len(saved()) if data else 0]
    path = folder / "model"
    path.write_bytes(sealed(file, data[1:]))
    with reach() as seen:
        try:
            found = topmix.load(path)
        except ModelFileError:
            assert not seen, seen
            return
        asks = ["transform", "predict", "score", "topic_info"]
        if _is_small(found.get_params(deep=False) | {"random_state": 0}):
            asks += ["partial_fit", "fit"]
        for ask in asks:
            if hasattr(found, ask):
                try:
                    getattr(found, ask)(*([] if ask == "topic_info" else [X]))
                except ValueError as error:
                    if "fit" not in ask and not any(said in str(error) for said in OTHER_DATA):
                        raise  # settings are checked when they are read; those of a fit when they are used
                except MemoryError:
                    pass
    assert not seen, seen


# Of sound models for other data: counts alone, a tokenizer of the user's, rows of length one.
OTHER_DATA = (
    "was fitted on counts without a vocabulary",
    "pass it as tokenizer=",
    "normalize=False leaves it as it is",
)


def _fits() -> list[Callable[[Path, int], None]]:
    """Fits of every kind that has checkpoints: with so many passes, and a checkpoint at this path."""
    import numpy as np

    import topmix

    rows, passes = np.random.default_rng(0).normal(size=(40, 3)), {"tol": -1e300, "random_state": 0, "n_jobs": 1}
    makes: list[tuple[Any, list[Any]]] = [
        (topmix.LDA(2, **passes), [TEXTS]),
        (topmix.MultinomialMixture(2, **passes), [TEXTS]),
        (topmix.GaussianMixture(4, n_active=2, candidates=3, **passes), [rows]),
        (topmix.VonMisesFisherAdmixture(2, **passes), [rows, np.arange(40) % 6]),
    ]

    def fit(model: Any, data: list[Any], path: Path, passes: int) -> None:
        model.set_params(max_iter=passes).fit(*data, checkpoint=path)

    return [partial(fit, model, data) for model, data in makes]


@cache
def checkpointed() -> list[bytes]:
    found = []
    for fit in _fits():
        with tempfile.TemporaryDirectory() as folder:
            fit(Path(folder, "checkpoint"), 2)
            found.append(Path(folder, "checkpoint").read_bytes())
    return found


def checkpoint(data: bytes, folder: Path) -> None:
    from topmix.learn.checkpoint import CheckpointError
    from topmix.models.frame import SingularCovariance

    path, which = folder / "checkpoint", (data[0] if data else 0) % len(checkpointed())
    path.write_bytes(sealed(checkpointed()[which], data[1:]))
    try:
        _fits()[which](path, 3)
    except (CheckpointError, SingularCovariance):
        return


@cache
def streamed() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="topmix-fuzz-"))
    atexit.register(shutil.rmtree, folder)
    _learn(folder / "stream", "first")
    return folder / "stream"


def _learn(path: Path, batch: str) -> None:
    import topmix

    topmix.Stream(topmix.LDA(2, random_state=0, n_jobs=1), path, admit=1).learn(TEXTS, id=batch)


def stream(data: bytes, folder: Path) -> None:
    """The first byte says whether the state or the model is another, sealed or with any bytes."""
    from topmix.base.fields import ModelFileError

    path, choice = folder / "stream", data[0] if data else 0
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(streamed(), path)
    hurt = path / ("state" if choice & 1 else "model-1")
    hurt.write_bytes(sealed(hurt.read_bytes(), data[1:]) if choice & 2 else data[1:])
    before = sorted(p.name for p in path.iterdir())
    with reach() as seen:
        try:
            _learn(path, "second")
        except ModelFileError:
            assert sorted(p.name for p in path.iterdir()) == before
        except ValueError:  # another model than the one that is continued
            pass
    assert all(str(path) in event for event in seen), seen


def session(data: bytes, folder: Path) -> None:
    """MODEL.session, with the checksum of the model where it says MODEL."""
    import topmix
    from topmix.apps.explorer.live import Journal

    path = folder / "explored"
    path.write_bytes(saved()[0][0])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name("explored.session").write_bytes(data.replace(b"MODEL", digest.encode()))
    try:
        found = Journal(path)
        edits = [edit for edit in found.edits if _is_small(edit)]
        topmix.edits.replay(topmix.load(path), edits, topmix.load(path).counts(TEXTS))
        topmix.edits.script(edits)
    except ValueError:
        return


def npy(data: bytes, folder: Path) -> None:
    from topmix.data import CorpusError, Rows

    path = folder / "a.npy"
    path.write_bytes(data)
    try:
        table = Rows.open(path)
        if table.data.size < 1 << 20:
            table.check()
    except CorpusError:
        return


class Loud(logging.Handler):
    """Keeps errors of the server: none of them is a client's to cause."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []
        self.limits = (0.0, 0.0)  # of the server, before it was made impatient

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


@cache
def server() -> tuple[Any, Loud]:
    """An explorer of a small model with documents, without a file. It ends with the process, or by `close`."""
    import topmix
    from topmix.apps.web import server as limits

    loud = Loud()
    loud.limits = limits.HEADER_SECONDS, limits.BODY_SECONDS
    limits.HEADER_SECONDS = limits.BODY_SECONDS = 0.2  # requests that are not finished need not be waited for
    atexit.register(close)
    logging.getLogger().addHandler(loud)
    model = topmix.LDA(3, **COMMON).fit(TEXTS)
    columns = {"year": [2000 + n for n in range(len(TEXTS))]}
    return topmix.explore(model, TEXTS, columns=columns, browser=False), loud


def close() -> None:
    """Ends the server, if there is one."""
    if server.cache_info().currsize:
        from topmix.apps.web import server as limits

        explorer, loud = server()
        explorer.close()
        limits.HEADER_SECONDS, limits.BODY_SECONDS = loud.limits
        logging.getLogger().removeHandler(loud)
        server.cache_clear()


def http(data: bytes, folder: Path) -> None:
    """Bytes that a client sends, with the address and the token where they say HOST and TOKEN, and VERSION for that of
    the model. The server answers or closes the connection, and lives."""
    explorer, loud = server()
    said = {b"HOST": f"127.0.0.1:{explorer.server.port}", b"TOKEN": explorer.server.token}
    for name, value in {**said, b"VERSION": str(explorer.session.version)}.items():
        data = data.replace(name, value.encode())
    got = _sent(explorer.server.port, data)
    assert not got.startswith((b"HTTP/1.1 5", b"HTTP/1.0 5")), got[:2000]
    assert not loud.said, loud.said
    alive = b"GET /api/status " + HEAD.replace(b"HOST", b"localhost").replace(b"TOKEN", said[b"TOKEN"].encode())
    answers = (_sent(explorer.server.port, alive + b"\r\n") for _ in range(3))  # a busy machine may send it too late
    assert any(answer.startswith(b"HTTP/1.1 200") for answer in answers)


def _sent(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        got = b""
        try:
            client.sendall(data)
            if b"/api/events" not in data:  # which has no end
                while part := client.recv(1 << 16):
                    got += part
        except ConnectionError:
            pass
        return got


HEAD = b"HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n"
GETS = ["/", "/?token=TOKEN&a=b", "/page.js", "/api/overview", "/api/topic/1", "/api/find?q=pea", "/api/word?q=pears"]
GETS += ["/api/suggest?q=p", "/api/tree", "/api/documents?words=pears&topic=0&column=year&value=2001&offset=0"]
GETS += ["/api/document/3", "/api/groups?column=year&topic=1", "/api/compare?a=0&b=1", "/export/topics.csv"]
GETS += ["/export/report.html", "/export/edits.py", "/export/documents.csv", "/api/other", "/api/events"]
EDITS = [
    '{"do": "rename", "topic": 0, "name": "x"}',
    '{"do": "merge", "topics": [0, 1]}',
    '{"do": "split", "topic": 0}',
]
EDITS += ['{"do": "seed", "words": ["pears"], "strength": 0.5}', '{"do": "ban", "topic": 0, "words": ["pears"]}']
EDITS += ['{"do": "move", "document": 1, "topic": 0}', '{"do": "freeze", "topic": 0}', '{"do": "delete", "topic": 0}']
DOES = [(what, f', "edit": {edit}') for what in ("apply", "preview") for edit in EDITS]
DOES += [
    ("undo", ""),
    ("redo", ""),
    ("learn", ', "passes": 1'),
    ("cuts", ', "topic": 0'),
    ("control", ', "action": "stop"'),
]


def _requests() -> list[bytes]:
    found = [b"GET %s " % path.encode() + HEAD + b"\r\n" for path in GETS]
    for what, more in DOES:
        body = f'{{"version": VERSION{more}}}'.encode()
        about = b"Content-Type: application/json\r\nOrigin: http://HOST\r\nContent-Length: %d\r\n\r\n" % (len(body) - 6)
        found.append(b"POST /api/do/%s " % what.encode() + HEAD + about + body)
    return found


def _session_seeds() -> list[bytes]:
    return [
        f'{{"format": "topmix-session", "model": "MODEL", "edits": [{edit}], "undone": []}}'.encode() for edit in EDITS
    ]


def _npy_seeds() -> list[bytes]:
    import io

    import numpy as np

    found = []
    for array in (np.zeros((3, 2)), np.ones((2, 3), np.float32), np.zeros((2, 2), ">f8"), np.asfortranarray(np.eye(3))):
        out = io.BytesIO()
        np.save(out, array)
        found.append(out.getvalue())
    return found


def _stream_seeds() -> list[bytes]:
    state, model = ((streamed() / name).read_bytes() for name in ("state", "model-1"))
    return [b"\1" + state, b"\0" + model, b"\3" + table_of(state), b"\2" + table_of(model)]


NASTY = [
    None,
    True,
    -1,
    0,
    1,
    2,
    2**31,
    2**63,
    10**40,
    -0.5,
    1e308,
    "",
    "x",
    "../outside",
    "203.0.113.9:6379",
    "\ud800",
]
NASTY += [[], {}, [[]], ["x"] * 40, {"float": "nan"}, {"component": "Ray", "address": "203.0.113.9:6379"}, "9" * 400]


def changed_table(data: bytes, rng: random.Random) -> bytes:
    """One value of the JSON is another or none; a byte before it stays. What is no JSON stays as it is."""
    begin = data.find(b"{")
    try:
        tree = json.loads(data[begin:])
    except (ValueError, RecursionError):
        return data
    holder, key = tree, rng.choice(list(tree))
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(NASTY)
    return data[:begin] + json.dumps(tree).encode()


TABLES = ("sealed", "checkpoint", "stream", "session")  # whose inputs are JSON
TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "sealed": model,
    "checkpoint": checkpoint,
    "stream": stream,
    "session": session,
    "npy": npy,
    "http": http,
}
SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "sealed": lambda: [bytes([n]) + table_of(file) for n, (file, _) in enumerate(saved())],
    "checkpoint": lambda: [bytes([n]) + table_of(file) for n, file in enumerate(checkpointed())],
    "stream": _stream_seeds,
    "session": _session_seeds,
    "npy": _npy_seeds,
    "http": _requests,
}
