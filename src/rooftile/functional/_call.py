"""Compute a problem, given its checked arrays, on the device that the caller asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.ops import Precision, Problem
from rooftile.runtime import layouts
from rooftile.runtime.arguments import Arguments, Array, Taken
from rooftile.runtime.choice import decide
from rooftile.runtime.host_calls import note_call, run_on_host
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


def check_flag(**flags: Any) -> None:
    """Raise `InputError` for the first of some options that is neither True nor False."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise InputError(name, repr(flag), "True or False")


def run(
    given: Arguments[Array],
    problem: Problem,
    inputs: Sequence[Taken],
    parameters: Mapping[str, Taken | None],
    precision: Precision,
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None,
    shape: tuple[int, ...] | None = None,
) -> Array:
    """Compute a problem that has one output.

    ``parameters`` are by name, in the problem's order; one that is None stands for zeros.
    ``shape`` is the result's, where it is not the problem's: such a call is not kept.
    """
    _check(problem, inputs)
    place = given.device(device)
    choice = decide(problem, given.precision(precision, place), place, strategy, once=True)
    (result,) = problem.output_arrays
    to = None
    if out is not None:
        held = [*inputs, *(p for p in parameters.values() if p is not None)]
        to = given.take_shaped_out(out, result, held, shape)
    if shape is not None:
        given.row_major = False
    values = tuple(parameters.values())
    if isinstance(inputs[0], CudaArray):
        from rooftile.runtime.execution import run_in_place

        (made,) = run_in_place(given, choice, inputs, values, (to,))
    else:
        direct = given.writes_into(to)
        found: Taken = to if direct else new_result(result)
        if place == "cpu":
            run_on_host(choice, inputs, values, (found,))
            if shape is None:
                note_call(choice, given)
        else:
            from rooftile.runtime.execution import run_copied

            run_copied(choice, inputs, values, (found,))
        made = given.given_back(found) if to is None else to
        if to is not None and not direct:
            layouts.write(found, to)
    if shape is not None and out is None:
        made = made.reshape(shape)
    returned: Array = made if out is None else out
    return returned


def run_several(
    given: Arguments[Array],
    problem: Problem,
    inputs: Sequence[Taken],
    strategy: str | None,
    device: DeviceName | None,
    outs: Sequence[Array | None],
    shapes: Sequence[tuple[int, ...]] | None = None,
) -> tuple[Array, ...]:
    """Compute a problem that has several outputs and no parameters.

    An output that is None is made; ``shapes`` are those of such results, where they are not the
    problem's.
    """
    _check(problem, inputs)
    place = given.device(device)
    choice = decide(problem, "ieee", place, strategy)
    to: list[Taken | None] = []
    for out, output in zip(outs, problem.output_arrays, strict=True):
        held = [*inputs, *(one for one in to if one is not None)]
        to.append(None if out is None else given.take_out(out, output, held))
    made: Sequence[Taken]
    if isinstance(inputs[0], CudaArray):
        from rooftile.runtime.execution import run_in_place

        made = run_in_place(given, choice, inputs, (), to)
    else:
        pairs = zip(to, problem.output_arrays, strict=True)
        found = [new_result(output) if one is None else one for one, output in pairs]
        if place == "cpu":
            run_on_host(choice, inputs, (), found)
        else:
            from rooftile.runtime.execution import run_copied

            run_copied(choice, inputs, (), found)
        made = [given.given_back(one) for one in found]
    if shapes is not None:
        made = [one.reshape(shape) for one, shape in zip(made, shapes, strict=True)]
    return tuple(one if out is None else out for one, out in zip(made, outs, strict=True))


def _check(problem: Problem, inputs: Sequence[Taken]) -> None:
    """Raise `InputError` for an array whose shape is not what the others ask for."""
    for array, place in zip(inputs, problem.input_arrays, strict=True):
        if tuple(array.shape) != place.shape:
            raise InputError(place.name, f"shape {tuple(array.shape)}", f"{place.shape}")
