"""Settings that users pass in: how they are checked, named, printed and written to files."""
