"""Compute a problem, given its checked arrays, on the device that the caller asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from rooftile.devices.select import DeviceName
from rooftile.errors import InputError
from rooftile.ops import Precision, Problem
from rooftile.runtime.arguments import Arguments, Array, Taken, is_empty
from rooftile.runtime.calls.host import compute
from rooftile.runtime.selection.choice import decide

_Made = TypeVar("_Made", bound=Problem)
_Build = ParamSpec("_Build")


def remembered(build: Callable[_Build, _Made]) -> Callable[_Build, _Made]:
    """``build``, which gives the same problem again for the same shapes and options."""
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
    taken = tuple(parameters.values())
    (made,) = run_several(
        given, problem, inputs, strategy, device, (out,), (shape,), taken, precision
    )
    return made


def run_several(
    given: Arguments[Array],
    problem: Problem,
    inputs: Sequence[Taken],
    strategy: str | None,
    device: DeviceName | None,
    outs: Sequence[Array | None],
    shapes: Sequence[tuple[int, ...] | None] | None = None,
    parameters: Sequence[Taken | None] = (),
    precision: Precision = "ieee",
) -> tuple[Array, ...]:
    """Compute a problem that may have several outputs.

    An output that is None is made; ``shapes`` are the results' where they differ from the
    problem's.  Where the first input has no element, the problem has sizes of one instead, and so
    have the results none.
    """
    shapes = shapes or (None,) * len(outs)
    where = given.device(device)
    asked = given.precision(precision, where)
    choice = decide(problem, asked, where, strategy, once=True)
    if is_empty(inputs[0]):
        made = zip(outs, problem.output_arrays, shapes, strict=True)
        return tuple(
            given.nothing(inputs[0], shape or (0, *result.shape[1:]), result.dtype, device, out)
            for out, result, shape in made
        )
    for array, place in zip(inputs, problem.input_arrays, strict=True):
        if tuple(array.shape) != place.shape:
            raise InputError(place.name, f"shape {tuple(array.shape)}", f"{place.shape}")
    to = list[Taken | None]()
    for out, result, shape in zip(outs, problem.output_arrays, shapes, strict=True):
        held = [array for array in (*inputs, *parameters, *to) if array is not None]
        to.append(None if out is None else given.take_shaped_out(out, result, held, shape))
        given.kept = given.kept and shape is None
    found = compute(given, choice, inputs, parameters, to)
    return tuple(
        out if out is not None else one if shape is None else one.reshape(shape)
        for one, out, shape in zip(found, outs, shapes, strict=True)
    )
