"""Arrays that the candidates of a contest read and write on its device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from rooftile.devices.device import Device, Memory
from rooftile.lab.judge.exam import poison
from rooftile.ops import AnyArray, Problem
from rooftile.strategies import Bound


class HeldBatch:
    """The inputs of a whole batch, and outputs that nobody computed."""

    def __init__(self, problem: Problem, device: Device, inputs: tuple[AnyArray, ...]) -> None:
        self._problem, self._device, self._inputs = problem, device, inputs

    @cached_property
    def _poison(self) -> list[AnyArray]:
        """Whole outputs that nobody computed, on the host."""
        made: list[AnyArray] = [np.empty(o.shape, o.numpy) for o in self._problem.output_arrays]
        for array in made:
            poison(array)
        return made

    @cached_property
    def shared(self) -> list[Memory]:
        """Inputs and outputs on the device, for all strategies, as the problem stores them."""
        arrays = (*self._problem.input_arrays, *self._problem.output_arrays)
        values = (*self._inputs, *self._poison)
        return [
            self._device.upload(
                np.ascontiguousarray(np.moveaxis(one, 1, -1)) if place.channels_last else one
            )
            for place, one in zip(arrays, values, strict=True)
        ]

    def result(
        self, bound: Bound, memory: Sequence[Memory], compute: Callable[[], object]
    ) -> tuple[AnyArray, ...]:
        """The whole outputs that ``compute`` leaves in ``memory``, which is poisoned before."""
        count = len(self._inputs)
        places, there = bound.held[count:], memory[count:]
        for poisoned, place, to in zip(self._poison, places, there, strict=True):
            bound.load(poisoned, place, to)
        compute()
        outs = tuple(np.empty_like(array) for array in self._poison)
        for out, place, source in zip(outs, places, there, strict=True):
            bound.fetch(source, place, out)
        return outs
