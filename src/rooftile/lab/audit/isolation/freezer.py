"""Stop a process and all that it starts, and let them go on.

A control group stops all its processes at once, and no signal lets them go on. Source: Linux,
``Documentation/admin-guide/cgroup-v2.rst``, ``cgroup.freeze``. Version 1 is not used: a process
that it has frozen cannot even be killed, and would outlive a judge and its supervisor.

Where there is none, a signal that no process can catch stops them one by one.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Protocol

from rooftile.lab.audit.isolation.processes import signal_to, tree_of, wait_until_stopped

_LOOK_S = 2e-5
"""Seconds from one look to the next while processes come to a stand."""


class Freezer(Protocol):
    """Stops a process and all that it has started."""

    def freeze(self, seconds: float) -> bool:
        """Stop all of them; true if they are stopped, or have ended, within ``seconds``."""

    def thaw(self) -> None:
        """Let them go on."""

    def close(self) -> None:
        """Close what it keeps open."""


class Signals:
    """The signals SIGSTOP and SIGCONT."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def freeze(self, seconds: float) -> bool:
        """See `Freezer.freeze`."""
        stopped: set[int] = set()
        end = time.monotonic() + seconds
        # One that runs may start another, so they are stopped until there is no new one.
        while new := [pid for pid in tree_of(self._pid) if pid not in stopped]:
            for pid in new:
                signal_to(pid, signal.SIGSTOP)
            if not all(wait_until_stopped(pid, end) for pid in new):
                return False
            stopped.update(new)
        # Nothing has woken one while another was waited for.
        return all(wait_until_stopped(pid, end) for pid in stopped)

    def thaw(self) -> None:
        """See `Freezer.thaw`."""
        for pid in tree_of(self._pid):
            signal_to(pid, signal.SIGCONT)

    def close(self) -> None:
        """Nothing is open."""


class Group:
    """A group that the supervisor has made, and removes.  Raises `OSError` where it is of no use.

    Whatever its first process starts belongs to it as well.
    """

    def __init__(self, folder: str, pid: int) -> None:
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))
        self._switch = os.open(os.path.join(folder, "cgroup.freeze"), os.O_WRONLY | os.O_CLOEXEC)
        self._events = os.open(os.path.join(folder, "cgroup.events"), os.O_RDONLY | os.O_CLOEXEC)

    def freeze(self, seconds: float) -> bool:
        """See `Freezer.freeze`."""
        os.pwrite(self._switch, b"1", 0)
        end = time.monotonic() + seconds
        while True:
            told = os.pread(self._events, 256, 0)
            if b"frozen 1" in told or b"populated 0" in told:
                return True
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_S)

    def thaw(self) -> None:
        """See `Freezer.thaw`."""
        os.pwrite(self._switch, b"0", 0)

    def close(self) -> None:
        """See `Freezer.close`."""
        os.close(self._switch)
        os.close(self._events)
