"""Strategies on arrays that already lie on the device, call after call, on any stream.

Parameters may change between two calls, so nothing is kept of them: kernels put them into the
strategy's order and prepare them, in the order of the stream.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.ops import AnyArray, Array
from rooftile.strategies.arrangement import Allocate, Arrangement
from rooftile.strategies.compiled import Compiled


class Resident:
    """A strategy's kernels on a device, for up to the problem's batch; calls take turns."""

    def __init__(self, compiled: Compiled) -> None:
        """Raises `UnsupportedProblem` for more parameters than an index reaches."""
        self._compiled, self.device = compiled, compiled.device
        self._parameters = compiled.problem.parameter_arrays
        # What is added may be left out: zeros stand for it.
        self._zeros = {
            array.name: self.device.upload(np.zeros(array.shape, array.numpy))
            for array in self._parameters
            if not array.operand
        }
        strategy, problem, config = compiled.strategy, compiled.problem, compiled.config
        self._arrangement = Arrangement(strategy, problem, self.device, config)
        self._shares = bool(strategy.constants(problem, config))
        self._last: Any = None
        self._turn = threading.Lock()

    @property
    def not_in_graphs(self) -> str | None:
        """Why a graph that a caller captures must not hold a call; None when it may."""
        if self._shares:
            return "its weights are in constant memory, which a replay would share with other calls"
        return None

    def run(
        self,
        ends: Mapping[str, Any],
        parameters: Mapping[str, Any],
        batch: int | None,
        allocate: Allocate,
    ) -> None:
        """Start everything on the present stream, for so many items.

        ``ends`` are inputs and outputs by name, in device memory; of ``parameters`` each is device
        memory in the problem's shape, a NumPy array, or None for zeros.
        """
        with self._turn:
            # Constant memory belongs to the kernels: a call on another stream must not fill it
            # while the one before still reads it.
            if self._last is not None:
                self.device.after(self._last)
            arrays = {**ends, **self._bring(parameters, allocate)}
            for name, count in self._compiled.workspace(batch).items():
                arrays[name] = allocate(count)
            self._compiled.prepare(arrays)
            self._compiled.launch(arrays, batch)
            if self._shares:
                self._last = self.device.mark()

    def _bring(self, parameters: Mapping[str, Any], allocate: Allocate) -> dict[str, Any]:
        """The parameters in the order that the kernels read them."""
        there = {
            array.name: self._on_device(array, parameters[array.name], allocate)
            for array in self._parameters
        }
        return self._arrangement.bring(there, allocate)

    def _on_device(self, array: Array, given: Any, allocate: Allocate) -> Any:
        if given is None:
            return self._zeros[array.name]
        return self._upload(given, allocate) if isinstance(given, np.ndarray) else given

    def _upload(self, values: AnyArray, allocate: Allocate) -> Any:
        array: NDArray[Any] = np.ascontiguousarray(values)
        memory = allocate(-(-array.nbytes // 4))
        self.device.copy_in(array, memory)
        return memory
