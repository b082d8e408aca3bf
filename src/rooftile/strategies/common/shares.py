"""Equal shares of a sequence and of the ends of its pieces, for kernels of the CPU.

The items are the elements of pieces of any lengths, and after each piece its end: shares of equal
numbers take equal times for any lengths of pieces.

Source: Merrill and Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication", SC 2016.
"""

from __future__ import annotations

ENDS_AMONG = """
def ends_among(offsets, pieces, elements, items):
    # How many ends are among the first items.
    low, high = max(0, items - elements), min(items, pieces)
    while low < high:
        middle = (low + high) // 2
        if offsets[middle + 1] < items - middle:
            low = middle + 1
        else:
            high = middle
    return low
"""
"""A function of a kernel's text."""
