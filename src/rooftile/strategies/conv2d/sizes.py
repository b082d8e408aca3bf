"""The numbers that stand for a problem of `conv2d` in kernels."""

from __future__ import annotations

from rooftile.ops import Conv2d
from rooftile.strategies.common.fused import ACTIVATION_CODES, POOL_CODES

BOUNDARY_CODES = {"zero": 0, "replicate": 1, "interior": 2}


def sizes(problem: Conv2d) -> dict[str, int]:
    """The problem's numbers, and its activation's, by the texts' names."""
    pool = problem.pool
    window, stride = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
    return {
        "CHANNELS": problem.channels,
        "HEIGHT": problem.height,
        "WIDTH": problem.width,
        "MAPS": problem.maps,
        "MASK_HEIGHT": problem.mask[0],
        "MASK_WIDTH": problem.mask[1],
        "STRIDE_Y": problem.stride[0],
        "STRIDE_X": problem.stride[1],
        "DILATION_Y": problem.dilation[0],
        "DILATION_X": problem.dilation[1],
        "CONV_GROUPS": problem.groups,
        "PAD_Y": problem.padding[0],
        "PAD_X": problem.padding[1],
        "CONV_ROWS": problem.conv_span[0],
        "CONV_COLUMNS": problem.conv_span[1],
        "ROWS": problem.output_size[0],
        "COLUMNS": problem.output_size[1],
        "POOL_HEIGHT": window[0],
        "POOL_WIDTH": window[1],
        "POOL_STRIDE_Y": stride[0],
        "POOL_STRIDE_X": stride[1],
        "POOL_KIND": POOL_CODES[pool.kind if pool else "max"],
        "POOL_ACTIVATION": ACTIVATION_CODES[pool.activation if pool else "none"],
        "ACTIVATION": ACTIVATION_CODES[problem.activation],
        "BOUNDARY": BOUNDARY_CODES[problem.ghosts],
    }
