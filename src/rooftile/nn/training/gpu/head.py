"""A small last layer and the cross-entropy behind it, forward and backward in one launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.ops import Linear
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.gpu import HEADERS

_LANES, _TEAMS = 16, 16
"""Threads that make a score, and scores that are made at a time."""
_MOST_INPUTS, _MOST_OUTPUTS = 2048, 32
_MOST_PRODUCTS = 2**23
"""Beyond these every item's block would read too many weights."""


def is_small(problem: Linear) -> bool:
    """Whether a layer is one for `head`."""
    products = problem.batch * problem.inputs * problem.outputs
    within = problem.inputs <= _MOST_INPUTS and problem.outputs <= _MOST_OUTPUTS
    return within and products <= _MOST_PRODUCTS


def head(gpu: GpuDevice, problem: Linear, before: str, scaling: Any, *buffers: Any) -> Call:
    """The launch from a last layer's input to the loss, its gradient and that of the input.

    ``before`` is the activation whose value the input is; ``scaling`` is what the loss is
    multiplied by, or None.  ``buffers`` are x, weights, bias, labels, loss, dz and dx, see
    ``head.cu``.
    """
    macros: dict[str, int | str] = {
        "INPUTS": problem.inputs,
        "OUTPUTS": problem.outputs,
        "BEFORE": ACTIVATION_CODES[before],
        "DIVISOR": f"{float(problem.batch)!r}f",
        "SCALED": int(scaling is not None),
        "LANES": _LANES,
        "TEAMS": _TEAMS,
    }
    text = Path(__file__).with_name("head.cu").read_text(encoding="utf-8")
    launch = Launch("head", (problem.batch, 1, 1), (_LANES, _TEAMS, 1), overlaps=True)
    given, made = buffers[:4], buffers[4:]
    scaled = () if scaling is None else (scaling,)
    return Call(gpu.compile(text, macros, [HEADERS]), launch, (*given, *scaled, *made))
