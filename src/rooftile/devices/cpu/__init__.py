"""The host's processor: vectors, generated kernels, threads, memory."""

from rooftile.devices.cpu.device import CpuDevice, open_device
from rooftile.devices.cpu.memory import address, aligned, allocate, cache_bytes, free_bytes
from rooftile.devices.cpu.method import why_not_compiled
from rooftile.devices.cpu.parallel import FIELDS, Entry, KernelSequence, cores, places
from rooftile.devices.cpu.quick import MOST_HELD, Quick, Shapes
from rooftile.devices.cpu.spread import Spread, sizes_of
from rooftile.devices.cpu.workspace import lent

__all__ = [
    "FIELDS",
    "MOST_HELD",
    "CpuDevice",
    "Entry",
    "KernelSequence",
    "Quick",
    "Shapes",
    "Spread",
    "address",
    "aligned",
    "allocate",
    "cache_bytes",
    "cores",
    "free_bytes",
    "lent",
    "open_device",
    "places",
    "sizes_of",
    "why_not_compiled",
]
