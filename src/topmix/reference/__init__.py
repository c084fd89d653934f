"""A slow twin of every kernel, kept for ever: what the tests hold the native code to."""
