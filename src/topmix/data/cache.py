"""Where files are kept that could be made or fetched again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """$TOPMIX_CACHE, $XDG_CACHE_HOME/topmix or the usual cache folder of the platform."""
    if own := os.environ.get("TOPMIX_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "topmix"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "topmix"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "topmix"
    return Path.home() / ".cache" / "topmix"
