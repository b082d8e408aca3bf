"""`direct_tile_bf16`: the direct tile of operands in bfloat16."""

from __future__ import annotations

from rooftile.strategies.conv2d.gpu.direct_tile.direct_tile import DirectTileNarrow


class DirectTileBf16(DirectTileNarrow):
    """Inputs and weights rounded to bfloat16, products and sums in float32."""

    name = "direct_tile_bf16"
    precision = narrow = "bf16"
    summary = "the direct tile, inputs in bfloat16, multiply-adds in float32"


STRATEGY = DirectTileBf16()
