"""How parameters that lie on the device get to where a strategy's kernels read them.

Everything is a launch or a copy on the caller's stream: what only puts parameters into another
order is one kernel that moves elements to their places, what calculates with them is the
strategy's own preparation, and constant memory is filled from the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from rooftile.devices.gpu import Launch, Launches, TensorMap
from rooftile.devices.launches import Call, FillConstant
from rooftile.strategies.arrangement import Places, places_of
from rooftile.strategies.compiled import Compiled
from rooftile.strategies.conversion import FORMATS, Adapter, Form

_THREADS = 256
_MOST_BATCHES = 16
"""Numbers of items for which launches are kept."""
GIVEN = "given "
"""What stands before the name of a parameter as the caller has it; kernels may read it packed by
the same name."""


class Packing:
    """The launches that pack a strategy's parameters, and the arrays that they fill."""

    def __init__(
        self, compiled: Compiled, forms: Mapping[str, Form] = MappingProxyType({})
    ) -> None:
        """``forms`` are those of the parameters that are not row-major float32.

        Raises `UnsupportedProblem` for more parameters than an index reaches.
        """
        self._compiled = compiled
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
        self.forms = dict(forms)
        """The same, less those that packing takes as they come."""
        self.arrays: dict[str, int] = {}
        """float32 elements of each array that packing fills."""
        self._same: dict[str, str] = {}
        """For each array that kernels read in the caller's order, where it lies."""
        self.work: list[Call | FillConstant] = []
        """What packs."""
        self._rearrange(places_of(compiled.strategy, compiled.problem, compiled.config))
        self._prepare()

    def given(self, parameters: Sequence[Any]) -> list[Any]:
        """Parameters in the device's memory, with zeros for those that are None."""
        if None not in parameters:
            return list(parameters)
        pairs = zip(parameters, self.zeros, strict=True)
        return [zeros if given is None else given for given, zeros in pairs]

    def workspace(self, batch: int | None) -> dict[str, int]:
        """float32 elements of each array that the steps for so many items need besides."""
        counts = self._compiled.workspace(batch)
        return {name: count for name, count in counts.items() if name not in self.arrays}

    def steps(self, batch: int | None) -> list[Call]:
        """What is launched for so many items."""
        return [self._renamed(call) for call in self._compiled.steps(batch)]

    def _rearrange(self, found: Mapping[str, Places]) -> None:
        device, forms, programs = self._compiled.device, dict(self.forms), dict[str, Any]()
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
                programs[form.dtype] = device.compile(_text(), macros, [Path(__file__).parent])
            count = places.size
            short, converted, more = self._short(form, count) or (source, name, 0)
            grid, block = (-(-(count + more) // _THREADS), 1, 1), (_THREADS, 1, 1)
            launch = Launch("rearrange", grid, block, overlaps=True)
            there = device.upload(places)
            moved = source, there, name, np.int32(count)
            beside = short, converted, np.int32(more)
            self.work.append(Call(programs[form.dtype], launch, (*moved, *beside)))
            self.arrays[name] = count

    def _short(self, form: Form, most: int) -> tuple[str, str, int] | None:
        """A parameter of this form with at most so many numbers that kernels take in its order,
        where it comes as float32 instead, and its numbers: to convert it beside others takes less
        time than a launch."""
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
        calls = self._compiled.preparation()
        used = {_named(argument) for call in calls for argument in call.arguments}
        used |= {fill.source for fill in self._compiled.constants()}
        counts = self._compiled.workspace(self._compiled.problem.batch_size)
        self.arrays |= {name: count for name, count in counts.items() if name in used}
        self.work += map(self._renamed, calls)
        for fill in self._compiled.constants():
            source = self._same.get(fill.source, fill.source)
            self.work.append(replace(fill, source=source))

    def _renamed(self, call: Call) -> Call:
        """A call that reads a parameter which is not packed where the caller has it."""
        return _renamed(call, self._same)


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
        self.compiled, self._forms = compiled, forms
        self._owned = [allocate(count) for count in packing.arrays.values()]
        self._memory = [compiled.device.address(memory) for memory in self._owned]
        self._batches: dict[int | None, tuple[Launches, tuple[int, ...]]] = {}
        self._device = compiled.device
        self._parameters: list[Any] = []

    def take(self, parameters: Sequence[Any]) -> None:
        """Pack parameters on the present stream: buffers, which stay too, or None for zeros."""
        if (pack := self.packing(parameters)) is not None:
            pack()

    def packing(self, parameters: Sequence[Any]) -> Callable[[], None] | None:
        """The same as what starts it, again and again where the parameters change; None where the
        kernels take them as they are."""
        packing = self._packing
        self._parameters = packing.given(parameters)
        names = (*(array.name for array in packing.parameters), *packing.arrays)
        if not packing.work:
            return None
        return partial(self._device.launches(packing.work, names).start, self.stays)

    def workspace(self, batch: int | None) -> tuple[int, ...]:
        """float32 elements of each array that a start for so many items needs."""
        return self.launches(batch)[1]

    def start(self, ends: Sequence[Any], batch: int | None, workspace: Sequence[Any]) -> None:
        """Start the steps on the present stream: inputs and outputs, and memory to work in."""
        launches, _ = self.launches(batch)
        launches.start([*ends, *self.stays, *workspace])

    def temporaries(self, batch: int | None) -> dict[str, int]:
        """float32 elements of the arrays between the steps for so many items."""
        return self._packing.workspace(batch)

    def calls(
        self, batch: int | None, names: Mapping[str, str], prefix: str
    ) -> tuple[list[Call], dict[str, Any]]:
        """The steps, whose arrays have these names, and the memory of the others, which stay:
        their names get the prefix."""
        kept = [*(array.name for array in self._packing.parameters), *self._packing.arrays]
        memory = zip(kept, self.stays, strict=True)
        others = {name: prefix + name for name in kept}
        calls = [_renamed(call, {**others, **names}) for call in self._packing.steps(batch)]
        return calls, {prefix + name: there for name, there in memory}

    @property
    def stays(self) -> list[Any]:
        """What launches are given after inputs and outputs, and before the workspace."""
        return [*self._parameters, *self._memory]

    def launches(self, batch: int | None) -> tuple[Launches, tuple[int, ...]]:
        """The launches for so many items, and float32 elements of each array of the workspace."""
        found = self._batches.get(batch)
        if found is None:
            packing = self._packing
            ends = Adapter(self._device, self.compiled.held(batch), self._forms)
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


def _renamed(call: Call, names: Mapping[str, str]) -> Call:
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
    return (Path(__file__).parent / "common" / "rearrange.cu").read_text(encoding="utf-8")
