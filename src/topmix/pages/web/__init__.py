"""What every service of topmix shares: a server on the loopback address, and a guard in front of it.

guard.py     who may ask: a token, the name of the host, the origin; limits of size; headers of every answer
replies.py   answers and errors in JSON
server.py    uvicorn in a thread or in the foreground, on a port that is free

The packages are in the extra `topmix[explorer]`; importing this room without them says so.
"""

from __future__ import annotations

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError("this needs Starlette and uvicorn: pip install 'topmix[explorer]'") from error

from topmix.pages.web.guard import POLICY, Guard
from topmix.pages.web.replies import NotFound, Refused, answer_in_json, json_reply, text_reply
from topmix.pages.web.server import Server

__all__ = ["POLICY", "Guard", "NotFound", "Refused", "Server", "answer_in_json", "json_reply", "text_reply"]
