"""One fit from start to end: passes, records, progress, interrupts, checkpoints."""
