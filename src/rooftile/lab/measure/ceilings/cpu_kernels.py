"""The kernels of `rooftile.lab.measure.ceilings.cpu`: FMAs alone, or memory traffic alone.

Each is generated for this machine's vectors and run by the same drivers as every
strategy, so that a ceiling is what a perfect strategy could reach here.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops import Float32

CHAINS = 12
"""Independent chains of FMAs.  Two FMAs a cycle, each of latency four, need eight chains; twelve
and the two operands still fit 16 registers."""
STEPS = 10_000
"""FMAs of each chain in one unit of work."""
BLOCK = 4096
"""float32 in one unit of work of the memory kernels."""
WINDOWS = (2048, 256)
"""Units in one call of the memory kernels, 32 and 4 MiB: successive calls take successive windows
of a buffer larger than the caches."""
_FMA_UNITS = (64, 8)
"""Units for each thread in one call of the FMA kernel, about 2 and 0.3 ms.  The first size makes
little of the call's own cost; the second, tried where the first was always disturbed, is
shorter than a scheduler's slice, and can pass undisturbed even on a busy machine."""
_UNROLL = 8
"""Vectors that a round of a memory kernel reads or copies."""

_UNDISTURBED = 0.95
"""Share of the processor time of all its threads that an undisturbed call gets."""
_PATIENCE = 3
"""Multiple of the requested time that is spent waiting for undisturbed calls."""

_SIGNATURE = "(x, weights, bias, out, scratch, sizes, begin, end)"


@dataclass(frozen=True)
class BestTime:
    """The time of one call in seconds, and whether other programs left the cores alone."""

    seconds: float
    undisturbed: bool


@dataclass(frozen=True)
class Rate:
    """1e9 FLOP or bytes a second, and whether other programs left the cores alone."""

    value: float
    undisturbed: bool

    @classmethod
    def of(cls, work: float, best: BestTime) -> Rate:
        """The rate of so much work in a call."""
        return cls(1e-9 * work / best.seconds, best.undisturbed)


def _fma_source() -> str:
    """The chains start from memory and end in it, and nothing here may be reassociated."""
    names = [f"a{i}" for i in range(CHAINS)]
    starts = "\n".join(f"        {a} = load(x, {i})" for i, a in enumerate(names))
    steps = "\n".join(f"            {a} = fma({a}, w, t)" for a in names)
    total = names[0]
    for name in names[1:]:
        total = f"add({total}, {name})"
    return f"""
def kernel{_SIGNATURE}:
    w, t = splat_at(x, 0), splat_at(x, 1)
    for unit in range(begin, end):
{starts}
        for _ in range({STEPS}):
{steps}
        store(out, unit * {lanes()}, {total})
"""


def _read_source() -> str:
    width = lanes()
    zeros = "\n".join(f"        a{k} = splat(0.0)" for k in range(_UNROLL))
    reads = "\n".join(
        f"            a{k} = add(a{k}, load(x, i + {k * width}))" for k in range(_UNROLL)
    )
    total = "a0"
    for k in range(1, _UNROLL):
        total = f"add({total}, a{k})"
    return f"""
def kernel{_SIGNATURE}:
    for unit in range(begin, end):
{zeros}
        for i in range(unit * {BLOCK}, (unit + 1) * {BLOCK}, {_UNROLL * width}):
{reads}
        store(out, unit * {width}, {total})
"""


def _copy_source(store: str) -> str:
    moves = "\n".join(
        f"            {store}(out, i + {k * lanes()}, load(x, i + {k * lanes()}))"
        for k in range(_UNROLL)
    )
    return f"""
def kernel{_SIGNATURE}:
    for unit in range(begin, end):
        for i in range(unit * {BLOCK}, (unit + 1) * {BLOCK}, {_UNROLL * lanes()}):
{moves}
"""


@cache
def kernels() -> dict[str, Native]:
    """The kernels ``fma``, ``read``, ``copy`` and ``stream``."""
    texts = {
        "fma": _fma_source(),
        "read": _read_source(),
        "copy": _copy_source("store_aligned"),
        "stream": _copy_source("stream"),
    }
    return {name: source(f"ceiling_{name}", text) for name, text in texts.items()}


def fma_rate(threads: int, seconds: float) -> Rate:
    """float32 FLOP; an FMA counts as two."""

    def rate(count: int) -> Rate:
        call, flops = fma_work(count, threads)
        return Rate.of(flops, best(call, threads, seconds))

    return first_undisturbed(rate, _FMA_UNITS)


