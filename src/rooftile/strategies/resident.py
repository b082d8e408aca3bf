"""Strategies on arrays that already lie on the device, call after call, on any stream.

Parameters may change between two calls, so nothing is kept of them.  A strategy that only puts
them into another order has them rearranged by a kernel, in the order of the stream; one that
calculates with them gets them on the host, which waits for the stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import Launch
from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray, Array
from rooftile.strategies.compiled import Compiled

_THREADS = 256
_MOST_PLACES = 2**31 - 1

Allocate = Callable[[int], Any]
"""So many float32 of device memory, which the caller holds until the call returns."""


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
        self._rearranged = not compiled.strategy.transforms_parameters
        self._orders: dict[str, _Order] = {}
        if not self._parameters:
            compiled.set_constants({})
        elif self._rearranged:
            self._orders = _orders(compiled)
        moves = any(order.places is not None for order in self._orders.values())
        self._program = self.device.compile(_text(), {}) if moves else None
        steps = compiled.strategy.steps(compiled.problem, compiled.config)
        self._shares = any(step.launch.constants for step in steps)
        self._last: Any = None
        self._turn = threading.Lock()

    @property
    def not_in_graphs(self) -> str | None:
        """Why a graph that a caller captures must not hold a call; None when it may."""
        if self._parameters and self._compiled.strategy.transforms_parameters:
            return "it transforms its weights on the host"
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
        """The parameters as the kernels read them, constant memory included."""
        if not self._parameters:
            return {}
        if not self._rearranged:
            return self._transform(parameters, allocate)
        there = {
            array.name: self._on_device(array, parameters[array.name], allocate)
            for array in self._parameters
        }
        brought = {}
        for name, order in self._orders.items():
            source = self._rearrange(there[order.parameter], order, allocate)
            if not order.constant:
                brought[name] = source
                continue
            count = order.count // len(self._compiled.programs)
            for part, program in enumerate(self._compiled.programs):
                program.fill_constant(name, source, part * count, count)
        return brought

    def _rearrange(self, parameter: Any, order: _Order, allocate: Allocate) -> Any:
        if order.places is None:
            return parameter
        packed = allocate(order.count)
        launch = Launch("rearrange", (-(-order.count // _THREADS), 1, 1), (_THREADS, 1, 1))
        assert self._program is not None
        self._program.launch(launch, parameter, order.places, packed, np.int32(order.count))
        return packed

    def _transform(self, parameters: Mapping[str, Any], allocate: Allocate) -> dict[str, Any]:
        compiled = self._compiled
        host = {
            array.name: self._on_host(array, parameters[array.name]) for array in self._parameters
        }
        compiled.set_constants(host)
        packed = compiled.strategy.packed(compiled.problem, host, compiled.config)
        brought = {}
        for name, values in packed.items():
            # What is not packed need not go back to where it came from.
            given = parameters.get(name)
            same = values is host.get(name) and not isinstance(given, np.ndarray)
            brought[name] = given if same and given is not None else self._upload(values, allocate)
        return brought

    def _on_host(self, array: Array, given: Any) -> AnyArray:
        if isinstance(given, np.ndarray):
            return given
        if given is None:
            return np.zeros(array.shape, array.numpy)
        host = np.empty(array.shape, array.numpy)
        self.device.copy_out(given, host)
        return host

    def _on_device(self, array: Array, given: Any, allocate: Allocate) -> Any:
        if given is None:
            return self._zeros[array.name]
        return self._upload(given, allocate) if isinstance(given, np.ndarray) else given

    def _upload(self, values: AnyArray, allocate: Allocate) -> Any:
        array: NDArray[Any] = np.ascontiguousarray(values)
        memory = allocate(-(-array.nbytes // 4))
        self.device.copy_in(array, memory)
        return memory


@dataclass(frozen=True)
class _Order:
    """Where each element of a packed or constant array comes from."""

    parameter: str
    places: Any
    """int32 on the device; None where the parameter is already in this order."""
    count: int
    constant: bool


@dataclass(frozen=True)
class Places:
    """For an array that kernels read, the element of one parameter behind each, -1 for zero."""

    parameter: str
    places: NDArray[np.int32]
    constant: bool


def _orders(compiled: Compiled) -> dict[str, _Order]:
    """How each packed and each constant array arises from a parameter."""
    orders = {}
    for name, found in places_of(compiled).items():
        places = found.places
        whole = next(a.size for a in compiled.problem.parameter_arrays if a.name == found.parameter)
        same = places.size == whole and np.array_equal(places, np.arange(whole))
        there = None if same else compiled.device.upload(places)
        orders[name] = _Order(found.parameter, there, places.size, found.constant)
    return orders


def places_of(compiled: Compiled) -> dict[str, Places]:
    """For each packed and each constant array where its elements come from.

    Found by packing the parameters' own numbers.  Raises `UnsupportedProblem` for too many, and
    `ValueError` for an array that mixes parameters.
    """
    strategy, problem, config = compiled.strategy, compiled.problem, compiled.config
    first, numbers = {}, {}
    count = 0
    for array in problem.parameter_arrays:
        # float64 holds every number exactly; zero is left for what is filled in.
        own: Any = np.arange(count + 1, count + 1 + array.size, dtype=np.float64)
        numbers[array.name], first[array.name] = own.reshape(array.shape), count + 1
        count += array.size
    if count > _MOST_PLACES:
        raise UnsupportedProblem(strategy.name, f"{count} weights: indices are 32-bit")
    packed = strategy.packed(problem, numbers, config)
    constants = strategy.constants(problem, numbers, config)
    return {
        name: _places(name, values, problem.parameter_arrays, first, name in constants)
        for name, values in {**packed, **constants}.items()
    }


def _places(
    name: str,
    values: AnyArray,
    parameters: Sequence[Array],
    first: Mapping[str, int],
    constant: bool,
) -> Places:
    flat = values.ravel()
    used = flat[flat > 0]
    for array in parameters:
        start = first[array.name]
        if used.size == 0 or (used.min() >= start and used.max() < start + array.size):
            places = np.where(flat > 0, flat - start, -1).astype(np.int32)
            return Places(array.name, places, constant)
    raise ValueError(f"{name} is packed from several parameters")


def _text() -> str:
    return (Path(__file__).parent / "common" / "rearrange.cu").read_text(encoding="utf-8")
