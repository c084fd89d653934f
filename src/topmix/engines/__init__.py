"""Engines: who runs workers, where, in what order. A new engine is one file and one line here."""

from topmix.engines.local import Engine, Serial, Threads

ENGINES: dict[str, type[Engine]] = {"serial": Serial, "threads": Threads}

__all__ = ["ENGINES", "Engine", "Serial", "Threads"]
