"""Two strategies on one problem: both verified, then timed in turns until the verdict is clear."""

from __future__ import annotations

import math

from rooftile.devices import cpu
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu, parse_device
from rooftile.errors import UnsupportedProblem
from rooftile.lab.climb_gpu import VERIFIED_IMAGES, GpuJudge
from rooftile.lab.compare import Comparison, ab, device_ms
from rooftile.lab.measure import Call
from rooftile.lab.measure_gpu import Work
from rooftile.lab.records import Row
from rooftile.lab.verify import Exam
from rooftile.ops import Problem
from rooftile.strategies import strategy
from rooftile.strategies.gpu import Config, GpuStrategy

Named = str | tuple[str, Config]
"""A strategy by name, of a GPU perhaps with a config."""


def contest(
    problem: Problem,
    a: Named,
    b: Named,
    device: str = "cpu",
    *,
    seconds: float = 10.0,
    effect: float = 0.01,
    level: float = 0.05,
    seed: int = 0,
) -> Comparison:
    """Strategy ``b`` against ``a`` on random inputs; see `rooftile.lab.compare.ab`.

    On a GPU the data lies in its memory and the times are warm.  Raises `InputError`,
    `DeviceMissing`, `UnsupportedProblem` for a strategy that does not take the problem or does not
    run, and on the CPU `VerificationFailure` for one that is wrong.
    """
    kind, _ = parse_device(device)
    names = [(one, None) if isinstance(one, str) else one for one in (a, b)]
    rungs = [(strategy(problem.operation, name, kind), config) for name, config in names]
    for rung, _ in rungs:
        rung.check(problem)
    if kind == "cpu":
        exam = Exam(problem, seed)
        calls = [_call(exam, rung.name) for rung, _ in rungs]
        return ab(*calls, seconds=seconds, effect=effect, level=level)
    gpu = open_gpu(device)
    with gpu.on():
        judge = _judge(problem, gpu, seed)
        picks = [(rung, config) for rung, config in rungs if isinstance(rung, GpuStrategy)]
        works = [_work(judge, rung, config) for rung, config in picks]
        return ab(*works, sample=device_ms, seconds=seconds, effect=effect, level=level)


def _call(exam: Exam, name: str) -> Call:
    problem = exam.problem
    rung = strategy(problem.operation, name)
    bound = rung.bind(problem, *exam.parameters)
    exam.examine(bound, rung.precision).raise_if_wrong()
    size = math.prod(problem.output_shape)
    out = cpu.allocate(size, "the result").reshape(problem.output_shape)
    return lambda: bound(exam.x, out)


def _judge(problem: Problem, device: GpuDevice, seed: int) -> GpuJudge:
    exam = Exam(problem.with_batch(min(problem.batch, VERIFIED_IMAGES)), seed)
    return GpuJudge(problem, exam, device, None, None, math.inf, seed, lambda line: None)


def _work(judge: GpuJudge, rung: GpuStrategy, config: Config | None) -> Work:
    entry = judge.rung(rung, config)
    if isinstance(entry, Row):
        raise UnsupportedProblem(rung.name, entry.reason)
    return entry.work
