"""The host's processor: vectors, generated kernels, threads, memory."""

from rooftile.devices.cpu.memory import allocate, cache_bytes, free_bytes
from rooftile.devices.cpu.parallel import Kernel, cores, driver, parallel_call
from rooftile.devices.cpu.source import load

__all__ = [
    "Kernel", "allocate", "cache_bytes", "cores", "driver", "free_bytes", "load",
    "parallel_call",
]  # fmt: skip
