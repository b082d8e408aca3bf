"""Packing of parameters on the device into the order that a strategy's kernels read.

Everything is a launch or a copy on the caller's stream: a plain reordering of parameters is one
kernel that moves elements to their places, calculations with parameters are the strategy's own
preparation, and constant memory is filled from the device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.devices.launches import Call, FillConstant
from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray, Array
from rooftile.strategies.binding.compiled import Compiled

_THREADS = 256
GIVEN = "given "
"""Prefix of the name of a parameter as the caller has it; kernels may read it packed by the same
name."""


FORMATS = {"float32": "FLOAT32", "float16": "FLOAT16", "bfloat16": "BFLOAT16"}
"""Types of numbers in the words of ``common/source.h``."""
_MOST_PLACES = 2**31 - 1


@dataclass(frozen=True)
class Form:
    """An array's storage in memory."""

    dtype: str = "float32"
    channels_last: bool = False
    """True if x[items, channels, height, width] has its channels last in memory."""

    @property
    def words(self) -> str:
        """As `Problem.stored` takes it."""
        return f"{self.dtype}:channels_last" if self.channels_last else self.dtype


@dataclass(frozen=True)
class Places:
    """For an array that kernels read, the element of one parameter for each, -1 for zero."""

    parameter: str
    places: NDArray[np.int32] | None
    """None where the array is the unpacked parameter."""


def places_of(strategy: Any, problem: Any, config: Any) -> dict[str, Places]:
    """For each packed array where its elements come from, found by packing numbers.

    Raises `UnsupportedProblem` for too many, and `ValueError` for an array that mixes parameters.
    """
    arrays: Sequence[Array] = problem.parameter_arrays
    # Most strategies pass parameters on, which takes no numbers to see.
    blank = {a.name: np.broadcast_to(np.int32(0), a.shape) for a in arrays}
    passed = strategy.packed(problem, blank, config)
    if all(values is blank.get(name) for name, values in passed.items()):
        return {name: Places(name, None) for name in passed}
    count = sum(array.size for array in arrays)
    if count > _MOST_PLACES:
        raise UnsupportedProblem(strategy.name, f"{count} weights: indices are 32-bit")
    first, numbers = {}, {}
    start = 1  # Zero is left for what is filled in.
    for array in arrays:
        own: Any = np.arange(start, start + array.size, dtype=np.int32)
        numbers[array.name], first[array.name] = own.reshape(array.shape), start
        start += array.size
    packed = strategy.packed(problem, numbers, config)
    return {name: _places(name, values, arrays, first) for name, values in packed.items()}


def _places(
    name: str, values: AnyArray, parameters: Sequence[Array], first: Mapping[str, int]
) -> Places:
    flat = values.ravel()
    used = flat[flat > 0]
    for array in parameters:
        start = first[array.name]
        if used.size == 0 or (used.min() >= start and used.max() < start + array.size):
            places = np.where(flat > 0, flat - start, -1).astype(np.int32, copy=False)
            same = np.array_equal(places, np.arange(array.size, dtype=np.int32))
            return Places(array.name, None if same else places)
    raise ValueError(f"{name} is packed from several parameters")


