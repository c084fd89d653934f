"""A live explorer of a model, in a browser: `topmix.explore(model, corpus)`."""

from topmix.pages.explorer import Explorer, Library, Session, explore

__all__ = ["Explorer", "Library", "Session", "explore"]
