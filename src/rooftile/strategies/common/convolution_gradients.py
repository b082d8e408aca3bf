"""Macros of the gradients of a convolution, behind a max-pool or not."""

from __future__ import annotations

from rooftile.ops import Conv2d


def gradient_macros(layer: Conv2d) -> dict[str, int | str]:
    """The layer's sizes; PLACED says whether gradients come with their places."""
    (mask_height, mask_width), (pad_y, pad_x) = layer.mask, layer.padding
    (rows, columns), pool = layer.output_shape[2:], layer.pool
    window, stride = ((1, 1), (1, 1)) if pool is None else (pool.window, pool.stride)
    return {
        "CHANNELS": layer.channels,
        "HEIGHT": layer.height,
        "WIDTH": layer.width,
        "MAPS": layer.maps,
        "MASK_HEIGHT": mask_height,
        "MASK_WIDTH": mask_width,
        "STRIDE_Y": layer.stride[0],
        "STRIDE_X": layer.stride[1],
        "PAD_Y": pad_y,
        "PAD_X": pad_x,
        "ROWS": rows,
        "COLUMNS": columns,
        "CONV_COLUMNS": layer.conv_size[1],
        "PLACED": int(pool is not None),
        "WINDOW_HEIGHT": window[0],
        "WINDOW_WIDTH": window[1],
        "WINDOW_STRIDE_Y": stride[0],
        "WINDOW_STRIDE_X": stride[1],
    }
