"""Is a strategy right?  On random inputs, and where no tile divides the sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.device import Device
from rooftile.devices.select import open_device
from rooftile.lab.judge.exam import GUARD, GUARD_BYTES, Compute, Exam
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import AnyArray, Array, Float32, Problem
from rooftile.strategies import Bound, Config, Strategy


def random_inputs(problem: Problem, seed: int) -> tuple[Any, ...]:
    """Ordinary inputs and parameters of the problem: see `Problem.random`."""
    return problem.random(seed)


def verify(
    problem: Problem,
    strategy: Strategy,
    seed: int = 0,
    *,
    device: str | Device | None = None,
    threads: int | None = None,
    config: Config | None = None,
    neighbours: bool = True,
    hard: bool = False,
) -> Verdict:
    """The verdict on a strategy for a problem, on random inputs made from ``seed``.

    ``device`` None stands for the first kind that the strategy runs on; ``threads`` are the CPU's.
    ``neighbours`` adds small problems of the same kind that no tile divides, as far as the strategy
    takes them; ``hard`` adds the problem's hard inputs.

    Raises `UnsupportedProblem` when it does not take the problem, and `DeviceMissing`.
    """
    strategy.check(problem, config=config)
    place = _device(strategy, device, threads)
    exam = Exam(problem, seed)
    with place.on():
        bound = strategy.bind(problem, exam.parameters, place, config)
        verdict = _examined(exam, bound)
        for kind, arrays in problem.hard(seed).items() if hard else ():
            if verdict.passed:
                given = Exam(problem, seed, arrays)
                # What holds no parameters stays: whatever it was given before, it must be right.
                if given.parameters:
                    bound = strategy.bind(problem, given.parameters, place, config)
                # On values that nobody knows it has been right above.
                found = _examined(given, bound, secret=False)
                if not found.passed:
                    verdict = replace(found, reason=f"on {kind}: {found.reason}")
        if neighbours and verdict.passed:
            verdict = next(wrong_neighbours(bound, seed, config), verdict)
    return verdict


def wrong_neighbours(
    bound: Bound, seed: int = 0, config: Config | None = None
) -> Iterator[Verdict]:
    """The verdicts on neighbours of a problem that its strategy takes and computes wrongly.

    A neighbour is run with the given config where that fits, else with its default.
    """
    # The strategy as it is on this device.
    strategy = bound.strategy
    for other in bound.problem.neighbours():
        if strategy.why_not(other) is not None:
            continue
        fits = config is None or strategy.invalid(other, strategy.config(other, config)) is None
        exam = Exam(other, seed)
        small = strategy.bind(other, exam.parameters, bound.device, config if fits else None)
        found = _examined(exam, small)
        if not found.passed:
            yield replace(found, reason=f"at {other}: {found.reason}")


def _device(strategy: Strategy, device: str | Device | None, threads: int | None) -> Device:
    if device is None:
        device = "cpu" if "cpu" in strategy.devices else strategy.devices[0]
    if device == "cpu":
        return cpu.open_device(threads)
    return open_device(device) if isinstance(device, str) else device


def _examined(exam: Exam, bound: Bound, *, secret: bool = True) -> Verdict:
    repeatable = not bound.strategy.atomic
    return exam.examine(computing(bound), bound.errors, repeatable=repeatable, secret=secret)


def computing(bound: Bound) -> Compute:
    """The function that an exam calls: with poisoned and guarded outputs in the device's own
    memory."""
    return bound if bound.device.kind == "cpu" else _OnDevice(bound)


class _OnDevice:
    """A strategy on memory of a device that holds the exam's poison, and a guard behind it. The
    exam's inputs follow whatever it does to their copies there."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self.intact = True

    def __call__(self, *arrays: AnyArray) -> None:
        bound, problem = self._bound, self._bound.problem
        count = len(problem.input_arrays)
        pairs = list(zip(arrays, bound.held, strict=True))
        inputs = [GivenInput(array, place, bound.device) for array, place in pairs[:count]]
        outputs = [MadeOutput(array, place, bound.device) for array, place in pairs[count:]]
        memory = [one.memory for one in inputs] + [one.memory for one in outputs]
        bound.launch(memory, problem.items_in(arrays))
        for given in inputs:
            given.check()
        for made in outputs:
            self.intact = made.fetch() and self.intact


def _as_it_lies(array: AnyArray, place: Array) -> AnyArray:
    """A view of an array with its axes in the order that they have on the device."""
    return np.moveaxis(array, 1, -1) if place.channels_last else array


class GivenInput:
    """A copy of an array on a device, in the dtype and the order of axes that it has there."""

    def __init__(self, array: AnyArray, place: Array, device: Device) -> None:
        self._array, self._device = _as_it_lies(array, place), device
        self._given = np.ascontiguousarray(self._array.astype(place.numpy, copy=False))
        self.memory = device.upload(self._given)

    def check(self) -> None:
        """Change the array where the copy was changed."""
        there = np.empty_like(self._given)
        self._device.copy_out(self.memory, there)
        if there.tobytes() != self._given.tobytes():
            self._array[...] = there


class MadeOutput:
    """An array's values on a device, and a guard behind them."""

    def __init__(self, array: AnyArray, place: Array, device: Device) -> None:
        self._array, self._place, self._device = _as_it_lies(array, place), place, device
        values = np.ascontiguousarray(self._array.astype(place.numpy, copy=False))
        self._there = np.full(values.nbytes + GUARD_BYTES, GUARD, np.uint8)
        self._there[: values.nbytes] = values.reshape(-1).view(np.uint8)
        self.memory = device.upload(self._there)

    def fetch(self) -> bool:
        """Bring the values back, and return whether the guard is as it was."""
        array, dtype = self._array, self._place.numpy
        self._device.copy_out(self.memory, self._there)
        nbytes = array.size * dtype.itemsize
        array[...] = self._there[:nbytes].view(dtype).reshape(array.shape)
        return bool((self._there[nbytes:] == GUARD).all())


def assert_close(
    problem: Problem,
    out: NDArray[Any],
    *arrays: Float32,
    precision: str = "ieee",
) -> None:
    """Raise `VerificationFailure` unless ``out`` is the problem's result within the budget.

    ``arrays`` are inputs and parameters; of a batch there may be fewer items.
    """
    Expected(problem, *arrays).judge(out, precision).raise_if_wrong()


__all__ = ["Exam", "Expected", "Verdict", "assert_close", "random_inputs", "verify"]
