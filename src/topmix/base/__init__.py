"""What knows nothing of the rest: checks, components, numerics, files that are checked and written whole."""
