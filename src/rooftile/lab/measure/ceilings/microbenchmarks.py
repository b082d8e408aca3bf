"""Costs of a machine's memories alone: latencies, and scattered reads.

A latency is measured by a chain: each element holds the index of the next one, all of them are one
cycle in random order, and one thread walks it. The footprint, all lines of the chain, decides which
memory answers. Measurements are kept next to the ceilings (`rooftile devices --measure` makes them,
nothing else does).

Source: McVoy, Staelin, "lmbench: portable tools for performance analysis", USENIX 1996; for GPUs,
Wong et al., "Demystifying GPU microarchitecture through microbenchmarking", ISPASS 2010.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rooftile._files import keep

Level = Literal["registers", "constant", "shared", "L1", "L2", "L3", "memory"]
"""The memory that answers. ``registers``: a multiply-add that takes the former one's result;
``constant``: a place that is not known before; ``shared``: a block's own memory; ``memory``: a
GPU's global memory, or the host's."""
STRIDES = (1, 2, 4, 8, 16, 32)
"""Elements of 4 bytes from one that is read to the next; 1 is a coalesced read."""


@dataclass(frozen=True)
class Latency:
    """Time of a dependent step."""

    level: Level
    footprint_bytes: int
    """Bytes of all lines that are read in turn; 0 for registers."""
    ns: float
    cycles: float | None
    """None where they are not counted."""


@dataclass(frozen=True)
class StridedRead:
    """All threads read one element in ``stride``."""

    stride: int
    gbps: float
    """Bytes that were asked for, 1e9 a second."""


@dataclass(frozen=True)
class Microbenchmarks:
    """The latencies and strided reads of one device."""

    latencies: tuple[Latency, ...]
    """In rising order of the levels, as far as the device has them."""
    strided_reads: tuple[StridedRead, ...]
    strided_bytes: int
    """The size of the array that is read, whatever the stride."""

    def latency(self, level: Level) -> Latency | None:
        """A level's latency; None where the device has no such level."""
        return next((one for one in self.latencies if one.level == level), None)


def one_cycle(count: int, seed: int = 0) -> NDArray[np.int64]:
    """For each of ``count`` places the next one: a permutation that is one cycle, random."""
    order = np.random.default_rng(seed).permutation(count)
    following = np.empty(count, np.int64)
    following[order] = np.roll(order, -1)
    return following


def path_beside(ceilings: Path) -> Path:
    """The file of a device's measurements, by the file of its ceilings."""
    return ceilings.with_name(f"latencies-{ceilings.name}")


def read_microbenchmarks(path: Path) -> Microbenchmarks | None:
    """The measurements in a file; None where there are none that this version can read."""
    try:
        return _of_record(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def keep_microbenchmarks(path: Path, measured: Microbenchmarks) -> None:
    """Write them to a file; one that cannot be written is no error."""
    keep(path, json.dumps(dataclasses.asdict(measured), indent=1).encode())


def _of_record(record: Mapping[str, Any]) -> Microbenchmarks:
    return Microbenchmarks(
        tuple(Latency(**one) for one in record["latencies"]),
        tuple(StridedRead(**one) for one in record["strided_reads"]),
        int(record["strided_bytes"]),
    )
