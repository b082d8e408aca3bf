"""Graphs of what a stream was given, by a driver that only notes what it is told."""

from __future__ import annotations

import ctypes

import pytest

from rooftile.devices.cuda import driver as library
from rooftile.devices.cuda import graph, graph_launches


class Driver:
    """Notes which of its functions are called, by their names; each gives its code, most 0."""

    def __init__(self):
        self.called, self.codes = [], {}

    def __getitem__(self, name):
        return lambda *arguments: self.called.append(name) or self.codes.get(name, 0)

    __getattr__ = __getitem__

    def cuGetErrorName(self, code, to):
        ctypes.cast(to, ctypes.POINTER(ctypes.c_char_p))[0] = b"CUDA_ERROR_MADE_UP"


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    for module in (library, graph):
        monkeypatch.setattr(module, "library", lambda: made)
    return made


class Launches:
    """Notes what starts."""

    def __init__(self):
        self.started = []

    def start(self, buffers, stream=0):
        self.started.append((tuple(buffers), stream))


def test_a_graph_is_made_without_regard_to_others_captures(driver):
    launches = Launches()
    made = graph_launches.graph_of(launches, (16, 32))
    assert [buffers for buffers, _ in launches.started] == [(16, 32)]
    assert driver.called[0] == "cuThreadExchangeStreamCaptureMode"
    assert driver.called.count("cuThreadExchangeStreamCaptureMode") == 2
    steps = ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"]
    assert [name for name in driver.called if name in steps] == steps
    # The graph's stream, and what it was made from, are gone.
    assert {"cuStreamDestroy_v2", "cuGraphDestroy"} < set(driver.called)
    driver.called.clear()
    for stream in (7, 8):
        made.start(stream)
    assert driver.called == ["cuGraphLaunch"] * 2
    del made
    assert driver.called[-1] == "cuGraphExecDestroy"


def test_a_capture_ends_where_its_block_fails(driver):
    with pytest.raises(ZeroDivisionError), graph.capture():
        1 / 0  # noqa: B018
    assert "cuStreamEndCapture" in driver.called
    assert "cuGraphInstantiateWithFlags" not in driver.called


def test_an_error_has_the_drivers_name(driver):
    driver.codes["cuGraphInstantiateWithFlags"] = 801
    with pytest.raises(RuntimeError, match="CUDA_ERROR_MADE_UP"), graph.capture():
        pass
    assert driver.called[-2:] == ["cuGraphDestroy", "cuStreamDestroy_v2"]
