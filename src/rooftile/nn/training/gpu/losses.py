"""The loss that ends a forward pass on a device, and its gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.nn.training.losses import LossName

_THREADS = 256
_KINDS = {
    "cross_entropy": (0, 1.0),
    "squared_error": (1, 1.0),
    "half_squared_error": (1, 0.5),
    "missed": (2, 1.0),
    "squared_distance": (3, 1.0),
}
"""How `losses.cu` calls each, and a square's factor; the cross-entropy is that of a sigmoid."""


def loss_call(
    gpu: GpuDevice, name: LossName, outputs: int, arrays: tuple[Any, ...], count: int, numbers: bool
) -> Call:
    """The launch that makes loss and dy of y and targets: these four ``arrays``.

    ``numbers`` says that the targets are float32[count, outputs], and not labels.  Raises
    `CompileFailure`.
    """
    y, targets, loss, dy = arrays
    kind, factor = _KINDS[name]
    macros: dict[str, int | str] = {"KIND": kind, "FACTOR": f"{factor!r}f"}
    macros |= {"OUTPUTS": outputs, "NUMBERS": int(numbers)}
    text = Path(__file__).with_name("losses.cu").read_text(encoding="utf-8")
    launch = Launch("loss_of_rows", (-(-count // _THREADS), 1, 1), (_THREADS, 1, 1))
    program = gpu.compile(text, macros)
    return Call(program, launch, (y, targets, targets, loss, dy, np.int32(count)))
