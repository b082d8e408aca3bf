"""One problem on one device: candidates are examined, timed in turns, and judged once more.

A candidate is a strategy, another library or a whole network.  It is examined on some items, and
a strategy on neighbours of the problem too.  Then those items, repeated to the problem's batch,
lie in the device's memory; the candidates' work on them is timed in turns, and the whole results
are compared with the reference.  A time below what measured ceilings allow is invalid.  Whatever
goes wrong with a candidate is a row, not an exception.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rooftile.devices.device import Device, Memory
from rooftile.lab.judge.arithmetic import array_bytes, excuse
from rooftile.lab.judge.batch import judge_repeated, repeated
from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.held import HeldBatch
from rooftile.lab.judge.verdict import Verdict
from rooftile.lab.judge.verify import computing, wrong_neighbours
from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.clocks import ContestClock, clock_of
from rooftile.lab.measure.entry import VerifiedCandidate, failed, traffic_of
from rooftile.lab.measure.floor import Traffic, below_floor
from rooftile.lab.measure.records import Cause, Error, KernelResources, Row
from rooftile.ops import AnyArray, ErrorModel, Problem, admits
from rooftile.runtime.timing.device import Times
from rooftile.runtime.timing.host import Interrupted
from rooftile.strategies import Bound, Config, Strategy

VERIFIED_ITEMS = 61
"""Different items that a candidate is verified on; a larger batch repeats them. Their number is a
prime, so that no two tiles hold the same items: a kernel that reads the wrong tile is found."""
_CALLS = 13
"""About how often a slow strategy is called: to estimate, verify, warm up and time it."""
ITEM_FLOPS = 10**9
"""Items with more work than this are too large to estimate a slow strategy from."""

Candidate = tuple[Strategy, Config | None]
"""A strategy with its config; None for the problem's default."""


