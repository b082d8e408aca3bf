"""Times of a plan's layers: each by itself, and all of them on the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.nn.cpu_plan import CpuPlan
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.nn.plan import Plan
from rooftile.ops import Float32
from rooftile.runtime.timing.device import Flush, in_turns, work_of
from rooftile.runtime.timing.host import Timing, interleaved


def profile(plan: Plan, images: Float32) -> dict[str, Timing]:
    """Time each layer by itself on the first batch of ``images``, in milliseconds.

    On the CPU chained layers are separated for this, so the sum exceeds the whole plan's time. On a
    GPU the times are by the device's clock, on data in its memory that may be cached.
    """
    part = _first_batch(plan, images)
    if isinstance(plan, GpuPlan):
        return _on_gpu(plan, part)
    assert isinstance(plan, CpuPlan)
    return _on_cpu(plan, part)


def device_time(plan: GpuPlan, images: Float32) -> Timing:
    """Time all layers on the first batch of ``images`` by the device's clock, in milliseconds.

    The copies to and from the device are left out.
    """
    with plan.held() as gpu:
        flush = Flush(gpu)
    whole = PlanWork(plan, images, flush)
    with plan.held():
        return in_turns({"": whole.work})[""].warm


def _first_batch(plan: Plan, images: Float32) -> Float32:
    """Raises `InputError` where there are no images, which take no time."""
    part = plan.checked(images)[: plan.batch]
    if not len(part):
        raise InputError("images", "none", "at least one")
    return part


class PlanWork:
    """All layers of a plan on the first batch of some images, for `in_turns` with others.

    The images and the scores are in arrays of its own; between the layers it shares the plan's, so
    the plan must not be called while it runs.
    """

    def __init__(self, plan: GpuPlan, images: Float32, flush: Flush) -> None:
        part = _first_batch(plan, images)
        self._plan = plan
        self._poison = np.full((len(part), *plan.network.output_shape), np.nan, np.float32)
        with plan.held() as gpu:
            # They are held here, since a graph that was captured does not hold them.
            self._images, self._scores = gpu.upload(part), gpu.upload(self._poison)
            launch = partial(plan.start, self._images, self._scores, len(part))
            launch()
            self.work = work_of(gpu, launch, flush)

    def computed(self) -> Float32:
        """The scores that this very work leaves in poisoned memory."""
        scores = self._poison.copy()
        with self._plan.held() as gpu:
            gpu.copy_in(scores, self._scores)
            self.work.once()
            gpu.copy_out(self._scores, scores)
        return scores


def _on_gpu(plan: GpuPlan, part: Float32) -> dict[str, Timing]:
    with plan.held() as gpu:
        # A layer is timed on what the one before gives, so each has an array of its own.  They
        # are held here, since a graph that was captured does not hold them.
        shapes = [layer.problem.output_shape for layer in plan.layers]
        results = [gpu.allocate(4 * math.prod(shape)) for shape in shapes]
        given = [gpu.upload(part), *results[:-1]]
        flush, works = Flush(gpu), {}
        for layer, bound, x, out in zip(plan.layers, plan.bound, given, results, strict=True):
            launch = partial(bound.launch, (x, out), len(part))
            launch()
            works[layer.name] = work_of(gpu, launch, flush)
        return {name: timing.warm for name, timing in in_turns(works).items()}


def _on_cpu(plan: CpuPlan, part: Float32) -> dict[str, Timing]:
    calls: dict[str, Callable[[], object]] = {}
    for layer in plan.layers:
        problem = layer.problem.with_batch(len(part))
        bound = layer.strategy.bind(problem, layer.parameters, cpu.open_device(plan.threads))
        out = np.empty(problem.output_shape, np.float32)
        calls[layer.name] = partial(bound, part.reshape(problem.input_shape), out)
        calls[layer.name]()
        part = out
    return interleaved(calls)
