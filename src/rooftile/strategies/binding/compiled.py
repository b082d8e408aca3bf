"""GPU strategies compiled for a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch, Resources, TensorMap
from rooftile.devices.launches import Call, FillConstant
from rooftile.ops import Array, Problem
from rooftile.strategies.binding.bound import Config


@dataclass(frozen=True)
class Step:
    """One launch with its arguments: names of arrays, tensor maps of them, or numbers.

    Names are of the problem's arrays, of `GpuStrategy.packed` or of `GpuStrategy.workspace`; an
    integer is passed as int32, or as the NumPy number that it is.
    """

    launch: Launch
    arguments: tuple[str | TensorMap | int | np.number[Any], ...]
    program: int = 0
    """Index of the strategy's `GpuStrategy.programs` that runs it."""


@dataclass(frozen=True)
class Fill:
    """The source of a constant array, which is filled on the device after the preparation."""

    array: str
    """A packed array, or one of the workspace; `GpuStrategy.programs` share it out in order."""
    count: int
    """float32 elements for each program."""


class Compiled:
    """A `GpuStrategy`'s kernels on a device, for up to the problem's batch; holds no arrays but
    those in constant memory."""

    def __init__(self, strategy: Any, problem: Any, device: GpuDevice, config: Config) -> None:
        self.strategy, self.problem, self.device, self.config = strategy, problem, device, config
        macros = strategy.defines(problem, config)
        programs = strategy.programs(problem, config)
        self.programs = [
            device.compile(strategy.text, macros, strategy.folders) for _ in range(programs)
        ]
        for name, values in strategy.tables(problem, config).items():
            for program in self.programs:
                program.set_constant(name, values)

    def workspace(self, batch: int | None) -> dict[str, int]:
        """float32 elements of each array between the steps, for ``batch`` items."""
        counts: dict[str, int] = self.strategy.workspace(self._of(batch), self.config)
        return counts

    def steps(self, batch: int | None) -> list[Call]:
        """The launches for ``batch`` items."""
        return self._calls(self.strategy.steps(self._of(batch), self.config))

    def preparation(self) -> list[Call]:
        """The launches that run once after new parameters."""
        return self._calls(self.strategy.preparation(self.problem, self.config))

    def constants(self) -> list[FillConstant]:
        """The fills of constant memory after that."""
        found = self.strategy.constants(self.problem, self.config).items()
        return [
            FillConstant(program, name, fill.array, part * fill.count, fill.count)
            for name, fill in found
            for part, program in enumerate(self.programs)
        ]

    def resources(self) -> list[Resources]:
        """Resources of each step's launch."""
        steps = self.strategy.steps(self.problem, self.config)
        return [self.programs[step.program].resources(step.launch) for step in steps]

    def held(self, batch: int | None) -> tuple[Array, ...]:
        """Inputs and outputs for ``batch`` items, as they are stored."""
        problem: Problem = self._of(batch)
        return (*problem.input_arrays, *problem.output_arrays)

    @property
    def bytes(self) -> int:
        """Compulsory traffic of the problem, see `Problem.bytes`."""
        problem: Problem = self.problem
        return problem.bytes

    @cached_property
    def uses_constants(self) -> bool:
        """True if parameters are in constant memory."""
        return bool(self.strategy.constants(self.problem, self.config))

    def _of(self, batch: int | None) -> Any:
        """The problem for ``batch`` items; None stands for its own."""
        return self.problem if batch is None else self.problem.with_batch(batch)

    def _calls(self, steps: Sequence[Step]) -> list[Call]:
        def typed(argument: Any) -> Any:
            plain = isinstance(argument, int) and not isinstance(argument, np.generic)
            return np.int32(argument) if plain else argument

        return [
            Call(self.programs[step.program], step.launch, tuple(map(typed, step.arguments)))
            for step in steps
        ]
