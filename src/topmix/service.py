"""Topics of texts over HTTP, as `topmix serve` answers: an ASGI application."""

from topmix.apps.service import OPEN_PATHS, ModelFile, service

__all__ = ["OPEN_PATHS", "ModelFile", "service"]
