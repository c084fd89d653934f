"""Models: how often clusters are used, and what a cluster says of a row or a word. Values that a pass replaces."""
