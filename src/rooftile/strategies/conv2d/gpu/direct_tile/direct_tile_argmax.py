"""`direct_tile` and `direct_bulk` that say which sum of each max-pool's window is the largest."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.conv2d.gpu._argmax import Argmax
from rooftile.strategies.conv2d.gpu.direct_tile.direct_bulk import DirectBulk
from rooftile.strategies.conv2d.gpu.direct_tile.direct_tile import DirectTile

_MANY_IMAGES = 512
_REGISTERS = 96
"""Of a thread: its sums, a row of its patch, and what the two are found with."""


class DirectBulkArgmax(Argmax, DirectBulk):
    """Takes many images of one channel."""

    name = "direct_bulk_argmax"
    source = "direct_bulk"
    summary = "the direct tile by the bulk copy engine, and the places of its pool's maxima"


class DirectTileArgmax(Argmax, DirectTile):
    """Takes windows that tile the image."""

    name = "direct_tile_argmax"
    source = "direct_tile"
    summary = "the direct tile, and the places of its pool's maxima"

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """`DirectTile.large`; but few images have their taps in shared memory, since filling
        constant memory, in every step, takes as long as they do. A thread then has one window."""
        config = {**self.large(problem), "BLOCK_BANDS": 1}
        if config["TAPS_CONSTANT"] and problem.batch >= _MANY_IMAGES:
            return config
        config |= {"TAPS_CONSTANT": 0, "THREAD_COLUMNS": 1, "BAND_ROWS": 1}
        for rows in (2, 4, 8, 16):
            grown = {**config, "BAND_ROWS": rows}
            if self._worth(problem, grown) and self.invalid(problem, grown) is None:
                config = grown
        threads = problem.output_size[1] * config["BAND_ROWS"] * config["BLOCK_GROUPS"]
        resident = self.machine.registers // (_REGISTERS * threads)
        return config | {"LEAST_BLOCKS": max(1, min(8, resident))}


STRATEGIES = (DirectBulkArgmax(), DirectTileArgmax())
