"""Kernels bound one after the other: a network's layers, or chains of them, as one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.ops import Float32
from rooftile.strategies.contract.cpu import CpuKernel

_UNITS, _X, _NX, _OUT, _NOUT = map(cpu.FIELDS.index, ("units", "x", "nx", "out", "nout"))


@dataclass(frozen=True)
class Stage:
    """A kernel with its packed parameters, and the elements of one image before and after."""

    kernel: CpuKernel
    weights: Float32
    bias: Float32
    image: int
    result: int


class BoundSequence:
    """Stages with the buffers between them; ``bound(x, out)`` for up to ``batch`` images.

    Calls from several threads take turns.
    """

    def __init__(self, stages: Sequence[Stage], batch: int, threads: int) -> None:
        self._stages, self._threads = tuple(stages), threads
        # Stages take turns, so one scratch serves them all; each thread's ends on a cache line.
        scratch = max(16, max(-(-stage.kernel.scratch // 16) * 16 for stage in stages))
        self._scratch = cpu.allocate(scratch * threads, "scratch")
        self._between = [cpu.allocate(batch * s.result, "a layer's output") for s in stages[:-1]]
        self._sizes = [np.array(s.kernel.sizes or (0,), np.int64) for s in stages]
        rows = [
            (0, 0, 0, *cpu.places((stage.weights, stage.bias)), 0, 0,
             cpu.address(self._scratch), scratch, *cpu.places([sizes]))
            for stage, sizes in zip(stages, self._sizes, strict=True)
        ]  # fmt: skip
        entries = [cpu.Entry.of_layer(stage.kernel.function) for stage in stages]
        self._work = cpu.KernelSequence(entries, rows)
        self._rows = self._work.rows
        for k, buffer in enumerate(self._between):
            self._rows[k][_OUT] = self._rows[k + 1][_X] = cpu.address(buffer)
        self._images = 0
        self._turn = lock()

    def __call__(self, x: Float32, out: Float32) -> None:
        images = x.size // self._stages[0].image
        with self._turn:
            if images != self._images:
                self._set_images(images)
            self._rows[0][_X], self._rows[-1][_OUT] = cpu.address(x), cpu.address(out)
            self._work.run(self._most, self._threads)

    def _set_images(self, images: int) -> None:
        for row, stage in zip(self._rows, self._stages, strict=True):
            row[_UNITS] = stage.kernel.units(images)
            row[_NX], row[_NOUT] = images * stage.image, images * stage.result
        self._most, self._images = max(row[_UNITS] for row in self._rows), images
