"""Conjugate gradients on a GPU: vectors and sums stay there, and steps are captured into a graph.

A step is a product and three kernels, or of a matrix in DIA two kernels (`conjugate.cu`).  The host
looks at the state once in `_TOGETHER` steps; those that are too many change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.errors import InputError

TEXT = Path(__file__).with_name("conjugate.cu")
MOST_DIAGONALS = 9
"""Diagonals that a thread reads at a time."""
_THREADS = 256
_FEW_DIAGONALS = 5
"""Number of diagonals up to which registers allow one more block."""
_EACH = 4
"""Elements that a thread takes at least, where there are few."""
_TOGETHER = 32
"""Steps of a graph, an even number: two steps leave both sets of sums in their places."""
_SUMS = 3
"""Of each block, see `struct sums`."""

Memory = Any
Product = Callable[[Memory, Memory], None]
"""``product(p, q)`` starts ``q = A p``."""


@dataclass(frozen=True)
class Diagonals:
    """A matrix in DIA, in the device's memory, with values of the vectors' dtype."""

    values: Memory
    diagonals: Memory
    count: int
    index: str


def resident(diagonals: int) -> int:
    """Number of the steps' blocks that a multiprocessor holds at a time."""
    return 4 if diagonals <= _FEW_DIAGONALS else 3


class Conjugate:
    """The vectors of a solution and their steps, on the device's present stream."""

    def __init__(
        self,
        device: GpuDevice,
        x: Memory,
        b: Memory,
        size: int,
        dtype: Any,
        product: Product,
        *,
        inverse: Memory | None = None,
        diagonals: Diagonals | None = None,
    ) -> None:
        """x and b are in the device's memory, x a start that becomes the solution. ``inverse``
        holds what the residual is weighed with, or is None; ``diagonals`` is the matrix once more,
        where products may be made with the directions."""
        self._device, self._x, self._b, self._size = device, x, b, size
        self._product, self._dtype, self._matrix = product, np.dtype(dtype), diagonals
        self._resident = resident(0 if diagonals is None else diagonals.count)
        most = self._resident * device.description.units
        self._blocks = max(1, min(most, -(-size // (_THREADS * _EACH))))
        nbytes = size * self._dtype.itemsize
        self._r, self._q, *self._p = (device.allocate(nbytes) for _ in range(4))
        # Nothing reads weights where there are none.
        self._weighed, self._inverse = inverse is not None, self._r if inverse is None else inverse
        self._sums = [device.allocate(8 * _SUMS * self._blocks) for _ in range(2)]
        self._state, self._goal = device.allocate(24), device.allocate(8)
        self._begin = self._launched(
            ("begin", (b, self._q, self._inverse, self._r, self._p[1], *self._sums[::-1]))
        )
        self._tell = [self._told(one) for one in self._sums]
        self._steps = [self._step(turn) for turn in range(2)]

    def solve(self, tolerance: float, limit: int) -> tuple[int, bool]:
        """Steps until the residual's norm is ``tolerance`` times that of b, or as many as
        ``limit``; gives how many, and whether the first. Raises `InputError` for a matrix that
        shows that it is not positive definite."""
        goal = tolerance**2 * self.squared(start=False)
        norm = self.squared(start=True)
        self._device.copy_in(np.array([norm, 1, 0], np.float64), self._state)
        self._device.copy_in(np.array([goal], np.float64), self._goal)
        done, begun, replay = 0, 0, None
        while norm > goal and done < limit:
            at_once = min(_TOGETHER, limit - done)
            # Two steps by themselves come first: what a graph holds must have run.
            at_once = min(at_once, 2) if done == 0 else at_once
            if at_once == _TOGETHER:
                if replay is None:
                    replay = self._device.captured(lambda: self._run(_TOGETHER))
                replay()
            else:
                self._run(at_once)
            begun += at_once
            state = np.empty(3)
            self._device.copy_out(self._state, state)
            norm, curvature, counted = state.tolist()
            if curvature != 1.0:
                raise InputError("A", f"p^T A p = {curvature}", "a positive definite matrix")
            done = round(counted)
        last = (begun + 1) % 2
        self._launched(("settle", (self._x, self._p[last], self._sums[last])))()
        return done, norm <= goal

    def squared(self, *, start: bool) -> float:
        """The square of the norm of ``b - A x``, with which the steps begin, or of b."""
        if start:
            self._product(self._x, self._q)
        else:
            self._device.copy_in(np.zeros(self._size, self._dtype), self._q)
        self._begin()
        found = np.empty((self._blocks, _SUMS))
        self._device.copy_out(self._sums[0], found)
        return math.fsum(found[:, 1].tolist())

    def _step(self, turn: int) -> Callable[[], None]:
        """A step, of which every other one has the sets and the directions the other way round."""
        now, before = self._sums[turn], self._sums[1 - turn]
        p, old = self._p[turn], self._p[1 - turn]
        x, r, q, inverse, goal = self._x, self._r, self._q, self._inverse, self._goal
        lower = "lower", (r, q, inverse, now, before, self._state, goal)
        if self._matrix is not None:
            given = (self._matrix.values, self._matrix.diagonals)
            arrays = (*given, x, r, old, p, q, inverse, before, now, goal)
            return self._launched(("turn_and_multiply", arrays), lower)
        turning = self._launched(("turn", (x, r, old, p, inverse, before, now, goal)))
        rest = self._launched(("curve", (p, q, now, goal)), lower)

        def step() -> None:
            turning()
            self._product(p, q)
            rest()

        return step

    def _run(self, count: int) -> None:
        for number in range(count):
            self._steps[number % 2]()
        self._tell[count % 2]()

    def _told(self, sums: Memory) -> Callable[[], None]:
        launch = Launch("tell", (1, 1, 1), (_THREADS, 1, 1))
        launches = self._device.launches([Call(self._program, launch, (sums, self._state))], ())
        return lambda: launches.start(())

    @cached_property
    def _program(self) -> Any:
        matrix = self._matrix
        macros: dict[str, int | str] = {
            "VALUE": "double" if self._dtype == np.float64 else "float",
            "INDEX": "int64" if matrix is not None and matrix.index == "int64" else "int",
            "DIAGONALS": 0 if matrix is None else matrix.count,
            "WEIGHED": int(self._weighed),
            "THREADS": _THREADS,
            "BLOCKS": self._blocks,
            "RESIDENT": self._resident,
        }
        return self._device.compile(TEXT.read_text(encoding="utf-8"), macros)

    def _launched(self, *kernels: tuple[str, tuple[Memory, ...]]) -> Callable[[], None]:
        grid, block = (self._blocks, 1, 1), (_THREADS, 1, 1)
        calls = [
            Call(self._program, Launch(name, grid, block), (*arrays, np.int64(self._size)))
            for name, arrays in kernels
        ]
        launches = self._device.launches(calls, ())
        return lambda: launches.start(())
