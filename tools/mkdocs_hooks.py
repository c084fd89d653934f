"""For the documentation site: pages that list what is registered have it from the registry."""

from __future__ import annotations

from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    from topmix.api import ESTIMATORS

    listed = "\n".join(
        f"::: {cls.__module__}.{name}\n    options: {{inherited_members: true}}" for name, cls in ESTIMATORS.items()
    )
    return markdown.replace("{{ estimators }}", listed)
