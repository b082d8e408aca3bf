"""The whole explanation of one strategy on one problem."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rooftile.analysis.bounds import working_share
from rooftile.devices.select import parse_device
from rooftile.errors import InputError, unknown
from rooftile.lab.measure.records import plain, problem_json
from rooftile.lab.show.explain.kernels import KernelView, kernel_views
from rooftile.lab.show.explain.measured import Measured
from rooftile.lab.show.explain.target import Target
from rooftile.ops import Problem
from rooftile.strategies import Strategy
from rooftile.strategies.contract.gpu import Config, GpuStrategy, of_launches

ARITHMETIC, MEMORY, CACHES = "arithmetic", "device memory", "L1 and shared memory"
STEPS = "steps that follow each other"
_PASS_BYTES = 128
"""Bytes that a multiprocessor takes in a cycle."""


@dataclass(frozen=True)
class Explanation:
    """Bounds of a strategy, and its distance from them. Times are in ms, of the whole batch."""

    problem: Problem
    device: str
    strategy: str
    summary: str
    precision: str
    config: Mapping[str, int]
    target: Target
    kernels: tuple[KernelView, ...]
    limits_ms: Mapping[str, float]
    """The time that each known limit alone allows, over all kernels."""
    bound_ms: float | None
    """The time of the kernels one after another, if each takes what its tightest limit allows; None
    where no rate is known."""
    bound_by: str
    """The limit to which most of that time is due."""
    floor_ms: float | None
    """The time that the problem's FLOPs and compulsory bytes allow, whatever the strategy."""
    missing: str
    """The unknown parts and their reasons; empty where nothing is missing."""
    measured: Measured | None = None
    kernels_ms: tuple[float, ...] = ()
    """The bound of each of ``kernels`` by its tightest limit; 0 where none is known."""

    @property
    def bound_fraction(self) -> float | None:
        """The bound over the measured time; None without either."""
        if self.measured is None or self.bound_ms is None:
            return None
        return self.bound_ms / self.measured.median_ms

    @property
    def moved_bytes(self) -> int:
        """Bytes of device memory that all kernels together must read and write."""
        return sum(k.read_bytes + k.written_bytes for k in self.kernels)

    @property
    def input_loads(self) -> float | None:
        """Average number of loads of an input's or parameter's element from global memory by
        threads. None without a model."""
        found = [k.accesses.loads for k in self.kernels if k.accesses is not None]
        given = sum(array.size for array in self.problem.given_arrays)
        return sum(found) / given if found else None

    @property
    def adds_per_load(self) -> float | None:
        """Multiply-adds for each element that a thread loads from global memory. This is the reuse
        that tiles in shared memory and registers give; None without a model."""
        found = [k.accesses.loads for k in self.kernels if k.accesses is not None]
        return self.problem.flops / 2 / sum(found) if found else None

    @property
    def uncached_ms(self) -> float | None:
        """The time that memory takes if every load and store of a thread goes to it. This is the
        textbook's bound of a tile, which counts on no cache: what is loaded once and used by many
        must lie in shared memory or registers. None without a model or a rate."""
        found = [k.accesses for k in self.kernels if k.accesses is not None]
        if not found or self.target.bandwidth_gb_s is None:
            return None
        elements = sum(one.loads + one.stores + one.atomics for one in found)
        arrays = self.problem.arrays
        size = sum(array.nbytes for array in arrays) / sum(array.size for array in arrays)
        return 1e-6 * size * elements / self.target.bandwidth_gb_s

    def bytes_a_thread(self, kernel: KernelView) -> float | None:
        """Bytes that each resident thread of a kernel must have requested to keep device memory
        busy. None where the memory's latency or the occupancy is not known."""
        needed, held = self.target.bytes_under_way(), kernel.occupancy
        if needed is None or held is None or not held.blocks or not self.target.multiprocessors:
            return None
        resident = min(held.blocks * self.target.multiprocessors, kernel.grid.block_count)
        return needed / (resident * math.prod(kernel.grid.block))

    def to_json(self) -> dict[str, Any]:
        """The object that ``rooftile explain --json`` prints, without its advice."""
        fields = {
            name: getattr(self, name)
            for name in (
                "device",
                "strategy",
                "summary",
                "precision",
                "config",
                "limits_ms",
                "bound_ms",
                "bound_by",
                "bound_fraction",
                "floor_ms",
                "moved_bytes",
                "input_loads",
                "adds_per_load",
                "uncached_ms",
                "missing",
            )
        }
        target = dataclasses.asdict(self.target)
        del target["ceilings"], target["machine"]
        measured = dataclasses.asdict(self.measured) if self.measured else None
        found: dict[str, Any] = plain(
            {
                **fields,
                "target": target,
                "measured": measured,
                "kernels": [
                    {**_kernel_json(kernel), "bytes_a_thread": self.bytes_a_thread(kernel)}
                    for kernel in self.kernels
                ],
            }
        )
        return {"problem": problem_json(self.problem), **found}


