"""Files that somebody forged, and what happens outside of the process while they are used.

`reach` lists what the interpreter's audit events say: sockets, processes, unpickled classes, files that are written.
Native code raises no such events; ours opens no file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from topmix.base.layout import metadata_crc

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OUTSIDE = (
    *("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown"),
    *("os.putenv", "os.kill", "shutil.", "tempfile.", "webbrowser.", "urllib.", "http.", "ftplib.", "smtplib."),
    *("pickle.find_class", "ctypes.dlopen"),
)
LIBRARIES = ("ray", "cupy", "fsspec", "pickle5")  # that reach out as soon as they are imported

_seen: list[str] | None = None
_hooked = False


def _hook(event: str, args: tuple[object, ...]) -> None:
    if _seen is None:
        return
    if event == "open":
        path, mode, flags = args
        if (isinstance(flags, int) and flags & WRITES) or any(c in str(mode) for c in "wax+"):
            _seen.append(f"writes {path}")
    elif event == "import":
        if str(args[0]).partition(".")[0] in LIBRARIES:
            _seen.append(f"imports {args[0]}")
    elif event.startswith(OUTSIDE) and not (
        event.startswith("os.") and isinstance(args[0], int)
    ):  # its opening counted
        _seen.append(f"{event}{args}"[:200])


@contextmanager
def reach() -> Iterator[list[str]]:
    """A list that grows with all that happens outside. A hook cannot be removed, so it sleeps after the block."""
    global _seen, _hooked
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # of what is imported meanwhile
    _seen = found = []
    try:
        yield found
    finally:
        _seen, sys.dont_write_bytecode = None, writes_bytecode


def forged(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A model, a checkpoint or the state of a stream with another table, and checksums that are right again."""
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    metadata = table["__metadata__"]
    about = json.loads(metadata["model"])
    change(about)
    metadata["model"] = json.dumps(about)
    del metadata["metadata_crc32"]
    metadata["metadata_crc32"] = metadata_crc(metadata)
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + data[8 + length :]
