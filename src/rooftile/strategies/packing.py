"""How parameters that lie on the device get to where a strategy's kernels read them.

Everything is a launch or a copy on the caller's stream: what only puts parameters into another
order is one kernel that moves elements to their places, what calculates with them is the
strategy's own preparation, and constant memory is filled from the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import Launch, Launches, TensorMap
from rooftile.devices.launches import Call, Fill
from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray, Array
from rooftile.strategies.compiled import Compiled
from rooftile.strategies.conversion import Adapter, Form

_THREADS = 256
_MOST_PLACES = 2**31 - 1
_MOST_BATCHES = 16
"""Numbers of items for which launches are kept."""
GIVEN = "given "
"""What stands before the name of a parameter as the caller has it; kernels may read it packed by
the same name."""


class Packing:
    """The launches that pack a strategy's parameters, and the arrays that they fill."""

    def __init__(self, compiled: Compiled) -> None:
        """Raises `UnsupportedProblem` for more parameters than an index reaches."""
        self._compiled = compiled
        parameters = compiled.problem.parameter_arrays
        self.parameters = [replace(array, name=GIVEN + array.name) for array in parameters]
        """As packing takes them."""
        # What is added may be left out: zeros stand for it.
        self._zeros = [
            None if array.operand else compiled.device.upload(np.zeros(array.shape, array.numpy))
            for array in parameters
        ]
        self.arrays: dict[str, int] = {}
        """float32 elements of each array that packing fills."""
        self._same: dict[str, str] = {}
        self.work: list[Call | Fill] = []
        """What packs."""
        self._rearrange(places_of(compiled))
        self._prepare()

    def given(self, parameters: Sequence[Any]) -> list[Any]:
        """Parameters in the device's memory, with zeros for those that are None."""
        if None not in parameters:
            return list(parameters)
        pairs = zip(parameters, self._zeros, strict=True)
        return [zeros if given is None else given for given, zeros in pairs]

    def workspace(self, batch: int | None) -> dict[str, int]:
        """float32 elements of each array that the steps for so many items need besides."""
        counts = self._compiled.workspace(batch)
        return {name: count for name, count in counts.items() if name not in self.arrays}

    def steps(self, batch: int | None) -> list[Call]:
        """What is launched for so many items."""
        return [self._renamed(call) for call in self._compiled.steps(batch)]

    def _rearrange(self, found: Mapping[str, Places]) -> None:
        compiled, sizes = self._compiled, {a.name: a.size for a in self._compiled.problem.arrays}
        program = None
        for name, packed in found.items():
            source, places = GIVEN + packed.parameter, packed.places
            count = places.size
            if count == sizes[packed.parameter] and np.array_equal(places, np.arange(count)):
                self._same[name] = source
            else:
                program = program or compiled.device.compile(_text(), {})
                launch = Launch("rearrange", (-(-count // _THREADS), 1, 1), (_THREADS, 1, 1))
                there = compiled.device.upload(places)
                self.work.append(Call(program, launch, (source, there, name, np.int32(count))))
                self.arrays[name] = count
                source = name
            if packed.constant:
                share = count // len(compiled.programs)
                for part, owner in enumerate(compiled.programs):
                    self.work.append(Fill(owner, name, source, part * share, share))

    def _prepare(self) -> None:
        calls = self._compiled.preparation()
        used = {_named(argument) for call in calls for argument in call.arguments}
        counts = self._compiled.workspace(self._compiled.problem.batch_size)
        self.arrays |= {name: count for name, count in counts.items() if name in used}
        self.work += map(self._renamed, calls)

    def _renamed(self, call: Call) -> Call:
        """A call that reads a parameter which is not packed where the caller has it."""

        def of(argument: Any) -> Any:
            name = self._same.get(_named(argument) or "")
            if name is None:
                return argument
            return name if isinstance(argument, str) else replace(argument, array=name)

        return replace(call, arguments=tuple(map(of, call.arguments)))


class Packed:
    """A strategy with parameters that stay on the device, packed."""

    def __init__(
        self,
        compiled: Compiled,
        allocate: Callable[[int], Any],
        forms: Mapping[str, Form] = MappingProxyType({}),
    ) -> None:
        """``allocate`` gives memory for so many float32, which stays as long as this; ``forms`` are
        those of inputs and outputs that the kernels do not take as they come."""
        self._packing = packing = Packing(compiled)
        self._compiled, self._forms = compiled, forms
        self._owned = [allocate(count) for count in packing.arrays.values()]
        self._memory = [compiled.device.address(memory) for memory in self._owned]
        self._batches: dict[int | None, tuple[Launches, tuple[int, ...]]] = {}
        self._device = compiled.device
        self._parameters: list[Any] = []

    def take(self, parameters: Sequence[Any]) -> None:
        """Pack parameters on the present stream: buffers, which stay too, or None for zeros."""
        packing = self._packing
        self._parameters = packing.given(parameters)
        names = (*(array.name for array in packing.parameters), *packing.arrays)
        self._device.launches(packing.work, names).start([*self._parameters, *self._memory])

    def workspace(self, batch: int | None) -> tuple[int, ...]:
        """float32 elements of each array that a start for so many items needs."""
        return self._launches(batch)[1]

    def start(self, ends: Sequence[Any], batch: int | None, workspace: Sequence[Any]) -> None:
        """Start the steps on the present stream: inputs and outputs, and memory to work in."""
        launches, _ = self._launches(batch)
        launches.start([*ends, *self._parameters, *self._memory, *workspace])

    def _launches(self, batch: int | None) -> tuple[Launches, tuple[int, ...]]:
        found = self._batches.get(batch)
        if found is None:
            packing = self._packing
            ends = Adapter(self._device, self._compiled.held(batch), self._forms)
            workspace = {**packing.workspace(batch), **ends.temporaries}
            parameters = [array.name for array in packing.parameters]
            names = (*ends.names, *parameters, *packing.arrays, *workspace)
            work = [*ends.before, *packing.steps(batch), *ends.after]
            made = self._device.launches(work, names)
            found = made, tuple(workspace.values())
            if len(self._batches) >= _MOST_BATCHES:
                self._batches.clear()
            self._batches[batch] = found
        return found


@dataclass(frozen=True)
class Places:
    """For an array that kernels read, the element of one parameter behind each, -1 for zero."""

    parameter: str
    places: NDArray[np.int32]
    constant: bool


def _named(argument: Any) -> str | None:
    """The array that an argument stands for."""
    if isinstance(argument, TensorMap):
        return argument.array
    return argument if isinstance(argument, str) else None


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
