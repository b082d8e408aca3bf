"""The gradients of the weights of a network's last linear layers, in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.ops import Linear
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import HEADERS

_TILE, _THREADS = 32, 256
_FEW_IMAGES = 64
"""Up to so many a block takes all of them; they are one launch then."""
_MOST_PARTS, _FILLED = 16, 1


def linear_weights(
    work: BoundLaunches, layers: Sequence[Linear], buffers: Sequence[Any], made: Sequence[Any]
) -> None:
    """Append what makes the gradients of the last layer's parameters, or those of the last two.

    ``buffers`` are each layer's input and the gradient before its activation, ``made`` the
    gradients of its weights and bias, in the order of the layers.
    """
    last, features = layers[-1], layers[0].inputs if len(layers) > 1 else 0
    tiles = sum(blocks(one.inputs, _TILE) * blocks(one.outputs, _TILE) for one in layers)
    parts = 1
    if last.batch > _FEW_IMAGES:
        while parts < _MOST_PARTS and tiles * parts < _FILLED * work.gpu.description.units:
            parts *= 2
    macros: dict[str, int | str] = {
        "FEATURES": features,
        "INPUTS": last.inputs,
        "OUTPUTS": last.outputs,
        "PARTS": parts,
    }
    count = sum((one.inputs + 1) * one.outputs for one in layers)
    sums = work.floats(parts * count if parts > 1 else 1)
    # Of a single layer the arrays stand for those of the one before, which nobody touches.
    read, written = ([*given, *given][-4:] for given in (buffers, made))
    given = *read, *written, sums, np.int32(last.batch)
    work.call(_call, work.gpu, macros, "linear_weights", (tiles, parts, 1), given)
    if parts > 1:
        work.call(
            _call, work.gpu, macros, "finish", (blocks(count, _THREADS), 1, 1), (sums, *written)
        )


def _call(
    gpu: GpuDevice,
    macros: dict[str, int | str],
    kernel: str,
    grid: tuple[int, int, int],
    arguments: tuple[Any, ...],
) -> Call:
    text = Path(__file__).with_name("linear_weights.cu").read_text(encoding="utf-8")
    launch = Launch(kernel, grid, (_THREADS, 1, 1), overlaps=True)
    return Call(gpu.compile(text, macros, [HEADERS]), launch, arguments)