def fma_work(count: int, threads: int) -> tuple[Callable[[], None], int]:
    """A call of nothing but FMAs, with ``count`` units for each thread, and its float32 FLOP."""
    units = count * threads
    x = cpu.allocate(CHAINS + lanes(), "FMA operands")
    x[:] = 0.5  # Each chain settles on 1: no overflow, no subnormals.
    out = cpu.allocate(units * lanes(), "FMA results")
    call = bind(kernels()["fma"], [x], [out], units, threads)
    return call, 2 * CHAINS * STEPS * lanes() * units


def read_rate(size: int, threads: int, seconds: float) -> Rate:
    """Bytes read from an array of ``size`` bytes, which is larger than the caches."""
    buffer = _filled(size // 4)

    def rate(units: int) -> Rate:
        inputs, outputs = windows(buffer, units), [_filled(units * lanes())]
        call = bind(kernels()["read"], inputs, outputs, units, threads)
        return Rate.of(inputs[0].nbytes, best(call, threads, seconds))

    return first_undisturbed(rate, WINDOWS)


def copy_rate(size: int, threads: int, seconds: float, *, streaming: bool) -> Rate:
    """Bytes, read and written, of a copy; ordinary stores also fetch what they
    overwrite, which is not counted, streaming ones do not."""
    source, target = _filled(size // 4), _filled(size // 4)
    kernel = kernels()["stream" if streaming else "copy"]

    def rate(units: int) -> Rate:
        inputs, outputs = windows(source, units), windows(target, units)
        call = bind(kernel, inputs, outputs, units, threads)
        return Rate.of(2 * inputs[0].nbytes, best(call, threads, seconds))

    return first_undisturbed(rate, WINDOWS)


def streaming_copy(size: int, threads: int) -> tuple[Callable[[], None], int]:
    """A call that copies ``size`` bytes or a little less, past the caches, and the bytes that it
    reads and writes."""
    units = max(1, size // (4 * BLOCK))
    source, target = _filled(units * BLOCK), _filled(units * BLOCK)
    call = bind(kernels()["stream"], [source], [target], units, threads)
    return call, source.nbytes + target.nbytes


def streaming_read(size: int, threads: int) -> tuple[Callable[[], None], int]:
    """A call that reads ``size`` bytes or a little less, and how many it reads."""
    units = max(1, size // (4 * BLOCK))
    source, results = _filled(units * BLOCK), _filled(units * lanes())
    call = bind(kernels()["read"], [source], [results], units, threads)
    return call, source.nbytes


def first_undisturbed(rate: Callable[[int], Rate], sizes: tuple[int, ...]) -> Rate:
    """The rate of the first size of call that passes undisturbed; the highest, if none does."""
    found: list[Rate] = []
    for size in sizes:
        found.append(rate(size))
        if found[-1].undisturbed:
            break
    return max(found, key=lambda one: one.value)


def windows(buffer: Float32, units: int) -> list[Float32]:
    """The buffer in windows of ``units`` units; the rest is not used."""
    length = units * BLOCK
    return list(buffer[: buffer.size // length * length].reshape(-1, length))


def _filled(count: int) -> Float32:
    """A buffer whose pages exist."""
    array = cpu.allocate(count, "a benchmark buffer")
    array.fill(1)
    return array


def bind(
    kernel: Native, inputs: list[Float32], outputs: list[Float32], units: int, threads: int
) -> Callable[[], None]:
    """A call that takes the next input and the next output each time."""
    none, sizes = np.zeros(16, np.float32), np.zeros(1, np.int64)
    pairs = itertools.cycle(zip(inputs, itertools.cycle(outputs), strict=False))
    entry = cpu.Entry.of_layer(kernel)

    def call() -> None:
        x, out = next(pairs)
        arrays = cpu.places((x, none, none, out))
        row = (units, *arrays, none.ctypes.data, 0, *cpu.places([sizes]))
        cpu.KernelSequence([entry], [row]).run(units, threads)

    return call


def best(call: Callable[[], None], threads: int, seconds: float) -> BestTime:
    """The seconds that one call in twenty beats; only undisturbed calls count, if there are any.

    A ceiling is what the machine does undisturbed, but one lucky sample is no ceiling. A call was
    disturbed if the process got less processor time than its threads could have used.
    """
    call()
    clean: list[float] = []
    every: list[float] = []
    while (sum(clean) < seconds or len(clean) < 5) and sum(every) < _PATIENCE * seconds:
        used, start = time.process_time(), time.perf_counter()
        call()
        every.append(time.perf_counter() - start)
        if time.process_time() - used > _UNDISTURBED * threads * every[-1]:
            clean.append(every[-1])
    undisturbed = len(clean) >= 5
    return BestTime(float(np.percentile(clean if undisturbed else every, 5)), undisturbed)
