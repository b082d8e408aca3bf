"""The roof: this processor's largest rates, measured by our own microbenchmarks.

They measure float32 FMA rate, read bandwidth, and copy bandwidth with ordinary and streaming
stores, on one core and on all, once per machine. The results are kept as JSON in the user's cache,
next to the generated kernels.

Source of the model: Williams, Waterman, Patterson, "Roofline: an insightful
visual performance model for multicore architectures", CACM 52 (2009).
"""

from __future__ import annotations

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rooftile._files import keep
from rooftile.devices import cpu
from rooftile.devices.ceilings import cpu_file, read, sealed
from rooftile.lab.measure.ceilings import cpu_kernels as benchmarks
from rooftile.ops import Problem

_BUFFER_BYTES = 256 * 2**20
"""Memory is measured over buffers of this size, several times any last-level cache."""
_SECONDS = 0.5
"""Undisturbed time spent on each rate."""
_DISTURBED_S = 3600.0
"""Seconds after which rates that other programs disturbed are measured anew."""


class Roof(ABC):
    """A roofline: a rate of arithmetic and one of memory bound what a problem can take."""

    fma_gflops: float

    @property
    @abstractmethod
    def bandwidth_gbps(self) -> float:
        """The best of reading and copying."""

    def rate_gflops(self, precision: str = "ieee") -> float:
        """The rate of arithmetic at a precision: that of FMAs, unless something else is faster."""
        return self.fma_gflops

    def most_gflops(self, precision: str) -> float:
        """The rate that a direct method can reach at a precision."""
        return self.rate_gflops(precision)

    def floor_ms(self, problem: Problem, precision: str = "ieee") -> float:
        """The least time in milliseconds that a problem's FLOPs and compulsory bytes allow."""
        compute = problem.flops / self.rate_gflops(precision)
        return max(compute, problem.bytes / self.bandwidth_gbps) * 1e-6

    def limit(self, problem: Problem) -> str:
        """The origin of the floor at ``ieee``: ``compute`` or ``memory``."""
        compute = problem.flops / self.rate_gflops("ieee")
        return "compute" if compute >= problem.bytes / self.bandwidth_gbps else "memory"


@dataclass(frozen=True)
class Rates(Roof):
    """Measured rates of a number of threads: 1e9 FLOP (or bytes) a second."""

    threads: int
    fma_gflops: float
    """float32; a fused multiply-add is two FLOP."""
    read_gbps: float
    copy_gbps: float
    """Read and written bytes; the ordinary stores' own fetches are not counted."""
    stream_copy_gbps: float
    """The same with non-temporal stores."""

    @property
    def bandwidth_gbps(self) -> float:
        """The best of reading and copying."""
        return max(self.read_gbps, self.copy_gbps, self.stream_copy_gbps)


@dataclass(frozen=True)
class Ceilings:
    """The measured rates of one core and of all cores."""

    one_core: Rates
    all_cores: Rates
    undisturbed: bool
    """False if other programs used the processor throughout: the rates may be too low."""

    def better_of(self, other: Ceilings) -> Ceilings:
        """The higher of each pair of rates, since no machine goes faster than it can."""
        return Ceilings(
            _better(self.one_core, other.one_core),
            _better(self.all_cores, other.all_cores),
            self.undisturbed or other.undisturbed,
        )


def measure_ceilings(progress: Callable[[str], None] | None = None) -> Ceilings:
    """Measure them now, in some seconds; ``progress`` gets a line for each number of threads."""
    counts = (1, cpu.cores())
    found = {count: _rates(count, progress) for count in dict.fromkeys(counts)}
    (one, all_), clean = (found[count][0] for count in counts), [c for _, c in found.values()]
    return Ceilings(one, all_, all(clean))


def ceilings(*, refresh: bool = False, progress: Callable[[str], None] | None = None) -> Ceilings:
    """This machine's ceilings, from the cache or measured now.

    The cache is keyed by processor, number of threads and versions.  Rates that were
    disturbed by other programs serve for an hour, then they are measured anew and the
    higher ones kept; ``refresh`` does so at once.
    """
    path = cpu_file()
    kept = _read(path)
    if kept is not None and not refresh and (kept.undisturbed or _age_s(path) < _DISTURBED_S):
        return kept
    measured = measure_ceilings(progress)
    if kept is not None:
        measured = measured.better_of(kept)
    _keep(path, measured)
    return measured


def _rates(threads: int, progress: Callable[[str], None] | None) -> tuple[Rates, bool]:
    """The rates, and whether all of them were measured undisturbed."""
    if progress is not None:
        progress(f"measuring the ceilings of {threads} thread{'s' * (threads > 1)}")
    size = _BUFFER_BYTES
    measured = {
        "fma_gflops": benchmarks.fma_rate(threads, _SECONDS),
        "read_gbps": benchmarks.read_rate(size, threads, _SECONDS),
        "copy_gbps": benchmarks.copy_rate(size, threads, _SECONDS, streaming=False),
        "stream_copy_gbps": benchmarks.copy_rate(size, threads, _SECONDS, streaming=True),
    }
    rates = Rates(threads=threads, **{name: rate.value for name, rate in measured.items()})
    return rates, all(rate.undisturbed for rate in measured.values())


def _better(a: Rates, b: Rates) -> Rates:
    rates = dataclasses.asdict(b).items()
    return Rates(**{name: max(value, getattr(a, name)) for name, value in rates})


def _read(path: Path) -> Ceilings | None:
    """The ceilings in a file; None where there are none that this version can read."""
    kept = read(path)
    if kept is None:
        return None
    try:
        rates = (Rates(**kept["one_core"]), Rates(**kept["all_cores"]))
        return Ceilings(*rates, bool(kept["undisturbed"]))
    except (ValueError, TypeError, KeyError):
        return None


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _keep(path: Path, measured: Ceilings) -> None:
    # With a read-only home, each process measures anew.
    keep(path, sealed(dataclasses.asdict(measured)))
