"""Contents of inputs that nobody can know or derive.

*New* contents look like ordinary ones and do not depend on earlier ones. *Derived* contents follow
from others, as a cheat hopes that new ones do. *Families* are values that wrong methods stumble
over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.process.session import Arrays
from rooftile.ops import ERROR_MODELS, AnyArray, Array, Problem

_MANTISSA = {"float16": 0x3FF, "bfloat16": 0x7F, "float32": 0x7FFFFF, "float64": 2**52 - 1}
_MEANS = (0.02, 0.06)
"""Means of inputs whose standard deviation is about one: sums of 10^8 stay below 2^24."""
_SUBNORMAL = 2.0**-130
_KEPT = 0.1
"""The share of the values of a sparse input that are not zero."""
_LARGE = (4, 40)
"""Large values are ordinary ones times two to the power of a number between these."""
_SPIKES = 16
"""Large numbers in a sum: where an eighth of it is left out, one call in eight has none there."""


def renewed(problem: Problem, generator: np.random.Generator) -> Arrays:
    """New contents: signs, exponents, order and magnitudes are others in each call.

    Inputs of any value are also scaled, by up to two, and moved by some hundredths of their size,
    so that sums are not those of numbers with a mean of zero.
    """
    made = problem.random(secrets.randbits(128))
    if not takes_any(problem):
        return made
    return tuple(
        _moved(values, generator) if place.role == "input" else values
        for place, values in zip(problem.given_arrays, made, strict=True)
    )


def _moved(values: AnyArray, generator: np.random.Generator) -> AnyArray:
    scale = float(generator.uniform(0.5, 2))
    mean = scale * float(generator.choice((-1, 1)) * generator.uniform(*_MEANS))
    of = values.dtype.type
    moved: AnyArray = values * of(scale) + of(mean)
    return moved


def takes_any(problem: Problem) -> bool:
    """Whether inputs are floating-point numbers of any value: probabilities and indices are not."""
    if any(place.dtype not in _MANTISSA for place in problem.given_arrays):
        return False
    return "many decades" in _smallest(problem).hard(0)


@cache
def _smallest(problem: Problem) -> Problem:
    return min((problem, *problem.smallest()), key=lambda one: one.bytes)


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


def similar(problem: Problem, arrays: Arrays, generator: np.random.Generator) -> Arrays:
    """Contents whose numbers have the signs and the powers of two of others, and new mantissas.

    Where there are integers, they are the same.
    """
    if any(place.dtype not in _MANTISSA for place in problem.given_arrays):
        return arrays
    made = []
    for place, array in zip(problem.given_arrays, arrays, strict=True):
        unsigned, values = np.dtype(f"u{array.dtype.itemsize}"), array.copy()
        noise = np.frombuffer(generator.bytes(values.nbytes), unsigned).reshape(values.shape)
        noise = noise & unsigned.type(_MANTISSA[place.dtype])
        values.view(unsigned)[...] ^= np.where((values == 0) | ~np.isfinite(values), 0, noise)
        made.append(values)
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
        if takes_any(problem):
            found["equal numbers"] = partial(_equal, problem, generator)
            found["few values"] = partial(_few_values, problem, generator)
        if takes_any(problem) and not all_finite:
            found["a few large numbers"] = partial(_spiked, problem, generator)
        if problem.parameter_arrays and not all_finite:
            for kind in _PARAMETERS:
                found[f"{kind} parameters"] = partial(_parameters, problem, kind, generator)
        if added and not all_finite:
            found["NaN that is added"] = partial(_nan_added, problem, added, generator)
    return found


def _parameters(problem: Problem, kind: str, generator: np.random.Generator) -> Arrays:
    """Ordinary inputs with parameters of a kind.

    All of them are scaled alike: an addend much larger than products takes a rounding of its size
    with each of them.
    """
    made, count = problem.random(secrets.randbits(128)), len(problem.input_arrays)
    low, end = _SCALES.get(kind, (0, 1))
    scale = np.float32(2.0 ** int(generator.integers(low, end)))
    change = _PARAMETERS[kind]
    return (*made[:count], *(change(array, generator) * scale for array in made[count:]))


_SCALES = {"large": _LARGE, "small": (-70, -35), "constant": (-4, 4)}
"""Between which powers of two parameters of a kind are scaled."""
_PARAMETERS: dict[str, Callable[[AnyArray, np.random.Generator], AnyArray]] = {
    "large": lambda array, generator: array,
    "small": lambda array, generator: array,
    "sparse": lambda array, generator: array * _few(array, "sparse", generator),
    "constant": lambda array, generator: np.ones_like(array),
    "zero": lambda array, generator: np.zeros_like(array),
}
"""Parameters that wrong methods stumble over, by what they are."""


def _equal(problem: Problem, generator: np.random.Generator) -> Arrays:
    """Each input full of one number, a power of two: sums of equal terms are exact then."""
    made, count = problem.random(secrets.randbits(128)), len(problem.input_arrays)
    equal = (np.full_like(one, 2.0 ** int(generator.integers(-4, 4))) for one in made[:count])
    return (*equal, *made[count:])


def _few_values(problem: Problem, generator: np.random.Generator) -> Arrays:
    """Inputs of four values, with many ties."""
    made, count = problem.random(secrets.randbits(128)), len(problem.input_arrays)
    values = np.array([-2, -0.5, 1, 2], np.float32)
    some = (generator.choice(values, one.shape) for one in made[:count])
    return (*some, *made[count:])


def _spiked(problem: Problem, generator: np.random.Generator) -> Arrays:
    """Ordinary inputs with about `_SPIKES` numbers in each sum that stand out of its budget, so
    that each part of it must be read.  The budget of a sum of ``K`` ordinary terms grows as
    ``K^1.5``."""
    made, count = problem.random(secrets.randbits(128)), len(problem.input_arrays)
    terms = problem.reduction
    size = 64 * (1 + ERROR_MODELS["ieee"].unit * terms**1.5)
    for values in made[:count]:
        flat = values.reshape(-1)
        places = generator.integers(flat.size, size=max(1, _SPIKES * flat.size // terms))
        signs = generator.choice((-1.0, 1.0), places.size)
        flat[places] = signs * size * generator.uniform(1, 2, places.size)
    return made


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
