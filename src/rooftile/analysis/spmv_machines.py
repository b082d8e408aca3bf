"""Rates at which machines multiply sparse matrices with vectors, by format.

A machine has bandwidths, and each format's kernels a pace: the share of a bandwidth that they
reach, and the stored numbers that they multiply in a second. Paces were measured once, on a GPU and
on two cores of a processor; another machine of the kind is taken to have all rates in the
proportion of its bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """The pace of a format's product on a machine, besides the bandwidths of memory and caches."""

    start_us: float
    """Time of the launches, for any matrix."""
    of_memory: float
    """The share of the memory's bandwidth that it reaches."""
    of_cache: float
    entries: float
    """Billions of stored numbers that it multiplies in a second, if nothing waits for memory."""
    entry_us: float = 0.0
    """Time of an entry of the longest row, where one thread alone is left with that row."""
    row_ns: float = 0.0
    """Time of a row besides its entries."""


@dataclass(frozen=True)
class Machine:
    """A machine's bandwidths in GB/s, of memory and of the cache before it with its bytes; and the
    measured pace of each format.

    A format's name with ``, uneven`` at its end stands for matrices with a long row.
    """

    gbps: float
    cached_gbps: float
    cache_bytes: int
    paces: Mapping[str, Pace]


H200 = Machine(
    gbps=4200,
    cached_gbps=5600,
    cache_bytes=40_000_000,
    paces={
        "csr": Pace(2, 0.9, 0.95, 240),
        "csr, uneven": Pace(8, 0.9, 0.9, 300),
        "coo": Pace(12, 0.75, 0.75, 200),
        "csc": Pace(5, 0.8, 0.8, 60),
        "ell": Pace(2, 0.9, 1, 650),
        "hybrid": Pace(12, 0.8, 0.8, 250),
        "jds": Pace(3, 0.85, 0.85, 120, 0.3),
        "jds_t": Pace(2.5, 0.9, 0.97, 500, 0.3),
        "dia": Pace(1.5, 0.97, 1, 1000),
        "bsr": Pace(2, 0.9, 1, 545),
    },
)
"""As measured there on matrices of 2^18 to 2^24 rows (`benchmarks/patterns_choice.py`)."""

PROCESSOR = Machine(
    gbps=20,
    cached_gbps=100,
    cache_bytes=8_000_000,
    paces={
        "csr": Pace(3, 1, 0.511, 2.48, 0, 0.069),
        "csr, uneven": Pace(3, 0.487, 0.9, 3, 0, 1.63),
        "coo": Pace(3, 1, 0.374, 3),
        "csc": Pace(3, 1, 0.9, 3),
        "ell": Pace(3, 1, 0.511, 4.16),
        "hybrid": Pace(3, 1, 0.396, 3.52),
        "jds": Pace(3, 1, 0.45, 3),
        "jds_t": Pace(3, 1, 0.307, 1.36),
        "dia": Pace(3, 1, 0.865, 10.5),
        "bsr": Pace(3, 0.72, 0.9, 3.41, 0, 1.23),
    },
)
"""As measured on two cores of an AMD EPYC (Zen 3), on matrices of 2^16 to 2^20 rows."""
