"""How a checked call runs on a GPU: on copies of NumPy arrays, or in place.

What a call has compiled for a GPU stays loaded until the process ends, as in PyTorch and CuPy;
the memory that it needs lasts as long as the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cuda
from rooftile.devices.cuda import CudaArray, CudaDevice
from rooftile.devices.select import lent_gpu
from rooftile.errors import UnsupportedProblem
from rooftile.ops import FORMATS, Array, Problem
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.arrays import Library
from rooftile.runtime.choice import Choice, recent_stamp
from rooftile.runtime.repeats import Repeat, note
from rooftile.strategies import Config
from rooftile.strategies.conversion import Form
from rooftile.strategies.gpu import LAST, NARROW, of_launches
from rooftile.strategies.machine import Machine
from rooftile.strategies.resident import Resident

Forms = tuple[tuple[str, Form], ...]
"""How those of a call's arrays lie, by name, that are not row-major float32."""
_residents: dict[Any, Resident] = {}
_captured: list[Any] = []
"""Constant memory and temporaries that graphs hold; nobody says when a graph goes."""
_making = lock()


def run_copied(
    choice: Choice, inputs: Sequence[Any], parameters: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Copy contiguous NumPy arrays to a GPU, compute there, and copy the outputs back.

    Raises `DeviceMissing`, `CompileFailure`, `OutOfMemory`.
    """
    device = lent_gpu(choice.device)
    # `_copied` is a function of its own, so that what it allocates is freed while the GPU is still
    # the thread's.
    with device.on():
        _copied(_resident(choice, device), choice.problem, inputs, parameters, outputs)


def _copied(
    resident: Resident,
    problem: Problem,
    inputs: Sequence[Any],
    parameters: Sequence[Any],
    outputs: Sequence[Any],
) -> None:
    device = resident.device
    there = [device.upload(array) for array in inputs]
    made = [device.empty(array.shape, array.dtype) for array in outputs]
    packed = [
        None if array is None else device.upload(np.ascontiguousarray(array))
        for array in parameters
    ]
    held: list[Any] = []

    def allocate(counts: Sequence[int]) -> list[Any]:
        held.extend(device.allocate(4 * count) for count in counts)
        return held

    resident.run([*there, *made], packed, problem.batch_size, allocate)
    for memory, array in zip(made, outputs, strict=True):
        device.copy_out(memory, array)


def run_in_place(
    given: Arguments[Any],
    choice: Choice,
    inputs: Sequence[CudaArray],
    parameters: Sequence[CudaArray | None],
    outputs: Sequence[CudaArray | None],
) -> tuple[Any, ...]:
    """Start the computation on the caller's stream; gives the outputs as the library's arrays.

    An output that is None is made.  Raises `UnsupportedProblem` for a call that the caller's
    graph must not capture, and the errors of `run_copied`.
    """
    library, first, problem = given.library, inputs[0], choice.problem
    device = cuda.lent_device(first.device)
    with device.on(library.stream(first)):
        for array in (*inputs, *parameters, *outputs):
            if array is not None and array.stream not in (None, first.stream):
                device.after_stream(array.stream)
        results = [result_form(given, array) for array in problem.output_arrays]
        forms = () if given.plain else forms_of(problem, inputs, parameters, outputs, results)
        resident: Resident | None = choice.compiled.get((device, forms))
        if resident is None or resident.shares or not library.capturable:
            resident = _compiled(library, choice, device, forms)
        made = [
            out or library.result(array.shape, device, *form)
            for out, array, form in zip(outputs, problem.output_arrays, results, strict=True)
        ]
        ends = [array.address for array in (*inputs, *made)]
        packed = [None if array is None else array.address for array in parameters]
        # What a graph has to itself serves no other call.
        if given.row_major and library.quick and len(made) == 1 and not resident.alone:
            dtypes = [a.dtype if a is not None else "" for a in (*inputs, *parameters, *made)]
            recipe = partial(_repeat, library, choice, resident, device, dtypes)
            note(type(first.owner), recipe)
        held: list[CudaArray] = []

        def allocate(counts: Sequence[int]) -> list[int]:
            held.append(library.empty((whole_of(counts),), device))
            if not library.graph_pool and device.capturing():
                _captured.append(held[0])
            return addresses_in(held[0].address, counts)

        resident.run(ends, packed, problem.batch_size, allocate)
        return tuple(library.finish(out, device) for out in made)


def _repeat(
    library: Library,
    choice: Choice,
    resident: Resident,
    device: CudaDevice,
    dtypes: Sequence[str],
) -> Repeat:
    """What the next call like this launches; ``dtypes`` are those of its arrays, outputs last."""
    *given, made = [library.own_dtype(name) if name else None for name in dtypes]
    problem = choice.problem
    (result,) = problem.output_arrays
    launches, counts = resident.launches(problem.batch_size)
    inputs = len(problem.input_arrays)
    return Repeat(
        library,
        device,
        device.description.index,
        inputs,
        result.shape,
        given,
        made,
        launches,
        zeros=[None] * inputs + resident.zeros,
        stays=(),
        offsets=addresses_in(0, counts),
        floats=whole_of(counts),
        turns=resident.turns,
        stamp=recent_stamp(),
        # With parameters, calls of small problems are many, and wait for their host.
        overlaps=launches.overlaps and not resident.zeros,
    )


_APART = 64
"""float32 elements between the beginnings of two arrays in one allocation: 256 bytes."""


def whole_of(counts: Sequence[int]) -> int:
    """float32 elements of one allocation that holds arrays of so many each."""
    return sum(-(-count // _APART) * _APART for count in counts)


def addresses_in(start: int, counts: Sequence[int]) -> list[int]:
    """Where each of the arrays begins in the allocation."""
    addresses = []
    for count in counts:
        addresses.append(start)
        start += -(-count // _APART) * _APART * 4
    return addresses


def _compiled(library: Library, choice: Choice, device: CudaDevice, forms: Forms) -> Resident:
    """The compiled kernels.

    Raises `UnsupportedProblem` where the stream is being captured and the graph may not hold the
    call.
    """
    if not device.capturing():
        with device.on():
            return _resident(choice, device, forms)
    resident: Resident | None = choice.compiled.get((device, forms))
    reason: str | None = None
    instead = "another strategy"
    if not library.capturable:
        reason, instead = f"{library.title} brings no memory for it", "PyTorch or CuPy"
    elif resident is None:
        reason, instead = "it is not compiled yet", "the same call once before the capture"
    if resident is None or reason is not None:
        name = choice.strategy.name
        raise UnsupportedProblem(name, f"a graph is being captured, and {reason}", instead)
    if not resident.shares:
        return resident
    # Replays must not share constant memory with other calls.
    with device.while_capturing(), device.on():
        own = resident.again()
    _captured.append(own)
    return own


def resident_of(choice: Choice, device: Any) -> Resident:
    """A choice's kernels on a device, for row-major arrays of the problem's dtypes.

    Raises `CompileFailure`.
    """
    return _resident(choice, device)


def _resident(choice: Choice, device: Any, forms: Forms = ()) -> Resident:
    found: Resident | None = choice.compiled.get((device, forms))
    if found is not None:
        return found
    rung = of_launches(choice.strategy)
    key = rung, padded(choice.problem), device, tuple((choice.config or {}).items()), forms
    with _making:
        if key not in _residents:
            config = config_for(choice, device, dict(forms))
            _residents[key] = Resident(rung.compile(key[1], device, config), dict(forms))
    choice.compiled[device, forms] = _residents[key]
    return _residents[key]


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
    """The forms of a call's arrays that are not row-major float32; ``results`` are those of the
    outputs that are still to be made."""
    places = (*problem.input_arrays, *problem.parameter_arrays)
    held = [
        (place.name, Form(array.dtype, array.channels_last))
        for place, array in zip(places, (*inputs, *parameters), strict=True)
        if array is not None
    ]
    for place, out, form in zip(problem.output_arrays, outputs, results, strict=True):
        made = Form(*form) if out is None else Form(out.dtype, out.channels_last)
        held.append((place.name, made))
    return tuple((name, form) for name, form in held if form != Form())


def config_for(choice: Choice, device: Any, forms: Mapping[str, Form]) -> Config:
    """The choice's config; where all inputs, or the output, have 16 bits, or their channels last,
    the kernels read and write them so, if they can."""
    rung, problem = of_launches(choice.strategy), choice.problem
    placed, own = rung.on(Machine.of(device.description)), dict(choice.config or {})
    flags = {}
    for arrays, narrow, last in zip(
        (problem.input_arrays, problem.output_arrays), NARROW, LAST, strict=True
    ):
        held = [forms.get(array.name, Form()) for array in arrays]
        dtype = FORMATS[rung.narrow].dtype if rung.narrow else None
        flags[narrow] = int(all(form.dtype == dtype for form in held))
        flags[last] = int(all(form.channels_last for form in held))
    for names in (rung.forms, NARROW if rung.narrow else ()):
        config = {**own, **{name: flags.get(name, 0) for name in names}}
        if placed.invalid(problem, placed.config(problem, config)) is None:
            return config
    return own


def padded(problem: Problem) -> Problem:
    """The problem for the next power of two of items: all batches share a few compilations."""
    batch = problem.batch_size
    return problem if batch is None else problem.with_batch(1 << (batch - 1).bit_length())
