"""Files that hold models and checkpoints: arrays in safetensors, JSON in the metadata, every part checked when read."""
