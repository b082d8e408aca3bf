"""A GPU strategy's kernels with their parameters: packed by each call, or once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Resources
from rooftile.devices.launches import Call
from rooftile.ops import AnyArray
from rooftile.strategies.binding.bound import Bound
from rooftile.strategies.binding.compiled import Compiled
from rooftile.strategies.binding.conversion import Adapter, Form
from rooftile.strategies.binding.execution import MOST_EXECUTIONS, Execution, Workspace
from rooftile.strategies.binding.packing import GIVEN, Packing, renamed
from rooftile.strategies.binding.scratch import Scratch


class Executable(Bound):
    """A compiled strategy whose launches start with inputs, outputs, parameters and workspace.

    Parameters come with each call, which packs them on its stream, or they are kept: packed by
    `take` into memory of the executable, and read by every call until the next `take`.
    """

    device: GpuDevice

    def __init__(
        self,
        compiled: Compiled,
        forms: Mapping[str, Form] = MappingProxyType({}),
        *,
        memory: Callable[[int], Any] | None = None,
        alone: bool = False,
    ) -> None:
        """``forms`` are the storage of the caller's arrays that the kernels do not take as they
        come. ``memory`` allocates a number of float32 for packed parameters that are kept; None:
        parameters come with each call. ``alone``: no two calls are on the device together.

        Raises `UnsupportedProblem` for more parameters than an index reaches.
        """
        super().__init__(compiled.strategy, compiled.problem, compiled.device, compiled.config)
        self.compiled = compiled
        self._forms = _of_given(forms, compiled)
        self._packing = packing = Packing(compiled, self._forms)
        self._executions: dict[int | None, Execution] = {}
        self.keeps = memory is not None
        self._owned = [memory(count) for count in packing.arrays.values()] if memory else []
        self._packed = [self.device.address(one) for one in self._owned]
        self._taken: list[Any] = []
        self.shares = compiled.uses_constants and not self.keeps
        """True if calls share constant memory, and so take turns on the device."""
        self.turns = self.device.turns() if self.shares and not alone else None
        self.alone = alone
        self._scratch: Scratch | None = None
        self._workspaces: dict[int | None, list[Any]] = {}

    def again(self) -> Executable:
        """The same with constant memory of its own, for a graph that holds one call."""
        return Executable(self.compiled.again(), self._forms, alone=True)

    @property
    def zeros(self) -> list[Any]:
        """A placeholder for each parameter that comes with a call."""
        return [] if self.keeps else self._packing.zeros

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

    def start(
        self,
        arrays: Sequence[Any],
        batch: int | None,
        workspace: Sequence[Any],
        parameters: Sequence[Any] = (),
    ) -> None:
        """Start on the present stream: inputs and outputs in device memory, memory for each array
        of the execution's workspace, and parameters in the problem's shapes, or None for zeros,
        where they come with the call."""
        given = () if self.keeps else self._packing.given(parameters)
        with self.turns or contextlib.nullcontext():
            self.execution(batch).start((*arrays, *given), workspace)

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
        made = self._executions[batch] = Execution(launches, kept, Workspace.of(sizes))
        return made


def bind(compiled: Compiled, parameters: Sequence[AnyArray]) -> Executable:
    """An executable that keeps parameters of the host.  Raises `OutOfMemory`."""
    device = compiled.device
    made = Executable(compiled, memory=lambda count: device.allocate(4 * count))
    made.take([device.upload(np.ascontiguousarray(array)) for array in parameters])
    return made


def _of_given(forms: Mapping[str, Form], compiled: Compiled) -> dict[str, Form]:
    """The forms, with packing's names of parameters."""
    parameters = {array.name for array in compiled.problem.parameter_arrays}
    return {GIVEN + n if n in parameters else n: form for n, form in forms.items()}
