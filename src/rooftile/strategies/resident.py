"""Strategies on arrays that already lie on the device, call after call, on any stream.

Weights may change between two calls, so nothing is kept of them.  A strategy that only
puts its weights into another order has them rearranged by a kernel, in the order of the
stream; one that calculates with them gets them on the host, which waits for the stream.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.errors import UnsupportedProblem
from rooftile.strategies.gpu import Compiled

_THREADS = 256
_MOST_PLACES = 2**31 - 1

Allocate = Callable[[int], Any]
"""So many float32 of device memory, which the caller holds until the call returns."""


class Resident:
    """A strategy's kernels on a device, for up to the problem's batch; calls take turns."""

    def __init__(self, compiled: Compiled) -> None:
        """Raises `UnsupportedProblem` for more weights than an index reaches."""
        self._compiled, self.device = compiled, compiled.device
        shapes = compiled.problem.parameter_shapes
        self._zeros = {
            name: self.device.upload(np.zeros(shape, np.float32))
            for name, shape in shapes.items()
            if name != "weights"
        }
        self._rearranged = "weights" in shapes and not compiled.strategy.transforms_weights
        self._orders = _orders(compiled) if self._rearranged else {}
        if "weights" not in shapes:
            compiled.set_constants({})
        moves = any(order.places is not None for order in self._orders.values())
        self._program = self.device.compile(_text(), {}) if moves else None
        steps = compiled.strategy.steps(compiled.problem, compiled.config)
        self._shares = any(step.launch.constants for step in steps)
        self._last: Any = None
        self._turn = threading.Lock()

    @property
    def not_in_graphs(self) -> str | None:
        """Why a graph that a caller captures must not hold a call; None when it may."""
        if self._compiled.strategy.transforms_weights:
            return "it transforms its weights on the host"
        if self._shares:
            return "its weights are in constant memory, which a replay would share with other calls"
        return None

    def run(
        self, x: Any, parameters: Mapping[str, Any], out: Any, images: int, allocate: Allocate
    ) -> None:
        """Start everything on the present stream.

        ``x`` and ``out`` are device memory; of ``parameters`` each is device memory in the
        problem's shape, a NumPy array, or None for zeros.
        """
        with self._turn:
            # Constant memory belongs to the kernels: a call on another stream must not fill it
            # while the one before still reads it.
            if self._last is not None:
                self.device.after(self._last)
            arrays = {"x": x, "out": out, **self._bring(parameters, allocate)}
            for name, count in self._compiled.workspace(images).items():
                arrays[name] = allocate(count)
            self._compiled.prepare(arrays)
            self._compiled.launch(arrays, images)
            if self._shares:
                self._last = self.device.mark()

    def _bring(self, parameters: Mapping[str, Any], allocate: Allocate) -> dict[str, Any]:
        """The parameters as the kernels read them, constant memory included."""
        brought = {name: self._zeros[name] for name, p in parameters.items() if p is None}
        for name, given in parameters.items():
            if given is None:
                continue
            if name == "weights" and not self._rearranged:
                brought[name] = self._transform(given, allocate)
            else:
                brought[name] = _on_device(self.device, given, allocate)
        if not self._rearranged:
            return brought
        weights = brought["weights"]
        packed = {name: self._rearrange(weights, o, allocate) for name, o in self._orders.items()}
        brought["weights"] = packed.pop("weights")
        for name, source in packed.items():
            count = self._orders[name].count // len(self._compiled.programs)
            for part, program in enumerate(self._compiled.programs):
                program.fill_constant(name, source, part * count, count)
        return brought

    def _rearrange(self, weights: Any, order: _Order, allocate: Allocate) -> Any:
        if order.places is None:
            return weights
        packed = allocate(order.count)
        launch = Launch("rearrange", (-(-order.count // _THREADS), 1, 1), (_THREADS, 1, 1))
        assert self._program is not None
        self._program.launch(launch, weights, order.places, packed, np.int32(order.count))
        return packed

    def _transform(self, weights: Any, allocate: Allocate) -> Any:
        compiled, problem = self._compiled, self._compiled.problem
        if not isinstance(weights, np.ndarray):
            host = np.empty(problem.parameter_shapes["weights"], np.float32)
            self.device.copy_out(weights, host)
            weights = host
        compiled.set_constants({"weights": weights})
        packed = compiled.strategy.pack(problem, weights, compiled.config)
        return _on_device(self.device, packed, allocate)


@dataclass(frozen=True)
class _Order:
    """Where each packed element comes from."""

    places: Any
    """int32 on the device; None where the weights are already in this order."""
    count: int


def _orders(compiled: Compiled) -> dict[str, _Order]:
    """How the packed weights and each constant array arise from the weights."""
    orders = {}
    for name, places in places_of(compiled).items():
        same = np.array_equal(places, np.arange(places.size))
        orders[name] = _Order(None if same else compiled.device.upload(places), places.size)
    return orders


def places_of(compiled: Compiled) -> dict[str, NDArray[np.int32]]:
    """For ``weights`` and each constant array the weight of each element, -1 for zero.

    Found by packing the weights' own numbers.  Raises `UnsupportedProblem`.
    """
    strategy, problem, config = compiled.strategy, compiled.problem, compiled.config
    shape = problem.parameter_shapes["weights"]
    count = math.prod(shape)
    if count > _MOST_PLACES:
        raise UnsupportedProblem(strategy.name, f"{count} weights: indices are 32-bit")
    # float64 holds every number exactly; zero is left for what is filled in.
    numbers: Any = np.arange(1, count + 1, dtype=np.float64).reshape(shape)
    packed = {"weights": strategy.pack(problem, numbers, config)}
    packed |= strategy.constants(problem, {"weights": numbers}, config)
    return {name: (values.ravel() - 1).astype(np.int32) for name, values in packed.items()}


def _on_device(device: GpuDevice, values: Any, allocate: Allocate) -> Any:
    if not isinstance(values, np.ndarray):
        return values
    array: NDArray[Any] = np.ascontiguousarray(values)
    memory = allocate(-(-array.nbytes // 4))
    device.copy_in(array, memory)
    return memory


def _text() -> str:
    return Path(__file__).with_name("_rearrange.cu").read_text(encoding="utf-8")
