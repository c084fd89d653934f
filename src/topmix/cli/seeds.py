"""Files with the words of topics: seeds, and words that are banned or pinned."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from topmix.api import Seeds
from topmix.cli.flags import Settings
from topmix.data.paths import path_of

MARKS = {"-": "ban", "=": "pin"}  # before a word


def read_seeds(given: object, option: str = "--seeds") -> Seeds:
    """What a file says, as the parameter `seeds`.

    It has one line per topic with its words, separated by commas or else by spaces. A word after - is banned from the
    topic, and one after = is pinned to it. An empty line is a topic without words, and lines that start with # are
    comments. Or it is JSON: a list of seeds, or a table with `seeds`, `ban` and `pin`, each with a list by topic.
    """
    path = path_of(str(given))
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path} with seed words, one line per topic", param_hint=option)
    text = path.read_text(encoding="utf-8-sig")
    kinds = _from_json(path, text, option) if path.suffix.lower() == ".json" else _from_lines(text)
    try:
        return Seeds(kinds.get("seeds"), ban=kinds.get("ban"), pin=kinds.get("pin"))
    except ValueError as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint=option) from error


def _from_json(path: Path, text: str, option: str) -> Settings:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{path} is not JSON: {error}", param_hint=option) from error
    if not isinstance(read, dict):
        return {"seeds": read}
    if unknown := sorted(set(read) - {"seeds", *MARKS.values()}):
        raise typer.BadParameter(f"{path} has {unknown[0][:60]!r}; it may have seeds, ban, pin", param_hint=option)
    return read


def _from_lines(text: str) -> Settings:
    found: Settings = {"seeds": [], "ban": [], "pin": []}
    for line in [line.strip() for line in text.rstrip().splitlines() if not line.startswith("#")]:
        of_topic: dict[str, list[str]] = {kind: [] for kind in found}
        for word in line.split("," if "," in line else None):
            word = word.strip()
            kind = MARKS.get(word[:1], "seeds") if len(word) > 1 else "seeds"
            if word:
                of_topic[kind].append(word if kind == "seeds" else word[1:].strip())
        for kind, words in of_topic.items():
            found[kind].append(words or None)
    if not any(found["seeds"]) and (any(found["ban"]) or any(found["pin"])):
        return found | {"seeds": None}
    return found
