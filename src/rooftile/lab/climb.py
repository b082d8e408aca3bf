"""Every strategy of an operation on one problem: verified, timed, placed under the roof."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rooftile.devices import cpu
from rooftile.devices.select import open_gpu, parse_device
from rooftile.errors import InputError
from rooftile.lab import peers as others
from rooftile.lab.ceilings import Rates, ceilings
from rooftile.lab.climb_gpu import climb_gpu
from rooftile.lab.environment import environment
from rooftile.lab.floor import Traffic, below_floor
from rooftile.lab.measure import Call, cold, measure
from rooftile.lab.records import Error, Ladder, Row
from rooftile.lab.verify import Exam, random_inputs
from rooftile.ops import Float32, Problem, admits, check_precision, parse
from rooftile.strategies import Bound, Strategy, ladder, strategy
from rooftile.strategies.gpu import GpuStrategy

Progress = Callable[[str], None]

_CALLS = 7
"""How often a slow strategy is called: three times to verify it, once to warm up, three times
to time it."""
_IMAGE_FLOPS = 10**9
"""Images with more work than this are too large to estimate a slow strategy from."""
_PROBE_S = 0.05
"""Time for estimating, where a call is shorter."""


def climb(
    operation: str,
    shape: str,
    batch: int | None = None,
    device: str = "cpu",
    *,
    precision: str | None = None,
    only: str | None = None,
    limit_s: float = 20.0,
    everything: bool = False,
    peers: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ladder:
    """Verify and time every strategy of an operation, in rising order.

    ``device`` is ``cpu``, ``cuda[:N]`` or ``opencl[:N]``; a GPU's strategies are timed on
    data that lies in its memory, see `rooftile.lab.climb_gpu`.
    ``shape`` is a named problem or ``key=value`` pairs, see `rooftile.ops.parse`.
    ``precision`` leaves out the strategies that it does not admit, see `rooftile.ops.admits`;
    None leaves out none: each is judged by its own.  ``only`` is the one strategy to run.
    A strategy whose estimated time is beyond ``limit_s`` seconds is skipped unless
    ``everything``.  ``peers`` adds the other libraries that are installed.  ``progress`` is
    told what is being done.

    Raises `InputError` for an unknown name, or for peers on OpenCL, where there are none;
    `DeviceMissing`.  What goes wrong inside a strategy is a row, not an exception.
    """
    if precision is not None:
        check_precision(precision)
    kind, _ = parse_device(device)
    problem = parse(operation, shape, batch)
    rungs = ladder(operation, kind) if only is None else (strategy(operation, only, kind),)
    report = progress or (lambda line: None)
    limit = math.inf if everything else limit_s
    if kind != "cpu":
        if peers and kind != "cuda":
            raise InputError("peers", peers, "False: the other libraries run on the CPU and CUDA")
        found = [(rung, None) for rung in rungs if isinstance(rung, GpuStrategy)]
        return climb_gpu(
            problem, open_gpu(device), found,
            precision=precision, limit_s=limit, peers=peers, seed=seed, progress=report,
        )  # fmt: skip
    roof = ceilings(progress=report)
    exam = Exam(problem, seed)
    judge = _Judge(exam, roof.all_cores, report, roof.undisturbed)
    rows = [_rung(judge, rung, precision, limit, seed) for rung in rungs]
    if peers:
        rows += judge_peers(exam, roof.all_cores, report)
    return Ladder(problem, device, roof, environment(), tuple(rows))


def judge_peers(exam: Exam, rates: Rates, progress: Progress | None = None) -> tuple[Row, ...]:
    """Verify and time each of the other libraries on the exam's problem and inputs."""
    judge = _Judge(exam, rates, progress or (lambda line: None))
    with others.keeping_memory():
        return tuple(_peer(judge, peer) for peer in others.PEERS)


