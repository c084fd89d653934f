"""A package, so that the fixtures of its conftest with the scope "package" end with the last test of this folder."""
