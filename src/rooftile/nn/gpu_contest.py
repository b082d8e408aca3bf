"""A whole network on a GPU against other libraries: all verified, then timed in turns.

The scores of an image are held against the float64 reference: the norm of their errors over
their norm, which a wrong index anywhere makes as large as the scores themselves.  The budget
follows from the precision.  Where operands are rounded, each layer adds errors of about one
unit, which the next neither grows nor shrinks on the average: `_UNITS` of them.  At ``ieee`` it
is that of one sum as long as all layers' together, ``c u sqrt(K)``.

A library may cut operands off instead of rounding them, round biases, and sum in 16 bits.  It
is given `_LENIENCE` times as much, and its row says so: its speed counts all the same.
"""

from __future__ import annotations

import functools
import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.gpu import GpuDevice
from rooftile.lab.ceilings_gpu import GpuCeilings
from rooftile.lab.climb_gpu import VERIFIED_IMAGES, times_of
from rooftile.lab.floor import Traffic, below_floor
from rooftile.lab.measure_gpu import Flush, GpuTiming, Work, in_turns
from rooftile.lab.peers_gpu import GpuPeer, array_bytes, prepare
from rooftile.lab.records import Error, Row
from rooftile.lab.telemetry import sensors
from rooftile.lab.verify import random_inputs
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.nn.network import Network
from rooftile.ops import ERROR_MODELS, Chain, Float32, Float64, Precision

