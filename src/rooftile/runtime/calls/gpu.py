"""A checked call on a GPU: on copies of NumPy arrays, or in place.

Kernels that a call has compiled for a GPU stay loaded until the process ends, as in PyTorch and
CuPy; the memory that it needs lasts as long as the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from rooftile._locks import lock
from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.errors import UnsupportedProblem
from rooftile.ops import Array, Problem
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.arrays.libraries import Library
from rooftile.runtime.calls.fast_path import Repeat, note
from rooftile.runtime.calls.gpu_repeat import GpuRepeat, Signature
from rooftile.runtime.calls.workspace import memory_for
from rooftile.runtime.selection.choice import Choice, recent_stamp
from rooftile.strategies.binding.executable import Executable
from rooftile.strategies.binding.packing import Form, Packing
from rooftile.strategies.contract.gpu import of_launches
from rooftile.strategies.contract.machine import Multiprocessors

Forms = tuple[tuple[str, Form], ...]
"""Storage of a call's arrays, by name, that are not row-major float32."""
executables: dict[Any, Executable] = {}
_captured: list[Any] = []
"""Constant memory and temporaries that graphs hold; nobody says when a graph goes."""
_making = lock()


def run_on_gpu(
    given: Arguments[Any],
    choice: Choice,
    inputs: Sequence[Taken],
    parameters: Sequence[Taken | None],
    outputs: Sequence[Any],
) -> Sequence[Any]:
    """Start the computation on the caller's stream; gives the outputs as the library's arrays, and
    makes those that are None.  NumPy arrays are copied to the GPU, and the outputs back.

    Raises `DeviceMissing`, `CompileFailure`, `OutOfMemory`, and `UnsupportedProblem` for a call
    that the caller's graph must not capture.
    """
    stamp, problem, library = recent_stamp(), choice.problem, given.library
    copied = not isinstance(inputs[0], CudaArray)

    def find(device: Any, forms: Forms = ()) -> Executable:
        ready: Executable | None = choice.compiled.get((device, forms))
        if ready is not None and not ready.shares and (copied or library.capturable):
            return ready
        captured = not copied and device.capturing()
        if captured:
            _check_captured(library, choice.strategy.name, ready)
        # Replays must not share constant memory with other calls.
        own = captured and ready is not None and ready.shares
        with device.while_capturing() if own else nullcontext(), device.on():
            made = executable(choice, device, forms, own=own)
        if own:
            _captured.append(made)
        return made

    def keep(made: Callable[..., GpuRepeat]) -> None:
        def recipe(arrays: Sequence[Any]) -> Repeat | None:
            repeat = made(stamp=stamp)
            return repeat.repeat() if repeat.takes(arrays) else None

        note(recipe)

    if not copied:
        return start_in_place(given, problem, inputs, parameters, outputs, find, keep, _captured)
    device = choice.gpu
    with device.on():
        find(device).execution(problem.batch_size).run(device, inputs, parameters, outputs)
    return outputs


def start_in_place(
    given: Arguments[Any],
    problem: Problem,
    inputs: Sequence[CudaArray],
    parameters: Sequence[CudaArray | None],
    outputs: Sequence[CudaArray | None],
    find: Callable[[CudaDevice, Forms], Executable],
    keep: Callable[[Callable[..., GpuRepeat]], None],
    captured: list[Any],
) -> tuple[Any, ...]:
    """The same with what ``find`` gives for the forms of the arrays; ``parameters`` are empty where
    it keeps them.

    ``keep`` is given what makes the next call like this, if there may be one.  ``captured`` holds
    the workspace that a graph needs.
    """
    library, first = given.library, inputs[0]
    device = cuda.lent_device(first.device)
    with device.on(library.stream(first)):
        for array in (*inputs, *parameters, *outputs):
            if array is not None and array.stream not in (None, first.stream):
                device.after_stream(array.stream)
        results = [result_form(given, array) for array in problem.output_arrays]
        forms = () if given.plain else forms_of(problem, inputs, parameters, outputs, results)
        ready = find(device, forms)
        made = [
            out or library.result(array.shape, device, *form)
            for out, array, form in zip(outputs, problem.output_arrays, results, strict=True)
        ]
        ends = [array.address for array in (*inputs, *made)]
        packed = [None if array is None else array.address for array in parameters]
        execution = ready.execution(problem.batch_size)
        held = memory_for(library, device, execution.workspace.nbytes, captured)
        workspace = execution.workspace.at(held.address if held else 0)
        execution.start(ends, workspace, packed)
        # What a graph has to itself serves no other call.
        if given.kept and library.quick and len(made) == 1 and not ready.alone:
            dtypes = [
                None if array is None else library.own_dtype(array.dtype)
                for array in (*inputs, *parameters, *made)
            ]
            call = Signature(len(inputs), dtypes[:-1], tuple(made[0].shape), dtypes[-1])
            # With parameters, calls of small problems are many, and wait for their host.
            overlaps = execution.launches.overlaps and not problem.parameter_arrays
            made_by = partial(GpuRepeat, library, device, execution, call)
            keep(partial(made_by, overlaps=overlaps))
        return tuple(library.finish(out, device) for out in made)


