"""Contents of inputs that nobody can know or derive.

*New* contents look like ordinary ones and do not depend on earlier ones. *Derived* contents follow
from others, as a cheat hopes that new ones do. *Families* are values that wrong methods stumble
over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.process.session import Arrays
from rooftile.ops import AnyArray, Array, Problem

_MANTISSA = {"float16": 0x3FF, "bfloat16": 0x7F, "float32": 0x7FFFFF, "float64": 2**52 - 1}
_SUBNORMAL = 2.0**-130
_KEPT = 0.1
"""The share of the values of a sparse input that are not zero."""
_LARGE = (4, 40)
"""Large values are ordinary ones times two to the power of a number between these."""


def renewed(problem: Problem, arrays: Arrays, generator: np.random.Generator) -> Arrays:
    """New contents from ordinary ones, for about the cost of a copy.

    Each number keeps its sign and its power of two and gets a new mantissa, and the items of a
    batch come in another order.  Integers may be bound by conditions, so they are drawn anew.
    """
    places = problem.given_arrays
    if any(place.dtype not in _MANTISSA for place in places):
        return problem.random(secrets.randbits(128))
    order = _order(problem, generator)
    made = []
    for place, array in zip(places, arrays, strict=True):
        values = array[order] if place.batched else array.copy()
        fixed = (values == 0) | ~np.isfinite(values)
        unsigned = np.dtype(f"u{values.dtype.itemsize}")
        noise = np.frombuffer(generator.bytes(values.nbytes), unsigned).reshape(values.shape)
        noise = noise & unsigned.type(_MANTISSA[place.dtype])
        if fixed.any():
            noise[fixed] = 0
        values.view(unsigned)[...] ^= noise
        made.append(values)
    return tuple(made)


def derived(problem: Problem, arrays: Arrays, generator: np.random.Generator) -> Arrays:
    """Contents that follow from others: items in another order, inputs and parameters scaled.

    Where there are integers, they are the same.
    """
    places = problem.given_arrays
    if any(place.dtype not in _MANTISSA for place in places):
        return arrays
    order = _order(problem, generator)
    scales = {role: generator.uniform(0.7, 1.4) for role in ("input", "parameter")}
    made = []
    for place, array in zip(places, arrays, strict=True):
        values = array[order] if place.batched else array.copy()
        made.append(values * values.dtype.type(scales[place.role]))
    return tuple(made)


def some_items(
    problem: Problem, outs: Arrays, arrays: Arrays, count: int, generator: np.random.Generator
) -> tuple[Arrays, Arrays]:
    """At most ``count`` items of a result, which are drawn, and the inputs that they were computed
    from.

    Arrays without a batch are given as they are.
    """
    items = problem.batch_size
    if items is None or count >= items:
        return outs, arrays
    chosen = np.sort(generator.choice(items, count, replace=False))
    kinds = ((problem.output_arrays, outs), (problem.given_arrays, arrays))
    some_outs, some_arrays = (
        tuple(
            array[chosen] if place.batched else array
            for place, array in zip(places, of, strict=True)
        )
        for places, of in kinds
    )
    return some_outs, some_arrays


def families(problem: Problem, all_finite: bool) -> dict[str, Callable[[], Arrays]]:
    """Values that wrong methods stumble over, by what is hard about them.

    ``all_finite``: leave out values that only arithmetic of float32's range, summed directly,
    takes: infinities, NaN, and numbers of many magnitudes. Parameters are ordinary with hard
    inputs, but addends become as small as the inputs, which they would cover; and inputs are
    ordinary with hard parameters.
    """
    floats = all(place.dtype in _MANTISSA for place in problem.given_arrays)
    if not floats and type(problem).hard is Problem.hard:
        # Integers may be bound by conditions, such as indices, that only the problem knows.
        return {}
    hard = problem.hard(secrets.randbits(64))
    exotic = ("infinities", "NaN", "subnormal", "many decades")
    kinds = [kind for kind in hard if not (all_finite and kind in exotic)]
    count = len(problem.input_arrays)
    added = [i for i, place in enumerate(problem.parameter_arrays) if not place.operand]
    generator = np.random.default_rng()

    def of(kind: str) -> Arrays:
        inputs, ordinary = hard[kind][:count], problem.random(secrets.randbits(128))
        return _with(problem, inputs, ordinary, _SUBNORMAL if kind == "subnormal" else 1.0)

    def changed(kind: str) -> Arrays:
        ordinary, scale = problem.random(secrets.randbits(128)), 1.0
        inputs = ordinary[:count]
        if kind == "large":
            scale = 2.0 ** int(generator.integers(*_LARGE))
            inputs = tuple(array * array.dtype.type(scale) for array in inputs)
        else:
            inputs = tuple(array * _few(array, kind, generator) for array in inputs)
        return _with(problem, inputs, ordinary, scale)

    found: dict[str, Callable[[], Arrays]] = {kind: partial(of, kind) for kind in kinds}
    if "NaN" in hard and all(place.dtype == "float32" for place in problem.given_arrays):
        more = ["sparse", "one hot", *([] if all_finite else ["large"])]
        found |= {kind: partial(changed, kind) for kind in more}
        if problem.parameter_arrays and not all_finite:
            found["large parameters"] = partial(_large_parameters, problem, generator)
        if added and not all_finite:
            found["NaN that is added"] = partial(_nan_added, problem, added, generator)
    return found


def _large_parameters(problem: Problem, generator: np.random.Generator) -> Arrays:
    made, count = problem.random(secrets.randbits(128)), len(problem.input_arrays)
    scale = 2.0 ** int(generator.integers(*_LARGE))
    return (*made[:count], *(array * array.dtype.type(scale) for array in made[count:]))


def _nan_added(problem: Problem, added: list[int], generator: np.random.Generator) -> Arrays:
    """One NaN in what is added.  A NaN that is multiplied may meet padding or not."""
    made = problem.random(secrets.randbits(128))
    which = len(problem.input_arrays) + int(generator.choice(added))
    made[which].reshape(-1)[int(generator.integers(made[which].size))] = np.nan
    return made


def _few(array: AnyArray, kind: str, generator: np.random.Generator) -> AnyArray:
    """Ones where a value is kept, zeros elsewhere."""
    if kind == "sparse":
        return (generator.random(array.shape) < _KEPT).astype(array.dtype)
    ones = np.zeros(array.shape, array.dtype)
    ones.reshape(-1)[generator.integers(array.size)] = 1
    return ones


def _with(problem: Problem, inputs: Arrays, ordinary: Arrays, scale: float) -> Arrays:
    """Inputs with ordinary parameters, of which those that are added are scaled."""
    parameters = ordinary[len(inputs) :]
    pairs = zip(problem.parameter_arrays, parameters, strict=True)
    return (*inputs, *(_scaled(place, values, scale) for place, values in pairs))


def _scaled(place: Array, values: AnyArray, scale: float) -> AnyArray:
    return values if place.operand else (values * scale).astype(values.dtype)


def _order(problem: Problem, generator: np.random.Generator) -> NDArray[np.int64]:
    return generator.permutation(problem.batch_size or 1)
