"""Parts that strategies of a convolution's gradients share: macros, and prepared arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rooftile.ops import AnyArray, Conv2d
from rooftile.ops.activation import derivative


def before_activation(activation: str, gradients: Sequence[AnyArray]) -> list[AnyArray]:
    """The gradients of what an activation was given, from dy and, where there is one, y.

    Without an activation they are the same arrays: dy, or dy and places.
    """
    if activation == "none":
        return list(gradients)
    dy, y = gradients
    with np.errstate(invalid="ignore", over="ignore"):
        return [dy * derivative(activation, y)]


def framed(layer: Conv2d, x: AnyArray) -> AnyArray:
    """The images with the layer's zeros around them; the same array where there are none."""
    above, left = layer.padding
    if not (above or left):
        return x
    height, width = layer.height, layer.width
    made = np.zeros((*x.shape[:2], height + 2 * above, width + 2 * left), np.float32)
    made[:, :, above : above + height, left : left + width] = x
    return made


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
