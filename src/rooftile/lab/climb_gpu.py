"""Every GPU strategy of an operation on one problem: verified, then timed in turns.

A rung is verified on up to 64 images, with its output on the device poisoned.  Then those
images, repeated to the problem's batch, lie in device memory; replays of its launches on
them are timed, all rungs and peers in turns, and its whole result is compared with the
reference once more.  A time below what the measured ceilings allow makes a row invalid.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.gpu import Resources as Used
from rooftile.lab.ceilings_gpu import GpuCeilings, gpu_ceilings
from rooftile.lab.environment import environment
from rooftile.lab.expected import Verdict
from rooftile.lab.floor import Traffic, below_floor
from rooftile.lab.measure_gpu import Flush, GpuTiming, Work, in_turns, work_of
from rooftile.lab.peers_gpu import (
    PEER_PRECISIONS,
    GpuPeer,
    array_bytes,
    errors_of,
    excuse,
    gpu_peers,
    prepare,
)
from rooftile.lab.records import Error, Ladder, Resources, Row, peer_precision
from rooftile.lab.telemetry import sensors
from rooftile.lab.verify import Exam, random_inputs
from rooftile.ops import ErrorModel, Float32, Problem, admits
from rooftile.strategies.gpu import Config, GpuBound, GpuStrategy

VERIFIED_IMAGES = 64
"""Different images that a rung is verified on; a larger batch repeats them."""
Ends = tuple[Any, Any]
"""Device memory that a rung reads and writes."""

_CALLS = 13
"""How often, about, a slow strategy is called: to estimate, verify, warm up and time it."""
_IMAGE_FLOPS = 10**9
"""Images with more work than this are too large to estimate a slow strategy from."""

Rung = tuple[GpuStrategy, Config | None]
"""A strategy with its config; None for the problem's default."""


@dataclass
class _Entry:
    """A contestant that was right on the exam's images."""

    row: Callable[..., Row]
    precision: str
    errors: ErrorModel
    work: Work
    result: Callable[[], Float32]
    """Its whole result, computed by the work that is timed."""
    first_call_ms: float
    traffic: Traffic
    note: str = ""
    peer: bool = False


def climb_gpu(
    problem: Problem,
    device: GpuDevice,
    rungs: Sequence[Rung],
    *,
    precision: str | None,
    limit_s: float,
    peers: bool,
    seed: int,
    progress: Callable[[str], None],
) -> Ladder:
    """Verify and time GPU strategies in the given order; see `rooftile.lab.climb.climb`."""
    name = f"{device.description.kind}:{device.description.index}"
    with device.on():
        roof = gpu_ceilings(device, progress=progress) if has_roof(device) else None
        exam = Exam(problem.with_batch(min(problem.batch, VERIFIED_IMAGES)), seed)
        judge = GpuJudge(problem, exam, device, roof, precision, limit_s, seed, progress)
        found = [judge.rung(rung, config) for rung, config in rungs]
        if peers:
            for one in _peer_precisions(found, precision):
                found += [judge.peer(peer) for peer in gpu_peers(one)]
        rows = judge.rows(found)
    return Ladder(problem, name, roof, environment(), rows, device.description)


def _peer_precisions(found: Sequence[Row | _Entry], asked: str | None) -> list[str]:
    """The precisions whose peers the rungs want: of those that were not skipped, and as asked for;
    ``ieee`` without any."""
    ran = [one for one in found if isinstance(one, _Entry) or one.status != "skipped"]
    wanted = {peer_precision(one.precision) for one in ran}
    wanted |= {peer_precision(asked)} if asked else set()
    return [one for one in PEER_PRECISIONS if one in (wanted or {"ieee"})]


def times_of(
    problem: Problem, precision: str, timing: GpuTiming, first_call_ms: float,
    roof: GpuCeilings | None,
) -> dict[str, Any]:  # fmt: skip
    """What a row says of a contestant's times, and of its rates by them."""
    warm = timing.warm
    return {
        "time_ms": warm,
        "cold_ms": timing.cold,
        "first_call_ms": first_call_ms,
        "gflops": 1e-6 * problem.flops / warm.median,
        "gbps": 1e-6 * problem.bytes / warm.median,
        "roof_fraction": roof.floor_ms(problem, precision) / warm.median if roof else None,
    }


def has_roof(device: GpuDevice) -> bool:
    """Not a device that is no GPU: its roof is that of the CPU, measured by other means."""
    return device.description.gpu


