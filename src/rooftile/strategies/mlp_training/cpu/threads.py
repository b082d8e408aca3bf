"""Threads that share the loops of each layer, as the parallel loops of a compiler do.

Source: Amdahl, "Validity of the single processor approach to achieving large scale computing
capabilities", AFIPS 1967; OpenMP Architecture Review Board, "OpenMP Application Programming
Interface", version 5.2 (2021), section 11.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.gradients.mlp_training import ACTIVATIONS, MlpTraining
from rooftile.strategies import HostStrategy
from rooftile.strategies.mlp_training.cpu._base import FUNCTIONS, slope_of, value_of

_FORWARD, _SOFTMAX, _LOSS, _THROUGH, _SOFTMAX_BACK, _BACKWARD, _STEP = range(7)
"""Kinds of loops."""
_NUMBERS = 8
"""Arguments of a loop: its kind, the activation, the offsets of weights and values, the layer's
inputs and neurons, the sample's place in the order."""

_TEXT = """
def kernel(x, targets, order, rates, w, a, z, d, losses, now, sizes, begin, end):
    job, name, start = sizes[0], sizes[1], sizes[2]
    at, inputs, neurons = sizes[3], sizes[4], sizes[5]
    behind = at + inputs
    row = order[now[0] * sizes[7] + sizes[6]]
    for j in range(begin, end):
        own = start + j * (inputs + 1)
        if job == FORWARD:
            sum = w[own + inputs]
            for i in range(inputs):
                value = a[at + i]
                if at == 0:
                    value = x[row * inputs + i]
                sum += w[own + i] * value
            z[behind + j] = sum
VALUES
        elif job == SOFTMAX:
            most = z[behind]
            for n in range(1, neurons):
                most = np.where(z[behind + n] > most, z[behind + n], most)
            sum = REAL(0.0)
            for n in range(neurons):
                a[behind + n] = math.exp(z[behind + n] - most)
                sum += a[behind + n]
            for n in range(neurons):
                a[behind + n] = a[behind + n] / sum
        elif job == LOSS:
            for n in range(neurons):
                off = a[behind + n] - targets[row * neurons + n]
                d[behind + n] = off
                losses[now[0]] += REAL(0.5) * off * off
        elif job == THROUGH:
SLOPES
        elif job == SOFTMAX_BACK:
            sum = REAL(0.0)
            for n in range(neurons):
                sum += d[behind + n] * a[behind + n]
            for n in range(neurons):
                d[behind + n] = a[behind + n] * (d[behind + n] - sum)
        elif job == BACKWARD:
            sum = REAL(0.0)
            for n in range(neurons):
                sum += w[start + n * (inputs + 1) + j] * d[behind + n]
            d[at + j] = sum
        else:
            move = rates[now[0]] * d[behind + j]
            for i in range(inputs):
                value = a[at + i]
                if at == 0:
                    value = x[row * inputs + i]
                w[own + i] -= move * value
            w[own + inputs] -= move
"""


@last_kernels
def _kernel(real: str) -> Native:
    """The kernel of all loops."""
    values, slopes = [], []
    for number, name in enumerate(ACTIVATIONS):
        if name != "softmax":
            value = value_of(name, "sum")
            values += [
                f"            if name == {number}:",
                f"                a[behind + j] = {value}",
            ]
            slope = slope_of(name, "z[behind + j]", "a[behind + j]")
            slopes += [
                f"            if name == {number}:",
                f"                d[behind + j] *= {slope}",
            ]
    text = _TEXT.replace("VALUES", "\n".join(values)).replace("SLOPES", "\n".join(slopes))
    names = ("FORWARD", "SOFTMAX_BACK", "SOFTMAX", "LOSS", "THROUGH", "BACKWARD")
    jobs = (_FORWARD, _SOFTMAX_BACK, _SOFTMAX, _LOSS, _THROUGH, _BACKWARD)
    for name, job in zip(names, jobs, strict=True):
        text = text.replace(f"job == {name}", f"job == {job}")
    return source("mlp_training-shared", (FUNCTIONS + text).replace("REAL", real))


class SharedLoops(HostStrategy):
    """``threads`` threads share each loop; they wait for each other some twenty times a row.

    Of each row, every layer is a loop forward and two backward, whose neurons the threads share
    out; at each loop's end they wait for each other. A loop has some thirty products: less work
    than it takes to say that there is some.
    """

    operation = "mlp_training"
    takes = features("dtype:float64")

    def __init__(self, threads: int) -> None:
        self.threads, self.name = threads, f"threads_{threads}"
        self.summary = f"{threads} threads share the loops of each layer"

    def prepare(
        self, problem: MlpTraining, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        return _Epochs(problem, self.threads)


class _Epochs:
    """The loops of one epoch as a table, which is run once an epoch."""

    def __init__(self, problem: MlpTraining, threads: int) -> None:
        self._p, self._threads, self._turn = problem, threads, lock()
        dtype = np.dtype(problem.dtype)
        values = sum(problem.sizes_in_a_row)
        self._own = [np.zeros(values, dtype) for _ in range(3)]
        self._now = np.zeros(1, np.int64)
        loops = list(_loops(problem))
        told = [(*numbers, s, problem.rows) for s in range(problem.rows) for numbers, _ in loops]
        self._told = np.array(told, np.int64)
        self._units = [units for _, units in loops] * problem.rows
        real = "float32" if problem.dtype == "float32" else "np.float64"
        entry_types = (*(2 * [problem.dtype]), "int32", *(6 * [problem.dtype]), "int64")
        self._entry = cpu.Entry(_kernel(real), entry_types)

    def __call__(
        self,
        x: AnyArray,
        targets: AnyArray,
        order: AnyArray,
        rates: AnyArray,
        weights: AnyArray,
        trained: AnyArray,
        losses: AnyArray,
    ) -> None:
        with self._turn:
            trained[:], losses[:] = weights, 0
            arrays = (x, targets, order, rates, trained, *self._own, losses, self._now)
            places, first = cpu.places(arrays), cpu.address(self._told)
            rows = [
                (units, *places, first + 8 * _NUMBERS * k, _NUMBERS)
                for k, units in enumerate(self._units)
            ]
            work = cpu.KernelSequence([self._entry] * len(rows), rows)
            for epoch in range(self._p.epochs):
                self._now[0] = epoch
                work.run(max(self._units), self._threads)
            losses /= losses.dtype.type(self._p.rows)


def _loops(p: MlpTraining) -> Iterator[tuple[tuple[int, ...], int]]:
    """The arguments of each loop of a sample, but for the sample, and its number of rounds."""
    sizes, layers = p.sizes_in_a_row, list(enumerate(p.layers.activations))

    def told(job: int, k: int) -> tuple[int, ...]:
        name = ACTIVATIONS.index(p.layers.activations[k])
        return job, name, p.starts[k], sum(sizes[:k]), sizes[k], sizes[k + 1]

    for k, name in layers:
        yield told(_FORWARD, k), sizes[k + 1]
        if name == "softmax":
            yield told(_SOFTMAX, k), 1
    yield told(_LOSS, layers[-1][0]), 1
    for k, name in reversed(layers):
        soft = name == "softmax"
        yield told(_SOFTMAX_BACK if soft else _THROUGH, k), 1 if soft else sizes[k + 1]
        if k > 0:
            yield told(_BACKWARD, k), sizes[k]
        yield told(_STEP, k), sizes[k + 1]


STRATEGIES = tuple(SharedLoops(threads) for threads in (2, 4, 8, 16))
