"""What is timed of somebody: calls captured into graphs, or as they are where that cannot be.

A call that waits for the GPU, such as one whose result is as long as the data say, is timed as it
is: with the wait, which is part of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from rooftile.lab.measure.peers.gpu import TorchCall, TorchClock, arithmetic
from rooftile.ops import Precision, Problem
from rooftile.runtime.timing.device import SLACK_S, TimedLaunches, launches

Call = Callable[[], Any]
SLOWEST_MS = 60.0
"""Who takes longer is left out."""


class Contender:
    """A call, and what its last run made."""

    def __init__(self, call: Call, precision: Precision, problem: Problem, captured: bool) -> None:
        self._call, self._precision, self._captured = call, precision, captured
        self._graph = TorchCall(call, lambda array: array, precision, problem)
        self.out: Any = None

    def compute(self) -> None:
        """Run it as it is; the first time it compiles."""
        with arithmetic(self._precision):
            self.out = self._call()

    def work(self, place: str) -> TimedLaunches:
        """What is timed; raises `TimeoutError` for what is too slow."""
        self.compute()
        clock = TorchClock() if place == "cuda" else HostClock()
        clock.synchronise()
        before = clock.mark()
        self.compute()
        after = clock.mark()
        clock.synchronise()
        took = clock.between(before, after)
        if took > SLOWEST_MS:
            raise TimeoutError(f"a call takes {took:.0f} ms")
        if self._captured and place == "cuda":
            work = self._graph.work()
            self.out = self._graph.out
            # A graph holds no arrays; its call does, and the work has to hold that.
            return replace(work, once=self._graph.compute, many=partial(_held, work.many, self))
        count = launches(1e-3 * took)
        spare = torch.empty(2**27 if place == "cuda" else 2**20, dtype=torch.uint8, device=place)

        def many() -> None:
            for _ in range(count):
                self.compute()

        slack = SLACK_S if place == "cuda" else 1.0
        return TimedLaunches(clock, self.compute, many, count, spare.zero_, slack)


def _held(call: Call, holder: Contender) -> None:
    """A call, of somebody who stays as long as it may come."""
    call()


class HostClock:
    """The host's clock, for a trial without a GPU."""

    def mark(self) -> float:
        """See `Clock.mark`."""
        return time.perf_counter()

    def between(self, before: float, after: float) -> float:
        """See `Clock.between`."""
        return 1e3 * (after - before)

    def synchronise(self) -> None:
        """See `Clock.synchronise`."""


def poison(out: Any) -> None:
    """Fill tensors with what no result is: NaN, or an odd number."""
    for tensor in out if isinstance(out, tuple) else (out,):
        tensor.fill_(float("nan") if tensor.is_floating_point() else 0x55)
