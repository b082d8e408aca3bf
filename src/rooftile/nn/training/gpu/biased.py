"""Bias and activation behind a product of matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.ops import Linear
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.contract.gpu import HEADERS

_THREADS = 256


def biased(gpu: GpuDevice, problem: Linear, y: Any, bias: Any) -> Call:
    """The launch that makes a layer's y[batch, outputs] of its products, where they lie."""
    macros: dict[str, int | str] = {
        "OUTPUTS": problem.outputs,
        "ACTIVATION": ACTIVATION_CODES[problem.activation],
        "THREADS": _THREADS,
    }
    text = Path(__file__).with_name("biased.cu").read_text(encoding="utf-8")
    count = problem.batch * problem.outputs
    launch = Launch("biased", (-(-count // _THREADS), 1, 1), (_THREADS, 1, 1), overlaps=True)
    return Call(gpu.compile(text, macros, [HEADERS]), launch, (y, bias, np.int32(count)))