@dataclass(frozen=True)
class _Judge:
    """Makes the rows of one problem: verify first; a time only for what passed."""

    exam: Exam
    rates: Rates
    report: Progress
    undisturbed: bool = False
    """Whether the rates are sure to be limits, for a time below them to be impossible."""

    def row(
        self, row: Callable[..., Row], bound: Bound, call: Call, precision: str, transforms: bool
    ) -> Row:
        problem = self.exam.problem
        verdict = self.exam.examine(bound, precision)
        row = functools.partial(row, error=Error.of(verdict))
        if not verdict.passed:
            return row("failed", verdict.reason)
        timing, unwarmed = measure(call), cold(call)
        most = math.inf if transforms else self.rates.fma_gflops
        reach = cpu.cache_bytes()
        if self.undisturbed and reach is not None:
            rates = most, self.rates.bandwidth_gbps
            invalid = below_floor(problem, Traffic.of(problem), *rates, timing, unwarmed, reach)
            if invalid:
                return row("failed", f"invalid time: {invalid}")
        return row(
            "passed",
            time_ms=timing,
            cold_ms=unwarmed,
            gflops=1e-6 * problem.flops / timing.median,
            gbps=1e-6 * problem.bytes / timing.median,
            roof_fraction=self.rates.floor_ms(problem) / timing.median,
        )


def _rung(judge: _Judge, rung: Strategy, precision: str | None, limit_s: float, seed: int) -> Row:
    problem, exam = judge.exam.problem, judge.exam
    row = functools.partial(Row, "strategy", rung.name, "cpu", rung.precision)
    reason = rung.why_not(problem)
    if reason is None and precision is not None and not admits(precision, rung.precision):
        reason = f"its precision is {rung.precision}, asked for is {precision}"
    if reason is not None:
        return row("skipped", reason)
    judge.report(f"{problem.operation}: {rung.name}")
    try:
        start = time.perf_counter()
        bound = rung.bind(problem, *exam.parameters)
        bind_s = time.perf_counter() - start
        out = _result_of(problem)
        first_s, call_s = _estimate(rung, bound, exam, out, seed)
        seconds = _CALLS * call_s
        if seconds > limit_s:
            return row("skipped", f"would take {seconds:.0f} s, the limit is {limit_s:g} s")
        found = judge.row(row, bound, lambda: bound(exam.x, out), rung.precision, rung.transforms)
        return (
            found
            if found.status != "passed"
            else replace(found, first_call_ms=1e3 * (bind_s + first_s))
        )
    except Exception as error:
        return row("error", _message(error))


def _peer(judge: _Judge, peer: others.Peer) -> Row:
    row = functools.partial(Row, "peer", peer.name, "cpu", "ieee")
    reason = peer.why_not()
    if reason is not None:
        return row("skipped", reason)
    judge.report(f"{judge.exam.problem.operation}: {peer.name}")
    try:
        bound = peer.bind(judge.exam.problem, *judge.exam.parameters)
        # Another library may choose transforms.
        return judge.row(row, bound, bound.run, "ieee", transforms=True)
    except Exception as error:
        return row("error", _message(error))


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _estimate(
    rung: Strategy, bound: Bound, exam: Exam, out: Float32, seed: int
) -> tuple[float, float]:
    """Seconds of a first call, which compiles, and those that a call on the whole batch would take,
    from a few images or a shrunk problem."""
    problem, batch = exam.problem, exam.problem.batch
    if problem.flops // batch <= _IMAGE_FLOPS:
        # Enough images to occupy every core.
        few = min(batch, 2 * cpu.cores())
        first, least = _seconds(bound, exam.x[:few], out[:few])
        return first, least * batch / few
    small = problem.shrunk()
    x, *parameters = random_inputs(small, seed)
    first, least = _seconds(rung.bind(small, *parameters), x, _result_of(small))
    return first, least * problem.flops / small.flops


def _result_of(problem: Problem) -> Float32:
    return cpu.allocate(math.prod(problem.output_shape), "the result").reshape(problem.output_shape)


def _seconds(bound: Bound, x: Float32, out: Float32) -> tuple[float, float]:
    """The first call, and the shortest of some more: an interruption must not have a fast strategy
    skipped."""
    times: list[float] = []
    while len(times) < 2 or (sum(times[1:]) < _PROBE_S and len(times) < 21):
        start = time.perf_counter()
        bound(x, out)
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:])
