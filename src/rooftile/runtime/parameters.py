"""Parameters that stay where they lie: packed once for each strategy that reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray
from rooftile.devices.cuda.exchange import allocate_for_export
from rooftile.devices.select import open_device
from rooftile.errors import UnsupportedProblem
from rooftile.ops import AnyArray, Problem
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.arrays import layouts
from rooftile.runtime.arrays.libraries import Library
from rooftile.runtime.arrays.results import new_result
from rooftile.runtime.calls.fast_path import Calls, keep
from rooftile.runtime.calls.gpu import (
    Forms,
    config_for,
    forms_of,
    padded,
    result_form,
)
from rooftile.runtime.calls.gpu_repeat import GpuRepeat, Signature
from rooftile.runtime.calls.host import MOST_FLOPS, checked, is_plain, through
from rooftile.runtime.calls.workspace import memory_for
from rooftile.runtime.selection.choice import Choice
from rooftile.strategies import Strategy
from rooftile.strategies.binding.conversion import Form, conversion
from rooftile.strategies.binding.executable import Executable
from rooftile.strategies.contract.gpu import of_launches


class Settled(ABC):
    """Parameters on one device, for strategies that are chosen call by call."""

    def __init__(self) -> None:
        self.calls: Calls = {}
        """Calls that were made before."""

    @abstractmethod
    def run(
        self,
        choice: Choice,
        given: Arguments[Any],
        x: Any,
        out: Any,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        """The result of x, an array taken by ``given``; into ``out``, the caller's, or None.

        ``shape`` is the result's, where it is not the problem's.
        """

    @abstractmethod
    def update(self, given: Arguments[Any], parameters: Sequence[Any]) -> None:
        """Take other values, in arrays taken by ``given``."""

    @abstractmethod
    def parameters(self) -> list[AnyArray]:
        """Copies of the parameters in the CPU's memory."""


