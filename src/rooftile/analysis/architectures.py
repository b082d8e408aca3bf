"""Limits of real multiprocessors, by compute capability.

Source: NVIDIA, "CUDA C++ Programming Guide", technical specifications per compute capability, and
the allocation units of the CUDA Toolkit's ``cuda_occupancy.h`` (for 1.3 its occupancy
spreadsheet's). PMPP, section 4.7, explains them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.errors import unknown


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one multiprocessor; None where no limit is stated.

    The allocation units are 1 where the plain limits alone count, as in a textbook's exercises.
    """

    threads: int
    blocks: int
    registers: int | None = None
    shared_bytes: int | None = None
    warps: int | None = None
    """None stands for threads / warp size."""
    warp: int = 32
    threads_per_block: int | None = None
    shared_bytes_per_block: int | None = None
    """The most that a block can ask for; None stands for all of the multiprocessor's."""
    registers_per_thread: int | None = None
    register_unit: int = 1
    """A warp, or where `registers_by_block` a block, gets registers in multiples of it."""
    registers_by_block: bool = False
    partitions: int = 1
    """Register files; a warp's registers lie in one."""
    shared_unit: int = 1
    """Bytes of shared memory come in multiples of it."""
    shared_reserved: int = 0
    """Bytes of each block's shared memory that the system takes."""

    @property
    def warp_limit(self) -> int:
        """Warps that can be resident."""
        return self.threads // self.warp if self.warps is None else self.warps


def _since_maxwell(
    warps: int,
    blocks: int,
    shared_kib: int,
    block_kib: int,
    *,
    unit: int = 256,
    reserved: int = 0,
    partitions: int = 4,
) -> Multiprocessor:
    return Multiprocessor(
        threads=32 * warps,
        blocks=blocks,
        registers=65536,
        shared_bytes=1024 * shared_kib,
        warps=warps,
        threads_per_block=1024,
        shared_bytes_per_block=1024 * block_kib,
        registers_per_thread=255,
        register_unit=256,
        partitions=partitions,
        shared_unit=unit,
        shared_reserved=reserved,
    )


_SINCE_AMPERE = {"unit": 128, "reserved": 1024}

ARCHITECTURES = {
    "1.3": Multiprocessor(
        threads=1024,
        blocks=8,
        registers=16384,
        shared_bytes=16384,
        warps=32,
        threads_per_block=512,
        shared_bytes_per_block=16384,
        registers_per_thread=124,
        register_unit=512,
        registers_by_block=True,
        shared_unit=512,
    ),
    "2.0": Multiprocessor(
        threads=1536,
        blocks=8,
        registers=32768,
        shared_bytes=49152,
        warps=48,
        threads_per_block=1024,
        shared_bytes_per_block=49152,
        registers_per_thread=63,
        register_unit=64,
        partitions=2,
        shared_unit=128,
    ),
    "3.0": Multiprocessor(
        threads=2048,
        blocks=16,
        registers=65536,
        shared_bytes=49152,
        warps=64,
        threads_per_block=1024,
        shared_bytes_per_block=49152,
        registers_per_thread=63,
        register_unit=256,
        partitions=4,
        shared_unit=256,
    ),
    "3.5": Multiprocessor(
        threads=2048,
        blocks=16,
        registers=65536,
        shared_bytes=49152,
        warps=64,
        threads_per_block=1024,
        shared_bytes_per_block=49152,
        registers_per_thread=255,
        register_unit=256,
        partitions=4,
        shared_unit=256,
    ),
    "5.0": _since_maxwell(64, 32, 64, 48),
    "5.2": _since_maxwell(64, 32, 96, 48),
    "6.0": _since_maxwell(64, 32, 64, 48, partitions=2),
    "7.0": _since_maxwell(64, 32, 96, 96),
    "7.5": _since_maxwell(32, 16, 64, 64),
    "8.0": _since_maxwell(64, 32, 164, 163, **_SINCE_AMPERE),
    "8.6": _since_maxwell(48, 16, 100, 99, **_SINCE_AMPERE),
    "8.9": _since_maxwell(48, 24, 100, 99, **_SINCE_AMPERE),
    "9.0": _since_maxwell(64, 32, 228, 227, **_SINCE_AMPERE),
    "10.0": _since_maxwell(64, 32, 228, 227, **_SINCE_AMPERE),
}
"""Multiprocessors by compute capability."""


@dataclass(frozen=True)
class Gpu:
    """A product with such multiprocessors, as its maker states it."""

    name: str
    multiprocessors: int
    clock_mhz: int
    """Boost clock."""
    lanes: int
    """float32 multiply-adds of a multiprocessor a cycle."""
    bandwidth_gb_s: float

    @property
    def peak_gflops(self) -> float:
        """2 x multiprocessors x lanes x clock."""
        return 2e-3 * self.multiprocessors * self.lanes * self.clock_mhz


GPUS = {
    "1.3": Gpu("GeForce GTX 280", 30, 1296, 8, 141.7),
    "2.0": Gpu("Tesla M2090", 16, 1301, 32, 177.6),
    "3.0": Gpu("GeForce GTX 680", 8, 1058, 192, 192.3),
    "3.5": Gpu("Tesla K20X", 14, 732, 192, 249.6),
    "5.0": Gpu("GeForce GTX 750 Ti", 5, 1085, 128, 86.4),
    "5.2": Gpu("GeForce GTX 980", 16, 1216, 128, 224.4),
    "6.0": Gpu("Tesla P100 SXM2", 56, 1480, 64, 732.0),
    "7.0": Gpu("Tesla V100 SXM2", 80, 1530, 64, 900.0),
    "7.5": Gpu("Tesla T4", 40, 1590, 64, 320.0),
    "8.0": Gpu("A100 SXM 40 GB", 108, 1410, 64, 1555.0),
    "8.6": Gpu("GeForce RTX 3090", 82, 1695, 128, 936.0),
    "8.9": Gpu("GeForce RTX 4090", 128, 2520, 128, 1008.0),
    "9.0": Gpu("H200 SXM", 132, 1980, 128, 4800.0),
    "10.0": Gpu("B200", 148, 1965, 128, 8000.0),
}
"""One product of each capability, for estimates where no device is at hand."""


def capability(name: str) -> str:
    """The key of ``9.0``, ``sm_90`` or ``sm_90a``.  Raises `InputError`."""
    digits = name.removeprefix("sm_").rstrip("af")
    key = digits if "." in digits else f"{digits[:-1]}.{digits[-1:]}"
    if key not in ARCHITECTURES:
        names = [f"sm_{c.replace('.', '')}" for c in ARCHITECTURES]
        raise unknown("architecture", name, names)
    return key


def architecture(name: str) -> Multiprocessor:
    """The multiprocessor of ``9.0``, ``sm_90`` or ``sm_90a``.  Raises `InputError`."""
    return ARCHITECTURES[capability(name)]
