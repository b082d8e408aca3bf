"""A strategy's kernels: launches, resources, occupancy, and what they touch of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.analysis.accesses import Accesses
from rooftile.analysis.launch import Grid
from rooftile.analysis.occupancy import Occupancy, occupancy, waves
from rooftile.devices.cuda.compile import compile_cubin, specific
from rooftile.devices.cuda.cubin import Taken, resources
from rooftile.devices.gpu import TensorMap
from rooftile.errors import CompileFailure, DeviceMissing
from rooftile.lab.show.explain.target import Target
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step


@dataclass(frozen=True)
class KernelView:
    """One kernel over all its launches; grid, block and occupancy are of the first."""

    name: str
    launches: int
    grid: Grid
    """x first."""
    most_blocks: int
    """Blocks of the launch that has most of them."""
    registers: int | None
    shared_bytes: int | None
    """Static and dynamic shared memory of a block."""
    spill_bytes: int | None
    occupancy: Occupancy | None
    """None where the registers or the limits are not known."""
    waves: float | None
    accesses: Accesses | None
    """None where the strategy has no model of them."""
    read_bytes: int
    """Distinct bytes: what device memory must give if the caches keep all that is shared."""
    written_bytes: int
    sums: bool
    """True if the kernel has the problem's multiply-adds."""

    @property
    def divergent_share(self) -> float | None:
        """Warps that diverge at a guard, over all warps of all launches; None without a model."""
        if self.accesses is None:
            return None
        return self.accesses.divergent_warps / (self.grid.warps() * self.launches)

    def working(self, multiprocessors: int) -> int:
        """Multiprocessors that have a block of it."""
        return min(self.most_blocks, multiprocessors)


@dataclass(frozen=True)
class Views:
    """All kernels, and why something of them is not known."""

    kernels: tuple[KernelView, ...]
    missing: str


def kernel_views(strategy: GpuStrategy, problem: Any, config: Config, target: Target) -> Views:
    """The kernels of a strategy in the order of their first launch."""
    steps = strategy.steps(problem, config)
    taken, missing = taken_by(strategy, problem, config, target)
    models = strategy.accesses(problem, config)
    names = list(dict.fromkeys(step.launch.kernel for step in steps))
    touched = touched_by(strategy, problem, config, steps)
    main = strategy.kernel(strategy.summing)
    summing = main if main in names else names[0]
    views = tuple(
        _view(
            [step for step in steps if step.launch.kernel == name],
            taken.get(name),
            target,
            models.get(name),
            touched[name],
            name == summing,
        )
        for name in names
    )
    if not models:
        missing = "; ".join(filter(None, (missing, "no model of this strategy's accesses")))
    return Views(views, missing)


def _view(
    steps: list[Step],
    taken: Taken | None,
    target: Target,
    found: Accesses | None,
    touched: tuple[int, int],
    sums: bool,
) -> KernelView:
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
        most_blocks=max(math.prod(step.launch.grid) for step in steps),
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


def taken_by(
    strategy: GpuStrategy, problem: Any, config: Config, target: Target
) -> tuple[dict[str, Taken], str]:
    """Each kernel's resources by the compiler, or the reason why they are not known."""
    if target.architecture is None:
        return {}, "registers are known for CUDA only: name one with --architecture"
    reason = strategy.why_not_on(target.architecture)
    if reason is not None:
        return {}, reason
    try:
        code = compile_cubin(
            strategy.text,
            strategy.defines(problem, config),
            specific(target.architecture),
            strategy.folders,
        )
    except DeviceMissing as error:
        return {}, str(error)
    except CompileFailure as error:
        return {}, f"not for {target.architecture}: {str(error).splitlines()[0]}"
    return resources(code), ""


def touched_by(
    strategy: GpuStrategy, problem: Any, config: Config, steps: tuple[Step, ...]
) -> dict[str, tuple[int, int]]:
    """Bytes that each kernel must read and write, every array once in all of its launches.

    Slices share out the batch; parts, which share out maps, each read all inputs.  The first
    kernel that names an array of the workspace writes it.  Arrays that the strategy's preparation
    makes once are only read; those that it makes them from are read again for repairs alone.
    """
    roles = {array.name: array.role for array in problem.arrays}
    between = _workspace_bytes(strategy, problem, config)
    sizes = {array.name: array.nbytes for array in problem.arrays} | between
    prepared = _named(strategy.preparation(problem, config))
    written = prepared & set(between)
    counted = set(sizes) - (prepared - written)
    found: dict[str, tuple[int, int]] = {}
    for kernel in dict.fromkeys(step.launch.kernel for step in steps):
        own = [step for step in steps if step.launch.kernel == kernel]
        programs = len({step.program for step in own})
        named = _named(own) & counted
        made = {a for a in named - written if a in between or roles[a] == "output"}
        read = (named - made) | _read_again(own, made)
        reads = sum(sizes[a] * (programs if roles.get(a) == "input" else 1) for a in read)
        found[kernel] = reads, sum(sizes[name] for name in made)
        written |= made & set(between)
    return found


def _read_again(own: Sequence[Step], made: set[str]) -> set[str]:
    """The arrays that one launch of a kernel writes and a later one reads, as time steps do. A
    kernel writes by the arguments where an array is named first."""
    places: dict[str, int] = {}
    for step in own:
        for place, argument in enumerate(step.arguments):
            if isinstance(argument, str) and argument in made:
                places.setdefault(argument, place)
    results = set(places.values())
    return {
        argument
        for step in own
        for place, argument in enumerate(step.arguments)
        if isinstance(argument, str) and argument in made and place not in results
    }


def _workspace_bytes(strategy: GpuStrategy, problem: Any, config: Config) -> dict[str, int]:
    """Bytes of each array between the steps over the whole batch, whose slices may share one."""
    batch = problem.batch_size
    if batch is None:
        return {name: 4 * count for name, count in strategy.workspace(problem, config).items()}
    one, two = (strategy.workspace(problem.with_batch(n), config) for n in (1, 2))
    # An array has what each image adds, and what all of them share, such as weights.
    added = {name: two[name] - count for name, count in one.items()}
    return {name: 4 * (one[name] + (batch - 1) * added[name]) for name in one}


def _named(steps: Iterable[Step]) -> set[str]:
    """The arrays that steps name, themselves or by a tensor map."""
    arguments = (argument for step in steps for argument in step.arguments)
    named = (a.array if isinstance(a, TensorMap) else a for a in arguments)
    return {name for name in named if isinstance(name, str)}
