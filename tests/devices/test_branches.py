"""Work beside a stream's: who waits for whom."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from rooftile.devices.cuda import branches
from rooftile.devices.gpu import InOrder

MAIN, BESIDE = 5, 9


class Device:
    """Notes on which stream what is started."""

    def __init__(self):
        self.stream_address, self.log = MAIN, []

    def stream(self):
        return SimpleNamespace(address=BESIDE)

    @contextlib.contextmanager
    def on(self, stream):
        before, self.stream_address = self.stream_address, stream
        yield
        self.stream_address = before

    def start(self, name):
        self.log.append((name, self.stream_address))


@pytest.fixture
def device(monkeypatch):
    made = Device()

    def call(name, *arguments):
        if name == "cuEventRecord":
            made.log.append(("record", arguments[1].value))
        elif name == "cuStreamWaitEvent":
            made.log.append(("wait", arguments[0].value))

    monkeypatch.setattr(branches, "call", call)
    return made


def test_what_is_aside_comes_after_and_is_waited_for_once(device):
    branch = branches.Branch(device)
    branch.join()
    device.start("before")
    with branch.aside():
        device.start("aside")
    device.start("meanwhile")
    branch.join()
    branch.join()
    device.start("after")
    assert device.log == [
        ("before", MAIN),
        ("record", MAIN),
        ("wait", BESIDE),
        ("aside", BESIDE),
        ("meanwhile", MAIN),
        ("record", BESIDE),
        ("wait", MAIN),
        ("after", MAIN),
    ]


def test_a_queue_in_order_needs_no_waiting():
    branch, done = InOrder(), []
    with branch.aside():
        done.append(1)
    branch.join()
    assert done == [1]