class GpuJudge:
    """Makes the rows of one problem on one device."""

    def __init__(
        self,
        problem: Problem,
        exam: Exam,
        device: GpuDevice,
        roof: GpuCeilings | None,
        precision: str | None,
        limit_s: float,
        seed: int,
        report: Callable[[str], None],
    ) -> None:
        self.problem, self.exam, self.device, self.roof = problem, exam, device, roof
        self.precision, self.limit_s, self.seed, self.report = precision, limit_s, seed, report
        self.name = f"{device.description.kind}:{device.description.index}"
        self.x = exam.x
        if problem.batch > len(exam.x):
            self.x = np.resize(exam.x, problem.input_shape)
        self._poison = cpu.allocate(int(np.prod(problem.output_shape)), "the result")
        self._poison = self._poison.reshape(problem.output_shape)
        self._poison.fill(np.nan)
        # All rungs read and write the same two arrays.
        self.given, self.target = device.upload(self.x), device.upload(self._poison)
        self.flush = Flush(device)

    def rung(self, rung: GpuStrategy, config: Config | None) -> Row | _Entry:
        """Skipped with its reason, or bound and verified; what goes wrong is a row."""
        row = functools.partial(Row, "strategy", rung.name, self.name, rung.precision)
        reason = rung.why_not(self.problem)
        reason = reason or rung.why_not_on(self.device.description.architecture)
        asked = self.precision
        if reason is None and asked is not None and not admits(asked, rung.precision):
            reason = f"its precision is {rung.precision}, asked for is {asked}"
        if reason is not None:
            return row("skipped", reason, config=dict(config or {}))
        self.report(f"{self.problem.operation}: {rung.name}")
        try:
            start = time.perf_counter()
            bound = rung.bind(
                self.problem, *self.exam.parameters, device=self.device, config=config
            )
            bound_after = time.perf_counter() - start
            ends = self._arrays(bound)
            start = time.perf_counter()
            self._launch(bound, ends, min(self.problem.batch, 1))
            first = 1e3 * (bound_after + time.perf_counter() - start)
            row = functools.partial(row, config=bound.config)
            seconds = _CALLS * self._estimate(bound, ends)
            if seconds > self.limit_s:
                return row(
                    "skipped", f"would take {seconds:.0f} s, the limit is {self.limit_s:g} s"
                )
            return self._admitted(row, bound, ends, first)
        except Exception as error:
            return row("error", f"{type(error).__name__}: {error}")

    def _admitted(
        self, row: Callable[..., Row], bound: GpuBound, ends: Ends, first: float
    ) -> Row | _Entry:
        rung = bound.strategy
        row = functools.partial(row, resources=_most(bound.resources()))
        small = bound
        if self.problem.batch > VERIFIED_IMAGES:
            small = rung.bind(
                self.exam.problem, *self.exam.parameters, device=self.device, config=bound.config
            )
        verdict = self.exam.examine(_poisoned(small), bound.errors, repeatable=not rung.atomic)
        if not verdict.passed:
            return row("failed", verdict.reason, error=Error.of(verdict))
        given, target = ends
        self._launch(bound, ends, self.problem.batch)
        work = work_of(
            self.device, lambda: bound.launch(given, target, self.problem.batch), self.flush
        )

        def result() -> Float32:
            self.device.copy_in(self._poison, target)
            work.once()
            out = np.empty_like(self._poison)
            bound.copy_out(target, out)
            return out

        note = f"{rung.apart} apart, as kernels of their own" if rung.apart else ""
        return _Entry(row, rung.precision, bound.errors, work, result, first, _traffic(bound), note)

    def _arrays(self, bound: GpuBound) -> Ends:
        """What a rung reads and writes: all the same arrays, but for 16-bit numbers."""
        if not (bound.config.get("X_NARROW") or bound.config.get("OUT_NARROW")):
            return self.given, self.target
        given, target = bound.resident()
        bound.copy_in(self.x, given)
        return given, target

    def peer(self, peer: GpuPeer) -> Row | _Entry:
        """Another library; skipped where it is not installed."""
        found = prepare(
            peer, self.problem, self.exam.parameters, self.x, self.name,
            lambda what: self.report(f"{self.problem.operation}: {what}"),
        )  # fmt: skip
        if isinstance(found, Row):
            return found
        size = array_bytes(peer.precision)
        traffic = Traffic.of(self.problem, x=size, parameters=size, out=size)
        return _Entry(
            found.row, peer.precision, errors_of(peer.precision), found.work, found.computed,
            found.first_call_ms, traffic, peer=True,
        )  # fmt: skip

    def rows(self, found: Sequence[Row | _Entry]) -> tuple[Row, ...]:
        """Time whoever was right in turns, and judge the whole batch of each."""
        entries = {str(i): one for i, one in enumerate(found) if isinstance(one, _Entry)}
        self.report(f"{self.problem.operation}: timing {len(entries)} in turns")
        works = {name: entry.work for name, entry in entries.items()}
        timings = in_turns(works, read=sensors(self.device))
        done = {name: self._timed(entry, timings[name]) for name, entry in entries.items()}
        return tuple(
            done[str(i)] if isinstance(one, _Entry) else one for i, one in enumerate(found)
        )

    def _timed(self, entry: _Entry, timing: GpuTiming) -> Row:
        problem, row = self.problem, entry.row
        try:
            verdict = self._judge_batch(entry.result(), entry.errors)
        except Exception as error:
            return row("error", f"{type(error).__name__}: {error}")
        row = functools.partial(row, error=Error.of(verdict), clocks=timing.clocks)
        beyond = excuse(verdict, entry.precision) if entry.peer else None
        if not verdict.passed and beyond is None:
            return row("failed", f"in the batch of {problem.batch}: {verdict.reason}")
        invalid = timing.contradiction or self._below_floor(entry, timing)
        if invalid:
            return row("failed", f"invalid time: {invalid}")
        notes = [entry.note, beyond, timing.clocks.note() if timing.clocks else ""]
        if problem.batch > self.exam.problem.batch:
            notes.append(f"verified on {self.exam.problem.batch} images, repeated to the batch")
        times = times_of(problem, entry.precision, timing, entry.first_call_ms, self.roof)
        return row("passed", "; ".join(filter(None, notes)), **times)

    def _below_floor(self, entry: _Entry, timing: GpuTiming) -> str:
        """Why the ceilings do not allow the times; empty when they do, or are not known."""
        roof, precision = self.roof, entry.precision
        if roof is None:
            return ""
        # A peer may choose transforms that save multiplications, as `fast` rungs do.
        most = math.inf if entry.peer else roof.most_gflops(precision)
        rates, cache = (most, roof.bandwidth_gbps), self.device.description.cache_bytes or 0
        return below_floor(self.problem, entry.traffic, *rates, timing.warm, timing.cold, cache)

    def _judge_batch(self, out: Float32, errors: ErrorModel) -> Verdict:
        """The verdict on all images.  They repeat, so bits that do need no second look."""
        images = self.exam.problem.batch
        worst = self.exam.expected.judge(out[:images].copy(), errors)
        for first in range(images, len(out), images):
            here = out[first : first + images]
            if not worst.passed:
                break
            if np.array_equal(here, out[: len(here)]):
                continue
            part = out[:images].copy()
            part[: len(here)] = here
            verdict = self.exam.expected.judge(part, errors)
            if not verdict.passed or verdict.budget_fraction > worst.budget_fraction:
                worst = verdict
        return worst

    def _launch(self, bound: GpuBound, ends: Ends, images: int) -> None:
        bound.launch(*ends, images)
        self.device.synchronise()

    def _estimate(self, bound: GpuBound, ends: Ends) -> float:
        """Seconds of a launch of the whole batch, from a few images or a shrunk problem."""
        problem, units = self.problem, self.device.description.units
        if problem.flops // problem.batch <= _IMAGE_FLOPS:
            # Enough images to occupy every unit.
            few = min(self.exam.problem.batch, 2 * units)
            return self._warm_seconds(bound, ends, few) * problem.batch / few
        small = problem.shrunk()
        _, *parameters = random_inputs(small, self.seed)
        shrunk = bound.strategy.bind(small, *parameters, device=self.device)
        # In float32, whatever the formats of the rung's arrays are.
        seconds = self._warm_seconds(shrunk, (self.given, self.target), small.batch)
        return seconds * problem.flops / small.flops

    def _warm_seconds(self, bound: GpuBound, ends: Ends, images: int) -> float:
        """The second launch's time: with the first, an OpenCL driver may still compile."""
        self._launch(bound, ends, images)
        with self.device.timer() as elapsed:
            bound.launch(*ends, images)
        return 1e-3 * elapsed.milliseconds


def _traffic(bound: GpuBound) -> Traffic:
    """What a rung must move: weights may be rounded once, to its precision, before the launch."""
    narrow = {end: 2 if bound.config.get(f"{end}_NARROW") else 4 for end in ("X", "OUT")}
    held = array_bytes(bound.strategy.precision)
    return Traffic.of(bound.problem, x=narrow["X"], parameters=held, out=narrow["OUT"])


def _poisoned(bound: GpuBound) -> Callable[[Float32, Float32], None]:
    """As the strategy, after the exam's poison has been copied over its output on the device."""

    def run(x: Float32, out: Float32) -> None:
        bound.device.copy_in(out, bound.resident()[1])
        bound(x, out)

    return run


def _most(used: list[Used]) -> Resources:
    """The most that any kernel takes, and the least occupancy."""

    def told(name: str) -> list[Any]:
        return [value for one in used if (value := getattr(one, name)) is not None]

    most = {
        name: max(told(name), default=None) for name in ("registers", "shared_bytes", "spill_bytes")
    }
    return Resources(**most, occupancy=min(told("occupancy"), default=None))
