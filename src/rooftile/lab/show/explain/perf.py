"""Counters of a CPU's strategy, by Linux's ``perf_event_open``.

A process of its own binds the strategy and calls it: all of its threads are kernels' threads, and
each is counted, in user mode. Where a machine hides its counters (many virtual ones do), or does
not let everybody read them, `unreadable` says which.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rooftile.errors import RooftileError

_SYSTEM_CALLS = {"x86_64": 298, "aarch64": 241}
"""Its number, by the family of processors."""
_HARDWARE, _CACHE = 0, 3
_L1_READ_MISSES = 0 | 0 << 8 | 1 << 16
EVENTS = {
    "cycles": (_HARDWARE, 0),
    "instructions": (_HARDWARE, 1),
    "cache_misses": (_HARDWARE, 3),
    "branches": (_HARDWARE, 4),
    "branch_misses": (_HARDWARE, 5),
    "l1_misses": (_CACHE, _L1_READ_MISSES),
}
"""Counted events, by type and number as ``linux/perf_event.h`` has them; ``cache_misses`` are the
last level's. Events that a processor does not count are left out."""
_DISABLED, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_TIMES = 1 | 2
"""Each count comes with how long it was asked for, and how long a counter was free for it."""
_ENABLE, _DISABLE = 0x2400, 0x2401
_ATTRIBUTES = struct.Struct("IIQQQQQIIQ")
"""``perf_event_attr`` as the oldest version has it, which all take."""
_LEVEL = Path("/proc/sys/kernel/perf_event_paranoid")
LINE_BYTES = 64
"""Bytes of a cache line, which each miss loads."""


@dataclass(frozen=True)
class PerfCounts:
    """Counts of one call, all threads together."""

    values: Mapping[str, float]
    """By the names of `EVENTS`."""
    page_faults: float
    switches: float
    """Number of times that the system gave a thread's core to another thread."""
    calls: int
    """Over which the counts are the mean."""


@cache
def unreadable() -> str:
    """Why this process cannot read the counters; empty where it can."""
    try:
        os.close(opened_counter(EVENTS["cycles"], 0))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            level = _LEVEL.read_text("ascii").strip() if _LEVEL.exists() else "unknown"
            return f"the system does not allow it (perf_event_paranoid is {level}; 2 would do)"
        if error.errno == errno.ENOSYS:
            return "this system has no perf_event_open"
        name = errno.errorcode.get(error.errno or 0, "an error")
        return f"the machine shows none ({name}), as many virtual ones"
    return ""


def opened_counter(event: tuple[int, int], thread: int) -> int:
    """A descriptor that counts an event in a thread (0: this one).  Raises `OSError`."""
    number = _SYSTEM_CALLS.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    kind, config = event
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    wanted = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config, 0, 0, _TIMES, flags, 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    found: int = library.syscall(number, wanted, thread, -1, -1, 0)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


@contextmanager
def counting(threads: Sequence[int]) -> Iterator[dict[str, float]]:
    """Count in these threads; the counts stand in what it gives, once it has ended.

    Raises `OSError` where nothing can be counted.
    """
    opened: dict[str, list[int]] = {}
    found: dict[str, float] = {}
    try:
        for name, event in EVENTS.items():
            try:
                opened[name] = [opened_counter(event, thread) for thread in threads]
            except OSError:
                if name == "cycles":
                    raise
        every = [descriptor for several in opened.values() for descriptor in several]
        for descriptor in every:
            fcntl.ioctl(descriptor, _ENABLE, 0)
        yield found
        for descriptor in every:
            fcntl.ioctl(descriptor, _DISABLE, 0)
        for name, several in opened.items():
            found[name] = sum(count_of(os.read(descriptor, 24)) for descriptor in several)
    finally:
        for several in opened.values():
            for descriptor in several:
                os.close(descriptor)


def count_of(read: bytes) -> float:
    """A count, as if a counter had been free all the time."""
    count, wanted, counted = struct.unpack("QQQ", read)
    return float(count * wanted / counted) if counted else 0.0


def read_counters(
    operation: str, shape: str, batch: int | None, strategy: str, seed: int, timeout_s: float = 600
) -> PerfCounts:
    """The counts of a strategy on random inputs.

    Raises `RooftileError` where the counters cannot be read, and with the words of the process
    where it fails otherwise.
    """
    if why := unreadable():
        raise RooftileError(f"the processor's counters cannot be read: {why}")
    asked = json.dumps([operation, shape, batch, strategy, seed])
    command = [sys.executable, "-m", "rooftile.lab.show.explain.perf_child", asked]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise RooftileError(f"to count a call took more than {timeout_s:.0f} s") from None
    if done.returncode:
        raise RooftileError(f"to count a call failed: {done.stderr.strip()[-1500:]}")
    return PerfCounts(**json.loads(done.stdout))
