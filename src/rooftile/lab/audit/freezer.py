"""A control group that stops all its processes at once: no signal lets them go on.

Source: Linux, ``Documentation/admin-guide/cgroup-v2.rst``, ``cgroup.freeze``.  Version 1 is not
used: what it has frozen cannot even be killed, and would outlive a judge and its supervisor.
"""

from __future__ import annotations

import os
import time

_LOOK_S = 2e-5
"""Seconds from one look to the next while processes come to a stand."""


class Freezer:
    """A group that the supervisor has made, and removes.  Raises `OSError` where it is of no use.

    Whatever its first process starts belongs to it as well.
    """

    def __init__(self, folder: str, pid: int) -> None:
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))
        self._switch = os.open(os.path.join(folder, "cgroup.freeze"), os.O_WRONLY | os.O_CLOEXEC)
        self._events = os.open(os.path.join(folder, "cgroup.events"), os.O_RDONLY | os.O_CLOEXEC)

    def freeze(self, seconds: float) -> bool:
        """Stop all of them; whether they stand, or have ended, within so many seconds."""
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
        """Let them go on."""
        os.pwrite(self._switch, b"0", 0)

    def close(self) -> None:
        """Close its files."""
        os.close(self._switch)
        os.close(self._events)
