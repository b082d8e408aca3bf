"""Deliberately wrong strategies: each differs from a right one in one thing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies import HostStrategy, strategy

Compute = Callable[..., None]


def compute(problem: Conv2d, x: Float32, weights: Float32, bias: Float32) -> Float32:
    """The right result, rounded once."""
    return problem.with_batch(len(x)).reference(x, weights, bias).astype(np.float32)


class Fake(HostStrategy):
    """A strategy made of ``call(problem, weights, bias, x, out)``."""

    operation = "conv2d"
    takes = strategy("conv2d", "loops").takes

    def __init__(self, name: str, call: Callable[..., None]) -> None:
        self.name, self.summary, self._call = name, f"deliberately wrong: {name}", call

    def prepare(self, problem: Conv2d, parameters: tuple[Float32, ...], threads: int) -> Compute:
        weights, bias = (p.copy() for p in parameters)
        return lambda x, out: self._call(problem, weights, bias, x, out)


def right(problem, weights, bias, x, out):
    out[:] = compute(problem, x, weights, bias)


def swapped_taps(problem, weights, bias, x, out):
    swapped = weights.copy()
    swapped[..., 0], swapped[..., 1] = weights[..., 1], weights[..., 0]
    out[:] = compute(problem, x, swapped, bias)


def flipped_mask(problem, weights, bias, x, out):
    out[:] = compute(problem, x, weights[..., ::-1, ::-1], bias)


def missing_halo(problem, weights, bias, x, out):
    """Two tiles of columns, the first of which sees zeros instead of its right halo."""
    out[:] = compute(problem, x, weights, bias)
    first = out.shape[-1] // 2
    step = problem.stride[1] * (problem.pool.stride[1] if problem.pool else 1)
    blind = x.copy()
    blind[..., first * step :] = 0
    out[..., :first] = compute(problem, blind, weights, bias)[..., :first]


def unwritten_last_row(problem, weights, bias, x, out):
    out[..., :-1, :] = compute(problem, x, weights, bias)[..., :-1, :]


def no_bias(problem, weights, bias, x, out):
    out[:] = compute(problem, x, weights, np.zeros_like(bias))


def half_precision(problem, weights, bias, x, out):
    out[:] = compute(problem, x.astype(np.float16).astype(np.float32), weights, bias)


def altered_inputs(problem, weights, bias, x, out):
    out[:] = compute(problem, x, weights, bias)
    x[0, 0, 0, 0] = 0


def outside_its_output(problem, weights, bias, x, out):
    out[:] = compute(problem, x, weights, bias)
    ctypes.memset(out.ctypes.data + out.nbytes, 0, 4)


def two_faced() -> Callable[..., None]:
    """Adds the last bit's worth in every other run."""
    runs = [0]

    def call(problem, weights, bias, x, out):
        out[:] = compute(problem, x, weights, bias)
        runs[0] += 1
        if runs[0] % 2:
            out[:] = np.nextafter(out, np.float32(np.inf))

    return call


def cached() -> Callable[..., None]:
    """Computes once for each shape of input, and repeats that."""
    results: dict[tuple[int, ...], Float32] = {}

    def call(problem, weights, bias, x, out):
        if x.shape not in results:
            results[x.shape] = compute(problem, x, weights, bias)
        out[:] = results[x.shape]

    return call


ON_GRID = Conv2d(2, 2, 16, 16, 3, (3, 3), padding=(1, 1))


def whole_tiles(problem, weights, bias, x, out):
    """Tiles of eight columns; what is left over is zero."""
    out[:] = compute(problem, x, weights, bias)
    out[..., out.shape[-1] // 8 * 8 :] = 0


def known_values(problem, weights, bias, x, out):
    """Right where the input is that of the usual seed."""
    out[:] = compute(problem, x, weights, bias)
    if x.flat[0] != np.random.default_rng(0).standard_normal(1, np.float32)[0]:
        out[:] = out[..., ::-1].copy()


HIDDEN = {
    "whole tiles only": Fake("whole tiles only", whole_tiles),
    "the first values alone": Fake("the first values alone", known_values),
}
RIGHT = Fake("right", right)
WRONG = {
    "swapped taps": Fake("swapped taps", swapped_taps),
    "flipped mask": Fake("flipped mask", flipped_mask),
    "missing halo": Fake("missing halo", missing_halo),
    "unwritten last row": Fake("unwritten last row", unwritten_last_row),
    "no bias": Fake("no bias", no_bias),
    "half precision": Fake("half precision", half_precision),
    "altered inputs": Fake("altered inputs", altered_inputs),
    "outside its output": Fake("outside its output", outside_its_output),
    "two runs differ": Fake("two runs differ", two_faced()),
    "cached result": Fake("cached result", cached()),
}
