"""The disturbance of a median by other programs, from the system's counters.

A call's wall-clock time is its time alone, plus its wait for processors that other programs had.
Two counts of Linux bound that wait from above, and the lesser one is kept:

- the time that this process's threads were ready to run and did not
  (``/proc/PID/task/*/schedstat``): it also holds the microseconds in which a parked thread wakes;
- the processor time that others took of the processors which we may use (``/proc/stat``): it also
  holds their time on a processor that we did not need.

So neither a call that wakes its threads on an idle machine, nor one that needs one processor while
another program has the other, is called disturbed.  And a wait that shows in a few slow calls is
none of the median's: what calls took beyond the median is subtracted from the first count.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from pathlib import Path

DISTURBED = 0.05
"""From this share of waiting on a time is not to be trusted.  The judge calls a time impossible
that is 5 % beyond a measured ceiling, and a ceiling's call undisturbed that had 95 % of its
processors: so what is below changes no verdict."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)
"""The fields of a processor in /proc/stat in which it had nothing to do: idle, iowait."""
_COUNTED = 8
"""Its fields without the guests', which are counted as a user's time already."""


class Watch:
    """Watches over calls that are timed within ``with`` blocks, and over the machine meanwhile."""

    def __init__(self, pid: int | None = None) -> None:
        """``pid`` is the process that is timed, where it is not this one."""
        self._pid = pid
        self._start, self._busy = time.perf_counter(), self._busy_s()
        self._wall = self._waited = 0.0
        self._known = self._busy is not None

    def __enter__(self) -> list[float]:
        """The list to put the seconds of the calls in that are timed now."""
        self._calls: list[float] = []
        self._before = self._waited_s()
        return self._calls

    def __exit__(self, *_: object) -> None:
        """They are done."""
        after = self._waited_s()
        if self._before is None or after is None:
            self._known = False
        elif self._calls:
            middle = statistics.median(self._calls)
            slow = sum(max(0.0, call - middle) for call in self._calls)
            self._wall += sum(self._calls)
            # A thread that has ended takes its count along.
            self._waited += max(0.0, after - self._before - slow)

    def share(self) -> float | None:
        """The share of the median, at most, in which it waited for others' processors. None where
        the system does not tell, or nothing was timed."""
        busy = self._busy_s()
        if not self._known or self._busy is None or busy is None or self._wall == 0:
            return None
        others = max(0.0, busy - self._busy) / (time.perf_counter() - self._start)
        return min(1.0, self._waited / self._wall, others)

    def _busy_s(self) -> float | None:
        """Seconds in which others had the processors that we may use, since some moment."""
        with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
            ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
            ticks = 0
            for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
                name, *fields = line.split()
                if name in ours:
                    counts = [int(field) for field in fields[:_COUNTED]]
                    ticks += sum(counts) - sum(counts[field] for field in _IDLE)
            return ticks * _TICK_S - time.process_time() - self._other_s()
        return None

    def _other_s(self) -> float:
        """Processor seconds of the process that is timed, where it is not this one."""
        if self._pid is None:
            return 0.0
        fields = Path(f"/proc/{self._pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
        return sum(map(int, fields.split()[11:13])) * _TICK_S

    def _waited_s(self) -> float | None:
        """Seconds that threads were ready to run and did not, since they began."""
        waited = 0
        tasks = Path(f"/proc/{self._pid or 'self'}/task")
        try:
            for task in tasks.iterdir():
                # A thread may end between being named and being asked.
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                    waited += int((task / "schedstat").read_text(encoding="ascii").split()[1])
        except (OSError, ValueError, IndexError):
            return None
        return 1e-9 * waited
