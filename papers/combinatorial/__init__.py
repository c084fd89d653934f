"""Jiang, Sra & Kulis, Combinatorial topic models using small-variance asymptotics (2016)."""