class Packing:
    """The launches that pack a strategy's parameters, and the arrays that they fill."""

    def __init__(
        self, compiled: Compiled, forms: Mapping[str, Form] = MappingProxyType({})
    ) -> None:
        """``forms`` are the storage of the caller's arrays, by their names, that the kernels do not
        take as they come. Raises `UnsupportedProblem` for more parameters than an index reaches."""
        self.compiled = compiled
        parameters = compiled.problem.parameter_arrays
        self.parameters = [replace(array, name=GIVEN + array.name) for array in parameters]
        """As packing takes them."""
        device = compiled.device
        # What is added may be left out: zeros stand for it.
        self._held = [
            None if array.operand else device.upload(np.zeros(array.shape, array.numpy))
            for array in parameters
        ]
        self.zeros = [None if memory is None else device.address(memory) for memory in self._held]
        names = {array.name for array in parameters}
        self.forms = {GIVEN + n if n in names else n: form for n, form in forms.items()}
        """The same by the names that launches have, less those that packing takes as they come."""
        self.arrays: dict[str, int] = {}
        """float32 elements of each array that packing fills."""
        self._same: dict[str, str] = {}
        """The parameter for each array that kernels read in the caller's order."""
        self.work: list[Call | FillConstant] = []
        """The launches and fills that pack."""
        self._rearrange(places_of(compiled.strategy, compiled.problem, compiled.config))
        self._prepare()

    def given(self, parameters: Sequence[Any]) -> list[Any]:
        """Parameters in the device's memory, with zeros for those that are None."""
        if None not in parameters:
            return list(parameters)
        pairs = zip(parameters, self.zeros, strict=True)
        return [zeros if given is None else given for given, zeros in pairs]

    def workspace(self, batch: int | None) -> dict[str, int]:
        """float32 elements of each array that the steps for ``batch`` items need besides."""
        counts = self.compiled.workspace(batch)
        return {name: count for name, count in counts.items() if name not in self.arrays}

    def steps(self, batch: int | None) -> list[Call]:
        """The launches for ``batch`` items."""
        return [renamed(call, self._same) for call in self.compiled.steps(batch)]

    def _rearrange(self, found: Mapping[str, Places]) -> None:
        device, forms, programs = self.compiled.device, dict(self.forms), dict[str, Any]()
        self._same = {
            name: GIVEN + one.parameter for name, one in found.items() if one.places is None
        }
        for name, packed in found.items():
            source, places = GIVEN + packed.parameter, packed.places
            if places is None:
                continue
            form = forms.get(source, Form())
            if source in self._same.values() or form.channels_last:
                form = Form()
            else:
                self.forms.pop(source, None)
            if form.dtype not in programs:
                macros = {"FROM": FORMATS[form.dtype]}
                programs[form.dtype] = device.compile(
                    _text(), macros, [Path(__file__).parent.parent]
                )
            count = places.size
            short, converted, more = self._short(form, count) or (source, name, 0)
            grid, block = (-(-(count + more) // _THREADS), 1, 1), (_THREADS, 1, 1)
            launch = Launch("rearrange", grid, block, overlaps=True)
            there = device.upload(places)
            moved = source, there, name, np.int32(count)
            more_arguments = short, converted, np.int32(more)
            self.work.append(Call(programs[form.dtype], launch, (*moved, *more_arguments)))
            self.arrays[name] = count

    def _short(self, form: Form, most: int) -> tuple[str, str, int] | None:
        """A parameter of this form with at most ``most`` numbers that kernels take in its order,
        its name as float32, and its numbers: converting it with others takes less time than a
        launch."""
        for array in self.parameters:
            size = math.prod(array.shape)
            whole = array.name in self._same.values()
            if whole and size <= most and self.forms.get(array.name) == form != Form():
                del self.forms[array.name]
                to = f"{array.name} in float32"
                self.arrays[to] = size
                self._same = {n: to if s == array.name else s for n, s in self._same.items()}
                return array.name, to, size
        return None

    def _prepare(self) -> None:
        calls = self.compiled.preparation()
        used = {_named(argument) for call in calls for argument in call.arguments}
        used |= {fill.source for fill in self.compiled.constants()}
        counts = self.compiled.workspace(self.compiled.problem.batch_size)
        self.arrays |= {name: count for name, count in counts.items() if name in used}
        self.work += (renamed(call, self._same) for call in calls)
        for fill in self.compiled.constants():
            source = self._same.get(fill.source, fill.source)
            self.work.append(replace(fill, source=source))


def renamed(call: Call, names: Mapping[str, str]) -> Call:
    """A call of other arrays, where their names are among these."""

    def of(argument: Any) -> Any:
        name = names.get(_named(argument) or "")
        if name is None:
            return argument
        return name if isinstance(argument, str) else replace(argument, array=name)

    return replace(call, arguments=tuple(map(of, call.arguments)))


def _named(argument: Any) -> str | None:
    """The array that an argument stands for."""
    if isinstance(argument, TensorMap):
        return argument.array
    return argument if isinstance(argument, str) else None


def _text() -> str:
    return (Path(__file__).parent.parent / "common" / "rearrange.cu").read_text(encoding="utf-8")
