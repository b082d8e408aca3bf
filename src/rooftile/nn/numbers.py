"""Images and scores of other dtypes than float32 on a GPU, for layers that read and write that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.nn.data.pixels import Pixels

_THREADS = 256
_TOGETHER = 4
"""Numbers of a thread."""


class Numbers:
    """The kernels for one dtype: uint8, float16 or bfloat16.

    Each makes a launch on buffers, or on names of buffers; ``count`` are elements.
    """

    def __init__(self, gpu: GpuDevice, dtype: str, plane: int, pixels: Pixels | None) -> None:
        """``plane``: pixels of a channel; ``pixels`` is needed for uint8. Raises `CompileFailure`,
        `OutOfMemory`."""
        values = (pixels or Pixels()).numbers()
        macros = {
            "THREADS": _THREADS,
            "BFLOAT16": int(dtype == "bfloat16"),
            "TABLES": len(values),
            "PLANE": plane,
        }
        self._dtype = dtype
        self._program = gpu.compile(TEXT, macros)
        self._values = gpu.upload(values)

    def read(self, images: Any, x: Any, count: int) -> Call:
        """float32 numbers of pixels, or of 16-bit numbers."""
        if self._dtype == "uint8":
            return self._call("standardise", count, images, self._values, x)
        return self._call("widen", count, images, x)

    def write(self, y: Any, scores: Any, count: int) -> Call:
        """Round float32 scores to 16 bits."""
        return self._call("narrow_scores", count, y, scores)

    def move(self, given: Any, to: Any, nbytes: int) -> Call:
        """Copy bytes of any alignment."""
        return self._call("move", nbytes, given, to)

    def _call(self, kernel: str, count: int, *arrays: Any) -> Call:
        grid = (-(-count // (_THREADS * _TOGETHER)), 1, 1)
        launch = Launch(kernel, grid, (_THREADS, 1, 1))
        return Call(self._program, launch, (*arrays, np.int64(count)))


TEXT = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
"""The kernels' text."""
