"""A server on the loopback address with a guard in front of it, for any ASGI application."""

from topmix.apps.web import POLICY, Guard, NotFound, Refused, answer_in_json, json_reply, text_reply
from topmix.apps.web.server import Server

__all__ = ["POLICY", "Guard", "NotFound", "Refused", "Server", "answer_in_json", "json_reply", "text_reply"]
