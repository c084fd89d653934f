"""Topics and mixtures, fast, with posteriors that keep the top few clusters of each observation."""

from topmix import _core as _core

__version__ = "0.1.0"
