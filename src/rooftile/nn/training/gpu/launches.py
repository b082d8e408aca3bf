"""The fixed list of launches that a step is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.launches import Call
from rooftile.ops import Precision, Problem
from rooftile.runtime.choice import decide
from rooftile.strategies.gpu import GpuStrategy, of_launches
from rooftile.strategies.resident import Resident


class Start(NamedTuple):
    """One of a step's launches, or an operation's."""

    name: str
    """An operation and its strategy, or a kernel."""
    start: Callable[[], None]
    phase: str
    layer: str


class Work:
    """Launches in a row on buffers that stay, and the memory that they work in."""

    def __init__(self, gpu: GpuDevice, precision: Precision = "ieee") -> None:
        self.gpu, self.precision = gpu, precision
        self.starts: list[Start] = []
        self.phase, self.layer = "", ""
        """What the launches that are appended next belong to."""
        self._held: list[Any] = []
        self._rooms: list[tuple[int, Any]] = []

    def start(self) -> None:
        """Start everything on the present stream."""
        for one in self.starts:
            one.start()

    def floats(self, count: int) -> Any:
        """Memory for so many float32 or int32, zeros at first."""
        memory = self.gpu.upload(np.zeros(count, np.float32))
        self._held.append(memory)
        return memory

    def run(
        self,
        problem: Problem,
        *arrays: Any,
        parameters: Sequence[Any] = (),
        strategy: GpuStrategy | None = None,
    ) -> None:
        """Append an operation: buffers of its inputs and outputs, and of its parameters."""
        gpu = self.gpu
        config = None
        if strategy is None:
            choice = decide(problem, self.precision, gpu.description.device)
            strategy, config = of_launches(choice.strategy), choice.config
        resident = Resident(strategy.compile(problem, gpu, config), alone=True)
        launches, counts = resident.launches(None)
        given = [
            zeros if own is None else own
            for own, zeros in zip(parameters, resident.zeros, strict=True)
        ]
        self._held.append(resident)
        buffers = [*arrays, *given, *self._room(counts)]
        name = f"{problem.operation} {strategy.name}"
        self._append(name, partial(launches.start, buffers))

    def call(self, call: Call) -> None:
        """Append one launch, whose arguments are buffers and numbers."""
        launches = self.gpu.launches([call], ())
        self._held.append(call)
        self._append(call.launch.kernel, partial(launches.start, ()))

    def _append(self, name: str, start: Callable[[], None]) -> None:
        self.starts.append(Start(name, start, self.phase, self.layer))

    def _room(self, counts: Sequence[int]) -> Iterator[Any]:
        """Memory for temporaries, which operations that follow each other share."""
        for number, count in enumerate(counts):
            if number == len(self._rooms) or self._rooms[number][0] < count:
                made = count, self.floats(count)
                self._rooms[number : number + 1] = [made]
            yield self._rooms[number][1]
