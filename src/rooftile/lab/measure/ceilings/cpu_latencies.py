"""Latencies and strided reads of the host's processor."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.ceilings import cpu_file
from rooftile.devices.cpu.native import Native, source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.lab.measure.ceilings.cpu_kernels import best
from rooftile.lab.measure.ceilings.microbenchmarks import (
    STRIDES,
    Latency,
    Level,
    Microbenchmarks,
    StridedRead,
    keep_microbenchmarks,
    one_cycle,
    path_beside,
    read_microbenchmarks,
)

_LINE = 64
"""Bytes from an element of a chain to its neighbour: a cache line of most processors."""
_USUAL = {1: 32 * 2**10, 2: 2**20, 3: 16 * 2**20}
"""Caches where the system is silent."""
BUFFER_BYTES = 256 * 2**20
"""The least footprint of memory."""
_STEPS = {"registers": 2**18, "L1": 2**18, "L2": 2**16, "L3": 2**14, "memory": 2**13}
"""Steps of a walk: about a millisecond, shorter than a scheduler's slice."""
_PLACES = 3
"""Number of positions in the buffer at which a chain is tried."""
SECONDS = 0.3
"""Undisturbed time spent on each number."""
_READS = 4096
"""Elements in one unit of work of a strided read."""
_SUMS = 8
"""Sums that do not wait for each other."""


def cpu_microbenchmarks(
    *, refresh: bool = False, progress: Callable[[str], None] | None = None
) -> Microbenchmarks:
    """The processor's measurements, from the cache or measured now, in some seconds."""
    kept = None if refresh else known_cpu_microbenchmarks()
    if kept is not None:
        return kept
    if progress is not None:
        progress("measuring the latencies of the processor")
    measured = measure()
    keep_microbenchmarks(path_beside(cpu_file()), measured)
    return measured


def known_cpu_microbenchmarks() -> Microbenchmarks | None:
    """Kept measurements; None where nothing was measured."""
    return read_microbenchmarks(path_beside(cpu_file()))


