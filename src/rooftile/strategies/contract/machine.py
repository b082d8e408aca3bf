"""The properties of the GPU that strategies calculate with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rooftile.analysis.architectures import ARCHITECTURES, GPUS, capability
from rooftile.devices.gpu import Description


@dataclass(frozen=True)
class Multiprocessors:
    """Number of a GPU's multiprocessors, and the limits of each."""

    multiprocessors: int
    registers: int
    """32-bit ones of a multiprocessor."""
    shared_bytes: int
    block_shared_bytes: int
    """The most that one block may have."""
    block_threads: int = 1024
    """The most that one block may have."""

    @classmethod
    def of(cls, device: Description) -> Multiprocessors:
        """A device's multiprocessors; where its interface does not tell, `preset`."""
        return cls(
            device.units,
            device.registers_per_unit or preset().registers,
            device.shared_bytes_per_unit or device.shared_bytes_per_block,
            device.shared_bytes_per_block,
            device.threads_per_block,
        )

    def shared_room(self, blocks: int) -> int:
        """Bytes of shared memory for each of ``blocks`` blocks of a multiprocessor: the system
        takes some of every block's."""
        return self.shared_bytes // blocks - (self.shared_bytes - self.block_shared_bytes)

    def register_room(self, threads: int) -> int:
        """Registers for each of ``threads`` threads of a multiprocessor, as they are allocated."""
        return self.registers // threads // 8 * 8


@cache
def preset(architecture: str = "sm_90") -> Multiprocessors:
    """A GPU of an architecture, where none is at hand.  Raises `InputError`."""
    key = capability(architecture)
    one = ARCHITECTURES[key]
    assert one.registers is not None
    assert one.shared_bytes is not None
    block = one.shared_bytes_per_block or one.shared_bytes
    return Multiprocessors(GPUS[key].multiprocessors, one.registers, one.shared_bytes, block)
