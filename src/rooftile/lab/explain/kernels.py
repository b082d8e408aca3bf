"""A strategy's kernels: launches, resources, occupancy, and what they touch of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rooftile.analysis.launch import Grid
from rooftile.analysis.occupancy import Occupancy, occupancy, waves
from rooftile.devices.cuda.compile import compile_cubin, specific
from rooftile.devices.cuda.cubin import Taken, resources
from rooftile.errors import CompileFailure, DeviceMissing
from rooftile.lab.explain.accesses import Accesses
from rooftile.lab.explain.tables import accesses
from rooftile.lab.explain.target import Target
from rooftile.strategies.gpu import Config, GpuStrategy, Step


@dataclass(frozen=True)
class KernelView:
    """One kernel over all its launches; grid, block and occupancy are of the first."""

    name: str
    launches: int
    grid: Grid
    """x first."""
    registers: int | None
    shared_bytes: int | None
    """Of a block, static and dynamic."""
    spill_bytes: int | None
    occupancy: Occupancy | None
    """None where the registers or the limits are not known."""
    waves: float | None
    accesses: Accesses | None
    """None where the strategy has no model of them."""
    read_bytes: int
    """Distinct data: what device memory must give if the caches keep all that is shared."""
    written_bytes: int
    sums: bool
    """Whether the problem's multiply-adds are in it."""


@dataclass(frozen=True)
class Views:
    """All kernels, and why something of them is not known."""

    kernels: tuple[KernelView, ...]
    missing: str


def kernel_views(strategy: GpuStrategy, problem: Any, config: Config, target: Target) -> Views:
    """The kernels of a strategy in the order of their first launch."""
    steps = strategy.steps(problem, config)
    taken, missing = _taken(strategy, problem, config, target)
    models = accesses(strategy, problem, config)
    names = list(dict.fromkeys(step.launch.kernel for step in steps))
    touched = _touched(strategy, problem, config, steps)
    summing = next((n for n in names if _has_weights(steps, n)), names[0])
    views = tuple(
        _view(
            [step for step in steps if step.launch.kernel == name], taken.get(name), target,
            models.get(name), touched[name], name == summing,
        )
        for name in names
    )  # fmt: skip
    if not models:
        missing = "; ".join(filter(None, (missing, "no model of this strategy's accesses")))
    return Views(views, missing)


def _view(
    steps: list[Step], taken: Taken | None, target: Target, found: Accesses | None,
    touched: tuple[int, int], sums: bool,
) -> KernelView:  # fmt: skip
    launch = steps[0].launch
    grid = Grid(launch.grid, launch.block)
    held = fill = None
    shared = taken.shared_bytes + launch.shared_bytes if taken else None
    if taken is not None and shared is not None and target.sm is not None:
        held = occupancy(target.sm, launch.threads, registers=taken.registers, shared_bytes=shared)
        if held.blocks and target.multiprocessors:
            fill = waves(grid.block_count, held.blocks, target.multiprocessors)
    return KernelView(
        name=launch.kernel,
        launches=len(steps),
        grid=grid,
        registers=taken.registers if taken else None,
        shared_bytes=shared,
        spill_bytes=taken.frame_bytes if taken else None,
        occupancy=held,
        waves=fill,
        accesses=found,
        read_bytes=touched[0],
        written_bytes=touched[1],
        sums=sums,
    )


def _taken(
    strategy: GpuStrategy, problem: Any, config: Config, target: Target
) -> tuple[dict[str, Taken], str]:
    """What the compiler takes for each kernel; and why it is not known, where it is not."""
    if target.architecture is None:
        return {}, "registers are known for CUDA only: name one with --architecture"
    reason = strategy.why_not_on(target.architecture)
    if reason is not None:
        return {}, reason
    try:
        code = compile_cubin(
            strategy.text, strategy.macros(problem, config), specific(target.architecture)
        )
    except DeviceMissing as error:
        return {}, str(error)
    except CompileFailure as error:
        return {}, f"not for {target.architecture}: {str(error).splitlines()[0]}"
    return resources(code), ""


def _has_weights(steps: Iterable[Step], kernel: str) -> bool:
    return any(
        "weights" in step.arguments or bool(step.launch.constants)
        for step in steps
        if step.launch.kernel == kernel
    )


def _touched(
    strategy: GpuStrategy, problem: Any, config: Config, steps: tuple[Step, ...]
) -> dict[str, tuple[int, int]]:
    """Bytes that each kernel must read and write, every array once in all of its launches.

    Slices share out the batch; parts, which share out maps, each read all inputs.  What the
    first kernel that names an array of the workspace does to it is writing; but those that the
    strategy's preparation makes, once, are only read, and those that it makes them from are read
    again for repairs alone.
    """
    sizes = {name: 4 * math.prod(shape) for name, shape in problem.parameter_shapes.items()}
    sizes |= {"x": 4 * math.prod(problem.input_shape), "out": 4 * math.prod(problem.output_shape)}
    one, two = (strategy.workspace(problem.with_batch(n), config) for n in (1, 2))
    for name in one:
        # What an image adds, and what is there for all of them, such as weights.
        added = two[name] - one[name]
        sizes[name] = 4 * (one[name] - added + problem.batch * added)
    found: dict[str, tuple[int, int]] = {}
    prepared = strategy.preparation(problem, config)
    ready = {_array(argument) for step in prepared for argument in step.arguments}
    written = ready & set(one)
    sizes = {name: size for name, size in sizes.items() if name not in ready - written}
    for name in dict.fromkeys(step.launch.kernel for step in steps):
        own = [step for step in steps if step.launch.kernel == name]
        parts = len({step.part for step in own})
        named = {_array(argument) for step in own for argument in step.arguments} & set(sizes)
        made = {a for a in named if a == "out" or (a in one and a not in written)}
        reads = sum(sizes[a] * (parts if a == "x" else 1) for a in named - made)
        found[name] = reads, sum(sizes[a] for a in made)
        written |= made
    return found


def _array(argument: Any) -> str:
    """The array that an argument names: itself, or a tensor map of it."""
    return argument if isinstance(argument, str) else getattr(argument, "array", "")
