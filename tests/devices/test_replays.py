"""Launches that start as a graph where their buffers come again."""

from __future__ import annotations

import threading

import pytest

from rooftile.devices.cuda import library, replays


class Launches:
    """Notes what starts plainly."""

    def __init__(self):
        self.started = []

    def start(self, buffers, stream=0):
        self.started.append((tuple(buffers), stream))


@pytest.fixture
def graphs(monkeypatch):
    """(buffers, stream) of each graph that starts, and the buffers of each that was made."""
    made, started = [], []

    class Graph:
        def __init__(self, launches, buffers):
            self.buffers = buffers
            made.append(buffers)

        def start(self, stream):
            started.append((self.buffers, stream))

    monkeypatch.setattr(replays, "_Graph", Graph)
    return made, started


def test_buffers_that_come_again_get_a_graph(graphs):
    made, started = graphs
    launches = Launches()
    several = replays.Replays(launches)
    for _ in range(6):
        several.start([16, 32], 7)
    assert launches.started == [((16, 32), 7)] * 2
    assert made == [(16, 32)]
    assert started == [((16, 32), 7)] * 4


def test_every_choice_of_buffers_has_its_own(graphs):
    made, started = graphs
    launches = Launches()
    several = replays.Replays(launches)
    for _ in range(4):
        several.start([16, 32], 7)
        several.start([16, 48], 8)
    assert sorted(made) == [(16, 32), (16, 48)]
    assert set(started) == {((16, 32), 7), ((16, 48), 8)}


def test_buffers_that_never_come_again_make_none(graphs):
    made, _ = graphs
    several = replays.Replays(Launches())
    for address in range(1000):
        several.start([address], 1)
    assert not made
    assert len(several._seen) <= replays._MOST_SEEN


def test_where_there_are_many_the_others_start_plainly_for_long(graphs, monkeypatch):
    made, _ = graphs
    monkeypatch.setattr(replays, "_PATIENCE", 50)
    launches = Launches()
    several = replays.Replays(launches)
    many = 2 * replays._MOST_GRAPHS
    for _ in range(6):
        for address in range(many):
            several.start([address], 1)
    # Only after so many misses all are dropped for others, which come again now.
    assert len(made) < many + replays._MOST_GRAPHS
    assert len(several._graphs) <= replays._MOST_GRAPHS
    assert len(launches.started) > 2 * many


def test_threads_make_one(graphs):
    made, started = graphs
    several = replays.Replays(Launches())
    threads = [
        threading.Thread(target=lambda: [several.start([5], 1) for _ in range(50)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [(5,)]
    assert len(started) >= 8 * 50 - 2 * 8


class Driver:
    """Notes which of its functions are called, by their names; each succeeds."""

    def __init__(self):
        self.called = []

    def __getitem__(self, name):
        return lambda *arguments: self.called.append(name) or 0

    __getattr__ = __getitem__


def test_a_graph_is_made_without_regard_to_others_captures(monkeypatch):
    driver, launches = Driver(), Launches()
    for module in (library, replays):
        monkeypatch.setattr(module, "library", lambda: driver)
    graph = replays._Graph(launches, (16, 32))
    assert launches.started == [((16, 32), 0)]
    assert driver.called[0] == driver.called[-1] == "cuThreadExchangeStreamCaptureMode"
    made = ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"]
    assert [name for name in driver.called if name in made] == made
    driver.called.clear()
    for stream in (7, 8):
        graph.start(stream)
    assert driver.called == ["cuGraphLaunch"] * 2
    del graph
    assert driver.called[-1] == "cuGraphExecDestroy"