class OnHost(Settled):
    """Parameters in the CPU's memory, for it or for a GPU that gets copies; calls take turns."""

    def __init__(self, parameters: Sequence[AnyArray | None], shapes: Sequence[tuple[int, ...]]):
        super().__init__()
        self._shapes = tuple(shapes)
        self._parameters = self._copies(parameters)
        self._bound: dict[tuple[Strategy, Any, str], Any] = {}
        self._read: set[Any] = set()
        """Those of them whose parameters a call may still read that takes no turn."""
        self._turn = lock()

    def run(
        self,
        choice: Choice,
        given: Arguments[Any],
        x: Any,
        out: Any,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        """See `Settled.run`."""
        (result,) = choice.problem.output_arrays
        to = None if out is None else given.take_shaped_out(out, result, [x], shape)
        direct = given.writes_into(to)
        made: Any = to if direct else new_result(result)
        with self._turn:
            bound = self._bind(choice)
            bound(x, made)
            if choice.device == "cpu" and given.dtype == "float32" and is_plain(x):
                self._note(given, choice.problem, x, bound)
        if to is None:
            back = given.given_back(made)
            return back if shape is None else back.reshape(shape)
        if not direct:
            layouts.write(made, to)
        return out

    def update(self, given: Arguments[Any], parameters: Sequence[AnyArray | None]) -> None:
        """See `Settled.update`."""
        taken = self._copies(parameters)
        with self._turn:
            self._parameters = taken
            self.calls.clear()
            self._bound = {
                key: bound
                for key, bound in self._bound.items()
                if bound.renewable and bound not in self._read
            }
            self._read.clear()
            for bound in self._bound.values():
                bound.renew(taken)

    def parameters(self) -> list[AnyArray]:
        """See `Settled.parameters`."""
        with self._turn:
            return [array.copy() for array in self._parameters]

    def _note(self, given: Arguments[Any], problem: Problem, x: AnyArray, bound: Any) -> None:
        """Keep what runs the next call like this."""
        (result,) = problem.output_arrays
        long = problem.flops > MOST_FLOPS
        quick = bound.quick_beside((x.shape, result.shape), long=long)
        if quick is not None:
            self._read.add(bound)

        def run(arrays: Sequence[Any], made: Any) -> None:
            with self._turn:
                bound(*arrays, made)

        library, repeat = given.library, quick or checked(result, run)
        own = repeat if given.kind is np.ndarray else through(library, repeat)
        keep(self.calls, (given.kind, library.own_dtype("float32"), x.shape), own)

    def _copies(self, parameters: Sequence[AnyArray | None]) -> list[AnyArray]:
        """Nobody else writes to them."""
        pairs = zip(parameters, self._shapes, strict=True)
        kind = next(a.dtype for a in parameters if a is not None)
        return [np.zeros(shape, kind) if a is None else a.copy() for a, shape in pairs]

    def _bind(self, choice: Choice) -> Any:
        rung: Any = choice.strategy
        problem = choice.problem
        # A kernel's bands and packing do not depend on the batch.
        key = rung, problem.with_batch(1) if rung.kernels else problem, choice.device
        if key not in self._bound:
            device = open_device(choice.device)
            if len(self._bound) >= _MOST_SHAPES:
                self._bound.clear()
            self._bound[key] = rung.bind(key[1], self._parameters, device, choice.config)
        return self._bound[key]


class OnGpu(Settled):
    """Parameters in a GPU's memory, for calls on any stream by any thread, and in graphs.

    A graph that holds a call needs what was packed here for as long as it is replayed.
    """

    def __init__(
        self,
        library: Library | None,
        parameters: Sequence[CudaArray | None],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        """``library`` is the parameters', and None for memory of ours.

        Raises `OutOfMemory`, and `UnsupportedProblem` inside a capture.
        """
        super().__init__()
        first = next(array for array in parameters if array is not None)
        self._device = device = cuda.lent_device(first.device)
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
        """See `Settled.run`."""
        problem, library, device = choice.problem, given.library, self._device
        (result,) = problem.output_arrays
        to = None if out is None else given.take_shaped_out(out, result, [x], shape)
        stream = library.stream(x)
        with device.on(stream):
            for array in (x, to):
                if array is not None and array.stream not in (None, stream):
                    device.after_stream(array.stream)
            form = result_form(given, result)
            forms = () if given.plain else forms_of(problem, (x,), (None, None), (to,), (form,))
            ready = self._ready.get((x.shape, forms)) or self._pack(choice, x.shape, forms)
            made = to or library.result(result.shape, device, *form)
            execution = ready.execution(problem.batch_size)
            held = memory_for(library, device, execution.workspace.nbytes, self._captured)
            workspace = execution.workspace.at(held.address if held else 0)
            execution.start((x.address, made.address), workspace)
            if given.kept and library.quick:
                dtypes = [library.own_dtype(array.dtype) for array in (x, made)]
                call = Signature(1, dtypes[:1], tuple(made.shape), dtypes[1])
                repeat = GpuRepeat(library, device, execution, call).repeat()
                keep(self.calls, (given.kind, dtypes[0], x.shape), repeat)
            if out is not None:
                return out
            done = library.finish(made, device)
            return done if shape is None else done.reshape(shape)

    def update(self, given: Arguments[Any], parameters: Sequence[CudaArray | None]) -> None:
        """See `Settled.update`.

        Calls that were started before, on whatever stream, still have the old values, and those
        that are started after it the new ones; so it waits for the GPU, twice.  Inside a capture
        it becomes part of the graph, in the order of its stream.
        """
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
        """See `Settled.parameters`."""
        device, copies = self._device, [np.empty(own.shape, np.float32) for own in self._own]
        with self._turn, device.on():
            # An update on another stream may still be writing.
            device.synchronise()
            for own, copy in zip(self._own, copies, strict=True):
                device.copy_out(own.owner, copy)
        return copies

    def _copy(self, parameters: Sequence[CudaArray | None]) -> None:
        device = self._device
        for array, own in zip(parameters, self._own, strict=True):
            if array is None:
                device.clear(own.address, own.nbytes)
            elif array.plain:
                device.copy(own.address, array.address, own.nbytes)
            else:
                form = Form(array.dtype, array.channels_last)
                call = conversion(device, own.shape, "given", form, "own", Form())
                launches = device.launches([call], ("given", "own"))
                launches.start((array.address, own.address))

    def _pack(self, choice: Choice, shape: tuple[int, ...], forms: Forms) -> Executable:
        """The kernels for x of a shape, with the parameters packed for them."""
        device, rung = self._device, of_launches(choice.strategy)
        if device.capturing():
            raise UnsupportedProblem(rung.name, _CAPTURED, "the same call once before the capture")
        key = rung, padded(choice.problem), forms
        with self._turn:
            if key not in self._executables:
                config = config_for(choice, device, dict(forms))
                compiled = rung.compile(key[1], device, config)
                made = Executable(compiled, dict(forms), memory=self._memory)
                made.take([array.address for array in self._own])
                # Whatever stream comes next finds them packed.
                device.synchronise()
                self._executables[key] = made
            if len(self._ready) >= _MOST_SHAPES:
                self._ready.clear()
            self._ready[shape, forms] = self._executables[key]
            return self._executables[key]

    def _memory(self, count: int) -> Any:
        return allocate_for_export(self._device, (count,)).owner


def settled(gpu: int | None, parameters: Sequence[AnyArray]) -> Settled:
    """Parameters that are copied from the CPU's memory to where they stay: a GPU, or the CPU."""
    shapes = [array.shape for array in parameters]
    if gpu is None:
        return OnHost(parameters, shapes)
    device = cuda.lent_device(gpu)
    with device.on():
        there = [allocate_for_export(device, shape) for shape in shapes]
        for array, own in zip(parameters, there, strict=True):
            device.copy_in(array, own.owner)
    return OnGpu(None, there, shapes)


_CAPTURED = "a graph is being captured, and its parameters are not packed yet"
_MOST_SHAPES = 64
"""Shapes of inputs for which it is known what computes them."""
