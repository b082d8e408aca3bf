"""Inputs on which products split in two parts lose what float32 keeps."""

from __future__ import annotations

import numpy as np

from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, Pool


def _exponents(generator, shape):
    return np.exp2(generator.integers(-40, 41, shape)).astype(np.float32)


def _signs(x):
    """One and minus one, from channel to channel."""
    return np.resize([1, -1], x.shape[1]).reshape(-1, *(1 for _ in x.shape[2:]))


HARD = {
    "positive": lambda g, x, w: (abs(x), abs(w)),
    "constant": lambda g, x, w: (np.full_like(x, 1.2345678), np.full_like(w, 0.7654321)),
    "wide exponents": lambda g, x, w: (x * _exponents(g, x.shape), w * _exponents(g, w.shape)),
    "subnormal": lambda g, x, w: (x * np.float32(2.0**-126), w),
    "subnormal products": lambda g, x, w: (x * np.float32(2.0**-65), w * np.float32(2.0**-62)),
    "some close to underflow": lambda g, x, w: (np.where(x > 1, x, x * np.float32(2.0**-120)), w),
    "close to overflow": lambda g, x, w: (x * np.float32(2.0**100), w * np.float32(2.0**20)),
    "rounds to infinity": lambda g, x, w: (np.where(x > 3, np.finfo(np.float32).max, x), w / 1e6),
    "cancellation": lambda g, x, w: (
        np.repeat(x[:, ::2], 2, 1) * _signs(x) * (1 + np.float32(2.0**-20) * x),
        np.repeat(w[:, ::2], 2, 1),
    ),
}  # fmt: skip
"""By kind: of a generator, an input and weights the ones to take instead."""


def hard(kind, problem, seed, draw):
    """Inputs, weights and no bias of a kind, which draws by a seed of its own."""
    x, weights, bias = random_inputs(problem, seed)
    x, weights = HARD[kind](np.random.default_rng(draw), x, weights)
    return x.astype(np.float32), weights.astype(np.float32), 0 * bias


SMALL = ("input", "weights")


def small(kind, pool):
    """A convolution of inputs or weights of which some are far below float16's range beside the
    largest: columns that fade, or channels' weights that alone meet what is not zero."""
    problem = Conv2d(2, 8, 10, 18, 7, (3, 3), pool=Pool.of(pool, 2))
    x, weights, bias = random_inputs(problem, 1)
    if kind == "input":
        x *= np.exp2(-3.0 * np.arange(problem.width)).astype(np.float32)
    else:
        weights[:, 4:] *= np.float32(2.0**-34)
        x[:, :4, :, 8:] = 0
    return problem, x, weights, 0 * bias


def kept_bits(problem, out, *arrays):
    """Whether errors are float32's beside the terms of each result, however small they are."""
    error = np.abs(out - problem.reference(*arrays))
    terms = 2 * 2.0**-24 * np.sqrt(problem.reduction) * problem.magnitude(*arrays)
    return bool((error <= terms).all())