_GIVEN_IMAGES = 512
"""Of images that are given so many at most are compared with the reference."""
_REFERENCE_FLOPS = 10**10
"""And at most of so much work."""
_UNITS = 8.0
_LENIENCE = 4.0
_UNIT = {"tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}
"""Unit roundoff of what operands are rounded to."""


@dataclass
class _Entry:
    """A contestant that has computed once."""

    row: Callable[..., Row]
    work: Work
    computed: Callable[[], Float32]
    first_call_ms: float
    peer: bool


def random_network(architecture: Network, seed: int) -> Network:
    """The layers with random weights and biases, as a climb's problems have them."""
    _, *arrays = random_inputs(Chain(architecture.problems(1)), seed)
    return architecture.with_parameters(
        dict(zip(architecture.parameter_shapes, arrays, strict=True))
    )


class GpuContest:
    """One network with its weights, for one batch, on one GPU.

    ``roof`` None: what an impossible time is, is not known.  ``images`` float32[batch, channels,
    height, width] are what is computed, the first of them verified; None: random ones made from
    ``seed``, each of which is verified, repeated to the batch.
    """

    def __init__(
        self,
        network: Network,
        batch: int,
        device: GpuDevice,
        roof: GpuCeilings | None,
        seed: int = 0,
        report: Callable[[str], None] = lambda line: None,
        *,
        images: Float32 | None = None,
    ) -> None:
        self.network, self.batch, self.device, self.roof = network, batch, device, roof
        self.report = report
        self.problem = Chain(network.problems(batch))
        self.name = f"{device.description.kind}:{device.description.index}"
        self.parameters = tuple(network.parameters[key] for key in network.parameter_shapes)
        self.images, self._given = min(batch, VERIFIED_IMAGES), images is not None
        if images is None:
            some = random_inputs(self.problem.with_batch(self.images), seed)[0]
            self.x, self._compared = np.resize(some, self.problem.input_shape), batch
        else:
            affordable = max(1, _REFERENCE_FLOPS * batch // self.problem.flops)
            some = images[: min(_GIVEN_IMAGES, affordable)]
            self.x, self._compared = images, len(some)
        self.reference = self._reference(some)

    def rows(self, plan: GpuPlan, peers: Sequence[GpuPeer]) -> tuple[Row, ...]:
        """The plan's row, whose config is its strategies, and the peers'."""
        precision = plan.precision
        with self.device.on():
            flush = Flush(self.device)
            found = [self._ours(plan, flush), *(self._peer(peer) for peer in peers)]
            entries = {str(i): one for i, one in enumerate(found) if isinstance(one, _Entry)}
            works = {name: entry.work for name, entry in entries.items()}
            self.report(f"{self.network.name}: timing {len(works)} in turns")
            timings = in_turns(works, read=sensors(self.device))
            scores = {name: entry.computed() for name, entry in entries.items()}
            done = {
                name: self._timed(entry, timings[name], precision, scores[name], scores.get("0"))
                for name, entry in entries.items()
            }
        return tuple(
            done[str(i)] if isinstance(one, _Entry) else one for i, one in enumerate(found)
        )

    def _ours(self, plan: GpuPlan, flush: Flush) -> Row | _Entry:
        row = functools.partial(
            Row, "strategy", "plan", self.name, plan.precision, config=plan.strategies
        )
        start = time.perf_counter()
        # On images that nobody knows before: what is kept from one call is wrong in the next.
        others = random_inputs(self.problem.with_batch(self.images), secrets.randbits(128))[0]
        error = judged(plan(others), self._reference(others), plan.precision, self.problem)
        first = 1e3 * (time.perf_counter() - start)
        if not error.budget_fraction <= 1:
            return row("failed", f"on fresh inputs: {_beyond(error)}", error=error)
        work, computed = plan.contestant(self.x, flush)
        return _Entry(row, work, computed, first, peer=False)

    def _peer(self, peer: GpuPeer) -> Row | _Entry:
        found = prepare(
            peer, self.problem, self.parameters, self.x, self.name,
            lambda what: self.report(f"{self.network.name}: {what}"),
        )  # fmt: skip
        if isinstance(found, Row):
            return found
        return _Entry(found.row, found.work, found.computed, found.first_call_ms, peer=True)

    def _timed(
        self,
        entry: _Entry,
        timing: GpuTiming,
        precision: Precision,
        scores: Float32,
        ours: Float32 | None,
    ) -> Row:
        """What the timed work computes is judged, on the whole batch."""
        error = judged(scores[: self._compared], self.reference, precision, self.problem)
        row = functools.partial(entry.row, error=error, clocks=timing.clocks)
        if not error.budget_fraction <= (_LENIENCE if entry.peer else 1):
            return row("failed", f"in the batch of {self.batch}: {_beyond(error)}")
        invalid = timing.contradiction or self._below_floor(timing, precision, entry.peer)
        if invalid:
            return row("failed", f"invalid time: {invalid}")
        beyond = _beyond(error) if error.budget_fraction > 1 else ""
        notes = [beyond, *self._notes(scores, ours), timing.clocks.note() if timing.clocks else ""]
        times = times_of(self.problem, precision, timing, entry.first_call_ms, self.roof)
        return row("passed", "; ".join(filter(None, notes)), **times)

    def _below_floor(self, timing: GpuTiming, precision: str, peer: bool) -> str:
        """Why the ceilings do not allow the times; empty when they do, or are not known."""
        if self.roof is None:
            return ""
        # A peer may choose transforms, and all of its arrays may be half as large; of a plan's
        # those of its weights, which it rounds once.
        most = math.inf if peer else self.roof.most_gflops(precision)
        size = array_bytes(precision)
        ends = size if peer else 4
        traffic = Traffic.of(self.problem, x=ends, parameters=size, out=ends)
        rates, cache = (most, self.roof.bandwidth_gbps), self.device.description.cache_bytes or 0
        return below_floor(self.problem, traffic, *rates, timing.warm, timing.cold, cache)

    def _notes(self, scores: Float32, ours: Float32 | None) -> Iterator[str]:
        """Of images that were given: how many are verified, and which class they get."""
        if not self._given:
            return
        if self._compared < self.batch:
            yield f"verified on the first {self._compared:,} of {self.batch:,} images"
        others = 0 if ours is None else int((scores.argmax(1) != ours.argmax(1)).sum())
        if others:
            yield f"another class than the plan's for {others:,} of {self.batch:,} images"

    def _reference(self, x: Float32) -> Float64:
        """Some images at a time: float64 between the layers is large."""
        parts = (x[k : k + VERIFIED_IMAGES] for k in range(0, len(x), VERIFIED_IMAGES))
        return np.concatenate([
            self.problem.with_batch(len(part)).reference(part, *self.parameters) for part in parts
        ])  # fmt: skip


def judged(
    scores: NDArray[np.float32], reference: Float64, precision: str, problem: Chain
) -> Error:
    """The worst image's error; the images of ``reference``, in this order, repeat in ``scores``."""
    expected = np.resize(reference, scores.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = scores - expected
        norms = np.linalg.norm(expected, axis=1)
        worst = float((np.linalg.norm(apart, axis=1) / norms).max())
        relative = float((abs(apart).max(axis=1) / abs(expected).max(axis=1)).max())
        largest = float(abs(apart).max())
    # NaN, which `max` hands through, is infinitely wrong.
    made = (value if math.isfinite(value) else math.inf for value in (largest, relative, worst))
    largest, relative, worst = made
    return Error(largest, relative, worst / _budget(precision, problem))


def _budget(precision: str, problem: Chain) -> float:
    if precision in _UNIT:
        return _UNITS * _UNIT[precision]
    model = ERROR_MODELS[precision]
    return model.factor * model.unit * math.sqrt(problem.reduction)


def _beyond(error: Error) -> str:
    return (
        f"an image's scores are off by {error.budget_fraction:.3g} times their budget, "
        f"the worst score by {error.max_rel:.1e} of the image's largest"
    )
