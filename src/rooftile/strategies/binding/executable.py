"""A GPU strategy's kernels with their parameters: packed by each call, or once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from rooftile.devices.gpu import Argument, GpuDevice, Launch, Resources
from rooftile.devices.launches import Call
from rooftile.ops import AnyArray, Array
from rooftile.strategies.binding.bound import Bound
from rooftile.strategies.binding.compiled import Compiled
from rooftile.strategies.binding.execution import MOST_EXECUTIONS, Execution, Workspace
from rooftile.strategies.binding.packing import FORMATS, Form, Packing, renamed
from rooftile.strategies.binding.scratch import Scratch

_THREADS = 256
_BLOCK = (_THREADS, 1, 1)
_RUN, _RUNS = 4, 4
"""Neighbours that a thread takes at once, and how often it does where axes stay."""
_TILE, _MOST_CHANNELS = 4096, 64
"""Elements of a block that exchanges axes, and how many channels it has of more."""


class Executable(Bound):
    """A compiled strategy whose launches start with inputs, outputs, parameters and workspace.

    Parameters come with each call, which packs them on its stream, or they are kept: packed by
    `take` into memory of the executable, and read by every call until the next `take`.
    """

    device: GpuDevice

    def __init__(
        self,
        packing: Packing,
        *,
        memory: Callable[[int], Any] | None = None,
        alone: bool = False,
    ) -> None:
        """``memory`` allocates a number of float32 for packed parameters that are kept; None:
        parameters come with each call. ``alone``: no two calls are on the device together."""
        compiled = packing.compiled
        super().__init__(compiled.strategy, compiled.problem, compiled.device, compiled.config)
        self.compiled, self._packing = compiled, packing
        self._executions: dict[int | None, Execution] = {}
        self.keeps = memory is not None
        self._owned = [memory(count) for count in packing.arrays.values()] if memory else []
        self._packed = [self.device.address(one) for one in self._owned]
        self._taken: list[Any] = []
        self.shares = compiled.uses_constants and not self.keeps
        """True if calls share constant memory, and so take turns on the device."""
        self._turns = self.device.turns() if self.shares and not alone else None
        self.alone = alone
        self._scratch: Scratch | None = None
        self._workspaces: dict[int | None, list[Any]] = {}

    def take(self, parameters: Sequence[Any]) -> None:
        """Pack parameters on the present stream: buffers, which stay too, or None for zeros."""
        if (pack := self.packing(parameters)) is not None:
            pack()

    def packing(self, parameters: Sequence[Any]) -> Callable[[], None] | None:
        """The same as what starts it, again and again where the parameters change; None where the
        kernels take them as they are."""
        packing = self._packing
        taken = packing.given(parameters)
        if taken != self._taken:
            self._taken = taken
            self._executions.clear()
        if not packing.work:
            return None
        names = (*(array.name for array in packing.parameters), *packing.arrays)
        launches = self.device.launches(packing.work, names)
        return partial(launches.start, [*self._taken, *self._packed])

    def execution(self, batch: int | None) -> Execution:
        """The launches for ``batch`` items; None stands for the problem's own."""
        return self._executions.get(batch) or self._laid_out(batch)

    def launch(self, arrays: Sequence[Any], batch: int | None = None) -> None:
        """See `Bound.launch`: of kept parameters, in workspace of its own; returns before the
        launches are done."""
        execution, held = self.execution(batch), self._workspaces.get(batch)
        if held is None:
            self._scratch = self._scratch or Scratch(self.device)
            held = self._workspaces[batch] = self._scratch.of(execution.workspace.sizes)
        execution.start(arrays, held)

    def temporaries(self, batch: int | None) -> dict[str, int]:
        """Bytes of each array that a launch for ``batch`` items writes before it reads it."""
        return {name: 4 * count for name, count in self._packing.workspace(batch).items()}

    def calls(
        self, batch: int, ends: Sequence[str], temporaries: Mapping[str, str], prefix: str
    ) -> tuple[list[Call], dict[str, Any]]:
        """The launches of kept parameters, and the memory that is kept, by names with a prefix.
        ``ends`` are names for inputs and outputs, and ``temporaries`` for those."""
        packing = self._packing
        kept = [*(array.name for array in packing.parameters), *packing.arrays]
        others = {name: prefix + name for name in kept}
        names = dict(zip((array.name for array in self.held), ends, strict=True))
        names |= {**others, **temporaries}
        calls = [renamed(call, names) for call in packing.steps(batch)]
        memory = zip(others.values(), [*self._taken, *self._packed], strict=True)
        return calls, dict(memory)

    def resources(self) -> list[Resources]:
        """See `Bound.resources`."""
        return self.compiled.resources()

    def _laid_out(self, batch: int | None) -> Execution:
        packing = self._packing
        arrays = *self.compiled.held(batch), *packing.parameters
        around = Adapter(self.device, arrays, packing.forms)
        workspace = {**packing.workspace(batch), **around.temporaries}
        # What each call packs is a part of its workspace.
        temporaries = {**packing.arrays, **workspace}
        packs = () if self.keeps else packing.work
        work = (*around.before, *packs, *packing.steps(batch), *around.after)
        launches = self.device.launches(work, (*around.names, *temporaries))
        sizes = {n: 4 * count for n, count in (workspace if self.keeps else temporaries).items()}
        kept = (*self._taken, *self._packed)
        if len(self._executions) >= MOST_EXECUTIONS:
            self._executions.clear()
        zeros = () if self.keeps else packing.zeros
        made = Execution(launches, kept, Workspace.of(sizes), zeros, self._turns)
        self._executions[batch] = made
        return made


