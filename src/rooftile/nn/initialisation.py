"""First weights: the distributions that a layer's weights and biases are drawn from.

A sum of n products of independent numbers has n times the variance of one product, so each rule
divides by the number of inputs of a neuron (``fan_in``) or by the mean of it and the number of
outputs that an input reaches (``fan_out``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops import Float32

Init = Literal["kaiming_uniform", "he", "glorot", "lecun"]
"""The rules by name."""
DEFAULT: Init = "glorot"
"""The one that learns on each of the ten tasks of ``benchmarks/initialisation.py``."""


@dataclass(frozen=True)
class Rule:
    """The distribution of weights; biases are drawn as a layer with one input more, or are zero."""

    weights: Callable[[np.random.Generator, tuple[int, ...], int, int], Float32]
    """Of a generator, a shape, ``fan_in`` and ``fan_out``."""
    draws_bias: bool
    summary: str
    source: str


def check_init(init: object) -> None:
    """Raise `InputError` unless there is such a rule."""
    if init not in get_args(Init):
        raise unknown("init", init, get_args(Init))


def check_scale(scale: object) -> None:
    """Raise `InputError` unless the last layer's weights can be multiplied by it."""
    if not isinstance(scale, (int, float)) or not (math.isfinite(scale) and scale > 0):
        raise InputError("last_scale", repr(scale), "a finite number above 0")


def draw(
    generator: np.random.Generator,
    init: Init,
    weights: tuple[int, ...],
    bias: tuple[int, ...],
    scale: float = 1.0,
) -> tuple[Float32, Float32]:
    """Weights and biases of a layer; ``weights`` and ``bias`` are their shapes.

    The first axis of the weights counts a layer's outputs or maps, the second its inputs or
    channels, others are a mask's.  All drawn numbers are multiplied by ``scale``.
    """
    rule, area = RULES[init], math.prod(weights[2:])
    fan_in, fan_out = weights[1] * area, weights[0] * area
    drawn = rule.weights(generator, weights, fan_in, fan_out) * np.float32(scale)
    if not rule.draws_bias:
        return drawn, np.zeros(bias, np.float32)
    return drawn, _uniform(generator, bias, 1 / math.sqrt(fan_in)) * np.float32(scale)


def _uniform(generator: np.random.Generator, shape: tuple[int, ...], bound: float) -> Float32:
    return (2 * generator.random(shape, np.float32) - 1) * np.float32(bound)


def _normal(generator: np.random.Generator, shape: tuple[int, ...], variance: float) -> Float32:
    return generator.standard_normal(shape, np.float32) * np.float32(math.sqrt(variance))


RULES: dict[Init, Rule] = {
    "kaiming_uniform": Rule(
        lambda generator, shape, fan_in, _: _uniform(generator, shape, 1 / math.sqrt(fan_in)),
        True,
        "uniform in +-1 / sqrt(fan_in), biases too: what PyTorch's layers begin with",
        "He, Zhang, Ren, Sun, ICCV 2015, with PyTorch's slope a = sqrt(5)",
    ),
    "he": Rule(
        lambda generator, shape, fan_in, _: _normal(generator, shape, 2 / fan_in),
        False,
        "normal of variance 2 / fan_in, biases 0: keeps the variance after relu",
        'He, Zhang, Ren, Sun, "Delving Deep into Rectifiers", ICCV 2015',
    ),
    "glorot": Rule(
        lambda generator, shape, fan_in, fan_out: _uniform(
            generator, shape, math.sqrt(6 / (fan_in + fan_out))
        ),
        False,
        "uniform in +-sqrt(6 / (fan_in + fan_out)), biases 0: for tanh and sigmoid",
        'Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural '
        'networks", AISTATS 2010',
    ),
    "lecun": Rule(
        lambda generator, shape, fan_in, _: _normal(generator, shape, 1 / fan_in),
        False,
        "normal of variance 1 / fan_in, biases 0: keeps the variance of linear layers",
        'LeCun, Bottou, Orr, Müller, "Efficient BackProp", 1998',
    ),
}
