"""Inference: what is approximated, and how a document is solved. One file per family; a new one is one line here."""

from topmix.steps.inference import CVB0, INFERENCES, SCVB0, Collapsed, Inference, Variational

__all__ = ["CVB0", "INFERENCES", "SCVB0", "Collapsed", "Inference", "Variational"]
