"""Rungs, verified and timed: each as a document configured it, or as we would."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.gpu import GpuDevice
from rooftile.errors import RooftileError
from rooftile.lab.judge.verify import verify
from rooftile.ops import Problem
from rooftile.runtime.timing import host
from rooftile.runtime.timing.device import launches
from rooftile.strategies import Bound, Strategy, strategy
from rooftile_papers.reproduce.experiment import Log, Measured, begin, left_out

Call = Callable[[], object]
_LEAST, _MOST = 3, 20
"""Rounds of a GPU's samples."""


@dataclass(frozen=True)
class Entry:
    """One rung to be timed."""

    problem: Problem
    rung: str | Strategy
    config: Mapping[str, int] = field(default_factory=dict)
    group: str = ""
    verified: Problem | None = None
    """A smaller problem of the same kind, where the reference of the whole takes too long."""
    verified_config: Mapping[str, int] = field(default_factory=dict)
    """The config of that one, where another makes no difference to its launches."""

    def strategy_on(self, kind: str) -> Strategy:
        """The rung on a kind of device."""
        if isinstance(self.rung, str):
            return strategy(self.problem.operation, self.rung, kind)
        return self.rung


def time_rungs(
    log: Log,
    entries: Mapping[str, Entry],
    gpu: GpuDevice | None,
    *,
    seconds: float = 1.0,
    seed: int = 0,
) -> dict[str, float]:
    """Milliseconds of each entry that is right, all in turns; they go to the log as well.

    ``seconds`` are each entry's own.  What is wrong, or cannot run, is a check that failed, and has
    no time.
    """
    calls: dict[str, Call] = {}
    place: Any = gpu or cpu.open_device()
    with place.on():
        for name, entry in entries.items():
            if name in left_out.get():
                log.check(f"{name} is right", False, left_out.get()[name])
                continue
            begin(name)
            try:
                _verify(log, name, entry, place, seed)
                calls[name] = prepared(entry, place, seed)
            except RooftileError as error:
                log.check(f"{name} is right", False, str(error))
        begin("")
        samples = device_samples(calls, gpu, seconds) if gpu else host_samples(calls, seconds)
    for name, times in samples.items():
        log.measured.append(measured(name, times, entries[name].group))
    return {name: statistics.median(times) for name, times in samples.items()}


def measured(name: str, samples: list[float], group: str = "", unit: str = "ms") -> Measured:
    """The median of samples, and between which values three in five lie."""
    low, high = np.quantile(samples, (0.2, 0.8))
    median = statistics.median(samples)
    return Measured(name, median, unit, float(low), float(high), len(samples), group)


def prepared(entry: Entry, place: Any, seed: int) -> Call:
    """A call that computes the whole problem on data that lie on the device."""
    arrays = entry.problem.random(seed)
    count = len(entry.problem.input_arrays)
    parameters = tuple(np.ascontiguousarray(array) for array in arrays[count:])
    rung: Any = entry.strategy_on(place.kind)
    bound: Bound = rung.bind(entry.problem, parameters, place, dict(entry.config) or None)
    inputs = [np.ascontiguousarray(array) for array in arrays[:count]]
    outputs = [np.zeros(out.shape, out.numpy) for out in entry.problem.output_arrays]
    memory: list[Any] = [*inputs, *outputs]
    if place.kind != "cpu":
        memory = [place.upload(array) for array in memory]
    return lambda: bound.launch(memory)


def _verify(log: Log, name: str, entry: Entry, place: Any, seed: int) -> None:
    problem = entry.verified or entry.problem
    rung = entry.strategy_on(place.kind)
    config = dict(entry.verified_config or entry.config) or None
    found = verify(problem, rung, seed, device=place, config=config, neighbours=False)
    found.raise_if_wrong()
    log.check(f"{name} is right", True, f"{found.budget_fraction:.2f} of its error budget")


def host_samples(calls: Mapping[str, Call], seconds: float) -> dict[str, list[float]]:
    """Milliseconds by the host's clock, in turns."""
    if not calls:
        return {}
    timings = host.interleaved(calls, seconds=seconds)
    return {name: list(one.samples) or [one.median] for name, one in timings.items()}


def device_samples(
    calls: Mapping[str, Call], gpu: GpuDevice, seconds: float
) -> dict[str, list[float]]:
    """Milliseconds by the device's clock, of replays without the host's help, in turns."""
    replays = {}
    for name, call in calls.items():
        begin(name)
        replays[name] = _replay(call, gpu)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    ends = dict.fromkeys(calls, seconds)
    for number in range(_MOST):
        for name, (replay, count) in replays.items():
            if number >= _LEAST and ends[name] < 0:
                continue
            begin(name)
            began = time.perf_counter()
            with gpu.timer() as elapsed:
                replay()
            samples[name].append(elapsed.milliseconds / count)
            ends[name] -= time.perf_counter() - began
    begin("")
    return samples


def _replay(call: Call, gpu: GpuDevice) -> tuple[Call, int]:
    """A call that repeats the work often enough for the clock, and how often it does."""
    call()
    gpu.synchronise()
    with gpu.timer() as elapsed:
        call()
    count = launches(1e-3 * elapsed.milliseconds)
    return gpu.captured(lambda: [call() for _ in range(count)]), count
