"""Every GPU strategy of an operation on one problem: verified, then timed by the device's clock.

A rung is verified on up to 64 images, with its output on the device poisoned.  Then
those images, repeated to the problem's batch, lie in device memory; launches on them
are timed, and their whole result is compared with the reference once more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.gpu import Resources as Used
from rooftile.lab.environment import environment
from rooftile.lab.measure import sampled
from rooftile.lab.records import Error, Ladder, Resources, Row
from rooftile.lab.verify import Exam, Verdict, random_inputs
from rooftile.ops import Float32, Problem, admits
from rooftile.strategies import Strategy
from rooftile.strategies.gpu import GpuBound, GpuStrategy

VERIFIED_IMAGES = 64
"""Different images that a rung is verified on; a larger batch repeats them."""
_CALLS = 9
"""How often, about, a slow strategy is called: to estimate, verify, warm up and time it."""
_IMAGE_FLOPS = 10**9
"""Images with more work than this are too large to estimate a slow strategy from."""


def climb_gpu(
    problem: Problem,
    device: GpuDevice,
    rungs: tuple[Strategy, ...],
    *,
    precision: str,
    limit_s: float,
    seed: int,
    progress: Callable[[str], None],
) -> Ladder:
    """Verify and time GPU strategies in the given order; see `rooftile.lab.climb.climb`."""
    exam = Exam(problem.with_batch(min(problem.batch, VERIFIED_IMAGES)), seed)
    judge = _Judge(problem, exam, device, precision, limit_s, seed, progress)
    rows = tuple(judge.rung(rung) for rung in rungs if isinstance(rung, GpuStrategy))
    name = f"{device.description.kind}:{device.description.index}"
    return Ladder(problem, name, None, environment(), rows, device.description)


@dataclass(frozen=True)
class _Judge:
    """Makes the rows of one problem on one device."""

    problem: Problem
    exam: Exam
    device: GpuDevice
    precision: str
    limit_s: float
    seed: int
    report: Callable[[str], None]

    def rung(self, rung: GpuStrategy) -> Row:
        """Skipped with its reason, or bound and judged; what goes wrong is a row."""
        name = f"{self.device.description.kind}:{self.device.description.index}"
        row = functools.partial(Row, "strategy", rung.name, name, rung.precision)
        reason = rung.why_not(self.problem)
        if reason is None and not admits(self.precision, rung.precision):
            reason = f"its precision is {rung.precision}, asked for is {self.precision}"
        if reason is not None:
            return row("skipped", reason)
        self.report(f"{self.problem.operation}: {rung.name}")
        try:
            bound = rung.bind(self.problem, *self.exam.parameters, device=self.device)
            row = functools.partial(row, config=bound.config)
            seconds = _CALLS * self._estimate(bound)
            if seconds > self.limit_s:
                return row(
                    "skipped", f"would take {seconds:.0f} s, the limit is {self.limit_s:g} s"
                )
            return self._judged(row, bound)
        except Exception as error:
            return row("error", f"{type(error).__name__}: {error}")

    def _judged(self, row: Callable[..., Row], bound: GpuBound) -> Row:
        problem, rung = self.problem, bound.strategy
        row = functools.partial(row, resources=_most(bound.resources()))
        verdict = self.exam.examine(_poisoned(bound), rung.precision, repeatable=not rung.atomic)
        if not verdict.passed:
            return row("failed", verdict.reason, error=Error.of(verdict))
        self._fill(bound)
        timing = sampled(lambda: _seconds(bound, problem.batch))
        verdict = self._judge_batch(bound)
        if not verdict.passed:
            reason = f"in the batch of {problem.batch}: {verdict.reason}"
            return row("failed", reason, error=Error.of(verdict))
        return row(
            "passed",
            self._notes(rung),
            error=Error.of(verdict),
            time_ms=timing,
            gflops=1e-6 * problem.flops / timing.median,
            gbps=1e-6 * problem.bytes / timing.median,
        )

    def _notes(self, rung: GpuStrategy) -> str:
        """What else must be known of a rung that passed."""
        notes = [f"{rung.apart} apart, as kernels of their own"] if rung.apart else []
        if self.problem.batch > self.exam.problem.batch:
            notes.append(f"verified on {self.exam.problem.batch} images, repeated to the batch")
        return "; ".join(notes)

    def _fill(self, bound: GpuBound) -> None:
        """Put the exam's images, repeated to the whole batch, on the device; poison the output."""
        given, result = bound.resident()
        x = self.exam.x
        if self.problem.batch > len(x):
            x = np.resize(x, self.problem.input_shape)
        self.device.copy_in(x, given)
        self.device.copy_in(_poison(self.problem), result)

    def _judge_batch(self, bound: GpuBound) -> Verdict:
        """The verdict on all images that the timed launches left on the device."""
        out = _poison(self.problem)
        self.device.copy_out(bound.resident()[1], out)
        images = self.exam.problem.batch
        worst = Verdict(False, "it has no images")
        for first in range(0, len(out), images):
            # Images repeat: those of the first part fill up the last one.
            part = out[:images].copy()
            here = out[first : first + images]
            part[: len(here)] = here
            verdict = self.exam.expected.judge(part, bound.strategy.precision)
            if not verdict.passed:
                return verdict
            if first == 0 or verdict.budget_fraction > worst.budget_fraction:
                worst = verdict
        return worst

    def _estimate(self, bound: GpuBound) -> float:
        """Seconds of a launch of the whole batch, from a few images or a shrunk problem."""
        problem, units = self.problem, self.device.description.units
        if problem.flops // problem.batch <= _IMAGE_FLOPS:
            # Enough images to occupy every unit.
            few = min(self.exam.problem.batch, 2 * units)
            self.device.copy_in(self.exam.x[:few], bound.resident()[0])
            return _warm_seconds(bound, few) * problem.batch / few
        small = problem.shrunk()
        x, *parameters = random_inputs(small, self.seed)
        shrunk = bound.strategy.bind(small, *parameters, device=self.device)
        self.device.copy_in(x, shrunk.resident()[0])
        return _warm_seconds(shrunk, small.batch) * problem.flops / small.flops


def _poisoned(bound: GpuBound) -> Callable[[Float32, Float32], None]:
    """As the strategy, after the exam's poison has been copied over its output on the device."""

    def run(x: Float32, out: Float32) -> None:
        bound.device.copy_in(out, bound.resident()[1])
        bound(x, out)

    return run


def _poison(problem: Problem) -> Float32:
    out = cpu.allocate(math.prod(problem.output_shape), "the result").reshape(problem.output_shape)
    out.fill(np.nan)
    return out


def _warm_seconds(bound: GpuBound, images: int) -> float:
    """The second launch's time: with the first, an OpenCL driver may still compile."""
    _seconds(bound, images)
    return _seconds(bound, images)


def _seconds(bound: GpuBound, images: int) -> float:
    """One launch of all steps on resident memory, by the device's own clock."""
    given, result = bound.resident()
    with bound.device.timer() as elapsed:
        bound.launch(given, result, images)
    return 1e-3 * elapsed.milliseconds


def _most(used: list[Used]) -> Resources:
    """The most that any kernel takes, and the least occupancy."""

    def told(name: str) -> list[Any]:
        return [value for one in used if (value := getattr(one, name)) is not None]

    most = {
        name: max(told(name), default=None) for name in ("registers", "shared_bytes", "spill_bytes")
    }
    return Resources(**most, occupancy=min(told("occupancy"), default=None))
