"""What rungs on Hopper's warpgroups share, whatever their operation."""

from __future__ import annotations

MULTIPROCESSORS = 132
"""Of the H100 and H200 SXM."""
SHARED_BYTES = 228 * 1024
"""Of a multiprocessor; 1 KB of it goes to each block's own ends."""
LEAST_SPLIT = 2.0**-110
"""The smallest magnitude that is split: below, TF32's range ends before eleven bits of what
rounding left."""
