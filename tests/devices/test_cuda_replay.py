"""Graphs that compiled code launches, by a driver that is made up: which ones, and when none."""

from __future__ import annotations

import ctypes
import sys
import threading

import pytest

from rooftile.devices.cuda import replay
from rooftile.devices.cuda.driver import LEGACY_STREAM

CONTEXT, STREAM = 2**45 + 16, 2**46 + 8
WORD = ctypes.c_void_p


class Driver:
    """What a method asks of CUDA's driver, with addresses that have more than 32 bits."""

    def __init__(self):
        self.context, self.captured, self.error = CONTEXT, 0, 0
        self.launched, self.asked = [], []
        self.meanwhile = lambda: None
        self._functions = {
            "cuCtxGetCurrent": ctypes.CFUNCTYPE(ctypes.c_int, WORD)(self.current),
            "cuStreamIsCapturing": ctypes.CFUNCTYPE(ctypes.c_int, WORD, WORD)(self.is_capturing),
            "cuGraphLaunch": ctypes.CFUNCTYPE(ctypes.c_int, WORD, WORD)(self.launch),
        }

    def __getitem__(self, name):
        return self._functions[name]

    def current(self, to):
        ctypes.c_uint64.from_address(to).value = self.context
        return 0

    def is_capturing(self, stream, to):
        self.asked.append(stream)
        ctypes.c_int.from_address(to).value = self.captured
        return 0

    def launch(self, graph, stream):
        self.launched.append((graph, stream))
        self.meanwhile()
        return self.error


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    monkeypatch.setattr(replay, "library", lambda: made)
    return made


def table(addresses=2, most=3):
    return replay.new_table(CONTEXT, addresses, most)


FIRST, SECOND = (2**47 - 16, 32), (48, 2**47 - 64)


def test_the_graph_of_the_addresses_is_launched(driver):
    made = table()
    assert made.replay([*FIRST], STREAM) is None
    made.add(FIRST, 2**44)
    made.add(SECOND, 2**43)
    assert made.replay([*SECOND], STREAM) is True
    assert made.replay([*FIRST], STREAM) is True
    assert driver.launched == [(2**43, STREAM), (2**44, STREAM)]
    assert driver.asked == [STREAM] * 2
    made.clear()
    assert made.replay([*FIRST], STREAM) is None
    made.add(SECOND, 5)
    assert made.replay([*SECOND], STREAM) is True
    assert driver.launched[2:] == [(5, STREAM)]


@pytest.mark.parametrize(
    "buffers",
    [[], [FIRST[0]], [*FIRST, 32], [FIRST[0], None], [FIRST[0], 32.0], [32, FIRST[0]], [48, 32]],
    ids=["none", "few", "many", "nothing", "no integer", "exchanged", "others"],
)
def test_other_buffers_launch_nothing(buffers, driver):
    made = table()
    made.add(FIRST, 7)
    made.add(SECOND, 8)
    assert made.replay(buffers, STREAM) is None
    assert not driver.launched


def test_another_gpus_thread_and_a_capture_launch_nothing(driver):
    made = table()
    made.add(FIRST, 7)
    driver.captured = 1
    assert made.replay([*FIRST], STREAM) is None
    # That one is never captured, and the driver is not asked.
    driver.asked.clear()
    assert made.replay([*FIRST], LEGACY_STREAM) is True
    assert not driver.asked
    driver.captured, driver.context = 0, 16
    assert made.replay([*FIRST], STREAM) is None
    assert driver.launched == [(7, LEGACY_STREAM)]


def test_what_the_driver_refuses_is_not_launched(driver):
    made = table()
    made.add(FIRST, 7)
    driver.error = 1
    assert made.replay([*FIRST], STREAM) is None
    driver.error = 0
    assert made.replay([*FIRST], STREAM) is True


def test_one_thread_at_a_time_launches_and_the_others_run(driver):
    made = table()
    made.add(FIRST, 7)
    found = []

    def other():
        found.append(made.replay([*FIRST], STREAM))

    def meanwhile():
        thread = threading.Thread(target=other)
        thread.start()
        # The lock of Python's is free, so it ends.
        thread.join(10)

    driver.meanwhile = meanwhile
    assert made.replay([*FIRST], STREAM) is True
    assert found == [None]
    driver.meanwhile = lambda: None
    assert made.replay([*FIRST], STREAM) is True


def test_nothing_is_held_and_nothing_is_lost(driver):
    made = table()
    made.add(FIRST, 7)
    given = [2**46 + 3, 2**46 + 5]
    counts = [sys.getrefcount(one) for one in (given, *given)]
    of_all = [sys.getrefcount(one) for one in (None, True)]
    for _ in range(1000):
        made.replay([*FIRST], STREAM)
        made.replay(given, STREAM)
        driver.launched.clear()
    assert [sys.getrefcount(one) for one in (given, *given)] == counts
    # Others of Python's hold and leave these too.
    assert [sys.getrefcount(one) for one in (None, True)] == pytest.approx(of_all, abs=100)


def test_another_python_has_no_table(monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "other")
    assert table() is None
