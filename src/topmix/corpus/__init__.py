"""Documents as bags of words, rows of numbers, groups of them, and the shards that they are visited in."""
