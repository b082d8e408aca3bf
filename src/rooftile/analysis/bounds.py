"""Bounds of a computation's time from the rates of arithmetic and memory.

Rates are in 1e9 a second (GFLOP/s, GB/s) throughout, times in seconds; a fused multiply-add
is two FLOP.  Source: PMPP, section 5.1 (arithmetic intensity, roofline); Williams, Waterman,
Patterson, "Roofline: an insightful visual performance model for multicore architectures",
CACM 52 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rooftile.analysis._checks import check_above_zero, check_not_negative
from rooftile.analysis.traffic import conv_reuse
from rooftile.ops.checks import check_positive

MATMUL_BYTES_PER_FLOP = 4.0
"""An untiled float32 product loads two elements for a multiplication and an addition."""
CONV_BYTES_PER_FLOP = 2.0
"""An untiled float32 convolution loads one element for them; masks come from constant memory."""

STEP_CYCLES = 4
"""Cycles from an operation of a thread to the next one that needs its result, since Volta; more on
older GPUs.  Jia, Maggioni, Staiger, Scarpazza, "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking" (2018), table 4.1."""


@dataclass(frozen=True)
class RooflineBound:
    """The rate that a roofline allows at an arithmetic intensity."""

    gflops: float
    limit: Literal["compute", "memory"]
    intensity: float
    """FLOP a byte."""
    ridge: float
    """The intensity at which both limits are equal: peak / bandwidth."""


def intensity(flop: float, moved_bytes: float) -> float:
    """Arithmetic intensity in FLOP a byte; 0 where bytes only move."""
    check_not_negative(flop=flop)
    check_above_zero(moved_bytes=moved_bytes)
    return flop / moved_bytes


def roofline(
    flop: float, moved_bytes: float, peak_gflops: float, bandwidth_gb_s: float
) -> RooflineBound:
    """min(peak, bandwidth x intensity), and which of the two it is."""
    at = intensity(flop, moved_bytes)
    check_above_zero(peak_gflops=peak_gflops, bandwidth_gb_s=bandwidth_gb_s)
    memory = bandwidth_gb_s * at
    ridge = peak_gflops / bandwidth_gb_s
    if memory < peak_gflops:
        return RooflineBound(memory, "memory", at, ridge)
    return RooflineBound(peak_gflops, "compute", at, ridge)


def bandwidth_rate(bandwidth_gb_s: float, bytes_per_flop: float) -> float:
    """GFLOP/s that bandwidth allows: bandwidth / (bytes a FLOP)."""
    check_above_zero(bandwidth_gb_s=bandwidth_gb_s, bytes_per_flop=bytes_per_flop)
    return bandwidth_gb_s / bytes_per_flop


def reuse_needed(bandwidth_gb_s: float, bytes_per_flop: float, peak_gflops: float) -> float:
    """Uses of each loaded element that make the peak reachable: peak / `bandwidth_rate`."""
    check_above_zero(peak_gflops=peak_gflops)
    return peak_gflops / bandwidth_rate(bandwidth_gb_s, bytes_per_flop)


def percent_of_peak(gflops: float, peak_gflops: float) -> float:
    """100 x rate / peak."""
    check_above_zero(gflops=gflops, peak_gflops=peak_gflops)
    return 100 * gflops / peak_gflops


def tiled_matmul_rate(bandwidth_gb_s: float, reuse: float) -> float:
    """GFLOP/s that bandwidth allows a float32 product: reuse x bandwidth / (4 B a FLOP).

    Traffic falls to 1 / reuse of the untiled product's.  PMPP, section 5.4.
    """
    check_above_zero(reuse=reuse)
    return reuse * bandwidth_rate(bandwidth_gb_s, MATMUL_BYTES_PER_FLOP)


def tiled_conv_percent(
    out_tile: Sequence[int], mask: Sequence[int], peak_gflops: float, bandwidth_gb_s: float
) -> float:
    """Share of peak of a tiled convolution, in percent, at most 100.

    100 reuse x bandwidth / (2 B a FLOP) / peak, with the reuse of an internal tile.
    PMPP, section 7.4.
    """
    rate = conv_reuse(out_tile, mask) * bandwidth_rate(bandwidth_gb_s, CONV_BYTES_PER_FLOP)
    return min(100.0, percent_of_peak(rate, peak_gflops))


def peak_gflops(cores: int, clock_mhz: float) -> float:
    """2 x cores x clock: one fused multiply-add a core and cycle."""
    check_positive(cores=cores)
    check_above_zero(clock_mhz=clock_mhz)
    return 2e-3 * cores * clock_mhz


def bytes_under_way(bandwidth_gb_s: float, latency_ns: float) -> float:
    """Bytes that must have been asked for and not be there yet: bandwidth x latency.

    With fewer, memory waits for requests, whatever its bandwidth.  Little, "A proof for the queuing
    formula L = lambda W", Operations Research 9 (1961).
    """
    check_above_zero(bandwidth_gb_s=bandwidth_gb_s, latency_ns=latency_ns)
    return bandwidth_gb_s * latency_ns


def rate_gflops(flop: float, seconds: float) -> float:
    """1e-9 FLOP / time."""
    check_above_zero(flop=flop, seconds=seconds)
    return 1e-9 * flop / seconds


def rate_gb_s(moved_bytes: float, seconds: float) -> float:
    """1e-9 bytes / time."""
    check_above_zero(moved_bytes=moved_bytes, seconds=seconds)
    return 1e-9 * moved_bytes / seconds


def working_share(
    blocks: int, threads: int, multiprocessors: int, lanes: int | None = None
) -> float:
    """The share of a GPU that a launch of ``blocks`` blocks of ``threads`` threads can use.

    Of its multiprocessors min(blocks, all) have a block.  With ``lanes``, the number of lanes of a
    multiprocessor, it is the share of all lanes: a thread uses one at a time, and blocks are dealt
    out evenly.
    """
    check_positive(blocks=blocks, threads=threads, multiprocessors=multiprocessors)
    working = min(blocks, multiprocessors)
    if lanes is None:
        return working / multiprocessors
    used = min(lanes * working, blocks * threads)
    return used / (lanes * multiprocessors)


def seconds_at(flop: float, gflops: float) -> float:
    """1e-9 FLOP / rate."""
    check_above_zero(flop=flop, gflops=gflops)
    return 1e-9 * flop / gflops
