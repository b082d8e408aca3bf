"""Time an addition of arrays in page-locked memory, in segments, by the order of its copies.

python benchmarks/streamed_add.py [elements] [elements of a segment] [streams]
"""

from __future__ import annotations

import sys

from rooftile.devices.cuda import open_device
from rooftile.lab.measure.streamed import time_orders

_COUNT, _SEGMENT, _STREAMS = 2**27, 2**22, 3


def main(arguments: list[str]) -> None:
    """Print a line for each order."""
    given = [int(word) for word in arguments]
    count, segment, streams = (*given, *(_COUNT, _SEGMENT, _STREAMS)[len(given) :])
    moved = 12e-6 * count
    for one in time_orders(open_device(), count, segment, streams):
        rate = moved / one.device.median
        print(
            f"{one.order:14} {one.device.median:8.3f} ms, {one.host.median:8.3f} by the host's",
            end="",
        )
        print(f" clock, {rate:6.1f} GB/s in and out together")


if __name__ == "__main__":
    main(sys.argv[1:])
