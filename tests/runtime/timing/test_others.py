from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from rooftile.runtime.timing import others as lab
from rooftile.runtime.timing.host import Timing

linux = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no /proc")


def _share(monkeypatch, calls, waited, others):
    """What is said of these seconds of calls, of a wait, and of what others took of a second."""
    waits, busy, clock = iter([1.0, 1.0 + waited]), iter([5.0, 5.0 + others]), iter([0.0, 1.0])
    monkeypatch.setattr(lab.Watch, "_waited_s", lambda self: next(waits))
    monkeypatch.setattr(lab.Watch, "_busy_s", lambda self: next(busy))
    monkeypatch.setattr(lab.time, "perf_counter", lambda: next(clock))
    watch = lab.Watch()
    with watch as seconds:
        seconds += calls
    return watch.share()


@pytest.mark.parametrize(
    ("calls", "waited", "others", "share"),
    [
        ([0.1] * 10, 0.0, 2.0, 0.0),  # others had processors, and we wanted none of them
        ([0.1] * 10, 0.3, 0.0, 0.0),  # threads woke up late, but nobody was there
        ([0.1] * 10, 0.3, 2.0, 0.3),
        ([0.1] * 10, 0.3, 0.2, 0.2),
        ([0.1] * 10, 9.0, 2.0, 1.0),
        ([0.1] * 9 + [0.4], 0.3, 2.0, 0.0),  # one call waited, and no median did
        ([0.1] * 9 + [0.3], 0.3, 2.0, 0.1 / 1.2),
    ],
)
def test_a_median_is_disturbed_by_what_it_waited_for_others(
    monkeypatch, calls, waited, others, share
):
    assert _share(monkeypatch, calls, waited, others) == pytest.approx(share)


def test_nothing_is_known_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr(lab.Watch, "_busy_s", lambda self: None)
    watch = lab.Watch()
    with watch as seconds:
        seconds.append(1.0)
    assert watch.share() is None
    assert not Timing(1, 1, 1, 1, 9, True).disturbed


@linux
def test_a_program_beside_us_is_counted_and_we_are_not():
    watch = lab.Watch()
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        pass
    quiet = watch._busy_s() - watch._busy
    subprocess.run(
        [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True
    )
    assert watch._busy_s() - watch._busy - quiet >= 0.25


@linux
def test_a_stopped_process_of_another_waits_for_nobody():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(9)"])
    try:
        watch = lab.Watch(child.pid)
        with watch as seconds:
            seconds.append(0.05)
        assert watch.share() is not None
    finally:
        child.kill()
        child.wait()