def explain(
    rung: Strategy,
    problem: Problem,
    device: str,
    target: Target,
    *,
    config: Config | None = None,
    measured: Measured | None = None,
) -> Explanation:
    """Explain a rung of a GPU's ladder on a problem for a target.

    ``config`` sets tunables; without it, the measured time's tunables are taken, or the defaults.
    Raises `UnsupportedProblem`, and `InputError` for a config that cannot run.
    """
    strategy = of_launches(rung)
    if strategy.why_not_on(target.architecture) is None:
        strategy = strategy.on(target.machine)
    strategy.check(problem, config=config)
    if parse_device(device)[0] not in strategy.devices:
        raise unknown("device", device, strategy.devices)
    chosen = config if config is not None else (dict(measured.config) if measured else None)
    values = _config(strategy, problem, chosen)
    views = kernel_views(strategy, problem, values, target)
    each = [_limits(kernel, strategy, problem, target) for kernel in views.kernels]
    totals: dict[str, float] = {}
    for limits in each:
        for name, value in limits.items():
            totals[name] = totals.get(name, 0.0) + value
    binding: dict[str, float] = {}
    for limits in filter(None, each):
        name = max(limits, key=lambda limit: limits[limit])
        binding[name] = binding.get(name, 0.0) + limits[name]
    return Explanation(
        problem=problem,
        device=device,
        strategy=strategy.name,
        summary=strategy.summary,
        precision=strategy.precision,
        config=values,
        target=target,
        kernels=views.kernels,
        limits_ms=totals,
        bound_ms=sum(map(_most, each)) if totals else None,
        bound_by=max(binding, key=lambda name: binding[name], default=""),
        floor_ms=_floor(problem, strategy.precision, target),
        missing="; ".join(filter(None, (views.missing, _unknown(strategy, target)))),
        measured=measured,
        kernels_ms=tuple(map(_most, each)),
    )


def _config(strategy: GpuStrategy, problem: Problem, given: Config | None) -> dict[str, int]:
    """Every tunable's value.  Those that are given must make a launch."""
    values = strategy.config(problem, given)
    for tunable in strategy.tunables:
        least = min(1, *tunable.values)
        if values[tunable.name] < least:
            raise InputError(tunable.name, values[tunable.name], f"at least {least}")
    reason = strategy.invalid(problem, values)
    if reason is not None:
        raise InputError("config", values, f"one that can run: {reason}")
    return values


def _most(limits: Mapping[str, float]) -> float:
    return max(limits.values(), default=0.0)


def _limits(
    kernel: KernelView, strategy: GpuStrategy, problem: Problem, target: Target
) -> dict[str, float]:
    """The least time in ms that each limit allows one kernel on the multiprocessors that work."""
    found = {}
    rate, passes, steps = rate_of(strategy, target), target.passes_per_ms(), target.steps_per_ms()
    lanes = None if strategy.tensor_cores else target.lanes
    # Transforms save multiplications, and nobody tells how many.
    if kernel.sums and rate is not None and not strategy.transforms:
        found[ARITHMETIC] = 1e-6 * problem.flops / (rate * _share(kernel, target, lanes))
    working = _share(kernel, target)
    if target.bandwidth_gb_s is not None:
        most = target.bandwidth_gb_s
        if passes is not None:
            most = min(most, 1e-6 * _PASS_BYTES * passes * working)
        found[MEMORY] = 1e-6 * (kernel.read_bytes + kernel.written_bytes) / most
    if kernel.accesses is not None and passes is not None:
        found[CACHES] = kernel.accesses.cache_passes / (passes * working)
    if kernel.accesses is not None and kernel.accesses.steps and steps is not None:
        found[STEPS] = kernel.accesses.steps / steps
    return found


def _share(kernel: KernelView, target: Target, lanes: int | None = None) -> float:
    """The share of the GPU's multiprocessors, or of their lanes, that a kernel can use."""
    if target.multiprocessors is None:
        return 1.0
    threads = kernel.grid.block_threads
    return working_share(kernel.most_blocks, threads, target.multiprocessors, lanes)


def rate_of(strategy: GpuStrategy, target: Target) -> float | None:
    """The rate of a strategy's own instructions; None where it is not known."""
    if not strategy.tensor_cores:
        return target.fma_gflops
    # No data sheet of ours has the rates of tensor cores, not even for products that are split.
    return target.gflops(strategy.precision) if target.ceilings else None


def _unknown(strategy: GpuStrategy, target: Target) -> str:
    """Why no limit of arithmetic is known; empty where one is."""
    if strategy.transforms:
        return "how many FLOPs the transform saves"
    if rate_of(strategy, target) is None:
        return f"the rate of {strategy.precision} instructions"
    return ""


def _floor(problem: Problem, precision: str, target: Target) -> float | None:
    rate, bandwidth = target.gflops(precision), target.bandwidth_gb_s
    if rate is None or bandwidth is None:
        return None
    return 1e-6 * max(problem.flops / rate, problem.bytes / bandwidth)


def _kernel_json(kernel: KernelView) -> dict[str, Any]:
    fields = dataclasses.asdict(kernel)
    grid = kernel.grid
    fields["grid"], fields["block"] = list(grid.blocks), list(grid.block)
    counts: dict[str, Any] = {
        "blocks": grid.block_count,
        "threads": grid.threads,
        "warps": grid.warps(),
        "divergent_share": kernel.divergent_share,
    }
    if kernel.occupancy is not None:
        fields["occupancy"]["binding"] = list(kernel.occupancy.binding)
    return {**fields, **counts}
