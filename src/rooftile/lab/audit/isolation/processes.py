"""Processes as `/proc` shows them from outside: nothing in them can hide it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

_TOLD = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""True if the system lists a process's children; not every one does."""
_STOPPING_S = 5e-5
"""About how long a thread takes to stop."""


def running_libraries(pid: int) -> Sequence[str]:
    """The files whose code the threads of a frozen process were running, see `running_code`."""
    return [name for name, _ in running_code(pid)]


def running_code(pid: int) -> Sequence[tuple[str, int]]:
    """The file whose code each thread of a frozen process was running, and the place in it; threads
    that waited are left out.

    They are read from outside, so nothing in the process can hide them.  Raises `OSError` where
    the system does not let one process look at another.
    """
    regions = []
    # A stranger may give a file any name, but not one with an end of line.
    maps = Path(f"/proc/{pid}/maps").read_bytes().decode("utf-8", "backslashreplace")
    for line in filter(None, maps.split("\n")):
        parts = line.split(" ", 5)
        if "x" in parts[1] and len(parts) == 6:
            first, last = (int(end, 16) for end in parts[0].split("-"))
            regions.append((first, last, int(parts[2], 16) - first, parts[5].lstrip(" ")))
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        words = (task / "syscall").read_text(encoding="ascii").split()
        if words and words[0] == "-1":
            counter = int(words[-1], 16)
            found += [
                (name, counter + shift)
                for first, last, shift, name in regions
                if first <= counter < last
            ]
    return found


def _children(pid: int) -> list[int]:
    if not _TOLD:
        return [one for one in _all() if _parent(one) == pid]
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found


def _all() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int:
    return int(stat_of(pid)[1])


def stat_of(pid: int, task: str = "") -> list[str]:
    """The system's fields on a process, or a thread, from its state on; zeros where it has ended.

    The name before them may be any bytes, and is left out.
    """
    try:
        with open(f"/proc/{pid}/task/{task}/stat" if task else f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii").split()
    except OSError:
        return ["X", *"0" * 50]


def worked_s(pid: int) -> float:
    """The seconds that all threads of a process, ended ones too, have been on a processor."""
    # The number of another process's clock, as clock_getcpuclockid(3) makes it.
    return time.clock_gettime(~pid << 3 | 2)


def resident_bytes(pid: int) -> int:
    """The memory that a process has in use, shared or its own."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def only_child(pid: int) -> int:
    """The one process that another has started."""
    (child,) = _children(pid)
    return child


def tree_of(pid: int) -> list[int]:
    """A process and all that it has started, directly or not; orphans become its children."""
    found = [pid]
    for one in found:
        found += _children(one)
    return found


def ended_children(pid: int) -> int:
    """A number that grows with processes that a frozen one had started and that have ended: the
    pages that they touched and the ticks that they took, for one that shares its memory touches no
    new ones; and the ones that it has not waited for."""
    waited = sum(int(stat_of(pid)[field]) for field in (8, 13, 14))
    return waited + sum(state_of(one) == "Z" for one in tree_of(pid))


def signal_to(pid: int, number: int) -> None:
    """Send a signal to a process, which may have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def state_of(pid: int, task: str = "") -> str:
    """The letter of a process's state, or a thread's; X where it has ended."""
    return stat_of(pid, task)[0]


def wait_until_stopped(pid: int, end: float) -> bool:
    """Return when every thread of a process is stopped or has ended; whether they are, at a time
    of the monotonic clock.

    One that waits for another process in the kernel does not stop before that wait ends.
    """
    while True:
        try:
            tasks = os.listdir(f"/proc/{pid}/task")
        except OSError:
            return True
        if all(state_of(pid, task) in "TtZX" for task in tasks):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(_STOPPING_S)
