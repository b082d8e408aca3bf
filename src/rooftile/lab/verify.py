"""Is it right?  Strategies and foreign results against what `rooftile.lab.expected` says.

A strategy must also survive what a timing harness can be fooled by: it is first
called on other values in the same array, which nobody knows before, and judged on
them; its output is poisoned, its inputs are compared after the calls, guards around
the output are checked, and two runs must agree in every bit.  And it must be right
where no tile divides the sizes.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.lab.expected import Expected, Verdict
from rooftile.lab.shapes import off_grid
from rooftile.ops import ErrorModel, Float32, Problem
from rooftile.ops.chain import layers_of
from rooftile.strategies import Bound, Strategy

_FRESH_FLOPS = 10**8
"""Work of the reference on inputs of one candidate's own."""
_GUARD = 1024 + 4
"""float32 on either side of the output.  Four more than a round number, so that the output
lies on a 16-byte boundary and no wider one: NumPy promises its users no more."""


def random_inputs(problem: Problem, seed: int) -> tuple[Float32, ...]:
    """An input and parameters for the problem: normal values, weights scaled by 1/sqrt(K)."""
    generator = np.random.default_rng(seed)
    arrays = [generator.standard_normal(problem.input_shape, np.float32)]
    for layer in layers_of(problem):
        for name, shape in layer.parameter_shapes.items():
            values = generator.standard_normal(shape, np.float32)
            scale = math.sqrt(layer.reduction) if name == "weights" else 1.0
            arrays.append(values / np.float32(scale))
    return tuple(arrays)


class Exam:
    """Inputs of a problem with their reference, for any number of candidates.

    Random ones made from ``seed``, or ``arrays``: the input, which is copied, and the
    parameters.
    """

    def __init__(
        self, problem: Problem, seed: int = 0, arrays: tuple[Float32, ...] | None = None
    ) -> None:
        self.problem = problem
        self._fresh = lambda: random_inputs(problem, seed)
        if arrays is not None:
            given = tuple(array.copy() for array in arrays)
            self._fresh = lambda: tuple(array.copy() for array in given)
        self.x, *parameters = self._fresh()
        self.parameters: tuple[Float32, ...] = tuple(parameters)
        self.expected = Expected(problem, self.x, *self.parameters)
        self._digests = self._digest()

    def examine(
        self, bound: Bound, precision: str | ErrorModel, *, repeatable: bool = True
    ) -> Verdict:
        """The verdict on a candidate that was bound to `parameters`.

        ``repeatable``: two runs must agree in every bit; a candidate whose atomics make
        the order of its sums differ says that it is not.
        """
        others = self._on_others(bound, precision)
        out, intact = self._run(bound)
        if self._digest() != self._digests:
            self._restore()
            return Verdict(False, "the inputs were changed")
        verdict = self.expected.judge(out, precision)
        if not verdict.passed:
            return verdict
        if not others.passed:
            return replace(others, reason=f"on fresh inputs: {others.reason}")
        if not intact:
            return replace(verdict, passed=False, reason="it wrote outside its output")
        again, _ = self._run(bound)
        if repeatable and not np.array_equal(out.view(np.uint32), again.view(np.uint32)):
            return replace(verdict, passed=False, reason="two runs differ")
        return verdict

    def _on_others(self, bound: Bound, precision: str | ErrorModel) -> Verdict:
        """The verdict on values that nobody knows, in the same array; as it was afterwards.

        A result that is kept from this call is wrong in the next.  Of large problems a few
        images are compared, or none.
        """
        kept = self.x.copy()
        self.x[...] = random_inputs(self.problem, secrets.randbits(128))[0]
        count = int(_FRESH_FLOPS * len(self.x) / max(1, self.problem.flops))
        some = self.x[: min(count, len(self.x))].copy()
        out, _ = self._run(bound)
        self.x[...] = kept
        if not len(some):
            return Verdict(True)
        return Expected(self.problem, some, *self.parameters).judge(out[: len(some)], precision)

    def _run(self, bound: Bound) -> tuple[Float32, bool]:
        """A poisoned output after the call, and whether the guards around it are intact."""
        shape = self.problem.output_shape
        count = math.prod(shape)
        buffer = cpu.allocate(count + 2 * _GUARD, "a guarded output")
        buffer.fill(np.nan)
        untouched = buffer[:1].view(np.uint32)[0]
        out = buffer[_GUARD : _GUARD + count].reshape(shape)
        bound(self.x, out)
        guards = (buffer[:_GUARD], buffer[_GUARD + count :])
        return out, all(bool((guard.view(np.uint32) == untouched).all()) for guard in guards)

    def _restore(self) -> None:
        for array, values in zip((self.x, *self.parameters), self._fresh(), strict=True):
            array[...] = values

    def _digest(self) -> list[bytes]:
        return [hashlib.blake2b(a.data).digest() for a in (self.x, *self.parameters)]


def verify(
    problem: Problem,
    strategy: Strategy,
    seed: int = 0,
    *,
    threads: int | None = None,
    neighbours: bool = True,
) -> Verdict:
    """The verdict on a strategy for a problem, on random inputs made from ``seed``.

    ``neighbours``: also for small problems of the same kind that no tile divides, as far as
    the strategy takes them.  Raises `UnsupportedProblem` when it does not take the problem.
    """
    strategy.check(problem)
    verdict = _verify(problem, strategy, seed, threads)
    others = off_grid(problem) if neighbours else ()
    for other in others:
        if not verdict.passed:
            break
        if strategy.why_not(other) is None:
            found = _verify(other, strategy, seed, threads)
            if not found.passed:
                verdict = replace(found, reason=f"at {other}: {found.reason}")
    return verdict


def _verify(problem: Problem, strategy: Strategy, seed: int, threads: int | None) -> Verdict:
    exam = Exam(problem, seed)
    bound = strategy.bind(problem, *exam.parameters, threads=threads)
    return exam.examine(bound, strategy.precision)


def assert_close(
    problem: Problem,
    out: NDArray[Any],
    x: Float32,
    *parameters: Float32,
    precision: str = "ieee",
) -> None:
    """Raise `VerificationFailure` unless ``out`` is the problem's result within the budget.

    ``x`` may hold fewer images than the problem's batch.
    """
    Expected(problem, x, *parameters).judge(out, precision).raise_if_wrong()
