"""A network's end and the cross-entropy behind it, forward and backward in one launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch, Program
from rooftile.devices.launches import Call
from rooftile.ops import Linear
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import HEADERS

_THREADS, _LANES = 256, 16
_MOST_SHARED = 5120
"""float32 of weights that `head` has in shared memory."""
_MOST_INPUTS, _MOST_OUTPUTS = 2048, 32
_MOST_PRODUCTS, _MOST_OF_FIRST = 2**23, 2**26
"""Of a batch; beyond these large products of matrices take less time."""
_MOST_ITEMS = 8
_MOST_HELD = 2048
"""float32 of an array in shared memory."""
_MOST_FEATURES, _ROWS = 4096, 4
_MOST_THREADS = 512


def is_small(problem: Linear) -> bool:
    """Whether a layer is one for `head`."""
    products = problem.batch * problem.inputs * problem.outputs
    within = problem.inputs <= _MOST_INPUTS and problem.outputs <= _MOST_OUTPUTS
    return within and products <= _MOST_PRODUCTS


def are_small(first: Linear, last: Linear) -> bool:
    """Whether two layers are for `two_layers`."""
    wide = first.inputs % 4 == 0 and first.inputs <= _MOST_FEATURES
    held = last.inputs <= 128 and last.inputs * last.outputs <= _MOST_HELD
    few = first.batch * first.inputs * first.outputs <= _MOST_OF_FIRST
    return wide and held and few and is_small(last)


def head(
    gpu: GpuDevice, problem: Linear, before: str, settled: bool, scaling: Any, *buffers: Any
) -> Call:
    """The launch from a last layer's input to the loss, its gradient and that of the input.

    ``before`` is the activation whose value the input is; ``settled`` says that a convolution lies
    between the launch and the change of the parameters; ``scaling`` is what the loss is multiplied
    by, or None.  ``buffers`` are the input, weights, bias, labels; the input's gradient, loss and
    dz, see ``head.cu``.
    """
    macros = _macros(gpu, problem, before, scaling, _MOST_HELD // problem.inputs)
    macros |= {"THREADS": _THREADS, "MOST_HELD": _MOST_SHARED, "SETTLED": int(settled)}
    launch = Launch("head", _grid(problem, macros), (_THREADS, 1, 1), overlaps=True)
    arguments = _arguments(problem, scaling, buffers[:4], buffers[4:])
    return Call(_compiled(gpu, "head.cu", macros), launch, arguments)


def two_layers(
    gpu: GpuDevice,
    first: Linear,
    last: Linear,
    below: str,
    settled: bool,
    scaling: Any,
    *buffers: Any,
) -> Call:
    """The same of the last two layers, from the features that the first one reads.

    ``below`` is the activation whose value these are.  ``buffers`` are x, weights and bias of
    both layers, labels; the last one's input and its gradient, dx, loss and dz, see
    ``two_layers.cu``.
    """
    macros = _macros(gpu, last, first.activation, scaling, 256 // last.inputs)
    teams = blocks(last.inputs, _ROWS)
    team = 1 << (_MOST_THREADS // teams).bit_length() - 1
    macros |= {
        "FEATURES": first.inputs,
        "BELOW": ACTIVATION_CODES[below],
        "SETTLED": int(settled),
        "ROWS": _ROWS,
        "TEAM": team,
        "TEAMS": teams,
        # Where a thread has many sums it has fewer registers for weights.
        "MOST_EARLY": 2 if macros["ITEMS"] == _MOST_ITEMS else 4,
    }
    launch = Launch("two_layers", _grid(last, macros), (team, teams, 1), overlaps=True)
    arguments = _arguments(last, scaling, buffers[:6], buffers[6:])
    return Call(_compiled(gpu, "two_layers.cu", macros), launch, arguments)


def _macros(gpu: GpuDevice, last: Linear, before: str, scaling: Any, most: int) -> dict[str, Any]:
    """What both texts are told; a block takes ``most`` items at most."""
    items = 1
    while 2 * items <= min(most, _MOST_ITEMS) and items * gpu.description.units < last.batch:
        items *= 2
    return {
        "INPUTS": last.inputs,
        "OUTPUTS": last.outputs,
        "ITEMS": items,
        "LANES": _LANES,
        "BEFORE": ACTIVATION_CODES[before],
        "DIVISOR": f"{float(last.batch)!r}f",
        "SCALED": int(scaling is not None),
    }


def _grid(last: Linear, macros: dict[str, Any]) -> tuple[int, int, int]:
    return blocks(last.batch, macros["ITEMS"]), 1, 1


def _arguments(last: Linear, scaling: Any, given: Any, made: Any) -> tuple[Any, ...]:
    scaled = () if scaling is None else (scaling,)
    return (*given, *scaled, *made, np.int32(last.batch))


def _compiled(gpu: GpuDevice, name: str, macros: dict[str, Any]) -> Program:
    here = Path(__file__).parent
    return gpu.compile((here / name).read_text(encoding="utf-8"), macros, [HEADERS, here])
