"""The machines of the published tables, by name: those that existed, and those of exercises.

Rates are as the documents print them, so that a table can be asked for the machine it was made for;
what they do not print is the maker's own number.  A board's rates are those of one of its GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.analysis.architectures import ARCHITECTURES, Multiprocessor
from rooftile.errors import InputError


@dataclass(frozen=True)
class Machine:
    """What a roofline needs of a machine, and its multiprocessors where it has such."""

    name: str
    peak_gflops: float
    bandwidth_gb_s: float
    multiprocessor: Multiprocessor | None = None
    note: str = ""


_EXERCISE = Multiprocessor(threads=1536, blocks=8, registers=32768, shared_bytes=65536)

MACHINES = {
    "exercise": Machine("the lectures' GPU", 1000.0, 150.0, _EXERCISE),
    "k520": Machine(
        "GRID K520 as printed",
        5000.0,
        192.0,
        ARCHITECTURES["3.0"],
        "the printed rate is that of both GPUs of the board, the bandwidth about that of one",
    ),
    "gk107": Machine("GK107, 384 cores at 1058 MHz", 812.5, 80.0, ARCHITECTURES["3.0"]),
    "gm107": Machine("GM107, 640 cores at 1020 MHz", 1305.6, 86.4, ARCHITECTURES["5.0"]),
    "m60": Machine("Tesla M60, one of two GPUs", 4825.0, 160.0, ARCHITECTURES["5.2"]),
    "p100": Machine("Tesla P100 PCIe", 9340.0, 732.0, ARCHITECTURES["6.0"]),
    "a40": Machine("A40", 37420.0, 696.0, ARCHITECTURES["8.6"]),
    "blue-waters": Machine(
        "a node of Blue Waters",
        1300.0,
        250.0,
        ARCHITECTURES["3.0"],
        "its Kepler; the processors beside it reach 156.5 GFLOP/s",
    ),
    "h200": Machine("H200 SXM", 66900.0, 4800.0, ARCHITECTURES["9.0"]),
}
"""Machines by name."""


def machine(name: str) -> Machine:
    """The machine of a name.  Raises `InputError`."""
    if name not in MACHINES:
        raise InputError("machine", repr(name), f"one of {list(MACHINES)}")
    return MACHINES[name]
