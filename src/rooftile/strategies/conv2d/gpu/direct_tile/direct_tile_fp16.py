"""`direct_tile_fp16`: the direct tile of operands in float16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.direct_tile.direct_tile import DirectTileNarrow


class DirectTileFp16(DirectTileNarrow):
    """Inputs and weights rounded to float16, products and sums in float32."""

    name = "direct_tile_fp16"
    precision = narrow = "fp16"
    summary = "the direct tile, inputs in float16, multiply-adds in float32"


STRATEGY = DirectTileFp16()
