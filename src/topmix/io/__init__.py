"""The door: whatever a user passes becomes a Corpus or Rows, checked once."""
