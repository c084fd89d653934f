"""Inference: what is approximated, and how a document is solved. One file per family; a new one is one line here."""

from topmix.inference.fixed_point import Collapsed, Variational
from topmix.inference.inference import Inference
from topmix.inference.token_by_token import CVB0, SCVB0

INFERENCES: dict[str, type[Inference]] = {
    "collapsed": Collapsed,
    "variational": Variational,
    "cvb0": CVB0,
    "scvb0": SCVB0,
}

__all__ = ["CVB0", "INFERENCES", "SCVB0", "Collapsed", "Inference", "Variational"]
