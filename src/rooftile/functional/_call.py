"""Compute a problem, given its checked arrays, on the device that the caller asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from rooftile.devices.cuda import CudaArray
from rooftile.ops import Problem
from rooftile.runtime.arguments import Arguments, Array, Taken
from rooftile.runtime.choice import decide
from rooftile.runtime.execution import run_copied, run_in_place, run_on_host
from rooftile.runtime.results import new_result

_Made = TypeVar("_Made", bound=Problem)
_Build = ParamSpec("_Build")


def remembered(build: Callable[_Build, _Made]) -> Callable[_Build, _Made]:
    """What builds a problem, which gives the same one again for the same shapes and options."""
    # 1, 1.0 and True are equal, and not equally good.
    kept = lru_cache(maxsize=4096, typed=True)(build)

    @wraps(build)
    def found(*given: _Build.args, **named: _Build.kwargs) -> _Made:
        try:
            hash(given)
        except TypeError:
            return build(*given, **named)
        return kept(*given, **named)  # type: ignore[arg-type]

    return found


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
    """Compute a problem that has one output.

    ``parameters`` are by name, in the problem's order; one that is None stands for zeros.
    """
    place = given.device(device)
    choice = decide(problem, precision, place, strategy)
    (result,) = problem.output_arrays
    to = None
    if out is not None:
        held = [*inputs, *(p for p in parameters.values() if p is not None)]
        to = given.take_out(out, result, held)
    if isinstance(inputs[0], CudaArray):
        named = _named(problem, inputs)
        (made,) = run_in_place(given.library, choice, named, parameters, {result.name: to})
    else:
        if to is None:
            to = new_result(result)
        if place == "cpu":
            run_on_host(choice, inputs, tuple(parameters.values()), (to,))
        else:
            run_copied(choice, {**_named(problem, inputs), result.name: to}, parameters)
        made = given.library.from_host(to)
    returned: Array = made if out is None else out
    return returned


def _named(problem: Problem, inputs: Sequence[Taken]) -> dict[str, Taken]:
    return {array.name: value for array, value in zip(problem.input_arrays, inputs, strict=True)}