def _check_captured(library: Library, name: str, ready: Executable | None) -> None:
    """Raise `UnsupportedProblem` where a graph that is being captured may not hold the call."""
    reason, instead = "", "another strategy"
    if not library.capturable:
        reason, instead = f"{library.title} brings no memory for it", "PyTorch or CuPy"
    elif ready is None:
        reason, instead = "it is not compiled yet", "the same call once before the capture"
    if reason:
        raise UnsupportedProblem(name, f"a graph is being captured, and {reason}", instead)


def executable(choice: Choice, device: Any, forms: Forms = (), *, own: bool = False) -> Executable:
    """A choice's kernels on a device, whose parameters come with each call.

    ``forms`` are the storage of arrays that are not row-major in the problem's dtypes. ``own``:
    with constant memory that no other call uses. Raises `CompileFailure`.
    """
    found: Executable | None = choice.compiled.get((device, forms))
    if found is not None and not own:
        return found
    config = tuple((choice.config or {}).items())
    key = choice.strategy, padded(choice.problem), device, config, forms
    with _making:
        made = None if own else executables.get(key)
        if made is None:
            made = compiled_for(choice, device, forms, alone=own)
        if not own:
            executables[key] = choice.compiled[device, forms] = made
    return made


def compiled_for(
    choice: Choice,
    device: Any,
    forms: Forms,
    memory: Callable[[int], Any] | None = None,
    *,
    alone: bool = False,
) -> Executable:
    """The kernels of a choice, which read and write arrays as the caller has them, as far as they
    can, and convert others; ``memory`` and ``alone`` as in `Executable`."""
    problem, rung = padded(choice.problem), of_launches(choice.strategy)
    if forms:
        ends = {array.name for array in (*problem.input_arrays, *problem.output_arrays)}
        asked = {name: form.words for name, form in forms if name in ends}
        placed = rung.on(Multiprocessors.of(device.description))
        problem = placed.with_storage(problem, asked, choice.config)
    packing = Packing(rung.compile(problem, device, choice.config), dict(forms))
    return Executable(packing, memory=memory, alone=alone)


def result_form(given: Arguments[Any], result: Array) -> tuple[str, bool]:
    """Dtype and order of an output, which follow the first input's."""
    dtype = given.dtype if result.dtype == "float32" else result.dtype
    return dtype, given.channels_last and len(result.shape) == 4


def forms_of(
    problem: Problem,
    inputs: Sequence[CudaArray],
    parameters: Sequence[CudaArray | None],
    outputs: Sequence[CudaArray | None],
    results: Sequence[tuple[str, bool]],
) -> Forms:
    """The forms of a call's arrays that are not row-major float32; ``results`` are the forms of the
    outputs that are still to be made."""
    places = (*problem.input_arrays, *problem.parameter_arrays)
    held = [
        (place.name, Form(array.dtype, array.channels_last))
        for place, array in zip(places, (*inputs, *parameters), strict=False)
        if array is not None
    ]
    for place, out, form in zip(problem.output_arrays, outputs, results, strict=True):
        made = Form(*form) if out is None else Form(out.dtype, out.channels_last)
        held.append((place.name, made))
    return tuple((name, form) for name, form in held if form != Form())


def padded(problem: Problem) -> Problem:
    """The problem for the next power of two of items: all batches share a few compilations."""
    batch = problem.batch_size
    return problem if batch is None else problem.with_batch(1 << (batch - 1).bit_length())
