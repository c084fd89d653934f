"""A server on the loopback address with a guard in front of it, for any ASGI application."""

from topmix.pages.web import POLICY, Guard, NotFound, Refused, Server, answer_in_json, json_reply, text_reply

__all__ = ["POLICY", "Guard", "NotFound", "Refused", "Server", "answer_in_json", "json_reply", "text_reply"]
