"""Warps that sample: how many fit onto a processor."""

from __future__ import annotations

from topmix.cuda.device import Device

PRIOR_BLOCK = 32  # topics to a running sum of the prior's part
WARPS = 8  # per block


def warps_that_sample(device: Device, most: int) -> tuple[int, int]:
    """Blocks per processor, and bytes of shared memory for each, where documents have at most so many topics."""
    shared = 4 * 2 * WARPS * most
    if shared > device.shared_per_block:
        raise ValueError(
            f"engine='cuda' samples documents of at most {device.shared_per_block // (8 * WARPS)} topics, and one "
            f"of these may have {most}: use engine='threads'"
        )
    return max(1, min(2048 // (32 * WARPS), device.shared_per_processor // (shared + 1024))), shared
