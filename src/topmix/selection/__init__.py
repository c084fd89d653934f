"""Choosing among fits: sweeps, consensus, streams, and edits that can be replayed."""
