"""Inputs of a problem with their reference, for any number of candidates.

A candidate must not fool the judge.  It is first called on other values in the same arrays, which
nobody knows before, and judged on them; its outputs are poisoned, differently in each run; its
inputs are compared after the calls; guards around the outputs are checked; and two runs must agree
in every bit.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import AnyArray, Array, ErrorModel, Problem

Compute = Callable[..., object]
"""``compute(*inputs, *outputs)`` on NumPy arrays."""
Excused = Callable[[Verdict], bool]

_FRESH_FLOPS = 10**8
"""FLOPs of the reference on the inputs that each candidate gets for itself."""
GUARD_BYTES = 4096 + 16
"""Bytes of the guard on either side of an output. They are sixteen more than a round number, so
that the output's address is a multiple of 16 and of no larger power: NumPy promises its users no
more."""
GUARD = 0xAB
"""A guard's byte.  It also poisons an output where no NaN can show that nothing was written."""


class Exam:
    """Random inputs and parameters made from ``seed``, or ``arrays``, which are copied."""

    def __init__(
        self, problem: Problem, seed: int = 0, arrays: Sequence[AnyArray] | None = None
    ) -> None:
        self.problem = problem
        given = None if arrays is None else tuple(array.copy() for array in arrays)
        self._fresh: Callable[[], Sequence[AnyArray]] = (
            (lambda: problem.random(seed))
            if given is None
            else (lambda: tuple(array.copy() for array in given))
        )
        fresh, count = tuple(self._fresh()), len(problem.input_arrays)
        self.inputs, self.parameters = fresh[:count], fresh[count:]
        self.expected = Expected(problem, *fresh)
        self._digests = self._digest()

    @property
    def x(self) -> AnyArray:
        """The first input."""
        return self.inputs[0]

    def examine(
        self,
        compute: Compute,
        precision: str | ErrorModel,
        *,
        repeatable: bool = True,
        excused: Excused = lambda verdict: False,
        secret: bool = True,
    ) -> Verdict:
        """The verdict on a candidate that was bound to `parameters`.

        ``repeatable``: two runs must agree in every bit; a candidate whose atomics make
        the order of its sums differ says that it is not.  ``excused`` says whether an error
        beyond the budget is forgiven, as to a library that rounds more often than we do.
        ``secret``: it is called on values that nobody knows first.
        """
        others = Verdict(True)
        if secret:
            others = _unless(excused, self._on_others(compute, precision))
        outs, intact = self._run(compute)
        if self._digest() != self._digests:
            self._restore()
            return Verdict(False, "the inputs were changed")
        verdict = _unless(excused, self.expected.judge(outs, precision))
        if not verdict.passed:
            return verdict
        if not others.passed:
            return replace(others, reason=f"on fresh inputs: {others.reason}")
        if not intact:
            return replace(verdict, passed=False, reason="it wrote outside its output")
        again, _ = self._run(compute, plain=True)
        defined = self.problem.defined
        if repeatable and not all(map(same_bits, defined(*outs), defined(*again))):
            return replace(verdict, passed=False, reason="two runs differ")
        return verdict

    def _on_others(self, compute: Compute, precision: str | ErrorModel) -> Verdict:
        """The verdict on values that nobody knows, put into the same arrays and taken out again. A
        result that is kept from this call is wrong in the next. Of large problems only a few items
        are compared, or nothing."""
        kept = [array.copy() for array in self.inputs]
        secret = self.problem.random(secrets.randbits(128))
        for array, values in zip(self.inputs, secret, strict=False):
            array[...] = values
        share = _FRESH_FLOPS / max(1, self.problem.flops)
        batch = self.problem.batch_size
        count = int(share >= 1) if batch is None else min(batch, int(batch * share))
        some = [self._first(a, p, count) for a, p in zip(self.inputs, self._given, strict=False)]
        outs, _ = self._run(compute)
        for array, values in zip(self.inputs, kept, strict=True):
            array[...] = values
        if not count:
            return Verdict(True)
        expected = Expected(self.problem, *some, *self.parameters)
        outputs = self.problem.output_arrays
        parts = tuple(self._first(a, p, count) for a, p in zip(outs, outputs, strict=True))
        return expected.judge(parts, precision)

    @property
    def _given(self) -> tuple[Array, ...]:
        return self.problem.given_arrays

    def _first(self, array: AnyArray, place: Array, count: int) -> AnyArray:
        return array[:count].copy() if place.batched else array.copy()

    def _run(self, compute: Compute, *, plain: bool = False) -> tuple[tuple[AnyArray, ...], bool]:
        """Poisoned outputs after the call, and whether the guards around them are intact.
        ``plain``: numbers are poisoned with a number, and not with NaN."""
        guarded = [Guarded(output, plain=plain) for output in self.problem.output_arrays]
        compute(*self.inputs, *(one.out for one in guarded))
        intact = all(one.intact for one in guarded) and bool(getattr(compute, "intact", True))
        return tuple(one.out for one in guarded), intact

    def _digest(self) -> list[bytes]:
        arrays = (*self.inputs, *self.parameters)
        return [hashlib.sha256(as_bytes(array).data).digest() for array in arrays]

    def _restore(self) -> None:
        for array, fresh in zip((*self.inputs, *self.parameters), self._fresh(), strict=True):
            array[...] = fresh


class Guarded:
    """A poisoned output between guards."""

    def __init__(self, output: Array, *, plain: bool = False) -> None:
        buffer = cpu.aligned(
            (output.nbytes + 2 * GUARD_BYTES,), np.dtype(np.uint8), "a guarded output"
        )
        buffer.fill(GUARD)
        self._before, self._after = buffer[:GUARD_BYTES], buffer[GUARD_BYTES + output.nbytes :]
        inside = buffer[GUARD_BYTES : GUARD_BYTES + output.nbytes]
        self.out: AnyArray = inside.view(output.numpy).reshape(output.shape)
        if not plain:
            poison(self.out)

    @property
    def intact(self) -> bool:
        """True if nothing was written around it."""
        return bool((self._before == GUARD).all() and (self._after == GUARD).all())


def poison(array: AnyArray) -> None:
    """Fill an array with what no result is: NaN, or an odd integer."""
    if array.dtype.kind in "fV":
        array[...] = np.nan
    else:
        array.reshape(-1).view(np.uint8)[...] = 0x55


def _unless(excused: Excused, verdict: Verdict) -> Verdict:
    if verdict.passed or not excused(verdict):
        return verdict
    return replace(verdict, passed=True, reason="")


def same_bits(a: AnyArray, b: AnyArray) -> bool:
    """True if two arrays agree in every bit."""
    return bool(np.array_equal(as_bytes(a), as_bytes(b)))


def as_bytes(array: AnyArray) -> Any:
    """The bytes of an array, one after the other."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
