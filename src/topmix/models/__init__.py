"""Models: what is learned. A model is an allocation (how often clusters are used) times a likelihood."""
