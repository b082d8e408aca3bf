"""The processor's counters, by events of the system that every machine has."""

from __future__ import annotations

import errno
import json
import os
import struct

import pytest

from rooftile.errors import RooftileError
from rooftile.lab.show.explain import perf, perf_child

SOFTWARE, TASK_CLOCK = 1, 1


@pytest.fixture
def clocks(monkeypatch):
    """Nanoseconds of the threads instead of cycles: virtual machines show no others."""
    event = SOFTWARE, TASK_CLOCK
    try:
        os.close(perf.opened_counter(event, 0))
    except OSError as error:
        pytest.skip(f"this system counts nothing for us: {error}")
    monkeypatch.setattr(perf, "EVENTS", {"cycles": event, "branches": (99, 99)})


def test_threads_are_counted_while_they_compute(clocks):
    with perf.counting([int(thread) for thread in os.listdir("/proc/self/task")]) as long:
        sum(range(3_000_000))
    with perf.counting([0]) as short:
        pass
    # What the processor does not count is left out.
    assert long.keys() == short.keys() == {"cycles"}
    assert long["cycles"] > 1e6 > short["cycles"]


def test_the_child_tells_the_mean_of_its_calls(clocks, capsys):
    perf_child.main('["softmax", "classes=1000", 64, "vectors", 0]')
    counts = perf.PerfCounts(**json.loads(capsys.readouterr().out))
    assert 1e3 < counts.values["cycles"] < 1e9
    assert counts.calls > 1
    assert counts.page_faults >= 0


def test_a_count_is_scaled_to_all_the_time():
    assert perf.count_of(struct.pack("QQQ", 10, 300, 100)) == 30
    assert perf.count_of(struct.pack("QQQ", 10, 300, 0)) == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOENT, "shows none"),
        (errno.EACCES, "perf_event_paranoid is"),
        (errno.ENOSYS, "no perf_event_open"),
    ],
)
def test_it_is_told_why_nothing_is_read(code, words, monkeypatch):
    def refuse(event, thread):
        raise OSError(code, "no")

    monkeypatch.setattr(perf, "opened_counter", refuse)
    monkeypatch.setattr(perf, "unreadable", perf.unreadable.__wrapped__)
    assert words in perf.unreadable()
    with pytest.raises(RooftileError, match=words):
        perf.read_counters("softmax", "classes=10", 4, "vectors", 0)


def test_counts_come_from_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(perf, "unreadable", lambda: "")
    with pytest.raises(RooftileError, match="unknown-shape"):
        perf.read_counters("softmax", "unknown-shape", 4, "vectors", 0)
