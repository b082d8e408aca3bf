"""Every strategy of an operation on one problem: verified, timed, placed under the roof."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator

from rooftile.devices import cpu
from rooftile.errors import DeviceMissing
from rooftile.lab import peers as others
from rooftile.lab.ceilings import Rates, ceilings
from rooftile.lab.environment import environment
from rooftile.lab.measure import Call, measure
from rooftile.lab.records import Error, Ladder, Row
from rooftile.lab.verify import Exam, random_inputs
from rooftile.ops import Float32, Problem, admits, check_precision, parse
from rooftile.strategies import Bound, Strategy, ladder, strategy

Progress = Callable[[str], None]

_CALLS = 7
"""How often a slow strategy is called: three times to verify it, once to warm up, three times
to time it."""
_IMAGE_FLOPS = 10**9
"""Images with more work than this are too large to estimate a slow strategy from."""


def climb(
    operation: str,
    shape: str,
    batch: int | None = None,
    device: str = "cpu",
    *,
    precision: str = "fast",
    only: str | None = None,
    limit_s: float = 20.0,
    everything: bool = False,
    peers: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ladder:
    """Verify and time every strategy of an operation, in rising order.

    ``shape`` is a named problem or ``key=value`` pairs, see `rooftile.ops.parse`.
    ``precision="ieee"`` leaves out the strategies of precision ``fast``; ``only`` is
    the one strategy to run.  A strategy whose estimated time is beyond ``limit_s``
    seconds is skipped unless ``everything``.  ``peers`` adds the other libraries that
    are installed.  ``progress`` is told what is being done.

    Raises `InputError` for an unknown name, `DeviceMissing` for a device other than
    the CPU.  What goes wrong inside a strategy is a row, not an exception.
    """
    check_precision(precision)
    if device != "cpu":
        raise DeviceMissing(f"device {device!r}", "nothing yet: this version's device is the cpu")
    problem = parse(operation, shape, batch)
    rungs = ladder(operation) if only is None else (strategy(operation, only),)
    report = progress or (lambda line: None)
    roof = ceilings(progress=report)
    report("computing the reference")
    climber = _Climber(problem, roof.all_cores, limit_s, everything, seed, report)
    rows = [climber.rung(rung, precision) for rung in rungs]
    if peers:
        rows += climber.peers()
    return Ladder(problem, device, roof, environment(), tuple(rows))


class _Climber:
    """Makes the rows of one problem."""

    def __init__(
        self, problem: Problem, rates: Rates, limit_s: float, everything: bool, seed: int,
        report: Progress,
    ) -> None:  # fmt: skip
        self._problem, self._rates, self._report = problem, rates, report
        self._limit, self._seed = float("inf") if everything else limit_s, seed
        self._exam = Exam(problem, seed)
        self._out = _result_of(problem)

    def rung(self, rung: Strategy, precision: str) -> Row:
        """The row of a strategy."""
        row = functools.partial(Row, "strategy", rung.name, "cpu", rung.precision)
        reason = rung.why_not(self._problem)
        if reason is None and not admits(precision, rung.precision):
            reason = f"its precision is {rung.precision}, asked for is {precision}"
        if reason is not None:
            return row("skipped", reason)
        self._report(f"{self._problem.operation}: {rung.name}")
        try:
            bound = rung.bind(self._problem, *self._exam.parameters)
            seconds = _CALLS * self._estimate(rung, bound)
            if seconds > self._limit:
                return row("skipped", f"would take {seconds:.0f} s, the limit is {self._limit:g} s")
            return self._judged(row, bound, lambda: bound(self._exam.x, self._out), rung.precision)
        except Exception as error:
            return row("error", f"{type(error).__name__}: {error}")

    def peers(self) -> Iterator[Row]:
        """The rows of the other libraries."""
        with others.keeping_memory():
            for peer in others.PEERS:
                row = functools.partial(Row, "peer", peer.name, "cpu", "ieee")
                reason = peer.why_not()
                if reason is not None:
                    yield row("skipped", reason)
                    continue
                self._report(f"{self._problem.operation}: {peer.name}")
                try:
                    bound = peer.bind(self._problem, *self._exam.parameters)
                    yield self._judged(row, bound, bound.run, "ieee")
                except Exception as error:
                    yield row("error", f"{type(error).__name__}: {error}")

    def _judged(self, row: Callable[..., Row], bound: Bound, call: Call, precision: str) -> Row:
        """Verify first; a time only for what passed."""
        verdict = self._exam.examine(bound, precision)
        if not verdict.passed:
            return row("failed", verdict.reason, error=Error.of(verdict))
        timing = measure(call)
        return row(
            "passed",
            error=Error.of(verdict),
            time_ms=timing,
            gflops=1e-6 * self._problem.flops / timing.median,
            gbps=1e-6 * self._problem.bytes / timing.median,
            roof_fraction=self._rates.floor_ms(self._problem) / timing.median,
        )

    def _estimate(self, rung: Strategy, bound: Bound) -> float:
        """Seconds a call on the whole batch would take, from a few images or a shrunk problem."""
        problem, batch = self._problem, self._problem.batch
        if problem.flops // batch <= _IMAGE_FLOPS:
            # Enough images to occupy every core.
            few = min(batch, 2 * cpu.cores())
            return _seconds(bound, self._exam.x[:few], self._out[:few]) * batch / few
        small = problem.shrunk()
        x, *parameters = random_inputs(small, self._seed)
        seconds = _seconds(rung.bind(small, *parameters), x, _result_of(small))
        return seconds * problem.flops / small.flops


def _result_of(problem: Problem) -> Float32:
    return cpu.allocate(math.prod(problem.output_shape), "the result").reshape(problem.output_shape)


def _seconds(bound: Bound, x: Float32, out: Float32) -> float:
    bound(x, out)  # compiles
    start = time.perf_counter()
    bound(x, out)
    return time.perf_counter() - start
