"""Launches that start as a graph where their buffers come again."""

from __future__ import annotations

import threading

import pytest

from rooftile.devices.cuda import graph_launches

OWN = 42


class Device:
    """A GPU whose context the thread has, with streams that nobody captures, unless told."""

    context, current, captured = OWN, True, False

    def is_current(self):
        return self.current

    def is_capturing(self, stream):
        return self.captured


class Launches:
    """Notes what starts plainly."""

    def __init__(self):
        self.started = []

    def start(self, buffers, stream=0):
        self.started.append((tuple(buffers), stream))


class Table:
    """Does in Python what compiled code does, and notes when it forgets."""

    def __init__(self, context, addresses, most):
        assert context == OWN
        self.most, self.kept, self.cleared = most, {}, 0

    def add(self, addresses, graph):
        self.kept[addresses] = graph
        assert len(self.kept) <= self.most

    def clear(self):
        self.kept.clear()
        self.cleared += 1

    def replay(self, buffers, stream):
        graph = self.kept.get(tuple(buffers))
        if graph is not None:
            graph.start(stream)
        return None if graph is None else True


@pytest.fixture(params=["compiled", "Python's"])
def graphs(monkeypatch, request):
    """(buffers, stream) of each graph that starts, and the buffers of each that was made."""
    made, started = [], []

    class Graph:
        def __init__(self, launches, buffers):
            self.buffers, self.address = buffers, self
            made.append(buffers)

        def start(self, stream):
            started.append((self.buffers, stream))

    monkeypatch.setattr(graph_launches, "graph_of", Graph)
    new = Table if request.param == "compiled" else lambda *_: None
    monkeypatch.setattr(graph_launches, "new_table", new)
    return made, started


def starter(launches=None, device=None):
    """``start(buffers, stream)`` as a call does it, and what it goes through."""
    several = graph_launches.GraphLaunches(launches or Launches(), device or Device())

    def start(buffers, stream):
        if not several.replay(buffers, stream):
            several.start(buffers, stream)

    return start, several


def test_buffers_that_come_again_get_a_graph(graphs):
    made, started = graphs
    launches = Launches()
    start, _ = starter(launches)
    for _ in range(6):
        start([16, 32], 7)
    assert launches.started == [((16, 32), 7)] * 3
    assert made == [(16, 32)]
    assert started == [((16, 32), 7)] * 3


def test_every_choice_of_buffers_has_its_own(graphs):
    made, started = graphs
    start, _ = starter()
    for _ in range(4):
        start([16, 32], 7)
        start([16, 48], 8)
    assert sorted(made) == [(16, 32), (16, 48)]
    assert set(started) == {((16, 32), 7), ((16, 48), 8)}


def test_buffers_that_never_come_again_make_none(graphs):
    made, _ = graphs
    start, several = starter()
    for address in range(1000):
        start([address], 1)
    assert not made
    assert len(several._seen) <= graph_launches.MOST_SEEN


def test_where_there_are_many_the_others_start_plainly_for_long(graphs, monkeypatch):
    made, _ = graphs
    monkeypatch.setattr(graph_launches, "PATIENCE", 50)
    launches = Launches()
    start, several = starter(launches)
    many = 2 * graph_launches.MOST_GRAPHS
    for _ in range(7):
        for address in range(many):
            start([address], 1)
    # Only after so many misses all are dropped for others, which come again now.
    assert graph_launches.MOST_GRAPHS < len(made) < many + graph_launches.MOST_GRAPHS
    assert len(several._graphs) <= graph_launches.MOST_GRAPHS
    # Another thread may be launching one of those.
    assert len(several._dropped) == graph_launches.MOST_GRAPHS
    assert len(launches.started) > 2 * many


def test_threads_make_one(graphs):
    made, started = graphs
    start, _ = starter()
    threads = [
        threading.Thread(target=lambda: [start([5], 1) for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [(5,)]
    assert len(started) >= 8 * 50 - 3 * 8


@pytest.mark.parametrize("changed", [{"current": False}, {"captured": True}])
def test_without_compiled_code_another_gpu_and_a_capture_are_left_alone(monkeypatch, changed):
    monkeypatch.setattr(graph_launches, "graph_of", lambda *_: None)
    monkeypatch.setattr(graph_launches, "new_table", lambda *_: None)
    device = Device()
    start, several = starter(device=device)
    for _ in range(3):
        start([5], 1)
    for name, value in changed.items():
        setattr(device, name, value)
    assert several.replay([5], 1) is None
