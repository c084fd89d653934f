"""Which browser the tests of the pages use, or how to get one. `make test` prints it.

Looked for in this order: TOPMIX_CHROMIUM, a Chromium or Chrome of the system, and the one that Playwright downloads.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    if given := os.environ.get("TOPMIX_CHROMIUM"):
        return given
    if found := next((path for name in NAMES if (path := shutil.which(name))), None):
        return found
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as p:
        path = p.chromium.executable_path
    return path if Path(path).exists() else None


if __name__ == "__main__":
    print(
        f"pages are tested in {found}"
        if (found := find_chromium())
        else "there is no Chromium: tests of the pages will be skipped. Get one with `apt install chromium`, or with "
        "`.venv/bin/playwright install chromium`, or name one in TOPMIX_CHROMIUM"
    )
