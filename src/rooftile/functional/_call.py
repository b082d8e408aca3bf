"""Compute a problem, given its checked arrays, on the device that the caller asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rooftile.devices import cpu
from rooftile.devices.cuda import CudaArray
from rooftile.ops import Problem
from rooftile.runtime.arguments import Arguments, Array, Taken
from rooftile.runtime.choice import decide
from rooftile.runtime.execution import run_copied, run_in_place, run_on_host


def run(
    given: Arguments[Array],
    problem: Problem,
    inputs: Sequence[Taken],
    parameters: Mapping[str, Taken | None],
    precision: str,
    strategy: str | None,
    device: str | None,
    out: Array | None,
) -> Array:
    """Compute a problem that has one output.  A parameter that is None stands for zeros."""
    place = given.device(device)
    choice = decide(problem, precision, place, strategy)
    (result,) = problem.output_arrays
    named = {array.name: value for array, value in zip(problem.input_arrays, inputs, strict=True)}
    held = [*inputs, *(p for p in parameters.values() if p is not None)]
    to = None if out is None else given.take_out(out, result, held)
    if isinstance(inputs[0], CudaArray):
        (made,) = run_in_place(given.library, choice, named, parameters, {result.name: to})
    else:
        if to is None:
            to = cpu.aligned(result.shape, result.numpy, "the result")
        on = run_on_host if place == "cpu" else run_copied
        on(choice, {**named, result.name: to}, parameters)
        made = given.library.from_host(to)
    returned: Array = made if out is None else out
    return returned
