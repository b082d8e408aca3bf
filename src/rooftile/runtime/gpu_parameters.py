"""Parameters that stay in a GPU's memory: packed once for each strategy that reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.cuda.exchange import allocate_for_export
from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.arrays.libraries import Library
from rooftile.runtime.calls.fast_path import keep
from rooftile.runtime.calls.gpu import Forms, compiled_for, padded, start_in_place
from rooftile.runtime.calls.gpu_repeat import GpuRepeat
from rooftile.runtime.parameters import MOST_SHAPES, KeptParameters
from rooftile.runtime.selection.choice import Choice
from rooftile.strategies.binding.executable import Executable, conversion
from rooftile.strategies.binding.packing import Form

_CAPTURED = "a graph is being captured, and its parameters are not packed yet"


class GpuParameters(KeptParameters):
    """Parameters in a GPU's memory, for calls on any stream by any thread, and in graphs.

    A graph that holds a call needs what was packed here for as long as it is replayed.
    """

    def __init__(
        self,
        gpu: int,
        library: Library | None,
        parameters: Sequence[CudaArray | AnyArray | None],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        """``library`` is the parameters', and None for arrays of the CPU, which are copied. Raises
        `OutOfMemory`, and `UnsupportedProblem` inside a capture."""
        super().__init__()
        first: Any = next(array for array in parameters if array is not None)
        self._device = device = cuda.lent_device(gpu)
        with device.on(library.stream(first) if library else None):
            if device.capturing():
                instead = "it before the capture"
                raise UnsupportedProblem("a prepared operation", _CAPTURED, instead)
            self._own = [allocate_for_export(device, shape) for shape in shapes]
            self._copy(parameters)
            device.synchronise()
        # These stay, because graphs may hold them.
        self._captured: list[CudaArray] = []
        self._executables: dict[Any, Executable] = {}
        self._ready: dict[tuple[tuple[int, ...], Forms], Executable] = {}
        self._turn = lock()

    def run(
        self,
        choice: Choice,
        given: Arguments[Any],
        x: Any,
        out: Any,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        (result,) = choice.problem.output_arrays
        to = None if out is None else given.take_shaped_out(out, result, [x], shape)

        def find(device: CudaDevice, forms: Forms) -> Executable:
            return self._ready.get((x.shape, forms)) or self._pack(choice, x.shape, forms)

        def keep_call(made: Callable[..., GpuRepeat]) -> None:
            key = given.kind, given.library.own_dtype(x.dtype), x.shape
            keep(self.calls, key, made().repeat())

        called = given, choice.problem, (x,), (), (to,)
        (made,) = start_in_place(*called, find, keep_call, self._captured)
        if out is not None:
            return out
        return made if shape is None else made.reshape(shape)

    def update(self, given: Arguments[Any], parameters: Sequence[CudaArray | None]) -> None:
        """See `KeptParameters.update`. Calls that were started before, on whatever stream, still
        have the old values, and those that are started after it the new ones; so it waits for the
        GPU, twice. Inside a capture it becomes part of the graph, in the order of its stream."""
        first = next(array for array in parameters if array is not None)
        device = self._device
        with self._turn, device.on(given.library.stream(first)):
            captured = device.capturing()
            if not captured:
                device.synchronise()
            self._copy(parameters)
            for executable in self._executables.values():
                executable.take([array.address for array in self._own])
            if not captured:
                device.synchronise()

    def parameters(self) -> list[AnyArray]:
        device, copies = self._device, [np.empty(own.shape, np.float32) for own in self._own]
        with self._turn, device.on():
            # An update on another stream may still be writing.
            device.synchronise()
            for own, copy in zip(self._own, copies, strict=True):
                device.copy_out(own.owner, copy)
        return copies

    def _copy(self, parameters: Sequence[CudaArray | AnyArray | None]) -> None:
        device = self._device
        for array, own in zip(parameters, self._own, strict=True):
            if array is None:
                device.clear(own.address, own.nbytes)
            elif isinstance(array, np.ndarray):
                device.copy_in(array, own.owner)
            elif array.plain:
                device.copy(own.address, array.address, own.nbytes)
            else:
                form = Form(array.dtype, array.channels_last)
                call = conversion(device, own.shape, "given", form, "own", Form())
                launches = device.launches([call], ("given", "own"))
                launches.start((array.address, own.address))

    def _pack(self, choice: Choice, shape: tuple[int, ...], forms: Forms) -> Executable:
        """The kernels for x of a shape, with the parameters packed for them."""
        device, key = self._device, (choice.strategy, padded(choice.problem), forms)
        if device.capturing():
            instead = "the same call once before the capture"
            raise UnsupportedProblem(choice.strategy.name, _CAPTURED, instead)
        with self._turn:
            if key not in self._executables:
                made = compiled_for(choice, device, forms, self._memory)
                made.take([array.address for array in self._own])
                # Whatever stream comes next finds them packed.
                device.synchronise()
                self._executables[key] = made
            if len(self._ready) >= MOST_SHAPES:
                self._ready.clear()
            self._ready[shape, forms] = self._executables[key]
            return self._executables[key]

    def _memory(self, count: int) -> Any:
        return allocate_for_export(self._device, (count,)).owner
