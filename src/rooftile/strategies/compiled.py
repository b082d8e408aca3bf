"""GPU strategies compiled for a device, and bound to parameters that stay there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices.gpu import Argument, GpuDevice, Launch, Resources, TensorMap
from rooftile.ops import AnyArray
from rooftile.strategies.arrangement import Arrangement
from rooftile.strategies.base import Bound, Config


@dataclass(frozen=True)
class Step:
    """One launch with its arguments: names of arrays, tensor maps of them, or integers.

    Names are those of the problem's arrays, of `GpuStrategy.packed` and of
    `GpuStrategy.workspace`; an integer is passed as int32, or as the NumPy integer that it is.
    """

    launch: Launch
    arguments: tuple[str | TensorMap | int | np.integer[Any], ...]
    program: int = 0
    """Which of the strategy's `GpuStrategy.programs` runs it."""


@dataclass(frozen=True)
class Fill:
    """What a constant array is filled with on the device, after the preparation."""

    array: str
    """A packed array, or one of the workspace; `GpuStrategy.programs` share it out in order."""
    count: int
    """float32 elements for each program."""


class Compiled:
    """A `GpuStrategy`'s kernels on a device, for up to the problem's batch; holds no arrays but
    those in constant memory."""

    def __init__(self, strategy: Any, problem: Any, device: GpuDevice, config: Config) -> None:
        self.strategy, self.problem, self.device, self.config = strategy, problem, device, config
        macros = strategy.macros(problem, config)
        programs = strategy.programs(problem, config)
        self.programs = [
            device.compile(strategy.text, macros, strategy.folders) for _ in range(programs)
        ]
        for name, values in strategy.tables(problem, config).items():
            for program in self.programs:
                program.set_constant(name, values)
        self._steps: tuple[int | None, tuple[Step, ...]] = (None, ())

    def workspace(self, batch: int | None) -> dict[str, int]:
        """float32 elements of each array between the steps, for so many items."""
        counts: dict[str, int] = self.strategy.workspace(self._of(batch), self.config)
        return counts

    def launch(self, arrays: Mapping[str, Any], batch: int | None) -> None:
        """Start all steps on device memory by name; returns before they are done."""
        held, steps = self._steps
        if held != batch or not steps:
            steps = self.strategy.steps(self._of(batch), self.config)
            self._steps = batch, steps
        self._start(steps, arrays)

    def _of(self, batch: int | None) -> Any:
        """The problem for so many items; None stands for its own."""
        return self.problem if batch is None else self.problem.with_batch(batch)

    def prepare(self, arrays: Mapping[str, Any]) -> None:
        """Start what comes once after new parameters, with them and the workspace by name."""
        self._start(self.strategy.preparation(self.problem, self.config), arrays)
        for name, fill in self.strategy.constants(self.problem, self.config).items():
            for part, program in enumerate(self.programs):
                program.fill_constant(name, arrays[fill.array], part * fill.count, fill.count)

    def _start(self, steps: tuple[Step, ...], arrays: Mapping[str, Any]) -> None:
        for step in steps:
            arguments = (self._given(a, arrays) for a in step.arguments)
            self.programs[step.program].launch(step.launch, *arguments)

    def _given(self, argument: Any, arrays: Mapping[str, Any]) -> Argument:
        """What a kernel takes for an argument of a step."""
        if isinstance(argument, TensorMap):
            return self.device.tensor_map(arrays[argument.array], argument)
        if isinstance(argument, str):
            return arrays[argument]
        return argument if isinstance(argument, np.integer) else np.int32(argument)

    def resources(self) -> list[Resources]:
        """What each step's launch takes."""
        steps = self.strategy.steps(self.problem, self.config)
        return [self.programs[step.program].resources(step.launch) for step in steps]


class GpuBound(Bound):
    """A strategy on a device with its parameters and its workspace."""

    device: GpuDevice

    def __init__(self, compiled: Compiled, parameters: Sequence[AnyArray]) -> None:
        super().__init__(compiled.strategy, compiled.problem, compiled.device, compiled.config)
        self._compiled = compiled
        problem, device = compiled.problem, compiled.device
        names = [array.name for array in problem.parameter_arrays]
        self._ends = [array.name for array in self.held]
        there = {
            name: device.upload(np.ascontiguousarray(array))
            for name, array in zip(names, parameters, strict=True)
        }
        arrangement = Arrangement(compiled.strategy, problem, device, self.config)
        self._arrays = arrangement.bring(there, lambda count: device.allocate(4 * count))
        for name, count in compiled.workspace(problem.batch_size).items():
            self._arrays[name] = device.allocate(4 * count)
        compiled.prepare(self._arrays)
        # A launch may be on another stream.
        device.synchronise()

    def launch(self, arrays: Sequence[Any], batch: int | None = None) -> None:
        """See `Bound.launch`: returns before they are done."""
        ends = dict(zip(self._ends, arrays, strict=True))
        count = self.problem.batch_size if batch is None else batch
        self._compiled.launch({**self._arrays, **ends}, count)

    def resources(self) -> list[Resources]:
        """See `Bound.resources`."""
        return self._compiled.resources()
