"""Run a kernel on the calling thread, concurrently with other work than kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.ops import Float32
from rooftile.strategies.contract.cpu_kernel import NOTHING


def run(
    kernel: Any,
    x: Float32,
    out: Float32,
    sizes: tuple[int, ...],
    units: int,
    bias: Float32 = NOTHING,
    scratch: Float32 = NOTHING,
) -> None:
    """All units of a layer's kernel (`rooftile.devices.cpu.native.program`), without the GIL."""
    arrays = (x, NOTHING, bias, out, scratch, np.array(sizes, np.int64))
    work = cpu.KernelSequence([cpu.Entry.of_layer(kernel)], [(units, *cpu.places(arrays))])
    work.run(units, threads=1)
