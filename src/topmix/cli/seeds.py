"""Files with seed words of topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer


def read_seeds(given: Any) -> Any:
    """The seeds in a file: a JSON list, or one line per topic with its words, separated by commas or else by spaces. An
    empty line is a topic without seeds, and lines that start with # are comments."""
    path = Path(str(given))
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path} with seed words, one line per topic", param_hint="--seeds")
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(f"{path} is not JSON: {error}", param_hint="--seeds") from error
    lines = [line.strip() for line in text.rstrip().splitlines() if not line.startswith("#")]
    return [[word.strip() for word in line.split("," if "," in line else None)] or None for line in lines]