def bind(compiled: Compiled, parameters: Sequence[AnyArray]) -> Executable:
    """An executable that keeps parameters of the host.  Raises `OutOfMemory`."""
    device = compiled.device
    made = Executable(Packing(compiled), memory=lambda count: device.allocate(4 * count))
    made.take([device.upload(np.ascontiguousarray(array)) for array in parameters])
    return made


class Adapter:
    """The launches around a strategy's own, where a caller's arrays have other forms."""

    def __init__(
        self, device: Any, arrays: Sequence[Array], forms: Mapping[str, Form] = MappingProxyType({})
    ) -> None:
        """``arrays`` are as kernels take them; ``forms`` tells what is otherwise at the caller."""
        self.before: list[Call] = []
        """Launches that convert inputs and parameters to the kernels' storage."""
        self.after: list[Call] = []
        """Launches that convert outputs to the caller's storage."""
        self.temporaries: dict[str, int] = {}
        """float32 elements of the arrays between both."""
        self.names = [self._name(device, array, forms) for array in arrays]
        """The launches' names of the caller's arrays."""

    def _name(self, device: Any, array: Array, forms: Mapping[str, Form]) -> str:
        taken = Form(array.dtype, array.channels_last)
        has = forms.get(array.name, taken)
        if has == taken:
            return array.name
        self.temporaries[array.name] = -(-array.nbytes // 4)
        name = f"the caller's {array.name}"
        if array.role == "output":
            self.after.append(conversion(device, array.shape, array.name, taken, name, has))
        else:
            self.before.append(conversion(device, array.shape, name, has, array.name, taken))
        return name


def conversion(
    device: Any,
    shape: tuple[int, ...],
    source: Argument,
    given: Form,
    target: Argument,
    wanted: Form,
) -> Call:
    """The launch that converts array ``source`` to array ``target``: buffers or names of such."""
    launch, sizes = _launch(shape, given, wanted)
    formats = {"FROM": FORMATS[given.dtype], "TO": FORMATS[wanted.dtype]}
    macros = {**formats, "FROM_LAST": int(given.channels_last), **_tile(shape)}
    if given.channels_last == wanted.channels_last:
        macros["LAST_RUN"] = _run(math.prod(shape))
    program = device.compile(_text(), macros, [Path(__file__).parent.parent])
    return Call(program, launch, (source, target, *sizes))


def _launch(shape: tuple[int, ...], given: Form, wanted: Form) -> tuple[Launch, tuple[Any, ...]]:
    count = math.prod(shape)
    if given.channels_last == wanted.channels_last:
        of_block = _RUNS * _THREADS * _run(count)
        grid = (-(-count // of_block), 1, 1)
        return Launch("convert", grid, _BLOCK, overlaps=True), (np.int64(count),)
    items, channels, height, width = shape
    tile, pixels = _tile(shape), height * width
    across, deep = -(-pixels // tile["PIXELS"]), -(-channels // tile["CHANNELS"])
    grid = (items * across, deep, 1)
    return Launch("exchange", grid, _BLOCK, overlaps=True), (np.int32(pixels), np.int32(channels))


def _tile(shape: tuple[int, ...]) -> dict[str, int]:
    """Pixels and channels of a block, and how many neighbours a thread takes at once."""
    if len(shape) != 4:
        return {"PIXELS": 1, "CHANNELS": 1, "PLANE_RUN": 1, "LAST_RUN": 1}
    _, channels, height, width = shape
    pixels, deep = height * width, min(channels, _MOST_CHANNELS)
    # Runs over several pixels are possible where a tile has all channels.
    last = pixels * channels if deep == channels else math.gcd(channels, deep)
    across = 4 * min(_TILE // (4 * deep), -(-pixels // 4))
    return {
        "PIXELS": across,
        "CHANNELS": deep,
        "PLANE_RUN": _run(pixels),
        "LAST_RUN": _run(last),
    }


def _run(length: int) -> int:
    """Number of neighbours that are taken at once, of runs of this length."""
    return _RUN if length % _RUN == 0 else 1


@cache
def _text() -> str:
    return (Path(__file__).parent.parent / "common" / "convert.cu").read_text(encoding="utf-8")
