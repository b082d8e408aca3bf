"""Conjugate gradients on a GPU: vectors and sums stay there, and steps are captured into a graph.

A step is a product and three kernels (`conjugate.cu`).  The host looks at the state once in
`_TOGETHER` steps; those that are too many change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.errors import InputError

TEXT = Path(__file__).with_name("conjugate.cu")
_THREADS = 256
_BLOCKS_A_UNIT = 4
"""A multiprocessor holds so many of such blocks at a time."""
_EACH = 4
"""Elements that a thread takes at least, where there are few."""
_TOGETHER = 32
"""Steps of a graph, an even number: two steps leave the two sets of sums in their places."""

Memory = Any
Product = Callable[[Memory, Memory], None]
"""``product(p, q)`` starts ``q = A p``."""


class Conjugate:
    """The vectors of a solution and their steps, on the device's present stream."""

    def __init__(
        self, device: GpuDevice, x: Memory, b: Memory, size: int, dtype: Any, product: Product
    ) -> None:
        """x and b are in the device's memory, x a start that becomes the solution."""
        self._device, self._x, self._b, self._size = device, x, b, size
        self._product, self._dtype = product, np.dtype(dtype)
        most = _BLOCKS_A_UNIT * device.description.units
        self._blocks = max(1, min(most, -(-size // (_THREADS * _EACH))))
        nbytes = size * self._dtype.itemsize
        self._r, self._p, self._q = (device.allocate(nbytes) for _ in range(3))
        self._sums = [device.allocate(8 * self._blocks) for _ in range(5)]
        self._state, self._goal = device.allocate(24), device.allocate(8)

    def solve(self, inverse: Memory | None, tolerance: float, limit: int) -> tuple[int, bool]:
        """Steps until the residual's norm is ``tolerance`` times that of b, or as many as
        ``limit``; gives how many, and whether the first.

        ``inverse`` holds what the residual is weighed with, or is None.  Raises `InputError` for a
        matrix that shows that it is not positive definite.
        """
        goal = tolerance**2 * self.squared(start=False)
        norm = self.squared(start=True, inverse=inverse)
        self._device.copy_in(np.array([norm, 1, 0], np.float64), self._state)
        self._device.copy_in(np.array([goal], np.float64), self._goal)
        steps = self._steps(inverse)
        curvature, done, replay = 1.0, 0, None
        while norm > goal and done < limit:
            at_once = min(_TOGETHER, limit - done)
            # Two steps by themselves come first: what a graph holds must have run.
            at_once = min(at_once, 2) if done == 0 else at_once
            if at_once == _TOGETHER:
                if replay is None:
                    replay = self._device.captured(lambda: self._run(steps, _TOGETHER))
                replay()
            else:
                self._run(steps, at_once)
            state = np.empty(3)
            self._device.copy_out(self._state, state)
            norm, curvature, counted = state.tolist()
            if curvature != 1.0:
                raise InputError("A", f"p^T A p = {curvature}", "a positive definite matrix")
            done = round(counted)
        return done, norm <= goal

    def squared(self, *, start: bool, inverse: Memory | None = None) -> float:
        """The square of the norm of ``b - A x``, with which the steps begin, or of b."""
        if start:
            self._product(self._x, self._q)
        else:
            self._device.copy_in(np.zeros(self._size, self._dtype), self._q)
        weighed, norms = self._sums[:2]
        arrays = (self._b, self._q, self._given(inverse), self._r, self._p, weighed, norms)
        self._launched(inverse, ("begin", arrays))()
        found = np.empty(self._blocks)
        self._device.copy_out(norms, found)
        return math.fsum(found.tolist())

    def _steps(self, inverse: Memory | None) -> list[Callable[[], None]]:
        """What follows a product, once for each of the two orders of the sets of sums."""
        weights, state, goal = self._given(inverse), self._state, self._goal
        x, r, p, q = self._x, self._r, self._p, self._q
        *sets, curves = self._sums
        made = []
        for old, new in ((sets[:2], sets[2:]), (sets[2:], sets[:2])):
            made.append(
                self._launched(
                    inverse,
                    ("curve", (p, q, old[1], curves, goal)),
                    ("advance", (x, r, p, q, weights, *old, curves, *new, state, goal)),
                    ("turn", (p, r, weights, *old, *new, state, goal)),
                )
            )
        return made

    def _run(self, steps: list[Callable[[], None]], count: int) -> None:
        for number in range(count):
            self._product(self._p, self._q)
            steps[number % 2]()

    def _given(self, inverse: Memory | None) -> Memory:
        """What stands in the place of weights: nothing reads it where there are none."""
        return self._r if inverse is None else inverse

    def _launched(
        self, inverse: Memory | None, *kernels: tuple[str, tuple[Memory, ...]]
    ) -> Callable[[], None]:
        macros: dict[str, int | str] = {
            "VALUE": "double" if self._dtype == np.float64 else "float",
            "WEIGHED": int(inverse is not None),
            "THREADS": _THREADS,
            "BLOCKS": self._blocks,
        }
        program = self._device.compile(TEXT.read_text(encoding="utf-8"), macros)
        grid, block = (self._blocks, 1, 1), (_THREADS, 1, 1)
        calls = [
            Call(program, Launch(name, grid, block), (*arrays, np.int64(self._size)))
            for name, arrays in kernels
        ]
        launches = self._device.launches(calls, ())
        return lambda: launches.start(())