def measure() -> Microbenchmarks:
    """Measure them now."""
    footprints = footprints_of(cache_sizes())
    buffer = cpu.allocate(max(footprints.values()) // 4, "a chain larger than the caches")
    latencies = [_latency("registers", 0, _chained("multiply_add", np.float32))]
    for level, footprint in footprints.items():
        latencies.append(_fastest(level, buffer.view(np.int64), footprint))
    # As numbers, the chain's elements would be subnormal, which are slow to add.
    buffer.fill(1)
    reads = tuple(StridedRead(stride, strided_gbps(buffer, stride)) for stride in STRIDES)
    return Microbenchmarks(tuple(latencies), reads, buffer.nbytes)


def cache_sizes() -> dict[int, int]:
    """Bytes of the first core's data caches by level."""
    found = dict(_USUAL)
    for folder in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        with contextlib.suppress(OSError, ValueError):
            level, kind, size = (
                (folder / name).read_text(encoding="ascii").strip()
                for name in ("level", "type", "size")
            )
            if kind != "Instruction":
                found[int(level)] = 1024 * int(size.removesuffix("K"))
    return found


def footprints_of(caches: dict[int, int]) -> dict[Level, int]:
    """The size of each level's chain, none of which stays in the cache before.

    Of the first cache it is a quarter and of the second half, as the core's other thread may use
    them too.  Of the third it is four times the second cache, or less: other cores, and other
    virtual machines, have their share of it.  Of memory it is twice the largest cache or more.
    """
    return {
        "L1": _lines(caches[1] // 4),
        "L2": _lines(caches[2] // 2),
        "L3": _lines(max(2 * caches[2], min(4 * caches[2], caches[3] // 4))),
        "memory": _lines(max(2 * max(caches.values()), BUFFER_BYTES)),
    }


def _lines(size: int) -> int:
    return size // _LINE * _LINE


def clock_ghz() -> float:
    """The clock while it is measured: an addition and an exclusive or take a cycle each."""
    walk, steps = _chained("add_and_xor", np.int64), _STEPS["registers"]
    return 1e-9 * 2 * steps / best(lambda: walk(steps), 1, SECONDS).seconds


def walker(chain: NDArray[np.int64]) -> Callable[[int], None]:
    """A walker lays a chain a line apart, and walks a number of steps on from its position."""
    apart = _LINE // chain.itemsize
    chain[::apart] = apart * one_cycle(len(chain) // apart)
    place = np.zeros(1, np.int64)
    return _walk(_kernels()["walk"], [chain, place])


def strided_gbps(x: NDArray[np.float32], stride: int) -> float:
    """1e9 bytes a second that all cores ask for."""
    threads, units = cpu.cores(), len(x) // (stride * _READS)
    sums, sizes = np.zeros(units, np.float32), np.array([stride], np.int64)
    entry = cpu.Entry(_kernels()["read"], ("float32", "float32"))
    row = (units, *cpu.places([x, sums, sizes]))
    work = cpu.KernelSequence([entry], [row])
    seconds = best(lambda: work.run(units, threads), threads, SECONDS).seconds
    return 1e-9 * 4 * _READS * units / seconds


def _fastest(level: Level, buffer: NDArray[np.int64], footprint: int) -> Latency:
    """The least of chains at some places of a buffer: where pages lie in memory may keep a cache
    from holding what is not larger than it is."""
    length, line, found = footprint // 8, _LINE // 8, []
    lines = (len(buffer) - length) // line
    for at in {line * (lines * k // (_PLACES - 1)) for k in range(_PLACES)}:
        walk = walker(buffer[at : at + length])
        walk(footprint // _LINE)  # One round brings the chain to where it fits.
        found.append(_latency(level, footprint, walk))
    return min(found, key=lambda one: one.ns)


def _latency(level: Level, footprint: int, walk: Callable[[int], None]) -> Latency:
    """The time of a step; its cycles are the clock's just before."""
    steps, clock = _STEPS[level], clock_ghz()
    ns = 1e9 * best(lambda: walk(steps), 1, SECONDS).seconds / steps
    return Latency(level, footprint, ns, ns * clock)


def _chained(kernel: str, dtype: Any) -> Callable[[int], None]:
    """A walk in registers, from numbers that neither grow nor vanish."""
    numbers = np.array([0.5, 0.5, 0.5]).astype(dtype)
    return _walk(_kernels()[kernel], [numbers, np.zeros(lanes(), dtype)])


def _walk(kernel: Native, arrays: list[NDArray[Any]]) -> Callable[[int], None]:
    entry = cpu.Entry(kernel, tuple(str(array.dtype) for array in arrays))
    # The table of the work has addresses alone: these keep the arrays.
    held = [*arrays, np.zeros(1, np.int64)]
    work = cpu.KernelSequence([entry], [(1, *cpu.places(held))])

    def walk(steps: int) -> None:
        held[-1][0] = steps
        work.run(1, 1)

    return walk


@cache
def _kernels() -> dict[str, Native]:
    texts = {
        "walk": _WALK,
        "multiply_add": _chain_of("a = fma(a, w, t)", "{} = splat_at(x, {})", "store(out, 0, a)"),
        "add_and_xor": _chain_of("a = (a + w) ^ t", "{} = x[{}]", "out[0] = a"),
        "read": _read_source(),
    }
    return {name: source(f"latency_{name}", text) for name, text in texts.items()}


_WALK = """
def kernel(chain, place, sizes, begin, end):
    at = place[0]
    for _ in range(sizes[0]):
        at = chain[at]
    place[0] = at
"""


def _chain_of(step: str, load: str, store: str) -> str:
    """``sizes[0]`` steps, each of which waits for the one before."""
    loads = "\n    ".join(load.format(name, i) for i, name in enumerate("awt"))
    return f"""
def kernel(x, out, sizes, begin, end):
    {loads}
    for _ in range(sizes[0]):
        {step}
    {store}
"""


def _read_source() -> str:
    """Sums of every ``sizes[0]``-th element."""
    names = [f"a{k}" for k in range(_SUMS)]
    zeros = "\n".join(f"        {name} = float32(0.0)" for name in names)
    reads = "\n".join(
        f"            {name} = {name} + x[at + {k} * stride]" for k, name in enumerate(names)
    )
    return f"""
def kernel(x, sums, sizes, begin, end):
    stride = sizes[0]
    for unit in range(begin, end):
{zeros}
        at = unit * {_READS} * stride
        for _ in range({_READS // _SUMS}):
{reads}
            at = at + {_SUMS} * stride
        sums[unit] = {" + ".join(names)}
"""
