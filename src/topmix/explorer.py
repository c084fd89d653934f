"""A live explorer of a model, in a browser: `topmix.explore(model, corpus)`."""

from topmix.apps.explorer import Explorer, explore
from topmix.apps.explorer.library import Library
from topmix.apps.explorer.session import Session

__all__ = ["Explorer", "Library", "Session", "explore"]
