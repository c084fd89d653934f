"""Local steps: what runs once per shard. Here Python ends and kernels begin."""