@dataclass
class Contest:
    """The rules for one problem on one device."""

    problem: Problem
    device: Device
    roof: Roof | None = None
    """The measured roof of the device; None where there is none."""
    trusted: bool = True
    """True if the roof is surely a limit, so that a time below it is impossible."""
    precision: str | None = None
    """Leaves out strategies that it does not admit; None leaves out none."""
    limit_s: float = math.inf
    """A strategy that would take longer is skipped."""
    seed: int = 0
    report: Callable[[str], None] = lambda line: None
    neighbours: bool = True
    """True if strategies are examined on neighbours too."""
    verified: int = VERIFIED_ITEMS
    """Number of different items that are verified; a larger batch of random ones repeats them."""
    arrays: Sequence[AnyArray] | None = None
    """Inputs, of the whole batch or of the verified items, and parameters; None: random ones."""
    brief_s: float | None = None
    """Seconds in which each candidate is timed, on the CPU warm alone; None: the clock's own.  The
    first candidate is examined then, and the others' whole results are compared, no more."""
    keep: bool = False
    """True if an interrupt during timing keeps the times that are there."""
    interrupted: bool = field(default=False, init=False)
    """True once that has happened."""
    _begun: bool = field(default=False, init=False)
    exam: Exam = field(init=False)
    inputs: tuple[AnyArray, ...] = field(init=False)
    """The inputs of the whole batch, on the host."""

    def __post_init__(self) -> None:
        batch, some, given = self.problem.batch_size, self.problem, self.arrays
        if batch is not None and batch > self.verified:
            some = self.problem.with_batch(self.verified)
        places = self.problem.given_arrays
        first = given and tuple(
            array[: self.verified] if place.batched else array
            for array, place in zip(given, places, strict=True)
        )
        self.exam = Exam(some, self.seed, first)
        whole = given if given is not None else self.exam.inputs
        self.inputs = tuple(map(repeated, whole, self.problem.input_arrays))
        self._held = HeldBatch(self.problem, self.device, self.inputs)
        self._repeats = all(
            len(array) <= self.verified
            for array, place in zip(whole, self.problem.input_arrays, strict=False)
            if place.batched
        )

    @cached_property
    def clock(self) -> ContestClock:
        """The clock of all candidates."""
        return clock_of(self.device, self.brief_s)

    def strategy(self, rung: Strategy, config: Config | None = None) -> Row | VerifiedCandidate:
        """A strategy: skipped with a reason, or bound and examined."""
        row = functools.partial(Row, "strategy", rung.name, self.device.name, rung.precision)
        reason, cause = self._against(rung, config)
        if reason:
            return row("skipped", reason, cause=cause, config=dict(config or {}))
        self.report(f"{self.problem.operation}: {rung.name}")
        try:
            return self._examined(row, rung, config)
        except Exception as error:
            return failed(row, error)

    def _against(self, rung: Strategy, config: Config | None) -> tuple[str, Cause]:
        reason = rung.why_refused(self.problem, rung.precision, config)
        if reason is not None:
            return reason, "unsupported"
        if not rung.anywhere:
            described: Any = self.device
            reason = rung.why_not_on(described.description.architecture)
            if reason is not None:
                return reason, "device"
        if self.precision is not None and not admits(self.precision, rung.precision):
            asked = f"its precision is {rung.precision}, asked for is {self.precision}"
            return asked, "precision"
        return "", ""

    def _examined(
        self, row: Callable[..., Row], rung: Strategy, config: Config | None
    ) -> Row | VerifiedCandidate:
        start = time.perf_counter()
        bound = rung.bind(self.problem, self.exam.parameters, self.device, config)
        memory = self._held.shared
        batch = self.problem.batch_size
        bound.launch(memory, None if batch is None else 1)
        self.device.synchronise()
        first = 1e3 * (time.perf_counter() - start)
        row = functools.partial(row, config=dict(bound.config))
        seconds = _CALLS * self._estimate(bound, memory)
        if seconds > self.limit_s:
            reason = f"would take {seconds:.0f} s, the limit is {self.limit_s:g} s"
            return row("skipped", reason, cause="time limit")
        row = functools.partial(row, resources=KernelResources.most(bound.resources()))
        if self.brief_s is None or not self._begun:
            self._begun = True
            verdict = self.exam.examine(computing(bound), bound.errors, repeatable=not rung.atomic)
            if verdict.passed and self.neighbours:
                verdict = next(wrong_neighbours(bound, self.seed, config), verdict)
            if not verdict.passed:
                return row("failed", verdict.reason, cause="wrong", error=Error.of(verdict))
        bound.launch(memory)
        work = self.clock.work(lambda: bound.launch(memory))
        note = f"{rung.apart} apart, as kernels of their own" if rung.apart else ""
        return VerifiedCandidate(
            row,
            rung.precision,
            bound.errors,
            work,
            lambda: self._held.result(bound, memory, lambda: self.clock.repeat(work)),
            first,
            traffic_of(bound),
            rung.transforms,
            note,
        )

    def peer(self, peer: Any) -> Row | VerifiedCandidate:
        """Another library; skipped where it is not installed."""
        row = functools.partial(Row, "peer", peer.name, self.device.name, peer.precision)
        reason = peer.why_not(self.problem)
        if reason is not None:
            cause: Cause = "not installed" if peer.missing() else "unsupported"
            return row("skipped", reason, cause=cause)
        self.report(f"{self.problem.operation}: {peer.name} ({peer.precision})")
        try:
            start = time.perf_counter()
            call = peer.bind(self.problem, self.exam.parameters, self.inputs, self.device)
            call.compute()
            call.result()
            first = 1e3 * (time.perf_counter() - start)
            verdict = self._examined_peer(call, peer)
            if not verdict.passed:
                return row("failed", verdict.reason, cause="wrong", error=Error.of(verdict))
            call.give(self.inputs)
            work = call.work(self.clock)
        except Exception as error:
            return failed(row, error)

        def result() -> tuple[AnyArray, ...]:
            call.repeat(work)
            made: tuple[AnyArray, ...] = call.result()
            return made

        size, arrays = array_bytes(peer.precision), self.problem.arrays
        sizes = {array.name: size for array in arrays if array.dtype == "float32"}
        return VerifiedCandidate(
            row,
            peer.precision,
            peer.errors,
            work,
            result,
            first,
            Traffic.of(self.problem, sizes),
            transforms=True,
            peer=True,
        )

    def _examined_peer(self, call: Any, peer: Any) -> Verdict:
        """The exam of another library, which computes the whole batch. It may sum in another order
        in each run, and round more often than we do."""
        places = self.problem.input_arrays

        def compute(*arrays: AnyArray) -> None:
            inputs, outs = arrays[: len(places)], arrays[len(places) :]
            whole = tuple(map(repeated, inputs, places))
            call.give(whole)
            call.compute()
            for out, made in zip(outs, call.result(), strict=True):
                out[...] = made[: len(out)] if made.shape != out.shape else made
            # The exam's inputs follow whatever a library does to its own copies of them.
            for array, given in zip(inputs, whole, strict=True):
                if given is not array:
                    array[...] = given[: len(array)]

        return self.exam.examine(
            compute,
            peer.errors,
            repeatable=False,
            excused=lambda verdict: self.excuse(verdict, peer.precision) is not None,
        )

    def excuse(self, verdict: Verdict, precision: str) -> str | None:
        return excuse(verdict, precision)

    def rows(self, found: Sequence[Row | VerifiedCandidate]) -> tuple[Row, ...]:
        """Time in turns those that were right, and judge the whole batch of each."""
        entries = {str(i): one for i, one in enumerate(found) if isinstance(one, VerifiedCandidate)}
        works = {name: entry.work for name, entry in entries.items()}

        def left(seconds: float) -> None:
            what = f"{self.problem.operation}: timing {len(entries)} in turns"
            self.report(f"{what}, about {seconds:.0f} s left")

        try:
            times = self.clock.in_turns(works, left)
        except Interrupted as stopped:
            if not self.keep:
                raise
            times, self.interrupted = dict(stopped.times), True
        done = {
            name: self._timed(entry, times[name])
            if name in times
            else entry.row("skipped", "the climb was interrupted before", cause="interrupted")
            for name, entry in entries.items()
        }
        return tuple(
            done[str(i)] if isinstance(one, VerifiedCandidate) else one
            for i, one in enumerate(found)
        )

    def _timed(self, entry: VerifiedCandidate, times: Times) -> Row:
        row = entry.row
        try:
            outs = entry.result()
            verdict = self.judge_batch(outs, entry.errors)
        except Exception as error:
            return failed(row, error)
        row = functools.partial(row, error=Error.of(verdict), clocks=times.clocks)
        beyond = self.excuse(verdict, entry.precision) if entry.peer else None
        batch = self.problem.batch_size
        if not verdict.passed and beyond is None:
            where = "" if batch is None else f"in the batch of {batch}: "
            return row("failed", f"{where}{verdict.reason}", cause="wrong")
        invalid = times.contradiction or self._below_floor(entry, times)
        if invalid:
            return row("failed", f"invalid time: {invalid}", cause="invalid time")
        notes = [entry.note, beyond, times.clocks.note() if times.clocks else ""]
        notes += self.notes(outs)
        return row("passed", "; ".join(filter(None, notes)), **self.numbers(entry, times))

    def notes(self, outs: tuple[AnyArray, ...]) -> list[str]:
        """Notes on a result that passed."""
        batch = self.problem.batch_size
        if batch is None or batch <= self.verified:
            return []
        if self._repeats:
            return [f"verified on {self.verified} images, repeated to the batch"]
        return [f"verified on the first {self.verified:,} of {batch:,} images"]

    def numbers(self, entry: VerifiedCandidate, times: Times) -> dict[str, Any]:
        """A row's numbers of a candidate: times, and rates that follow from them."""
        problem, warm, roof = self.problem, times.warm, self.roof
        floor = roof.floor_ms(problem, entry.precision) if roof else None
        return {
            "time_ms": warm,
            "cold_ms": times.cold,
            "first_call_ms": entry.first_call_ms,
            "gflops": 1e-6 * problem.flops / warm.median,
            "gbps": 1e-6 * problem.bytes / warm.median,
            "roof_fraction": None if floor is None else floor / warm.median,
        }

    def _below_floor(self, entry: VerifiedCandidate, times: Times) -> str:
        """Why the ceilings do not allow the times; empty when they do, or are not known."""
        if self.roof is None or not self.trusted:
            return ""
        most = math.inf if entry.transforms else self.roof.most_gflops(entry.precision)
        rates, cache = (most, self.roof.bandwidth_gbps), self.device.cache_bytes
        return below_floor(self.problem, entry.traffic, *rates, times.warm, times.cold, cache)

    def judge_batch(self, outs: tuple[AnyArray, ...], errors: ErrorModel) -> Verdict:
        """The verdict on a whole batch; a batch of random inputs repeats the verified items."""
        expected, some = self.exam.expected, self.verified
        if self.problem.batch_size is None or self.problem.batch_size <= some:
            return expected.judge(outs, errors)
        if not self._repeats:
            return expected.judge(tuple(out[:some].copy() for out in outs), errors)
        return judge_repeated(expected, outs, errors, some)

    def _estimate(self, bound: Bound, memory: Sequence[Memory]) -> float:
        """Seconds of a call on the whole batch, from a few items or a shrunk problem."""
        problem, batch = self.problem, self.problem.batch_size
        if batch is not None and problem.flops // batch <= ITEM_FLOPS:
            few = min(batch, self.verified, self.clock.enough)
            return self._seconds(lambda: bound.launch(memory, few)) * batch / few
        small = problem.shrunk()
        if small == problem:
            return self._seconds(lambda: bound.launch(memory))
        values = small.random(self.seed)
        count = len(small.input_arrays)
        shrunk = bound.strategy.bind(small, values[count:], self.device)
        there = shrunk.memory()
        for array, place, to in zip(values[:count], shrunk.held, there, strict=False):
            shrunk.load(array, place, to)
        return self._seconds(lambda: shrunk.launch(there)) * problem.flops / small.flops

    def _seconds(self, launch: Callable[[], None]) -> float:
        """The time of a second launch: the first one of a size makes its arguments."""
        launch()
        return self.clock.seconds(launch)
