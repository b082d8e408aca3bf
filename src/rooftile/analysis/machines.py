"""The machines of the published tables, by name: real machines and exercises'.

Rates are as the documents print them, so that a table's machine can be reproduced; other numbers
are the maker's, and `Machine.source` says which. A board's rates are of one of its GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.analysis.architectures import ARCHITECTURES, Multiprocessor
from rooftile.errors import unknown


@dataclass(frozen=True)
class Machine:
    """A machine's rates for a roofline, and its multiprocessors where it has them."""

    name: str
    peak_gflops: float
    bandwidth_gb_s: float
    source: str
    """Source of the rates."""
    multiprocessor: Multiprocessor | None = None
    note: str = ""
    base_mhz: int | None = None
    """The clock that a profiler holds it to."""


_LECTURE = "the course's lectures, which print them"

EXERCISES = {
    "32K registers": Multiprocessor(threads=1536, blocks=8, registers=32768, shared_bytes=65536),
    "1536 threads, 4 blocks": Multiprocessor(threads=1536, blocks=4),
    "1536 threads, 8 blocks": Multiprocessor(threads=1536, blocks=8),
    "1536 threads, 12 blocks": Multiprocessor(threads=1536, blocks=12, shared_bytes=5120),
    "2048 threads": Multiprocessor(threads=2048, blocks=32, shared_bytes=65536),
}
"""Multiprocessors that exams and lectures make up."""

MACHINES = {
    "exercise": Machine("the lectures' GPU", 1000.0, 150.0, _LECTURE, EXERCISES["32K registers"]),
    "k520": Machine(
        "GRID K520 as printed",
        5000.0,
        192.0,
        _LECTURE,
        ARCHITECTURES["3.0"],
        "a board of two GK104: both together have about the printed rate, each has 2289 GFLOP/s at "
        "745 MHz and 160 GB/s; 192 GB/s are a GeForce GTX 680's",
    ),
    "gk107": Machine("GK107, 384 cores at 1058 MHz", 812.5, 80.0, _LECTURE, ARCHITECTURES["3.0"]),
    "gm107": Machine("GM107, 640 cores at 1020 MHz", 1305.6, 86.4, _LECTURE, ARCHITECTURES["5.0"]),
    "m60": Machine(
        "Tesla M60, one of two GPUs",
        4825.0,
        160.4,
        "2048 cores at their boost clock of 1178 MHz; 256 bits at 5.01 Gbit/s (board listings)",
        ARCHITECTURES["5.2"],
        base_mhz=557,
    ),
    "p100": Machine(
        "Tesla P100 PCIe",
        9340.0,
        732.0,
        "NVIDIA's 9.3 TFLOP/s (3584 cores at 1303 MHz) and 732 GB/s for the PCIe board of 16 GB",
        ARCHITECTURES["6.0"],
        "listings of the board have 9526 GFLOP/s at 1329 MHz",
    ),
    "a40": Machine(
        "A40",
        37420.0,
        696.0,
        "NVIDIA's 37.4 TFLOP/s (10752 cores at their boost clock of 1740 MHz) and 696 GB/s",
        ARCHITECTURES["8.6"],
        base_mhz=1305,
    ),
    "blue-waters": Machine(
        "a node of Blue Waters",
        1300.0,
        250.0,
        _LECTURE,
        ARCHITECTURES["3.5"],
        "the printed rate is the Tesla K20X's in double precision, 3.95 TFLOP/s are its in single; "
        "the processor in the same machine reaches 156.5 GFLOP/s",
    ),
    "h200": Machine(
        "H200 SXM",
        66900.0,
        4800.0,
        "132 multiprocessors of 128 lanes at 1980 MHz; NVIDIA's 4.8 TB/s",
        ARCHITECTURES["9.0"],
    ),
}
"""Machines by name."""


def machine(name: str) -> Machine:
    """The machine of a name.  Raises `InputError`."""
    if name not in MACHINES:
        raise unknown("machine", name, MACHINES)
    return MACHINES[name]
