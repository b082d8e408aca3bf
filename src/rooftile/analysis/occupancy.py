"""Resident blocks of a multiprocessor, and the limit that binds.

Source: PMPP, section 4.7; the allocation units are the CUDA Toolkit's ``cuda_occupancy.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.analysis._checks import check_not_negative
from rooftile.analysis.architectures import Multiprocessor
from rooftile.analysis.launch import ceil_div
from rooftile.errors import InputError
from rooftile.ops.checks import check_positive


@dataclass(frozen=True)
class Occupancy:
    """The resident blocks of one kernel on a multiprocessor."""

    blocks: int
    """Resident blocks; 0 where a block's registers do not fit, so that a launch fails."""
    threads: int
    warps: int
    occupancy: float
    """Warps over the warp limit, 0 to 1."""
    limits: dict[str, int]
    """Blocks that each resource allows on its own."""

    @property
    def binding(self) -> tuple[str, ...]:
        """The resources whose limit is the least."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks)


def occupancy(
    sm: Multiprocessor,
    threads: int,
    *,
    registers: int = 0,
    shared_bytes: int = 0,
    block_registers: int | None = None,
) -> Occupancy:
    """Resident blocks: the least number that a resource allows.

    With w = ceil(threads / 32) warps a block: by blocks, the limit itself; by threads, floor(limit
    / threads); by warps, floor(limit / w); by registers, floor(limit / the block's registers); by
    shared memory, floor(limit / (its bytes + reserved ones)). Where registers come by warp, a warp
    takes 32 x ``registers`` (of a thread) rounded up to the unit, in one partition of the register
    file.  ``block_registers`` gives a block's registers as a whole instead.  occupancy = resident
    warps / warp limit.

    Raises `InputError` for a block that no multiprocessor of the kind can hold: more threads,
    registers a thread or shared memory than exist.
    """
    _check(sm, threads, registers, shared_bytes, block_registers)
    warps = ceil_div(threads, sm.warp)
    limits = {
        "blocks": sm.blocks,
        "threads": sm.threads // threads,
        "warps": sm.warp_limit // warps,
    }
    if sm.registers is not None and (registers or block_registers):
        limits["registers"] = _by_registers(sm, threads, registers, block_registers)
    if sm.shared_bytes is not None and shared_bytes + sm.shared_reserved:
        limits["shared memory"] = sm.shared_bytes // _shared(sm, shared_bytes)
    blocks = min(limits.values())
    share = blocks * warps / sm.warp_limit
    return Occupancy(blocks, blocks * threads, blocks * warps, share, limits)


def pending_loads(blocks: int, block_loads: int) -> int:
    """Loads that one multiprocessor has in flight: resident blocks x loads that one issues.

    PMPP, section 4.6 (latency tolerance).
    """
    check_not_negative(blocks=blocks)
    check_positive(block_loads=block_loads)
    return blocks * block_loads


def waves(grid_blocks: int, resident: int, multiprocessors: int) -> float:
    """grid blocks / (resident blocks x multiprocessors): how often the device is filled.

    The last, partial wave takes as long as a whole one.
    """
    check_positive(grid_blocks=grid_blocks, resident=resident, multiprocessors=multiprocessors)
    return grid_blocks / (resident * multiprocessors)


def _by_registers(
    sm: Multiprocessor, threads: int, registers: int, block_registers: int | None
) -> int:
    total = sm.registers or 0
    if block_registers is not None:
        return total // block_registers
    warps = ceil_div(threads, sm.warp)
    if sm.registers_by_block:
        return total // _up(registers * sm.warp * _up(warps, 2), sm.register_unit)
    if sm.register_unit == 1 and sm.partitions == 1:
        return total // (registers * threads)
    a_warp = _up(registers * sm.warp, sm.register_unit)
    return total // sm.partitions // a_warp * sm.partitions // warps


def _shared(sm: Multiprocessor, shared_bytes: int) -> int:
    return _up(shared_bytes + sm.shared_reserved, sm.shared_unit)


def _up(count: int, unit: int) -> int:
    return ceil_div(count, unit) * unit


def _check(
    sm: Multiprocessor, threads: int, registers: int, shared_bytes: int, block_registers: int | None
) -> None:
    check_positive(threads=threads)
    check_not_negative(registers=registers, shared_bytes=shared_bytes)
    if block_registers is not None:
        check_positive(block_registers=block_registers)
    shared = sm.shared_bytes if sm.shared_bytes_per_block is None else sm.shared_bytes_per_block
    block = sm.threads if sm.threads_per_block is None else sm.threads_per_block
    for name, given, limit in (
        ("threads", threads, block),
        ("warps", ceil_div(threads, sm.warp), sm.warp_limit),
        ("registers", registers, sm.registers_per_thread),
        ("shared_bytes", shared_bytes, shared),
    ):
        if limit is not None and given > limit:
            raise InputError(name, given, f"at most {limit}, which is all there is for a block")
